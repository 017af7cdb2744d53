// The answers that lines name: files of one folder, hashed as they are read, or the digests in a list that sha256sum wrote.

import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, realpathSync, statSync } from "node:fs";
import { resolve, sep } from "node:path";
import { canonicalSha256 } from "counterfoil/core";
import { usageError } from "../output.mjs";

/** A backslash before the digest says that the name is written with escapes. */
const LISTED = /^(\\?)([0-9a-f]{64}) [ *](.+)$/i;
const ESCAPED = { "\\\\": "\\", "\\n": "\n", "\\r": "\r" };
const UNREADABLE = "unreadable";

/**
 * `find(names, unless)` gives what the core takes as `found`; a name that a line says must be there, of a list of names the first that is. `unless`: the
 * digest of the answer with which that of its canonical text is of no use, null where it never is.
 */
export function answersIn(place) {
  return statSync(place).isDirectory() ? folder(place) : list(place);
}

function list(place) {
  const digests = new Map();
  for (const line of readFileSync(place, "utf8").split(/\r?\n/)) {
    const [, escaped, digest, written] = LISTED.exec(line) ?? [];
    const name = escaped ? written.replace(/\\[\\nr]/g, (pair) => ESCAPED[pair]) : written;
    if (digest) digests.set(name.replace(/^\.\//, ""), digest);
    else if (line) throw usageError("--responses wants a folder, or a list as sha256sum writes it");
  }
  return (names) => {
    const digest = [names ?? []].flat().map((name) => digests.get(name.replace(/^\.\//, ""))).find((found) => found !== undefined);
    return digest ? { sha256: `0x${digest.toLowerCase()}` } : missing(names);
  };
}

function folder(place) {
  const root = realpathSync(place);
  const buffer = Buffer.alloc(1 << 20);
  return (names, unless) => {
    for (const name of [names ?? []].flat()) {
      const found = hashed(root, name, buffer, unless);
      if (found) return found;
    }
    return missing(names);
  };
}

/** Some receipts hold the digest of the JSON's canonical text; false where it is no JSON. */
function canonicalOf(bytes) {
  try {
    return canonicalSha256(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return false;
  }
}

function missing(names) {
  return typeof names === "string" ? UNREADABLE : null;
}

/** The digest of one file below the folder; undefined where there is none. A line must not reach anything else on this machine. */
function hashed(root, name, buffer, unless) {
  let file;
  try {
    if (name.includes("\0")) return undefined;
    const path = realpathSync.native(resolve(root, name));
    if (!path.startsWith(root.endsWith(sep) ? root : root + sep)) return UNREADABLE;
    // A pipe would wait for ever.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(file).isFile()) return UNREADABLE;
    const hash = createHash("sha256");
    let length = 0;
    for (let read; ; length += read) {
      // The first megabyte stays there as a whole. A read may be short before the end.
      const at = length < buffer.length ? length : 0;
      read = readSync(file, buffer, at, buffer.length - at, null);
      if (!read) break;
      hash.update(buffer.subarray(at, at + read));
    }
    const sha256 = `0x${hash.digest("hex")}`;
    const canonical = unless !== null && unless !== sha256 && length <= buffer.length ? canonicalOf(buffer.subarray(0, length)) : undefined;
    return { sha256, length, ...(canonical !== undefined && { canonical }) };
  } catch (error) {
    return ["ENOENT", "ENOTDIR", "ENAMETOOLONG"].includes(error.code) ? undefined : UNREADABLE;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
