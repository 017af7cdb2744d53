// A million receipts, one in a hundred of them bad: every fault is named with its line, nothing else is, and the memory stays within bounds.
// COUNTERFOIL_ALL=1 node --test tests/js/audit-million.test.mjs    `COUNTERFOIL_LINES` asks for another number of them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { generate } from "../audit/generate.mjs";
import { peakOf, TELLS_PEAK } from "../audit/peak.mjs";
import { assertLines, assertPairs, told } from "../audit/told.mjs";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const COUNT = Number(process.env.COUNTERFOIL_LINES || 1_000_000);

test(`of ${COUNT} lines every planted fault is named, within 400 MB`, { skip: !process.env.COUNTERFOIL_ALL, timeout: 4 * 3_600_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-audit-million-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const expected = await generate(folder, COUNT);
  writeFileSync(join(folder, "trust.json"), JSON.stringify({ evidence: true }));
  const started = performance.now();
  const args = [...TELLS_PEAK, join(home, "src/cli/main.mjs"), "audit", "lines.jsonl"];
  const child = spawn(process.execPath, [...args, "--responses", "responses", "--trust", "trust.json", "--format", "jsonl", "--out", "told.jsonl", "--jobs", "2"], {
    cwd: folder, stdio: ["ignore", "ignore", "pipe"],
  });
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (err = (err + text).slice(-4096)));
  const [status] = await once(child, "close");
  assert.equal(status, 1, err);
  const megabytes = peakOf(err);
  const seconds = (performance.now() - started) / 1000;
  console.log(`${COUNT} lines, ${expected.lines.length} bad ones, ${expected.across.length} pairs: ${Math.round(COUNT / seconds)} lines a second, ${Math.round(megabytes)} MB at most`);
  const all = await told(join(folder, "told.jsonl"));
  assertLines(all, expected);
  assertPairs(all, expected);
  assert.ok(megabytes < 400, `${megabytes} MB`);
});
