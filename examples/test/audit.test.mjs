// The audit examples, on lines of which some are bad: every planted one shows in their tables. DuckDB always; Spark with --all, where Python and Java are there.

import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { generate } from "../../tests/audit/generate.mjs";
import { target } from "../../xtask/packed.mjs";
import { ask } from "../audit/duckdb.mjs";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const command = join(home, "src/cli/main.mjs");
const folder = mkdtempSync(join(tmpdir(), "counterfoil-audit-examples-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const at = (name) => join(folder, name);
const COUNT = 4000;
let expected;

before(async () => {
  expected = await generate(folder, COUNT, "examples");
  writeFileSync(at("trust.json"), JSON.stringify({ evidence: true }));
}, { timeout: 300_000 });

const planted = (what) => expected.across.filter((one) => one.what === what).map(({ lines }) => lines.map((line) => `order-${line}`));
const bad = (verdict) => expected.lines.filter((one) => one.verdict === verdict).length;

test("DuckDB", async () => {
  const verdicts = at("verdicts.jsonl");
  spawnSync(process.execPath, [command, "audit", at("lines.jsonl"), "--responses", at("responses"), "--trust", at("trust.json"), "--format", "jsonl", "--out", verdicts, "--quiet"]);
  const { standing, failures, claimed, charged } = await ask(verdicts);
  const lines = (verdict) => standing.filter((row) => row.verdict === verdict).reduce((sum, row) => sum + Number(row.lines), 0);
  assert.deepEqual(["verified", "failed", "incomplete", "error"].map(lines), [COUNT - expected.lines.length, bad("failed"), bad("incomplete"), bad("error")]);
  assert.ok(failures.some(({ code, first }) => code === "delivery.hash" && first.startsWith("order-")));
  assert.deepEqual(claimed.map(({ ids }) => ids), planted("two receipts claim one transaction"));
  assert.deepEqual(charged.map(({ ids }) => ids.join()).sort(), [...planted("one intent was paid twice"), ...planted("one intent of two payers")].map((ids) => ids.join()).sort());
});

test("Spark", { skip: !process.env.COUNTERFOIL_ALL && "only with --all: it installs Spark" }, async (context) => {
  const python = join(target, "spark/bin/python");
  try {
    execFileSync("java", ["-version"], { stdio: "ignore" });
    if (!existsSync(python)) execFileSync("python3", ["-m", "venv", join(target, "spark")]);
    if (spawnSync(python, ["-c", "import pyspark"]).status) execFileSync(python, ["-m", "pip", "install", "--quiet", "pyspark==4.3.0"], { stdio: "inherit" });
  } catch {
    return context.skip("Spark wants Java 17, Python, and pip to reach its registry");
  }
  // Answers are where the workers are: those that stand in the lines.
  const worker = `${process.execPath} ${command} audit --worker --trust ${at("trust.json")}`;
  const settings = ["spark.master=local[2]", "spark.ui.enabled=false", "spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.driver.memory=1g"];
  const submit = settings.map((one) => `--conf ${one}`).join(" ");
  const { stdout } = await promisify(execFile)(python, [fileURLToPath(new URL("../audit/spark.py", import.meta.url)), at("lines.jsonl"), at("parquet"), worker], {
    env: { ...process.env, SPARK_LOCAL_IP: "127.0.0.1", PYSPARK_PYTHON: python, PYSPARK_SUBMIT_ARGS: `${submit} pyspark-shell` },
    timeout: 400_000,
  });
  assert.match(stdout, new RegExp(`^error ${bad("error")}$`, "m"));
  const claimed = stdout.split("\n").filter((line) => line.startsWith("claimed twice "));
  assert.deepEqual(claimed.sort(), planted("two receipts claim one transaction").map((ids) => `claimed twice ${[...ids].sort().join(" ")}`).sort());
});
