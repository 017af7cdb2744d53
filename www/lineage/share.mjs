// Documents in a link: deflated, in the part of an address that is never sent to a server. What a link brings is read, shown, and not more.

import { deflate, fromBase64 } from "../files.mjs";

const LONGEST = 8000;
const NAME = "r=";
/** What a link may unpack to. */
const LARGEST = 4 << 20;

/** The address with these documents, `{name, bytes}`; undefined where it would be too long. */
export async function linkTo(given) {
  if (given.reduce((sum, { bytes }) => sum + bytes.length, 0) > LARGEST) return undefined;
  const documents = given.map(({ name, bytes }) => ({ name, text: new TextDecoder().decode(bytes) }));
  const packed = await deflate(new TextEncoder().encode(JSON.stringify({ documents })), "deflate-raw");
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  const fragment = NAME + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return fragment.length > LONGEST ? undefined : `${location.href.split("#")[0]}#${fragment}`;
}

/** The documents in this page's address: undefined where there are none, an Error where there is something else. */
export async function fromLink(hash = location.hash) {
  if (!hash.startsWith(`#${NAME}`)) return undefined;
  try {
    const text = hash.slice(1 + NAME.length);
    if (text.length > LONGEST || !/^[A-Za-z0-9_-]*$/.test(text)) throw new Error("no link of this page");
    const { documents } = JSON.parse(await unpack(fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"))));
    if (!Array.isArray(documents) || !documents.every(({ name, text }) => typeof name === "string" && typeof text === "string")) throw new Error("no documents");
    return documents.map(({ name, text }) => ({ name, text }));
  } catch (error) {
    return error;
  }
}

/** A short text may unpack to a very long one: it is read piece by piece, and no further than is sensible. */
async function unpack(bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
    if (text.length > LARGEST) {
      await reader.cancel();
      throw new Error("the link unpacks to too much");
    }
  }
}
