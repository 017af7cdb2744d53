// Taking a content coding off an answer. The core never decompresses; here it is done with a limit, so that a small file can't fill the memory.

import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from "node:zlib";
import { usageError } from "./output.mjs";

/** Largest answer that comes out, in bytes. */
const LARGEST = 256 << 20;

// RFC 9110 §8.4.1: `deflate` is the zlib format; some senders leave its frame out.
const inflate = (bytes, options) => ((bytes[0] & 0x0f) === 8 && ((bytes[0] << 8) | bytes[1]) % 31 === 0 ? inflateSync : inflateRawSync)(bytes, options);
const CODINGS = { gzip: gunzipSync, "x-gzip": gunzipSync, deflate: inflate, br: brotliDecompressSync, identity: (bytes) => bytes };

/** What is under these codings, the value of a `Content-Encoding` field, the last one applied taken off first. */
export function decoded(bytes, codings) {
  const names = codings.toLowerCase().split(",").map((name) => name.trim());
  const unknown = names.find((name) => !Object.hasOwn(CODINGS, name));
  if (unknown !== undefined) throw usageError(`--response-encoding is one of ${Object.keys(CODINGS).join(", ")}`);
  try {
    return names.reduceRight((inner, name) => new Uint8Array(CODINGS[name](inner, { maxOutputLength: LARGEST })), bytes);
  } catch (error) {
    if (error?.code === "ERR_BUFFER_TOO_LARGE") throw usageError(`the response is larger than ${LARGEST} bytes without its content coding`);
    throw usageError("the response is not in the content coding that --response-encoding names");
  }
}
