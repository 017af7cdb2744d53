// The journal in one append-only file: one line a commit, framed, chained by hash and read back by the core. This side
// moves bytes, and a commit is over when they are on the disk.

import { mkdir, open as openFile, stat } from "node:fs/promises";
import { constants } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { call } from "../boundary.mjs";
import { CounterfoilError } from "../errors.mjs";
import { store } from "../journal.mjs";
import { lock } from "./lock.mjs";

/**
 * A journal in the file `path`; in `journal.jsonl` when `path` is a folder. Missing folders are made. Opened at first use.
 * @param {string | { path: string }} options
 */
export function fileJournal(options) {
  const path = typeof options === "string" ? options : options?.path;
  if (typeof path !== "string" || path === "") throw new CounterfoilError("invalid_type", { field: "path" });
  return store({ durability: "power-loss", open: () => unavailable(() => open(resolve(path))) });
}

async function open(given) {
  const path = (await isFolder(given)) ? join(given, "journal.jsonl") : given;
  await makeFolder(dirname(path));
  const held = await lock(`${path}.lock`);
  let file;
  try {
    file = await openFile(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600);
    await syncFolder(dirname(path));
    const { entries, head, torn, needsNewline } = call("journalOpen", {}, await file.readFile());
    if (torn) await file.truncate(head.length);
    if (needsNewline) await writeAll(file, Buffer.from("\n"));
    // Also what an earlier process wrote and did not live to sync is acted on from now.
    await file.sync();
    return medium(file, held, entries.map(stored), head);
  } catch (error) {
    await file?.close();
    await held.release();
    throw error;
  }
}

function medium(file, held, entries, start) {
  let head = start; // after everything appended
  let durable = start.length;
  let waiting = [];
  let draining;
  let failure;

  function append(ops) {
    if (failure) throw failure;
    const line = call("journalAppend", { head, ops: ops.map(crossing) });
    head = line.head;
    const synced = new Promise((resolve, reject) => waiting.push({ bytes: Buffer.from(line.line), resolve, reject }));
    draining ??= Promise.resolve().then(drain);
    return { rev: head.seq, durable: synced };
  }

  // Commits that arrive while a sync runs wait for the next one together.
  async function drain() {
    while (waiting.length > 0 && !failure) {
      const batch = waiting;
      waiting = [];
      try {
        await write(Buffer.concat(batch.map(({ bytes }) => bytes)));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        await fail(error, batch);
      }
    }
    draining = undefined;
  }

  async function write(bytes) {
    if (!(await held.held()) || (await file.stat()).size !== durable) throw new CounterfoilError("journal_locked");
    await writeAll(file, bytes);
    await file.datasync();
    durable += bytes.length;
  }

  /** Nothing more is taken: what of the failed lines is on the disk can be told only by opening again. */
  async function fail(cause, batch) {
    failure = cause instanceof CounterfoilError ? cause : new CounterfoilError("journal_unavailable", { cause });
    if (failure.code === "journal_unavailable") {
      await file.truncate(durable).then(() => file.sync()).catch(() => {});
    }
    for (const { reject } of [...batch, ...waiting]) reject(failure);
    waiting = [];
  }

  async function close() {
    await draining;
    await file.close();
    await held.release();
  }

  return { entries, append, close };
}

/** Text stays text in the file, so that a person can read it. */
function crossing({ key, put }) {
  if (put === null) return { key, delete: true };
  try {
    return { key, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(put) };
  } catch {
    return { key, base64: Buffer.from(put).toString("base64") };
  }
}

function stored({ key, rev, text, base64 }) {
  return [key, { rev, value: text === undefined ? new Uint8Array(Buffer.from(base64, "base64")) : new TextEncoder().encode(text) }];
}

async function writeAll(file, bytes) {
  for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
}

async function isFolder(path) {
  return stat(path).then((found) => found.isDirectory(), () => false);
}

async function makeFolder(folder) {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  // A new folder lasts once the folder it stands in is on the disk.
  for (let at = folder; first && at !== dirname(first); at = dirname(at)) await syncFolder(dirname(at));
}

async function syncFolder(folder) {
  if (process.platform === "win32") return; // folders can't be opened there
  const handle = await openFile(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** An error of the system as one of ours. */
async function unavailable(action) {
  try {
    return await action();
  } catch (cause) {
    if (cause instanceof CounterfoilError) throw cause;
    throw new CounterfoilError("journal_unavailable", { cause });
  }
}
