// Whom to trust, dropped beside a receipt as files; and answers that still carry their content coding.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { becomes, put, start, verdict } from "./browser.mjs";

const { base, cases } = JSON.parse(readFileSync(new URL("../receipts/signed.json", import.meta.url), "utf8"));
const of = (id) => cases.find((one) => one.id === id);
const sample = (name) => readFileSync(new URL(`../../www/sample/${name}`, import.meta.url));
const response = sample("response.bin");

let site;
before(async () => { site = await start(); });
after(() => site.stop());

/** Drops files on the page, `{name: content}`. */
async function drop(page, files) {
  const transfer = await page.evaluateHandle((all) => {
    const transfer = new DataTransfer();
    for (const [name, bytes] of all) transfer.items.add(new File([Uint8Array.from(bytes)], name));
    return transfer;
  }, Object.entries(files).map(([name, content]) => [name, [...Buffer.from(content)]]));
  await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
  await page.locator('[data-slot="receipt"][data-full]').waitFor();
}

const state = (page, id) => page.locator("cf-report tbody tr", { has: page.locator(".id", { hasText: new RegExp(`^${id.replace(".", "\\.")}$`) }) }).getAttribute("data-state");

for (const [what, id, files] of [
  ["keys", "receipt-jws-ES256K-proven", ({ trust }) => ({ "trust.json": JSON.stringify(trust) })],
  ["accounts", "receipt-proven", ({ trust }) => ({ "trust.json": JSON.stringify(trust) })],
  ["the seller's DID document", "did-web-of-the-resources-host", ({ trust }) => ({ "did.json": JSON.stringify(trust.didDocuments[0]) })],
]) {
  test(`${what}: the signature counts where they were dropped, and not without them`, async () => {
    const { receipt, material } = of(id);
    const { page, trouble } = await site.open();
    await drop(page, { "receipt.json": receipt, "evidence.json": JSON.stringify(base.evidence) });
    assert.notEqual(await state(page, "signer.authorized"), "pass");
    await drop(page, files(material));
    await page.locator(".trusting").getByText("Taken as your own word").waitFor();
    await becomes(async () => [await state(page, "signature"), await state(page, "signer.authorized")], ["pass", "pass"]);
    await page.getByRole("button", { name: "Remove the files that say whom to trust" }).click();
    await becomes(async () => (await state(page, "signer.authorized")) === "pass", false);
    assert.equal(await page.locator(".trusting").innerText(), "");
    assert.deepEqual(trouble, []);
  });
}

test("the part for EdDSA is fetched when a receipt is met that is signed so, and not before", async () => {
  const passed = (page) => page.locator('cf-report tbody tr[data-state="pass"]', { has: page.locator(".id", { hasText: /^signature$/ }) }).waitFor();
  for (const [id, times] of [["receipt-jws-ES256K-proven", 0], ["official-jws-EdDSA-key-0-receipt", 1]]) {
    const { page, trouble } = await site.open();
    const { receipt, material } = of(id);
    await drop(page, { "receipt.json": receipt, "trust.json": JSON.stringify(material.trust) });
    await passed(page);
    const fetched = await page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("jws_bg.wasm")).length);
    assert.equal(fetched, times, id);
    assert.deepEqual(trouble, []);
  }
});

test("a described form reads what is not known here, in the same drop", async () => {
  const { receipt, material } = of("form-eip712");
  const { page, trouble } = await site.open();
  await drop(page, { "form.json": JSON.stringify(material.profile), "trust.json": JSON.stringify(material.trust), "receipt.json": receipt });
  await becomes(() => state(page, "signature"), "pass");
  assert.deepEqual(trouble, []);
  await page.getByRole("button", { name: "Remove the files that say whom to trust" }).click();
  await becomes(() => verdict(page), "No verdict");
});

test("what a receipt itself says of keys is not taken for trust", async () => {
  const { receipt } = of("receipt-jws-ES256K-proven");
  const { page } = await site.open();
  await drop(page, { "receipt.json": JSON.stringify({ format: "jws", signature: receipt, signers: ["key-1"], keys: of("receipt-jws-ES256K-proven").material.trust.keys }) });
  assert.equal(await page.locator(".trusting").innerText(), "");
  assert.notEqual(await state(page, "signer.authorized"), "pass");
});

test("a content coding is taken off: gzip by itself, others where they are named", async () => {
  const { page, trouble } = await site.open();
  await put(page, { receipt: sample("bundle.json"), evidence: sample("evidence.json"), response: gzipSync(response) });
  await page.locator("#response-coding").waitFor();
  assert.equal(await page.locator("#response-coding").inputValue(), "gzip");
  await page.locator(".word", { hasText: "Verified" }).waitFor();
  await page.locator("#response-coding").selectOption("");
  await page.locator(".word", { hasText: "Failed" }).waitFor();
  await put(page, { response: deflateSync(response) });
  await page.locator(".word", { hasText: "Failed" }).waitFor();
  await page.locator("#response-coding").selectOption("deflate");
  await page.locator(".word", { hasText: "Verified" }).waitFor();
  await page.locator("#response-coding").selectOption("gzip");
  await page.getByText("It is not of that coding").waitFor();
  const offered = await page.locator("#response-coding option").allTextContents();
  if (offered.includes("br")) {
    await put(page, { response: brotliCompressSync(response) });
    await page.locator("#response-coding").selectOption("br");
    await page.locator(".word", { hasText: "Verified" }).waitFor();
  }
  assert.deepEqual(trouble, []);
});
