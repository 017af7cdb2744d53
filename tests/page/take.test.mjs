// What leaves the page, and what a link brings in: files for the person's own disk, a link that says what is in it, and the signed yes or no.

import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { createPayer, lineage, lineageProv } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { journal, putLineage, shown, start } from "./browser.mjs";

const fromDemo = createRequire(new URL("../../demo/package.json", import.meta.url));
const { privateKeyToAccount } = fromDemo("viem/accounts");
const PERSON_KEY = `0x${"51".repeat(32)}`;
const person = privateKeyToAccount(PERSON_KEY);
/** The test key whose purchases the journals record. */
const PAYER_KEY = new Uint8Array(Buffer.from("5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a", "hex"));

let site;
before(async () => { site = await start(); });
after(() => site.stop());

const saved = async (page, act) => {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
};
const fragment = (value) => `#r=${deflateRawSync(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")}`;

/** A wallet as an extension injects it, backed by viem. `calls` are what it was asked. */
async function withWallet(page, account = person) {
  const calls = [];
  await page.exposeFunction("walletAsked", async ({ method, params }) => {
    calls.push({ method, params });
    if (method === "eth_requestAccounts") return [person.address];
    if (method !== "eth_signTypedData_v4") throw new Error(`not asked for: ${method}`);
    const { domain, message, primaryType, types: { EIP712Domain: _, ...types } } = JSON.parse(params[1]);
    const numbers = types[primaryType].filter(({ type }) => type === "uint256").map(({ name }) => [name, BigInt(message[name])]);
    return account.signTypedData({ domain, types, primaryType, message: { ...message, ...Object.fromEntries(numbers) } });
  });
  await page.evaluate(() => { globalThis.ethereum = { request: (asked) => globalThis.walletAsked(asked) }; });
  return calls;
}

test("the view as JSON and as PROV is the core's, and the table holds each row", async () => {
  const { page, trouble } = await site.open();
  await putLineage(page, { "a.jsonl": journal("all-well") });
  const view = lineage([journal("all-well")]);
  const json = await saved(page, () => page.getByRole("button", { name: "Save JSON" }).click());
  assert.equal(json.name, "lineage.json");
  assert.deepEqual(JSON.parse(json.text), view);
  const prov = await saved(page, () => page.getByRole("button", { name: "Save PROV" }).click());
  assert.deepEqual(JSON.parse(prov.text), lineageProv([journal("all-well")]));
  const csv = await saved(page, () => page.getByRole("button", { name: "Save CSV" }).click());
  const lines = csv.text.trimEnd().split("\r\n");
  assert.equal(lines.length, view.rows.length + 1);
  assert.match(lines[0], /^kind,depth,intentId,/);
  assert.deepEqual(trouble, []);
});

test("no text of a document becomes a formula or another column of the table", async () => {
  const { csv } = await import("../../www/lineage/csv.mjs");
  const { visibleCell } = await import("../../pkg-template/src/display.mjs");
  const texts = ["=HYPERLINK(\"https://evil.example\")", "+1", "-1+2", "@SUM(A1)", "\t=1", "  =1", "a,b", "a\"b", "a\r\nb", "|`x`|", "x;=1+1", "x; +1", "＝1+1", "\u001b[2J\u202ea;b"];
  const table = csv(texts.map((label) => ({ kind: "intent", depth: 0, intentId: "0x1", agent: "a", label, state: "settled", at: 1, flags: [] })), visibleCell);
  for (const cell of ["\"'=HYPERLINK(\"\"https://evil.example\"\")\"", "'+1", "'-1+2", "'@SUM(A1)", "\\u{9}=1", "'  =1", "\"a,b\"", "\"a\"\"b\"", "a\\u{d}\\u{a}b", "'|`x`|", "\"x;'=1+1\"", "\"x;' +1\"", "'＝1+1", "\"\\u{1b}[2J\\u{202e}a;b\""]) assert.ok(table.includes(`,${cell},`), cell);
});

test("a link carries the documents, says so first, and shows them only when somebody asks", async () => {
  const { page, trouble, origin } = await site.open();
  const { text, name } = { name: "one.jsonl", text: journal("charged-twice-buyer-a").split("\n").slice(0, 2).join("\n") + "\n" };
  await putLineage(page, { [name]: text });
  await page.getByRole("button", { name: "Make a link" }).click();
  const told = page.locator('[data-part="exports"] .told', { hasText: "The link contains the documents." });
  assert.match(await told.innerText(), /The link contains the documents\..*Whoever has it can read everything/s);
  const link = await page.locator("#link").inputValue();
  assert.ok(link.length < 8200 && link.startsWith(`${origin}/#r=`));
  const other = await site.open();
  await other.page.goto("about:blank");
  await other.page.goto(link.replace(origin, other.origin));
  const brought = other.page.locator('[data-part="brought"]');
  await brought.getByText(/holds a document/).waitFor();
  assert.ok(await other.page.locator(".loaded").isHidden(), "something was read before anybody asked");
  await other.page.getByRole("button", { name: "Check what the link holds" }).click();
  await shown(other.page);
  assert.ok((await other.page.locator(".room [role=row]").count()) > 0);
  assert.deepEqual([...trouble, ...other.trouble], []);
});

