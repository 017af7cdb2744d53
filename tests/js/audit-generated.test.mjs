// A set that other implementations made, of which one line in a hundred is bad: every fault is named with its line, and nothing else is; however the set is
// parted, and by however many threads.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { auditSummary, auditVerdicts } from "counterfoil/verify";
import { generate } from "../audit/generate.mjs";
import { assertLines, assertPairs, told } from "../audit/told.mjs";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const command = join(home, "src/cli/main.mjs");
const COUNT = 20_000;

const folder = mkdtempSync(join(tmpdir(), "counterfoil-audit-generated-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const at = (name) => join(folder, name);
let expected;
let whole;

function run(...args) {
  return new Promise((done) => {
    execFile(process.execPath, [command, "audit", ...args, "--quiet"], { maxBuffer: 1 << 30, cwd: folder }, (error, out, err) => done({ status: error ? error.code : 0, out, err }));
  });
}

before(async () => {
  expected = await generate(folder, COUNT);
  writeFileSync(at("trust.json"), JSON.stringify({ evidence: true }));
  whole = await run("lines.jsonl", "--responses", "responses", "--trust", "trust.json", "--format", "jsonl", "--jobs", "2");
  writeFileSync(at("whole.jsonl"), whole.out);
}, { timeout: 600_000 });

test("every planted fault is named with its line, and no other line is", async () => {
  assert.equal(whole.status, 1, whole.err);
  assertLines(await told(at("whole.jsonl")), expected);
});

test("every planted pair is found, and nothing else is", async () => {
  assertPairs(await told(at("whole.jsonl")), expected);
});

test("the order of what comes out does not depend on the number of threads", async () => {
  const alone = await run("lines.jsonl", "--responses", "responses", "--trust", "trust.json", "--format", "jsonl", "--jobs", "1");
  assert.equal(alone.out === whole.out, true);
});

test("merged, the parts say what the whole says, byte for byte, in any order and of any parts", async () => {
  const parts = ["1/3", "2/3", "3/3"];
  const outs = await Promise.all(parts.map((part) => run("lines.jsonl", "--responses", "responses", "--trust", "trust.json", "--format", "jsonl", "--jobs", "1", "--part", part)));
  outs.forEach(({ out }, place) => writeFileSync(at(`part-${place}.jsonl`), out));
  // Any line to any part, from a list of numbers that has nothing to do with them.
  const lines = whole.out.trimEnd().split("\n");
  const piles = [[], [], [], []];
  lines.forEach((line, place) => piles[line.startsWith('{"v":1') ? (place * place) % 7 % 4 : 0].push(line));
  const closing = JSON.parse(piles[0].pop());
  piles.reverse().forEach((pile, place) => {
    const verdicts = pile.filter((line) => line.startsWith('{"v":1'));
    const summary = verdicts.length ? auditVerdicts(Buffer.from(verdicts.join("\n"))).summary : auditSummary([]);
    const last = JSON.stringify({ ...closing, summary: { ...summary, inputs: closing.summary.inputs }, part: `${place + 1}/4` });
    writeFileSync(at(`pile-${place}.jsonl`), [...pile, last].map((line) => `${line}\n`).join(""));
  });
  const tail = (out) => out.split("\n").filter((line) => !line.startsWith('{"v":1')).join("\n");
  for (const names of [["part-0.jsonl", "part-1.jsonl", "part-2.jsonl"], ["pile-0.jsonl", "pile-1.jsonl", "pile-2.jsonl", "pile-3.jsonl"]]) {
    const merged = await run("--merge", ...names, "--format", "jsonl");
    assert.equal(merged.status, 1, merged.err);
    assert.equal(tail(merged.out), tail(whole.out), names[0]);
  }
});
