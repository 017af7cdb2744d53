// The journal in a file: the promises of every store, and what processes, disks and crashes do to it.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { fileJournal, memoryJournal } from "counterfoil/node";
import { all, journalSuite, put, textOf } from "./journal-suite.mjs";

const home = mkdtempSync(join(tmpdir(), "counterfoil-journal-"));
const mounted = [];
after(() => {
  for (const folder of mounted) execFileSync("umount", [folder]);
  rmSync(home, { recursive: true, force: true });
});
let places = 0;
const place = () => join(home, `place-${++places}`, "journal.jsonl");
const root = process.getuid?.() === 0;
const linux = process.platform === "linux";

journalSuite("memory", () => memoryJournal());
journalSuite("file", () => fileJournal(place()));

/** A process that opens a journal, tells what happened, and then holds it until its input ends. */
const worker = fileURLToPath(new URL("./journal-worker.mjs", import.meta.url));
async function hold(path, ...args) {
  const child = spawn(process.execPath, [worker, path, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const [said] = await once(child.stdout, "data");
  return { child, said: String(said).trim() };
}

async function filled(path, ...texts) {
  const store = fileJournal(path);
  for (const [i, text] of texts.entries()) await store.commit([put(`k${i}`, text)]);
  await store.close();
}

async function contents(path) {
  const store = fileJournal(path);
  try {
    return await all(store);
  } finally {
    await store.close();
  }
}

test("the file and its folder are the owner's alone, and a commit is one line", { skip: !linux }, async () => {
  const path = place();
  await filled(path, '{"a":1}', '{"b":2}');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(path, "..")).mode & 0o777, 0o700);
  const lines = readFileSync(path, "utf8").split("\n");
  assert.equal(lines.length, 3);
  assert.equal(lines[2], "");
  assert.deepEqual(JSON.parse(lines[0]).ops, [{ key: "k0", put: { a: 1 } }]);
  assert.deepEqual(readdirSync(join(path, "..")), ["journal.jsonl"]);
});

test("a folder gets a journal.jsonl; the path may stand in an object", async () => {
  const folder = join(home, "a folder");
  mkdirSync(folder);
  await filled({ path: folder }, "x");
  assert.ok(existsSync(join(folder, "journal.jsonl")));
  for (const wrong of [undefined, "", {}, { path: 1 }]) assert.throws(() => fileJournal(wrong), { code: "invalid_type", field: "path" });
});

test("what was committed is there after reopening, with its revision", async () => {
  const path = place();
  const store = fileJournal(path);
  await store.commit([put("a", "1"), put("gone", "1")]);
  await store.commit([put("a", "2", 1), { key: "gone", expect: 1, put: null }]);
  const before = await store.read("a");
  await store.close();
  const again = fileJournal(path);
  assert.deepEqual(await again.read("a"), before);
  assert.equal(await again.read("gone"), undefined);
  assert.deepEqual(await again.commit([put("a", "3", before.rev)]), { ok: true });
  await again.close();
  assert.deepEqual(await contents(path), [["a", "3"]]);
});

test("commits that wait for one sync are all durable, in their order", async () => {
  const path = place();
  const store = fileJournal(path);
  const done = await Promise.all(Array.from({ length: 200 }, (_, i) => store.commit([put(`k${String(i).padStart(3, "0")}`, String(i))])));
  assert.ok(done.every(({ ok }) => ok));
  assert.equal(readFileSync(path, "utf8").split("\n").length, 201);
  await store.close();
  assert.equal((await contents(path)).length, 200);
});

test("a torn tail is cut at every byte and nothing before it is lost", async () => {
  const path = place();
  await filled(path, "first", "second");
  const whole = readFileSync(path);
  const [first] = [whole.indexOf("\n") + 1];
  for (let length = first; length < whole.length; length += 7) {
    writeFileSync(path, whole.subarray(0, length));
    assert.deepEqual(await contents(path), [["k0", "first"]], `cut at ${length}`);
    assert.equal(statSync(path).size, first);
  }
  // The same answer on every opening, and the next line does not stick to the torn one.
  writeFileSync(path, whole.subarray(0, whole.length - 9));
  await filled(path);
  const store = fileJournal(path);
  await store.commit([put("k1", "again")]);
  await store.close();
  assert.deepEqual(await contents(path), [["k0", "first"], ["k1", "again"]]);
});