test("what is too long for a link is said, and no half of it is made", async () => {
  const noise = Array.from({ length: 3000 }, (_, at) => `${(at * 2654435761) % 4294967296}`).join("");
  const long = {
    "long.jsonl": journal("all-well").replace(/\n$/, `\n${noise}\n`),
    // Short once it is packed, and longer than a link may unpack to.
    "packs-well.json": `{"type":"counterfoil/bundle","v":1,"payer":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC","intents":[],"note":"${"n".repeat(5 << 20)}"}`,
  };
  for (const [name, text] of Object.entries(long)) {
    const { page } = await site.open();
    await putLineage(page, { [name]: text });
    await page.getByRole("button", { name: "Make a link" }).click();
    await page.locator('[data-part="exports"] .told', { hasText: "too long for a link" }).waitFor();
    assert.equal(await page.locator("#link").count(), 0);
    await page.context().close();
  }
});

test("a hostile fragment is a sentence, and no request follows from it", async () => {
  const bomb = fragment(JSON.stringify({ documents: [{ name: "x", text: "a".repeat(5 << 20) }] }));
  const cases = ["#r=", "#r=%%%", "#r=AAAA", `#r=${"A".repeat(9000)}`, fragment("not json"), fragment({ documents: "x" }), fragment({ documents: [{ name: 1 }] }), fragment({ rpc: "https://attacker.example/" }), bomb];
  for (const hash of cases) {
    const { page, trouble, origin } = await site.open();
    await page.goto("about:blank");
    await page.goto(`${origin}/${hash}`);
    await page.locator('[data-part="brought"]', { hasText: "no documents that can be read" }).waitFor();
    assert.deepEqual(trouble, [], hash.slice(0, 20));
    await page.context().close();
  }
  const { page, trouble, origin } = await site.open();
  await page.goto("about:blank");
  await page.goto(`${origin}/${fragment({ documents: [{ name: "<img src=x onerror=alert(1)>", text: "{}" }], rpc: "https://attacker.example/", live: "https://attacker.example/" })}`);
  await page.getByRole("button", { name: "Check what the link holds" }).click();
  await page.locator(".fault").waitFor();
  assert.equal(await page.locator("img").count(), 0);
  assert.deepEqual(trouble, []);
});

test("approved here with the browser's wallet, the document lets the same journal's purchase go on", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-page-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "agent.jsonl");
  copyFileSync(fileURLToPath(new URL("../../www/sample/lineage/needs-approval.jsonl", import.meta.url)), file);
  const { page, trouble } = await site.open();
  const calls = await withWallet(page);
  await putLineage(page, { "agent.jsonl": readFileSync(file, "utf8") });
  await page.getByRole("button", { name: /^Approve or refuse/ }).click();
  const dialog = page.getByRole("dialog", { name: "Approve a payment?" });
  const text = await dialog.innerText();
  for (const words of [/The complete atlas/, /0\.25 USDC/, /buyer/, /never paid from here before/, /above the cap for one call/, /Nothing is signed and nothing is paid/]) assert.match(text, words);
  assert.deepEqual(calls, [], "the wallet was asked before the person said so");
  await dialog.getByRole("button", { name: "Approve with my wallet" }).click();
  await dialog.getByText("Approved.").waitFor();
  assert.deepEqual(calls.map(({ method }) => method), ["eth_requestAccounts", "eth_signTypedData_v4"]);
  const { text: document } = await saved(page, () => dialog.getByRole("button", { name: "Save as a file" }).click());
  const approval = JSON.parse(document);
  assert.deepEqual([approval.type, approval.amount], ["counterfoil/approval", "250000"]);
  const payer = createPayer({ signer: { privateKey: PAYER_KEY }, journal: fileJournal(file), policy: { perCall: "50000", approvers: [person.address] } });
  await payer.approve(approval);
  assert.equal((await payer.lineage()).counters.needsApproval, 0);
  await payer.close();
  assert.deepEqual(trouble, []);
});

test("a wallet that signs with another account is not believed", async () => {
  const { page } = await site.open();
  await withWallet(page, privateKeyToAccount(`0x${"52".repeat(32)}`));
  await putLineage(page, { "agent.jsonl": journal("needs-approval") });
  await page.getByRole("button", { name: /^Approve or refuse/ }).click();
  await page.getByRole("button", { name: "Approve with my wallet" }).click();
  await page.locator(".wrong", { hasText: "another account" }).waitFor();
  assert.equal(await page.locator("#approve-file").count(), 0);
});

