// What both stores hold to: what a key and a row may be, what a decision may say, and the steps of an update.

import { isBytes } from "../boundary.mjs";
import { CounterfoilError } from "../errors.mjs";

/**
 * The steps of an update that writes `puts` rows, in their order: a store given `hook` awaits `hook(step)` at each. For tests,
 * which stop a process between any two statements; what is written is there for others from "committed" on.
 */
export function updateSteps(puts) {
  return ["begin", "locked", "read", "decided", ...Array.from({ length: puts }, (_, i) => `written:${i}`), "committed"];
}

/** The keys of an update: at least one, each once. */
export function checkedKeys(keys) {
  if (!Array.isArray(keys) || keys.length === 0) throw invalid("keys");
  keys.forEach((key, i) => checkedKey(key, `keys[${i}]`));
  once(keys, (i) => `keys[${i}]`);
  return [...keys];
}

/** A key is a text that every database keeps as it is: no U+0000 and no half of a surrogate pair. */
export function checkedKey(key, field) {
  if (typeof key !== "string" || key.includes("\0")) throw invalid(field);
  if (/[\ud800-\udfff]/u.test(key)) throw new CounterfoilError("lone_surrogate", { field });
  return key;
}

/**
 * Calls `decide` once and takes what it says as it is now: later changes to its objects and arrays don't matter. What decide throws
 * goes through as it is.
 */
export function decided(decide, keys, rows) {
  const decision = decide(keys.map((key) => rows.get(key)));
  // A promise too: whatever it waits for, the rows would stay locked.
  if (typeof decision !== "object" || decision === null || !Array.isArray(decision.puts)) throw invalid("puts");
  const puts = decision.puts.map((put, i) => checkedPut(put ?? {}, keys, `puts[${i}]`));
  once(puts.map(({ key }) => key), (i) => `puts[${i}].key`);
  return { puts, result: decision.result };
}

function checkedPut({ key, value, body, expiresAt }, keys, field) {
  if (!keys.includes(key)) throw invalid(`${field}.key`);
  if (value === null) return { key, value };
  if (typeof value !== "object" || Array.isArray(value)) throw invalid(`${field}.value`);
  if (body !== undefined && !isBytes(body)) throw invalid(`${field}.body`);
  if (expiresAt !== undefined && !Number.isSafeInteger(expiresAt)) throw invalid(`${field}.expiresAt`);
  return { key, value: json(value, `${field}.value`), body: body && new Uint8Array(body), expiresAt };
}

function json(value, field) {
  let text;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new CounterfoilError("invalid_type", { field, cause });
  }
  // An object whose toJSON says something else.
  if (text?.[0] !== "{") throw invalid(field);
  return text;
}

/** A row as a database gives it: integers as numbers, bigints or text, nothing as null, bytes as a Buffer of whatever pool. */
export function row({ value, body, expires_at }) {
  const read = { value: JSON.parse(value) };
  if (body != null) read.body = new Uint8Array(body);
  if (expires_at != null) read.expiresAt = Number(expires_at);
  return read;
}

/** What a scan asks: `from` inclusive, `after` exclusive, `below` exclusive or absent where nothing is above. */
export function checkedScan(prefix, { after, limit = 100, expiredBefore } = {}) {
  checkedKey(prefix, "prefix");
  if (after !== undefined) checkedKey(after, "after");
  if (!Number.isSafeInteger(limit) || limit < 1) throw invalid("limit");
  if (expiredBefore !== undefined && !Number.isSafeInteger(expiredBefore)) throw invalid("expiredBefore");
  return { from: prefix, after, below: successor(prefix), limit, expiredBefore };
}

/** The first text above every text that begins with `prefix`, in the order of UTF-8 bytes; undefined where there is none. */
function successor(prefix) {
  const points = [...prefix];
  while (points.length > 0) {
    const last = points.pop().codePointAt(0);
    // Surrogates are no characters, and nothing is above the last one.
    if (last < 0x10ffff) return points.join("") + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1);
  }
  return undefined;
}

/** Letters, digits and underscores: a name that needs no quoting is never more than a name. */
export function checkedTable(table) {
  if (typeof table !== "string" || !/^[a-z_][a-z0-9_]{0,47}$/.test(table)) throw invalid("table");
  return table;
}

/** The store can't be reached or did not confirm. After a lost answer to COMMIT the rows may be there: the caller reads again. */
export function unavailable(cause) {
  return new CounterfoilError("store_unavailable", { cause });
}

export function invalid(field) {
  return new CounterfoilError("invalid_type", { field });
}

function once(keys, field) {
  const twice = keys.findIndex((key, i) => keys.indexOf(key) !== i);
  if (twice >= 0) throw new CounterfoilError("duplicate_key", { field: field(twice) });
}
