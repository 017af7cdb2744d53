// Which verdicts share a key. What does not fit a bucket in memory is added to that bucket's file; at the end one bucket after the other is grouped.
// So the memory it takes does not grow with the number of lines.

import { closeSync, openSync, readSync, writeSync, fstatSync } from "node:fs";
import { join } from "node:path";

const BUCKETS = 256;
/** A key's 16 bytes, where its verdict stands (low and high part) and how long that is, in words of 4 bytes. */
const WORDS = 7;
const IN_MEMORY = 2048;

export class Joins {
  #folder;
  #buckets = Array.from({ length: BUCKETS }, () => ({ rows: undefined, count: 0, file: undefined }));

  constructor(folder) {
    this.#folder = folder;
  }

  /** Adds the packed keys of some verdicts, of which `places` says where each begins, and last where they end. */
  add(keys, places) {
    const view = new DataView(keys.buffer, keys.byteOffset, keys.byteLength);
    for (let at = 0; at < keys.byteLength; at += 20) {
      const place = view.getUint32(at, true);
      const bucket = this.#buckets[keys[at + 5]];
      bucket.rows ??= new Uint32Array(IN_MEMORY * WORDS);
      if (bucket.count === IN_MEMORY) this.#spill(bucket, keys[at + 5]);
      const row = WORDS * bucket.count++;
      for (let word = 0; word < 4; word++) bucket.rows[row + word] = view.getUint32(at + 4 + 4 * word, true);
      bucket.rows[row + 4] = places[place] >>> 0;
      bucket.rows[row + 5] = places[place] / 2 ** 32;
      bucket.rows[row + 6] = places[place + 1] - places[place];
    }
  }

  #spill(bucket, number) {
    bucket.file ??= openSync(join(this.#folder, `keys-${number.toString(16).padStart(2, "0")}`), "w+", 0o600);
    writeAll(bucket.file, Buffer.from(bucket.rows.buffer, 0, 4 * WORDS * bucket.count));
    bucket.count = 0;
  }

  /** `{kind, count, members}` for each key of several verdicts, in the order of the keys; `members` gives `[at, length]` of each, in the order they were added. */
  *groups() {
    for (const bucket of this.#buckets) {
      if (bucket.rows) yield* grouped(this.#rows(bucket));
      bucket.rows = undefined;
    }
  }

  #rows({ file, rows, count }) {
    const kept = rows.subarray(0, WORDS * count);
    if (file === undefined) return kept;
    const written = fstatSync(file).size / 4;
    const all = new Uint32Array(written + kept.length);
    const bytes = Buffer.from(all.buffer, 0, 4 * written);
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(file, bytes, at, bytes.length - at, at);
      if (!read) throw new Error("a bucket of keys is shorter than it was");
      at += read;
    }
    all.set(kept, written);
    return all;
  }

  close() {
    for (const { file } of this.#buckets) if (file !== undefined) closeSync(file);
  }
}

/** Writes all the bytes, from `position` on or at the end. */
export function writeAll(file, bytes, position) {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, position === undefined ? null : position + at);
}

function* grouped(rows) {
  const count = rows.length / WORDS;
  const size = 2 ** Math.ceil(Math.log2(2 * count + 1));
  const [table, next, last, sizes] = [new Int32Array(size).fill(-1), new Int32Array(count).fill(-1), new Int32Array(count), new Uint32Array(count)];
  const same = (one, other) => rows[one] === rows[other] && rows[one + 1] === rows[other + 1] && rows[one + 2] === rows[other + 2] && rows[one + 3] === rows[other + 3];
  const several = [];
  for (let row = 0; row < count; row++) {
    // The first word holds the kind and the bucket's own number; the second is of the hash alone.
    let slot = rows[WORDS * row + 1] & (size - 1);
    while (table[slot] >= 0 && !same(WORDS * table[slot], WORDS * row)) slot = (slot + 1) & (size - 1);
    const first = table[slot];
    if (first < 0) {
      table[slot] = row;
      [last[row], sizes[row]] = [row, 1];
    } else {
      next[last[first]] = row;
      last[first] = row;
      if (++sizes[first] === 2) several.push(first);
    }
  }
  const order = (one, other) => {
    let word = 0;
    while (word < 3 && rows[WORDS * one + word] === rows[WORDS * other + word]) word++;
    return rows[WORDS * one + word] - rows[WORDS * other + word];
  };
  for (const first of several.sort(order)) {
    const members = function* () {
      for (let row = first; row >= 0; row = next[row]) yield [rows[WORDS * row + 4] + 2 ** 32 * rows[WORDS * row + 5], rows[WORDS * row + 6]];
    };
    yield { kind: rows[WORDS * first] & 255, count: sizes[first], members: members() };
  }
}