test("a whole line that lacks its line feed counts, on every opening", async () => {
  const path = place();
  await filled(path, "first", "second");
  truncateSync(path, statSync(path).size - 1);
  const expected = [["k0", "first"], ["k1", "second"]];
  assert.deepEqual(await contents(path), expected);
  assert.deepEqual(await contents(path), expected);
  assert.equal(readFileSync(path, "utf8").at(-1), "\n");
});

test("damage inside the file is refused at its byte and left as it is", async () => {
  const path = place();
  await filled(path, "first", "second", "third");
  const whole = readFileSync(path, "utf8");
  const lines = whole.split("\n");
  const [second] = [lines[0].length + 1];
  const cases = {
    "a changed byte": [lines[0], lines[1].replace("second", "zecond"), lines[2], ""],
    "a line left out": [lines[0], lines[2], ""],
    "a line twice": [lines[0], lines[0], lines[1], ""],
    "an empty line": [lines[0], "", lines[1], ""],
    "text": [lines[0], "failed", lines[1], ""],
  };
  for (const [title, changed] of Object.entries(cases)) {
    const text = changed.join("\n");
    writeFileSync(path, text);
    const store = fileJournal(path);
    await assert.rejects(store.read("k0"), { name: "CounterfoilError", code: "journal_corrupt", field: `byte ${second}`, money: "possible" }, title);
    await store.close();
    assert.equal(readFileSync(path, "utf8"), text, title);
  }
  writeFileSync(path, whole);
  assert.equal((await contents(path)).length, 3);
});

test("one process, one store: the second is locked out until the first closes", async () => {
  const path = place();
  const first = fileJournal(path);
  await first.commit([put("a", "1")]);
  const second = fileJournal(path);
  await assert.rejects(second.read("a"), { name: "CounterfoilError", code: "journal_locked", next: "wait", money: "none" });
  await assert.rejects(second.commit([put("b", "1")]), { code: "journal_locked" });
  await first.close();
  assert.equal(textOf(await second.read("a")), "1"); // it tries again by itself
  await second.close();
});

test("a second process is locked out while the first lives", async () => {
  const path = place();
  const { child, said } = await hold(path);
  assert.equal(said, "open");
  const store = fileJournal(path);
  await assert.rejects(store.read("a"), { code: "journal_locked" });
  child.stdin.end();
  await once(child, "exit");
  assert.deepEqual(await all(store), [["held", "by worker"]]);
  await store.close();
});

test("the lock of a killed process is taken over, with what it committed", async () => {
  const path = place();
  const { child } = await hold(path);
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.ok(existsSync(`${path}.lock`));
  assert.deepEqual(await contents(path), [["held", "by worker"]]);
  assert.deepEqual(readdirSync(join(path, "..")), ["journal.jsonl"]);
});

test("a process id given to somebody else, another boot and a broken lock are no owner", { skip: !linux }, async () => {
  const path = place();
  await filled(path, "x");
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const stat = readFileSync(`/proc/${process.pid}/stat`, "utf8");
  const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  const mine = { v: 1, pid: process.pid, start, boot, token: "t" };
  const lockedOut = [mine, { ...mine, pid: 1, start: startOf(1) }];
  const takenOver = [{ ...mine, start: String(Number(start) + 1) }, { ...mine, boot: "0" }, { ...mine, pid: 0 }, { ...mine, pid: 2 ** 30 }];
  for (const record of lockedOut) {
    writeFileSync(`${path}.lock`, JSON.stringify(record));
    await assert.rejects(fileJournal(path).read("k0"), { code: "journal_locked" }, JSON.stringify(record));
  }
  for (const text of [...takenOver.map((record) => JSON.stringify(record)), "", "{", "\0\0\0\0", "[]"]) {
    writeFileSync(`${path}.lock`, text);
    assert.deepEqual(await contents(path), [["k0", "x"]], text);
  }
});

function startOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

