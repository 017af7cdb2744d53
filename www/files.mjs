// What belongs to the page beside its scripts: from the page's own text, where it is one file, and else from beside it.

const PACKED = "script[type='text/plain'][data-file]";

/** Whether everything stands in this one file. */
export const alone = () => document.querySelector(PACKED) !== null;

/** The bytes of one of the page's own files. `path` is a text of the page, never of a document. */
export async function file(path) {
  const packed = [...document.querySelectorAll(PACKED)].find((block) => block.dataset.file === path);
  if (packed) return inflate(fromBase64(packed.textContent), "gzip");
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** What whoever wrote this file put into it, or undefined: docs/page.md says what that may be. */
export function embedded() {
  const text = document.querySelector("#embedded")?.textContent.trim();
  return text ? JSON.parse(text) : undefined;
}

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

export async function inflate(bytes, format) {
  return through(bytes, new DecompressionStream(format));
}

export async function deflate(bytes, format) {
  return through(bytes, new CompressionStream(format));
}

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}
