// What somebody changed in a journal or a bundle is named for what it is, by the call and on the command line; the page's test opens the same ones.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { lineage, verifyLineage } from "counterfoil";
import { FAULTS } from "./faults.mjs";

const command = join(dirname(createRequire(import.meta.url).resolve("counterfoil/package.json")), "src/cli/main.mjs");

const run = (file) => new Promise((done) => {
  execFile(process.execPath, [command, "lineage", file], { env: { ...process.env, NO_COLOR: "1" } }, (error, out) => done({ status: error ? error.code : 0, out: out.replace(/\s+/g, " ") }));
});

for (const [name, [text, words]] of Object.entries(FAULTS)) {
  test(`${name}: ${words ? "named as such" : "nothing is wrong"}`, async (t) => {
    const report = verifyLineage(text);
    const failed = report.checks.filter(({ state }) => state === "fail").map(({ why }) => why);
    assert.equal(report.verdict, words ? "failed" : "verified");
    assert.deepEqual(lineage([text], { reports: true }).reports, [report], "told with the view it is another report");
    const folder = mkdtempSync(join(tmpdir(), "counterfoil-faults-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "agent.jsonl");
    writeFileSync(file, text);
    const { status, out } = await run(file);
    if (!words) {
      assert.deepEqual(failed, []);
      assert.doesNotMatch(out, /Do not rely on/);
      return;
    }
    assert.match(failed.join("\n"), words);
    assert.equal(status, 1);
    assert.match(out, /Do not rely on/);
    assert.match(out, words);
  });
}

test("several at once: each is judged by what stands in it alone", () => {
  const names = Object.keys(FAULTS);
  const { reports } = lineage(names.map((name) => FAULTS[name][0]), { nodes: false, reports: true });
  assert.deepEqual(reports, names.map((name) => verifyLineage(FAULTS[name][0])));
  assert.equal(lineage([FAULTS.whole[0]]).reports, undefined);
});