test("of many that take over a dead owner's lock exactly one gets it", async () => {
  for (let round = 0; round < (process.env.COUNTERFOIL_ALL ? 30 : 4); round++) {
    const path = place();
    const dead = await hold(path);
    dead.child.kill("SIGKILL");
    await once(dead.child, "exit");
    const go = join(home, `go-${round}`);
    const takers = await Promise.all(Array.from({ length: 6 }, () => hold(path, go)));
    const answers = takers.map(({ child }) => once(child.stdout, "data").then(([said]) => String(said).trim()));
    writeFileSync(go, "");
    const said = await Promise.all(answers);
    assert.deepEqual(said.sort(), ["journal_locked", "journal_locked", "journal_locked", "journal_locked", "journal_locked", "open"]);
    for (const { child } of takers) child.stdin.end();
    await Promise.all(takers.map(({ child }) => child.exitCode === null && once(child, "exit")));
    assert.deepEqual(readdirSync(join(path, "..")), ["journal.jsonl"]);
  }
});

test("a writer that lost its lock, or whose file somebody else wrote, writes nothing", async () => {
  const path = place();
  const store = fileJournal(path);
  await store.commit([put("a", "1")]);
  const before = readFileSync(path);
  writeFileSync(`${path}.lock`, JSON.stringify({ v: 1, pid: process.pid, start: "0", boot: "0", token: "another" }));
  await assert.rejects(store.commit([put("b", "1")]), { code: "journal_locked" });
  await assert.rejects(store.commit([put("c", "1")]), { code: "journal_locked" }); // and stays so
  await assert.rejects(store.read("b"), { code: "journal_locked" });
  assert.deepEqual(readFileSync(path), before);
  await store.close();
  assert.ok(existsSync(`${path}.lock`)); // not ours to remove

  const other = fileJournal(path);
  await other.read("a");
  appendFileSync(path, "{}\n");
  await assert.rejects(other.commit([put("b", "1")]), { code: "journal_locked" });
  await other.close();
  assert.equal(statSync(path).size, before.length + 3);
});

test("a folder that can't be written is journal_unavailable", { skip: root && !linux }, async () => {
  const folder = join(home, "read only");
  mkdirSync(folder);
  chmodSync(folder, 0o500);
  // Root may write anywhere: for this one test the process is nobody.
  if (root) chmodSync(home, 0o755);
  if (root) process.seteuid(65534);
  try {
    await assert.rejects(fileJournal(join(folder, "journal.jsonl")).read("a"), { name: "CounterfoilError", code: "journal_unavailable", money: "none" });
  } finally {
    if (root) process.seteuid(0);
  }
  assert.deepEqual(readdirSync(folder), []);
  await assert.rejects(fileJournal(join(worker, "below a file")).read("a"), { code: "journal_unavailable" });
});

/** A file system of 128 KiB, or why there is none. */
function smallDisk() {
  if (!root || !linux) return { skip: "mounting a small file system needs root on Linux" };
  const folder = join(home, "small disk");
  mkdirSync(folder);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=128k", "tmpfs", folder], { stdio: "pipe" });
  } catch (error) {
    return { skip: `no file system can be mounted here: ${String(error.stderr).trim()}` };
  }
  mounted.push(folder);
  return { folder };
}
const disk = smallDisk();

test("a full disk: nothing is acknowledged, everything acknowledged stays, and reopening works", { skip: disk.skip }, async () => {
  const path = join(disk.folder, "journal.jsonl");
  const store = fileJournal(path);
  const kept = [];
  const big = "x".repeat(9_000);
  let failure;
  for (let i = 0; i < 50 && !failure; i++) {
    try {
      await store.commit([put(`k${i}`, big)]);
      kept.push(`k${i}`);
    } catch (error) {
      failure = error;
    }
  }
  assert.deepEqual([failure?.name, failure?.code, failure?.money], ["CounterfoilError", "journal_unavailable", "none"]);
  assert.equal(failure.cause.code, "ENOSPC");
  assert.notEqual(kept.length, 0);
  // A small one would fit again; the store does not trust itself any more.
  await assert.rejects(store.commit([put("small", "1")]), { code: "journal_unavailable" });
  await assert.rejects(store.read("k0"), { code: "journal_unavailable" });
  await store.close();
  const again = fileJournal(path);
  assert.deepEqual((await all(again)).map(([key]) => key).sort(), kept.sort());
  assert.deepEqual(await again.commit([put("small", "1")]), { ok: true });
  await again.close();
});
