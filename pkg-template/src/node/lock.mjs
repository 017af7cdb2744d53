// A lock file against a second process. It names its owner by process id, start time and boot, so that an owner that died
// is told from one that lives, even when its process id was given to somebody else.
//
// Taking over must leave exactly one owner however many try. Nobody ever replaces a lock on the strength of what was
// read a moment ago: a successor *links* its record to the name `<lock>.after-<token of the dead owner>`, which
// can succeed once only, and the owner is whoever stands at the end of the chain that starts at `<lock>`. The owner
// then puts its own record at the start and removes what is behind it. Whoever linked to a chain that had moved on in
// between finds that out by walking it once more.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { link, readFile, rename, stat, unlink, writeFile } from "node:fs/promises";
import { CounterfoilError } from "../errors.mjs";

/** Takes the lock or throws `journal_locked`. */
export async function lock(path) {
  const record = { v: 1, pid: process.pid, start: startOf(process.pid), boot: bootId(), token: randomUUID() };
  const draft = `${path}.${record.token}`;
  await writeFile(draft, `${JSON.stringify(record)}\n`, { mode: 0o600, flag: "wx" });
  try {
    await claim(path, draft, record.token);
  } finally {
    await gone(draft);
  }
  return {
    /** False once somebody else stands in the lock file. */
    held: async () => (await owner(path))?.token === record.token,
    async release() {
      if ((await owner(path))?.token === record.token) await gone(path);
    },
  };
}

async function claim(path, draft, token) {
  for (;;) {
    const { end, last } = await walk(path);
    if (last?.token === token) return settle(path, draft, end);
    if (last && alive(last)) throw new CounterfoilError("journal_locked");
    try {
      await link(draft, end);
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      continue; // another was first: look who it is
    }
    const again = await walk(path);
    if (again.last?.token === token) return settle(path, draft, again.at);
    await gone(end);
  }
}

/** Puts the owner's record at the start of the chain. */
async function settle(path, draft, at) {
  if (at === path) return;
  try {
    await rename(draft, path);
  } finally {
    await gone(at);
  }
}

/** The chain's last record, the name it stands under, and the name its successor would take. */
async function walk(path) {
  let at = path;
  let last;
  for (let end = path; ; end = `${path}.after-${last.token}`) {
    const record = await owner(end);
    if (!record) return { last, at, end };
    [last, at] = [record, end];
  }
}

async function owner(path) {
  try {
    const text = await readFile(path, "utf8");
    try {
      const record = JSON.parse(text);
      if (typeof record?.token === "string" && Number.isSafeInteger(record.pid)) return record;
    } catch {}
    // A record is whole before it gets its name; only a loss of power leaves another, and no owner outlives that.
    return { token: `inode-${(await stat(path)).ino}`, pid: 0 };
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function alive({ pid, start, boot }) {
  if (pid <= 0 || boot !== bootId()) return false;
  const now = startOf(pid);
  if (now !== null) return now !== undefined && now === start;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Start time of a process in clock ticks since the boot; undefined when there is none, null where it can't be told. */
function startOf(pid) {
  let line;
  try {
    line = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return process.platform === "linux" ? undefined : null;
  }
  // The second field is the program's name in brackets and may hold anything, also blanks and brackets.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
}

function bootId() {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return null;
  }
}

async function gone(path) {
  await unlink(path).catch((error) => {
    if (error.code !== "ENOENT") throw error;
  });
}
