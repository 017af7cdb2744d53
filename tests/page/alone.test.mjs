// inspector.html, the page in one file: from a disk, with exactly one request, under its own policy, and with data in it.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { becomes, launch, verdict, watch } from "./browser.mjs";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const { dataBlock, inspectorPage } = await import(pathToFileURL(join(home, "src/cli/inspector.mjs")));
const inspector = readFileSync(join(home, "inspector.html"), "utf8");
const sample = (name) => readFileSync(new URL(`../../www/sample/${name}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "counterfoil-page-"));
const DOCUMENTS = [
  { name: "bundle.json", text: sample("bundle.json").toString() },
  { name: "evidence.json", text: sample("evidence.json").toString() },
  { name: "response.bin", base64: sample("response.bin").toString("base64") },
];

let browser;
before(async () => { browser = await launch(); });
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

let written = 0;

/** Opens a page from the disk; `requests` are all that it makes. */
async function open(html) {
  const path = join(folder, `${(written += 1)}.html`);
  writeFileSync(path, html);
  const page = await (await browser.newContext()).newPage();
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  const trouble = watch(page);
  await page.addInitScript(() => {
    globalThis.breaches = [];
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => globalThis.breaches.push(`${violatedDirective} ${blockedURI}`));
  });
  await page.goto(pathToFileURL(path).href);
  await page.locator("#open-receipt").waitFor({ state: "attached" });
  return { page, requests, trouble, url: pathToFileURL(path).href };
}

test("from a disk it makes exactly one request, its own, and checks the sample in it", async () => {
  const { page, requests, trouble, url } = await open(inspector);
  await page.getByRole("button", { name: "Open a sample" }).click();
  await page.locator('[data-slot="receipt"][data-full]').waitFor();
  await becomes(() => verdict(page), "Verified");
  assert.deepEqual(requests, [url]);
  assert.deepEqual(trouble, []);
  assert.deepEqual(await page.evaluate(() => globalThis.breaches), []);
});

test("its policy names its own scripts and nothing else, and lets it talk to nobody", async () => {
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(inspector)[1];
  for (const part of ["default-src 'none'", "connect-src 'none'", "worker-src blob:", "require-trusted-types-for 'script'"]) assert.ok(policy.includes(part), part);
  assert.match(policy, /script-src 'sha256-[A-Za-z0-9+/]{43}=' 'wasm-unsafe-eval';/);
  assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval'(?<!wasm-unsafe-eval')|https?:/);
  const { page, requests, url } = await open(inspector);
  const tried = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.text = "globalThis.ran = true";
    const settled = await Promise.allSettled([fetch("https://example.com/"), Promise.try?.(() => document.body.append(script)) ?? document.body.append(script)]);
    return [settled[0].status, globalThis.ran];
  }).catch((error) => error.message);
  assert.ok(/TrustedScript/.test(tried) || (tried[0] === "rejected" && tried[1] === undefined), String(tried));
  assert.deepEqual(requests, [url]);
});

test("what is embedded opens by itself", async () => {
  const { page, requests, trouble, url } = await open(await inspectorPage({ documents: DOCUMENTS }));
  await page.locator('[data-slot="receipt"][data-full]').waitFor();
  await becomes(() => verdict(page), "Verified");
  assert.deepEqual(requests, [url]);
  assert.deepEqual(trouble, []);
});

test("no text that is embedded can end its element, open another or run", async () => {
  const hostile = "</script><script>globalThis.ran = true</script><!--<script>\u2028</SCRIPT ><img src=x onerror=globalThis.ran=true>]]>";
  const text = JSON.stringify({ responseSha256: "ab".repeat(32), resource: hostile });
  const page_ = await inspectorPage({ documents: [{ name: hostile, text }] });
  assert.doesNotMatch(dataBlock(hostile), /</);
  const { page, requests, trouble, url } = await open(page_);
  await page.locator('[data-slot="receipt"][data-full]').waitFor();
  await becomes(() => verdict(page), "Incomplete");
  assert.match(await page.locator('[data-slot="receipt"] .file').textContent(), /^<\/script><script>globalThis/);
  const seen = await page.evaluate(() => ({ ran: globalThis.ran, images: document.images.length, scripts: [...document.scripts].filter(({ type }) => type === "module").length, embedded: JSON.parse(document.querySelector("#embedded").textContent).documents[0].name, breaches: globalThis.breaches }));
  assert.deepEqual(seen, { ran: undefined, images: 0, scripts: 1, embedded: hostile, breaches: [] });
  assert.deepEqual(requests, [url]);
  assert.deepEqual(trouble, []);
});
