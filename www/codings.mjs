// Content codings of an answer, removed by the browser. The core never decompresses.

/** As HTTP names them, and as a DecompressionStream does. */
const STREAMS = { gzip: "gzip", deflate: "deflate", br: "brotli" };
/** As of the command line: whoever made the answer may have packed a gigabyte of nothing. */
const LARGEST = 256 << 20;

/** The names that this browser can remove. */
export function codings() {
  return Object.keys(STREAMS).filter((name) => {
    try {
      new DecompressionStream(STREAMS[name]);
      return true;
    } catch {
      return false;
    }
  });
}

/** The coding that shows in the bytes themselves; of most it does not. */
export function codingOf(bytes) {
  return bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 8 ? "gzip" : undefined;
}

/** The bytes under it; undefined where they are not of that coding, or too many. */
export async function decoded(bytes, name) {
  const chunks = [];
  let size = 0;
  try {
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(STREAMS[name])).getReader();
    for (let next; !(next = await reader.read()).done; ) {
      size += next.value.length;
      if (size > LARGEST) {
        await reader.cancel();
        return undefined;
      }
      chunks.push(next.value);
    }
  } catch {
    return undefined;
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
