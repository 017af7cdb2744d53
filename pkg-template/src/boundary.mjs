// Between JavaScript and the core. Parameters become one JSON text at once, so that no getter, proxy or later change can
// show the core two different values; byte arrays and keys go beside it. No rule about money stands on this side.

import { CounterfoilError } from "./errors.mjs";
import { enter, enterAny, enterBulk, modules } from "./wasm.mjs";

const LARGEST_ATTACHMENT = 3 * 2 ** 29;
const tagOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;

/** True for a Uint8Array of any realm, and for nothing that only looks like one. */
export function isBytes(value) {
  return tagOf.call(value) === "Uint8Array";
}

/** The parameters themselves, when they are an object. */
export function object(value, field) {
  if (typeof value !== "object" || value === null) throw new CounterfoilError("invalid_type", { field });
  return value;
}

/** Text of bytes or of a string; bytes must be UTF-8, and a byte order mark stays. */
export function text(value, field) {
  if (typeof value === "string") return value;
  if (!isBytes(value)) throw new CounterfoilError("invalid_type", { field });
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    throw new CounterfoilError("json_invalid", { field });
  }
}

const encoder = new TextEncoder();

/**
 * Documents that cross beside the parameters, one after the other, so that none of them has to fit into one JSON text: `{lengths, bytes}`. Of bytes the core says
 * whether they are UTF-8.
 */
export function documents(values, fieldOf) {
  const parts = values.map((value, index) => {
    if (isBytes(value)) return value;
    if (typeof value !== "string") throw new CounterfoilError("invalid_type", { field: fieldOf(index) });
    if (!isWellFormed(value)) throw new CounterfoilError("lone_surrogate", { field: fieldOf(index) });
    return encoder.encode(value);
  });
  const lengths = parts.map(({ length }) => length);
  const whole = lengths.reduce((sum, length) => sum + length, 0);
  if (whole > LARGEST_ATTACHMENT) throw new CounterfoilError("too_large", { field: fieldOf(0) });
  // A single one is not copied.
  const bytes = parts.length === 1 ? parts[0] : new Uint8Array(whole);
  if (parts.length !== 1) parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return { lengths, bytes };
}

const scratch = new Uint8Array(1 << 16);

/** Well-formed text as bytes; where it is short, in a place that the next text overwrites. */
export function utf8(string) {
  if (string.length * 3 > scratch.length) return encoder.encode(string);
  return scratch.subarray(0, encoder.encodeInto(string, scratch).written);
}

/** 0x text as bytes. For results of the core only: it checks nothing. */
export function fromHex(hex) {
  const bytes = new Uint8Array(hex.length / 2 - 1);
  for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(hex.slice(2 * i + 2, 2 * i + 4), 16);
  return bytes;
}

/** Bytes as 0x text. */
export function toHex(bytes) {
  let hex = "0x";
  for (const byte of bytes) hex += byte.toString(16).padStart(2, "0");
  return hex;
}

/** Calls the whole core with an object of parameters. */
export function call(name, params, bytes, secret) {
  return pass(enter, name, snapshot(params), bytes, secret);
}

/** Calls the whole core with parameters that are a JSON text already. */
export function callText(name, params, bytes, secret) {
  return pass(enter, name, params, bytes, secret);
}

/** A call that the verifier answers as well: whoever loaded only that can make it. */
export function callAny(name, params, bytes) {
  return pass(enterAny, name, snapshot(params), bytes);
}

/** One that is much work: it goes to the verifier, where that is there. */
export function callBulk(name, params, bytes) {
  return pass(enterBulk, name, snapshot(params), bytes);
}

/** Whether a key made the signature of a JWS, for the algorithms that stand apart; the parameters are a JSON text already. */
export function checkJws(params) {
  if (!modules.jws) throw new CounterfoilError("not_loaded");
  return pass(modules.jws.enter, "checkJws", params);
}

/** Runs a call, and again with the answers of the part that checks JWS where it asks for some: where that is not there, there are none. */
export function withJws(params, run) {
  const first = run(params);
  if (!("needs" in first)) return first;
  const made = (task) => ({ ...task, made: checkJws(snapshot(task)) });
  const there = modules.jws?.ready();
  if (modules.jws) modules.jws.missed = !there;
  return run({ ...params, answers: there ? first.needs.map(made) : [] });
}

function pass(into, name, params, bytes, secret) {
  wellFormed(name);
  wellFormed(params);
  const answer = JSON.parse(into("call", [name, utf8(params), attachment(bytes, "bytes"), attachment(secret, "secret")]));
  if ("error" in answer) throw new CounterfoilError(answer.error.code, answer.error);
  return answer.ok;
}

export function missing(field) {
  throw new CounterfoilError("missing_field", { field });
}

/** Parameters as one JSON text. Errors: `json_too_deep`, `cyclic_input`, `invalid_type`. */
export function snapshot(params) {
  try {
    // JSON.stringify writes half a surrogate pair as an escape, which the core's reader refuses as lone_surrogate.
    return JSON.stringify(params, (_, value) => (typeof value === "bigint" ? value.toString() : value));
  } catch (cause) {
    if (cause instanceof RangeError) throw new CounterfoilError("json_too_deep", { cause });
    throw new CounterfoilError(/circular|cyclic/i.test(cause?.message) ? "cyclic_input" : "invalid_type", { cause });
  }
}

/** True where every surrogate has its other half. */
export function isWellFormed(string) {
  return string.isWellFormed?.() ?? !/\p{Surrogate}/u.test(string);
}

function wellFormed(string) {
  if (typeof string !== "string") throw new CounterfoilError("invalid_type");
  // Encoding would replace half a pair by U+FFFD without a word.
  if (!isWellFormed(string)) throw new CounterfoilError("lone_surrogate");
}

/** Bytes that go beside the parameters, or nothing. */
export function attachment(value, field) {
  if (value === undefined || value === null) return undefined;
  if (!isBytes(value)) throw new CounterfoilError("invalid_type", { field });
  if (value.byteLength > LARGEST_ATTACHMENT) throw new CounterfoilError("too_large", { field });
  return value;
}
