// The report of an audit as a page: `counterfoil audit --report`, opened from a disk.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { assertAccessible, launch, watch } from "./browser.mjs";

const require = createRequire(import.meta.url);
const command = join(dirname(require.resolve("counterfoil/package.json")), "src/cli/main.mjs");
const { version } = require("counterfoil/package.json");
const folder = mkdtempSync(join(tmpdir(), "counterfoil-page-audit-"));
const sha = (text) => createHash("sha256").update(text).digest("hex");
const HOSTILE = "\u202egnp.exe\u200b\u2028</script><script>globalThis.ran = true</script><!-- <script><img src=x onerror=globalThis.ran=true>";

let browser;
before(async () => { browser = await launch(); });
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

function audit(...args) {
  return new Promise((done) => {
    execFile(process.execPath, [command, "audit", ...args, "--quiet"], { cwd: folder, maxBuffer: 1 << 28 }, (error, out, err) => done({ status: error ? error.code : 0, out, err }));
  });
}

/** Opens a report from the disk; `requests` are all that it makes. */
async function open(name, options = {}) {
  const page = await (await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options })).newPage();
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  const trouble = watch(page);
  const { href } = pathToFileURL(join(folder, name));
  await page.goto(href);
  await page.locator("cf-audit .word").waitFor();
  return { page, requests, trouble, href };
}

const seller = (body, more) => ({ network: "eip155:8453", asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", amount: "1500000", responseSha256: sha(body), transaction: `0x${sha(`transaction of ${body}`)}`, ...more });

test("what was found is told, from one file that asks nobody for anything", async () => {
  const many = Array.from({ length: 150 }, (_, place) => ({ id: `late-${place}`, receipt: seller(`late ${place}`), response: { text: "other" } }));
  const lines = [seller("a"), { id: HOSTILE, receipt: seller("b", { resource: `https://a.example/${HOSTILE}` }), response: { text: "not b" } }, seller("c"), { receipt: seller("d", { transaction: seller("c").transaction }) }, "{ torn", ...many];
  writeFileSync(join(folder, "day.jsonl"), lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  const { status, out } = await audit("day.jsonl", "--report", "report.html", "--format", "json");
  assert.equal(status, 1);
  const { summary } = JSON.parse(out);
  const { page, requests, trouble, href } = await open("report.html");
  const text = async (selector) => (await page.locator(selector).first().innerText()).trim();
  assert.equal(await text("cf-audit .word"), "Faults found");
  assert.match(await text("cf-audit .sentence"), /^155 lines\. 152 lines failed or can't be judged\. 1 alert across lines\. 3 lines undecided\.$/);
  const row = (table, name) => page.getByRole("table", { name: table }).getByRole("row").filter({ has: page.getByRole("rowheader", { name }) });
  assert.match(await row("Lines and amounts by verdict", /^Failed/).innerText(), /151[\s\S]*226500000 atomic units of 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913 on Base, eip155:8453, 151 lines/);
  assert.match(await row("Lines and amounts by verdict", /^Verified/).innerText(), /0\s+none stated/);
  assert.match(await row("Lines and amounts by code", "json_invalid").innerText(), /1/);
  const failures = page.getByRole("table", { name: "Failures" });
  const [first, second] = [failures.getByRole("row").nth(1), failures.getByRole("row").nth(2)];
  assert.match(await first.innerText(), /Failed[\s\S]*day\.jsonl, line 2[\s\S]*delivery\.hash/);
  assert.ok((await first.innerText()).includes("\\u{202e}gnp.exe\\u{200b}\\u{2028}"), "what is not seen shows itself");
  assert.match(await second.innerText(), /Unusable[\s\S]*line 5[\s\S]*json_invalid/);
  assert.match(await page.getByRole("table", { name: "Findings across lines" }).innerText(), /transaction_claimed_twice[\s\S]*line 3[\s\S]*line 4/);
  assert.match(await page.getByRole("table", { name: "Inputs" }).innerText(), new RegExp(`day\\.jsonl\\s+${summary.inputs[0].sha256}\\s+[\\d,]+ bytes, 155 lines`));
  assert.ok((await page.locator("cf-audit dl").innerText()).includes(`counterfoil ${version}`));
  // The first hundred, and the others on demand.
  assert.equal(await failures.getByRole("row").count(), 101);
  await page.getByRole("button", { name: "Show more" }).click();
  assert.equal(await failures.getByRole("row").count(), 153);
  assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
  assert.ok(await page.locator("cf-audit section").evaluateAll((all) => all.every((one) => one.scrollHeight <= one.clientHeight + 1)), "no section cuts off what it holds");
  assert.deepEqual(await page.evaluate(() => [globalThis.ran, document.images.length]), [undefined, 0]);
  assert.deepEqual(requests, [href]);
  assert.deepEqual(trouble, []);
  assert.doesNotMatch(/id="embedded">([^<]*)/.exec(readFileSync(join(folder, "report.html"), "utf8"))[1], /</);
});

test("nothing at fault, and not all audited, have words of their own", async () => {
  writeFileSync(join(folder, "undecided.jsonl"), JSON.stringify(seller("u")));
  await audit("undecided.jsonl", "--report", "undecided.html");
  const undecided = await open("undecided.html");
  assert.equal(await undecided.page.locator("cf-audit .word").innerText(), "Not all decided");
  writeFileSync(join(folder, "large.jsonl"), Array.from({ length: 6000 }, (_, place) => JSON.stringify({ receipt: seller(`${place}`), response: { text: "x" } })).join("\n"));
  await audit("large.jsonl", "--report", "stopped.html", "--max-failures", "1", "--jobs", "1");
  const stopped = await open("stopped.html");
  assert.match(await stopped.page.locator("cf-audit .sentence").innerText(), /This is not all: as many failures as --max-failures says\.$/);
  assert.equal((await audit("undecided.jsonl", "--report", "no/such/folder.html")).status, 2);
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in ${colorScheme}, at 1,200 and at 320 pixels`, async () => {
    for (const width of [1200, 320]) {
      const { page, trouble } = await open("report.html", { colorScheme, viewport: { width, height: 800 }, reducedMotion: "reduce" });
      await assertAccessible(page, trouble, width);
      await page.context().close();
    }
  });
}
