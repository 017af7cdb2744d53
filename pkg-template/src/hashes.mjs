// Canonical JSON and SHA-256. Hashing is the host's own where it has it, and the core's elsewhere.

import { attachment, callAny, isWellFormed, missing, toHex, utf8 } from "./boundary.mjs";
import { enterAny } from "./wasm.mjs";

const nodeCrypto = globalThis.process?.getBuiltinModule?.("node:crypto");
/** Node's own answers at once; of two ways to it `hash` is the shorter one, and the newer. */
const native = nodeCrypto && (nodeCrypto.hash ? (data) => nodeCrypto.hash("sha256", data) : (data) => nodeCrypto.createHash("sha256").update(data).digest("hex"));
/** Below this many bytes the core is as fast as the way to the host and back: Node's own, and the browser's, which answers later. */
const WORTH_NATIVE = 256;
const WORTH_SUBTLE = 27 << 10;

export function sha256(bytes) {
  const data = attachment(bytes, "bytes") ?? missing("bytes");
  return native && data.length >= WORTH_NATIVE ? `0x${native(data)}` : toHex(enterAny("sha256", [data]));
}

/** SHA-256 of bytes that come in pieces. */
export function digest() {
  if (nodeCrypto) {
    const hash = nodeCrypto.createHash("sha256");
    return { update: (chunk) => hash.update(chunk), hex: async () => `0x${hash.digest("hex")}` };
  }
  const chunks = [];
  let length = 0;
  return {
    update(chunk) {
      chunks.push(chunk);
      length += chunk.length;
    },
    async hex() {
      const whole = concat(chunks, length);
      // Only secure contexts have it.
      const subtle = length >= WORTH_SUBTLE ? globalThis.crypto?.subtle : undefined;
      return subtle ? toHex(new Uint8Array(await subtle.digest("SHA-256", whole))) : sha256(whole);
    },
  };
}

export function concat(chunks, length) {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

export function canonicalize(json) {
  return canonical("canonicalize", json) ?? callAny("canonicalize", { json });
}

export function canonicalSha256(json) {
  if (native && json?.length >= WORTH_NATIVE) {
    const bytes = canonical("canonicalBytes", json);
    if (bytes) return `0x${native(bytes)}`;
  }
  const digest = canonical("canonicalSha256", json);
  return digest ? toHex(digest) : callAny("canonicalSha256", { json });
}

/** By the short way, which gives nothing where there is an error to tell. */
function canonical(name, json) {
  return typeof json === "string" && isWellFormed(json) ? enterAny(name, [utf8(json)]) : undefined;
}
