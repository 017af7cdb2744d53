// The recorded purchase on the page: what is said about it, in every way in which it can be brought in.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { becomes, put, start, verdict } from "./browser.mjs";

const sample = (name) => readFileSync(new URL(`../../www/sample/${name}`, import.meta.url));
const [receipt, evidence, response] = ["bundle.json", "evidence.json", "response.bin"].map(sample);
const bundle = JSON.parse(receipt);

let site;
before(async () => { site = await start(); });
after(() => site.stop());

const states = (page) => page.locator("tbody tr").evaluateAll((rows) => Object.fromEntries(rows.map((row) => [row.querySelector(".id").textContent, row.dataset.state])));
const fact = (page, name) => page.locator("dl > div", { has: page.locator("dt", { hasText: name }) }).first().locator("dd").textContent();

test("with the response and the chain evidence it is verified, and the page says of what", async () => {
  const { page, trouble } = await site.open();
  await becomes(() => verdict(page), "No verdict yet");
  await put(page, { receipt, response, evidence });
  await becomes(() => verdict(page), "Verified");
  const found = await states(page);
  for (const id of ["signature", "quote.hash", "payment.header", "chain.transfer", "chain.finality", "delivery.hash"]) assert.equal(found[id], "pass", id);
  assert.match(await fact(page, "Amount"), /^0\.01USDC \(10000 atomic units\)$/);
  assert.equal(await fact(page, "Payer"), bundle.payer);
  assert.equal(await fact(page, "Recipient"), bundle.intents[0].attempts[0].authorization.to);
  assert.match(await fact(page, "Network"), /^eip155:84532Base Sepolia, a test network: no real money$/);
  assert.equal(await fact(page, "Resource"), `GET ${bundle.intents[0].request.url}`);
  assert.match(await fact(page, "Transaction"), /^0x[0-9a-f]{64}$/);
  assert.ok((await page.locator(".limits li").count()) > 3);
  await page.locator(".raw summary").click();
  assert.equal(await page.locator("pre").textContent(), receipt.toString());
  // The digest that sha256sum gives for the file.
  assert.match(await page.locator('[data-slot="response"]').textContent(), new RegExp(bundle.intents[0].delivery.sha256));
  assert.equal(await page.locator("a[href^='http']").count(), 0, "nothing links away");
  assert.deepEqual(trouble, []);
});

test("without chain evidence it is incomplete, and the page says what is missing", async () => {
  const { page, trouble } = await site.open();
  await put(page, { receipt });
  await becomes(() => verdict(page), "Incomplete");
  assert.match(await page.locator(".ground").textContent(), /Needed for a verdict.*The chain was read/s);
  assert.equal((await states(page))["chain.transfer"], "not_checked");
  await put(page, { evidence });
  await becomes(() => verdict(page), "Verified");
  await page.getByRole("button", { name: "Remove the chain evidence" }).click();
  await becomes(() => verdict(page), "Incomplete");
  await page.getByRole("button", { name: "Remove the receipt" }).click();
  await becomes(() => verdict(page), "No verdict yet");
  assert.equal(await page.locator("cf-report > *").count(), 0);
  assert.deepEqual(trouble, []);
});

test("another response fails, and both digests are shown with the difference marked", async () => {
  const { page, trouble } = await site.open();
  await put(page, { receipt, evidence, response: Buffer.concat([response, Buffer.from("\n")]) });
  await becomes(() => verdict(page), "Failed");
  const row = page.locator("tbody tr", { has: page.locator(".id", { hasText: /^delivery\.hash$/ }) });
  assert.equal(await row.getAttribute("data-state"), "fail");
  assert.equal(await row.locator("td[data-name='Expected']").textContent(), bundle.intents[0].delivery.sha256);
  assert.equal(await row.locator("mark").count(), 2);
  assert.deepEqual(trouble, []);
});

test("a genuine receipt of somebody else fails against what is expected", async () => {
  const { page, trouble } = await site.open();
  await put(page, { receipt, response, evidence });
  await page.getByText("Say what you expect").click();
  await page.getByLabel("Payer").fill(bundle.payer);
  await page.getByLabel("Payer").press("Tab");
  await becomes(() => verdict(page), "Verified");
  await page.getByLabel("Payer").fill("0x760326E8C94f38A9F0537b1FA45141cA995564C4");
  await page.getByLabel("Payer").press("Tab");
  await becomes(() => verdict(page), "Failed");
  await page.getByLabel("Payer").fill("0x760326");
  await page.getByLabel("Payer").press("Tab");
  await becomes(() => verdict(page), "No verdict");
  assert.match(await page.locator(".ground").textContent(), /address_invalid/);
  assert.deepEqual(trouble, []);
});

test("files dropped together find their places", async () => {
  const { page, trouble } = await site.open();
  const files = Object.entries({ "a.bin": response, "b.json": evidence, "c.json": receipt }).map(([name, bytes]) => [name, [...bytes]]);
  const data = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const [name, bytes] of files) transfer.items.add(new File([Uint8Array.from(bytes)], name));
    return transfer;
  }, files);
  await page.dispatchEvent("body", "drop", { dataTransfer: data });
  await page.locator('[data-slot="receipt"][data-full]').waitFor();
  await becomes(() => verdict(page), "Verified");
  assert.match(await page.locator('[data-slot="response"]').textContent(), /a\.bin/);
  assert.match(await page.locator('[data-slot="evidence"]').textContent(), /b\.json/);
  assert.match(await page.locator('[data-slot="receipt"]').textContent(), /c\.json/);
  assert.deepEqual(trouble, []);
});

test("pasted text is taken from anywhere on the page, with or without the header's name", async () => {
  const { page, trouble } = await site.open();
  const paste = (text) => page.evaluate((text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
  }, text);
  const { settlement } = bundle.intents[0].attempts[0];
  for (const text of [settlement, `PAYMENT-RESPONSE: ${settlement}\r\n`, `x-payment-response:${settlement}`]) {
    await paste(text);
    await becomes(() => verdict(page), "Incomplete", text.slice(0, 20));
    assert.match(await fact(page, "Kind"), /settlement response/);
  }
  await paste(receipt.toString());
  await paste(evidence.toString());
  await becomes(() => verdict(page), "Verified");
  await page.getByText("Paste text").click();
  await page.locator("textarea").fill(settlement);
  await page.getByRole("button", { name: "Check this text" }).click();
  assert.match(await fact(page, "Kind"), /settlement response/);
  assert.deepEqual(trouble, []);
});

test("the sample opens from the page's own files", async () => {
  const { page, trouble } = await site.open();
  await page.getByRole("button", { name: "Open a sample" }).click();
  await page.locator('[data-slot="receipt"][data-full]').waitFor();
  await becomes(() => verdict(page), "Verified");
  assert.deepEqual(trouble, []);
});

test("the address of the page brings nothing in", async () => {
  const { page, trouble, origin } = await site.open();
  await page.goto(`${origin}/?rpc=https://attacker.example/#receipt=${encodeURIComponent(receipt.toString())}`);
  await page.locator("#open-receipt").waitFor({ state: "attached" });
  await becomes(() => verdict(page), "No verdict yet");
  await page.evaluate((text) => window.postMessage(text, "*"), receipt.toString());
  await becomes(() => verdict(page), "No verdict yet");
  assert.deepEqual(trouble, []);
});
