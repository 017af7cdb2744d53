// Lines in a file that were written in this run or an earlier one: verdicts, findings. A caller's folder keeps them, to go on from after an
// interruption; any other is removed at the end.

import { closeSync, existsSync, fsyncSync, mkdirSync, mkdtempSync, openSync, readFileSync, readSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { usageError } from "../output.mjs";
import { writeAll } from "./joins.mjs";

const PROGRESS = "progress.json";
const VERDICTS = "verdicts.jsonl";
const DAMAGED = "--resume names a state that is damaged; name another folder, or remove this one";
const PIECE = 1 << 20;

/** Lines of plain ASCII in one file. */
export class Lines {
  #file;
  /** Bytes that stand there. */
  size;

  /** Of a file that is there already, the first `size` bytes count: what stands behind them is written over and never read. */
  constructor(path, size = 0) {
    this.#file = openSync(path, size ? "r+" : "w+", 0o600);
    this.size = size;
  }

  /** Adds lines; gives where they begin. */
  append(bytes) {
    const at = this.size;
    writeAll(this.#file, bytes, at);
    this.size += bytes.length;
    return at;
  }

  read(at, length) {
    const bytes = Buffer.allocUnsafe(length);
    for (let got = 0; got < length; ) {
      const read = readSync(this.#file, bytes, got, length - got, at + got);
      if (!read) throw new Error("a file of lines is shorter than it was");
      got += read;
    }
    return bytes.latin1Slice();
  }

  /** Pieces of whole lines, each in the place of the one before. */
  *pieces() {
    let buffer = Buffer.allocUnsafe(PIECE);
    for (let at = 0; at < this.size; ) {
      const read = readSync(this.#file, buffer, 0, Math.min(buffer.length, this.size - at), at);
      const end = buffer.subarray(0, read).lastIndexOf(10) + 1;
      if (end) yield buffer.subarray(0, end);
      else buffer = Buffer.allocUnsafe(2 * buffer.length);
      at += end;
    }
  }

  /** What the lines hold; only those of which the text fits, where that is asked. */
  *values(fits) {
    for (const piece of this.pieces()) {
      for (const line of piece.latin1Slice(0, piece.length - 1).split("\n")) if (!fits || fits.test(line)) yield JSON.parse(line);
    }
  }

  sync() {
    fsyncSync(this.#file);
  }

  close() {
    closeSync(this.#file);
  }
}

/** The verdicts of one audit. */
export class Spool extends Lines {
  #kept;
  #about;

  /** `about` says what is audited and how: a state that says otherwise is of another audit. */
  constructor(state, about) {
    const folder = state ?? mkdtempSync(join(tmpdir(), "counterfoil-audit-"));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const done = state === undefined ? undefined : earlier(folder, about);
    // What was written after it was noted may be torn.
    super(join(folder, VERDICTS), done?.size);
    this.folder = folder;
    this.done = done;
    this.#kept = state !== undefined;
    this.#about = about;
  }

  /** Notes that everything up to here is done; `done` is what else is known. */
  note(done) {
    if (!this.#kept) return;
    this.sync();
    const path = join(this.folder, PROGRESS);
    writeFileSync(`${path}.new`, JSON.stringify({ about: this.#about, size: this.size, ...done }), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }

  close() {
    super.close();
    if (!this.#kept) rmSync(this.folder, { recursive: true, force: true });
  }
}

function earlier(folder, about) {
  const path = join(folder, PROGRESS);
  if (!existsSync(path)) return undefined;
  const { about: before, ...done } = noted(path);
  if (before !== about) throw usageError("--resume names the state of another audit, or its inputs have changed; name another folder, or remove this one");
  const written = statSync(join(folder, VERDICTS), { throwIfNoEntry: false })?.size ?? 0;
  if (!(written >= done.size)) throw usageError(DAMAGED);
  return done;
}

function noted(path) {
  try {
    const { about, size, parcels, inputs, now } = JSON.parse(readFileSync(path, "utf8"));
    if (typeof about === "string" && [size, parcels].every(Number.isSafeInteger) && Array.isArray(inputs)) return { about, size, parcels, inputs, now };
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  throw usageError(DAMAGED);
}
