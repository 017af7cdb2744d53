// The answer without its content coding, so that a receipt can name both readings of the bytes.

import { concat, sha256 } from "../hashes.mjs";

const STREAMS = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate" };
const LARGEST = 64 << 20;

/** `{coding, sha256, length}` of one coding that this engine can take off; undefined for none, several or another. */
export async function decodedBody(coding, body) {
  const format = STREAMS[coding?.trim().toLowerCase()];
  if (!format) return undefined;
  const chunks = [];
  let length = 0;
  try {
    for await (const chunk of new Blob([body]).stream().pipeThrough(new DecompressionStream(format))) {
      length += chunk.length;
      if (length > LARGEST) return undefined;
      chunks.push(chunk);
    }
  } catch {
    // The handler named a coding that its bytes don't have: the receipt stays with the bytes.
    return undefined;
  }
  return { coding: format, sha256: sha256(concat(chunks, length)), length };
}