test("without a wallet the text to sign is shown, and a signature made elsewhere gives the same document", async () => {
  const { page, trouble } = await site.open();
  await putLineage(page, { "agent.jsonl": journal("needs-approval") });
  await page.getByRole("button", { name: /^Approve or refuse/ }).click();
  await page.getByLabel("At most, together").fill("0.3");
  await page.getByRole("button", { name: "Show the text to sign", exact: true }).click();
  const { domain, message, primaryType, types: { EIP712Domain: _, ...types } } = JSON.parse(await page.locator("#approve-text").inputValue());
  assert.equal(message.amount, "300000");
  const signature = await person.signTypedData({ domain, types, primaryType, message: { ...message, amount: BigInt(message.amount), expiresAt: BigInt(message.expiresAt) } });
  await page.locator("#approve-signature").fill("0x12");
  await page.getByRole("button", { name: "Make the approval" }).click();
  await page.locator(".wrong", { hasText: "signature" }).waitFor();
  assert.equal(await page.locator("#approve-file").count(), 0);
  await page.locator("#approve-signature").fill(signature);
  await page.getByRole("button", { name: "Make the approval" }).click();
  await page.getByText(`signed by ${person.address}`).waitFor();
  const approval = JSON.parse(await page.locator("#approve-file").inputValue());
  assert.deepEqual([approval.signature, approval.amount], [signature, "300000"]);
  await page.getByLabel("At most, together").fill("a lot");
  await page.getByRole("button", { name: "Show the text to sign", exact: true }).click();
  await page.locator(".wrong").waitFor();
  assert.deepEqual(trouble, []);
});

test("refused here with the browser's wallet, the document ends the call, which asks no more", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-page-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "agent.jsonl");
  writeFileSync(file, journal("needs-approval"));
  const { page, trouble } = await site.open();
  const calls = await withWallet(page);
  await putLineage(page, { "agent.jsonl": journal("needs-approval") });
  await page.getByRole("button", { name: /^Approve or refuse/ }).click();
  const dialog = page.getByRole("dialog", { name: "Approve a payment?" });
  await dialog.getByText("Without any answer nothing is paid either").waitFor();
  // What a yes would cover is no matter for a no.
  await dialog.getByLabel("At most, together").fill("nothing");
  await dialog.getByRole("button", { name: "Refuse with my wallet" }).click();
  await dialog.getByText("Refused.").waitFor();
  assert.deepEqual(calls.map(({ method }) => method), ["eth_requestAccounts", "eth_signTypedData_v4"]);
  const { name, text } = await saved(page, () => dialog.getByRole("button", { name: "Save as a file" }).click());
  const refusal = JSON.parse(text);
  assert.deepEqual([name, refusal.type], ["refusal.json", "counterfoil/refusal"]);
  const payer = createPayer({ signer: { privateKey: PAYER_KEY }, journal: fileJournal(file), policy: { perCall: "50000", approvers: [person.address] } });
  await payer.refuse(refusal);
  const { counters, rows } = await payer.lineage();
  assert.equal(counters.needsApproval, 0);
  assert.deepEqual(rows.filter(({ flags }) => flags.includes("approval_denied")).map(({ label, state }) => [label, state]), [["The complete atlas", "failed"]]);
  await payer.close();
  // The page shows it so, too.
  const { page: again } = await site.open();
  await putLineage(again, { "agent.jsonl": readFileSync(file, "utf8") });
  await again.locator(".room [role=row]", { hasText: "Refused by a person" }).waitFor();
  assert.deepEqual(trouble, []);
});

test("refused without a wallet: a signature made elsewhere gives the document, and another's is not asked for twice", async () => {
  const { page, trouble } = await site.open();
  await putLineage(page, { "agent.jsonl": journal("needs-approval") });
  await page.getByRole("button", { name: /^Approve or refuse/ }).click();
  await page.getByRole("button", { name: "Refuse: show the text to sign" }).click();
  await page.getByRole("button", { name: "Make the refusal" }).waitFor();
  const { domain, message, primaryType, types: { EIP712Domain: _, ...types } } = JSON.parse(await page.locator("#approve-text").inputValue());
  assert.equal(primaryType, "Refusal");
  const signature = await person.signTypedData({ domain, types, primaryType, message: { ...message, at: BigInt(message.at) } });
  await page.locator("#approve-signature").fill("0x12");
  await page.getByRole("button", { name: "Make the refusal" }).click();
  await page.locator(".wrong", { hasText: "signature" }).waitFor();
  assert.equal(await page.locator("#approve-file").count(), 0);
  await page.locator("#approve-signature").fill(signature);
  await page.getByRole("button", { name: "Make the refusal" }).click();
  await page.getByText(`signed by ${person.address}`).waitFor();
  assert.equal(JSON.parse(await page.locator("#approve-file").inputValue()).signature, signature);
  assert.deepEqual(trouble, []);
});

test("on paper every row stands, and no tool", async () => {
  const { page } = await site.open({ viewport: { width: 1200, height: 300 } });
  await putLineage(page, { "a.jsonl": journal("all-well"), "b.jsonl": journal("paid-without-delivery") });
  const { length } = lineage([journal("all-well"), journal("paid-without-delivery")]).rows;
  assert.ok((await page.locator(".room [role=row]").count()) < length);
  // A browser tells before it lays the page out for paper.
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.locator(".room [role=row]").count(), length);
  await page.emulateMedia({ media: "print" });
  for (const name of [".tools", ".intake", ".exports-part"]) assert.ok(await page.locator(`cf-lineage ${name}`).first().isHidden(), name);
  assert.ok((await page.pdf()).length > 10_000);
});
