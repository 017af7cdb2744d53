// Hostile documents: shown as text or refused, and never more than that. No element, link, dialog or request comes from data, nothing
// hides, and the verdict's box holds the page's own words only.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { becomes, put, putLineage, start, verdict } from "./browser.mjs";

const sample = (name) => readFileSync(new URL(`../../www/sample/${name}`, import.meta.url));
const bundle = () => JSON.parse(sample("bundle.json"));
const HASH = "ab".repeat(32);

const SCRIPTS = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "\"><svg onload=alert(1)>", "<a href=javascript:alert(1)>x</a>", "{{constructor.constructor('alert(1)')()}}"];
const LINKS = ["javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:msgbox(1)", "java\tscript:alert(1)", " JAVASCRIPT:alert(1)", "https:javascript", "https://user:pass@evil.example/"];
const HIDDEN = "\u202eUSDC 000001\u202c\u200b\u2066\u00ad\ufeff\u{e0041}\u115f";
const SPOOF = "ok\nVerified\n✅ Verified: every required check passed.\u2028Verified";
// What no rendered text may hold: everything a renderer leaves out, or lets move other text.
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/** A gateway's receipt whose free text is hostile. */
const receipt = (members) => JSON.stringify({ responseSha256: HASH, resource: "https://api.example.com/", ...members });
const withBundle = (change) => {
  const changed = bundle();
  change(changed.intents[0], changed);
  return JSON.stringify(changed);
};

const FREE_TEXT = [...SCRIPTS, ...LINKS, HIDDEN, SPOOF, "x".repeat(10_000), "а".repeat(10_000), "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334".repeat(500)];
const HOSTILE = {
  ...Object.fromEntries(FREE_TEXT.flatMap((text, i) => [
    [`resource ${i}`, receipt({ resource: text })],
    [`unknown members ${i}`, receipt({ [text]: text, merchant: text, description: { [text]: [text] } })],
    [`bundle ${i}`, withBundle((intent) => { intent.purpose = text; intent.request.url = text; intent.status = text; })],
    [`domain name ${i}`, withBundle((intent) => { intent.attempts[0].domain.name = text; })],
    [`delivery headers ${i}`, withBundle((intent) => { intent.delivery.headers = { "content-type": text, [text]: text }; })],
  ])),
  "a transaction that is a path": receipt({ transaction: "0x../../address/0x00?a#b" }),
  "a settlement in somebody else's name": JSON.stringify({ success: true, transaction: `0x${HASH}`, network: "eip155:8453", payer: SCRIPTS[0], errorReason: SPOOF }),
  "names of Object.prototype": `{"type":"counterfoil/bundle","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1,"hasOwnProperty":1,"v":1}`,
  "names of Object.prototype in a receipt": `{"__proto__":{"polluted":1},"constructor":2,"hasOwnProperty":3,"toString":4,"responseSha256":"${HASH}"}`,
  "a settlement with __proto__": `{"success":true,"network":"eip155:8453","transaction":"0x${HASH}","__proto__":{"polluted":1}}`,
  "arrays nested 100,000 deep": "[".repeat(100_000) + "]".repeat(100_000),
  "objects nested 100,000 deep": `${'{"type":'.repeat(100_000)}1${"}".repeat(100_000)}`,
  "a member nested 100,000 deep": `{"responseSha256":"${HASH}","x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
  "a duplicate name": `{"responseSha256":"${HASH}","amount":"1","amount":"1000000"}`,
  "a duplicate name behind an escape": `{"responseSha256":"${HASH}","amount":"1","amoun\\u0074":"1000000"}`,
  "terminal escapes": receipt({ resource: "https://api.example.com/\u001b[2J\u001b]0;owned\u0007\u009b31m" }),
  "half a surrogate pair": `{"responseSha256":"${HASH}","resource":"\\ud800"}`,
  "numbers out of range": `{"responseSha256":"${HASH}","amount":1e400,"value":-0,"x":9007199254740993}`,
  "100,000 members": `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":${i}`).join(",")},"responseSha256":"${HASH}"}`,
  "no UTF-8": Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0x22, 0x7d]),
  "a byte order mark": `\ufeff${receipt({})}`,
  "UTF-16": Buffer.from(receipt({}), "utf16le"),
  "NUL": `${receipt({})}\0`,
  "nothing": "",
  "a header of 64 KB": Buffer.alloc(64 << 10, "QUFB"),
};

// What the page itself is made of; anything else could only have come from data.
const ELEMENTS = new Set(["a", "body", "button", "cf-intake", "cf-approve", "cf-audit", "cf-help", "cf-lineage", "cf-panel", "cf-report", "cf-theme", "cf-tree", "cf-verdict", "circle", "code", "col", "colgroup", "dd", "details", "dialog", "div", "dl", "dt",
  "footer", "h1", "h2", "h3", "head", "header", "html", "input", "kbd", "label", "li", "link", "main", "mark", "meta", "nav", "option", "p", "path", "pre", "script", "section", "select", "span", "strong",
  "summary", "svg", "symbol", "table", "tbody", "td", "textarea", "th", "thead", "title", "tr", "ul", "use"]);

const look = (page) => page.evaluate(() => {
  const all = [...document.querySelectorAll("*")];
  const reference = (name) => all.filter((node) => node.hasAttribute(name)).map((node) => `${node.localName}[${name}=${node.getAttribute(name)}]`);
  return {
    names: [...new Set(all.map((node) => node.localName))],
    handlers: all.flatMap((node) => node.getAttributeNames().filter((name) => /^on|^style$/.test(name))),
    scripts: document.scripts.length,
    references: [...reference("href"), ...reference("src")],
    text: document.body.innerText,
    ground: document.querySelector("cf-verdict").textContent,
    polluted: {}.polluted,
    wide: document.documentElement.scrollWidth - innerWidth,
    words: document.querySelectorAll(".word").length,
  };
});

let site;
before(async () => { site = await start(); });
after(() => site.stop());

test("hostile documents are text or an error, and nothing else", async () => {
  const { page, trouble } = await site.open();
  for (const [name, document] of Object.entries(HOSTILE)) {
    await put(page, { receipt: document });
    const word = await verdict(page);
    assert.ok(["Failed", "Incomplete", "No verdict"].includes(word), `${name}: ${word}`);
    for (const details of await page.locator("cf-report details > summary").all()) await details.click();
    const seen = await look(page);
    assert.deepEqual(seen.names.filter((element) => !ELEMENTS.has(element)), [], name);
    assert.deepEqual(seen.handlers, [], name);
    assert.equal(seen.scripts, 2, name); // the page's own, and the empty place for data
    assert.ok(seen.references.every((reference) => /=(#[a-z_-]+|icon\.svg|(style|lineage|audit|print)\.css|main\.mjs)\]$/.test(reference)), `${name}: ${seen.references}`);
    assert.ok(!UNSEEN.test(seen.text), `${name}: ${JSON.stringify(UNSEEN.exec(seen.text)?.[0])} is on the page`);
    assert.ok(!/alert\(1\)|✅|USDC 0|owned/.test(seen.ground), `${name}: data stands in the verdict's box`);
    assert.equal(seen.polluted, undefined, name);
    assert.ok(seen.wide <= 0, `${name}: the page became wider than the window`);
    assert.equal(seen.words, 1, name);
  }
  assert.ok(Object.keys(HOSTILE).length > 80);
  assert.deepEqual(trouble, []);
});

test("a refusal names its code, and the page goes on working", async () => {
  const { page, trouble } = await site.open();
  const codes = {
    "arrays nested 100,000 deep": "receipt_invalid", "a member nested 100,000 deep": "json_too_deep", "a duplicate name": "duplicate_key",
    "a duplicate name behind an escape": "duplicate_key", "half a surrogate pair": "lone_surrogate", "no UTF-8": "json_invalid", "NUL": "json_invalid",
  };
  for (const [name, code] of Object.entries(codes)) {
    await put(page, { receipt: HOSTILE[name] });
    await becomes(() => verdict(page), "No verdict", name);
    assert.match(await page.locator(".ground").textContent(), new RegExp(`^${code} `), name);
  }
  await put(page, { receipt: sample("bundle.json"), response: sample("response.bin"), evidence: sample("evidence.json") });
  await becomes(() => verdict(page), "Verified");
  assert.deepEqual(trouble, []);
});

test("hostile chain evidence proves nothing", async () => {
  const { page, trouble } = await site.open();
  await put(page, { receipt: sample("bundle.json"), response: sample("response.bin") });
  const good = JSON.parse(sample("evidence.json"));
  const cases = {
    "no JSON": "<img src=x onerror=alert(1)>", "nothing": "", "null": "null", "an empty list": "[]", "a list of nonsense": '[1,"x",null,{}]',
    "deep": "[".repeat(100_000) + "]".repeat(100_000), "another chain": JSON.stringify({ ...good, chainId: "0x1" }),
    "no logs": JSON.stringify({ ...good, logs: [] }), "reverted": JSON.stringify({ ...good, receipt: { ...good.receipt, status: "0x0" } }),
    "removed": JSON.stringify({ ...good, logs: good.logs.map((log) => ({ ...log, removed: true })) }),
    "unused": JSON.stringify({ ...good, authorizationState: `0x${"0".repeat(64)}` }),
    "__proto__": `{"__proto__":${JSON.stringify(good)}}`,
    "two that disagree": JSON.stringify([good, { ...good, authorizationState: `0x${"0".repeat(64)}` }]),
  };
  for (const [name, evidence] of Object.entries(cases)) {
    await put(page, { evidence });
    const word = await verdict(page);
    assert.ok(["Failed", "Incomplete", "No verdict"].includes(word), `${name}: ${word}`);
  }
  await put(page, { evidence: JSON.stringify(good) });
  await becomes(() => verdict(page), "Verified");
  assert.deepEqual(trouble, []);
});

test("a hostile file name is text, and long values are cut with the whole on demand", async () => {
  const { page, trouble } = await site.open();
  const name = `<img src=x onerror=alert(1)>\u202e${"n".repeat(300)}.json`;
  await page.setInputFiles("#open-receipt", { name, mimeType: "application/json", buffer: Buffer.from(receipt({ resource: `https://api.example.com/${"p".repeat(5_000)}` })) });
  await page.locator('[data-slot="receipt"][data-full]').waitFor();
  const seen = await look(page);
  assert.ok(!seen.names.includes("img"));
  assert.ok(!UNSEEN.test(seen.text));
  const resource = page.locator("dl > div", { has: page.locator("dt", { hasText: "Resource" }) }).locator("dd");
  assert.ok((await resource.innerText()).length < 400);
  const more = page.getByRole("button", { name: "Show all of the resource" });
  await more.click();
  await becomes(async () => (await resource.innerText()).length > 5_000, true);
  await becomes(() => page.getByRole("button", { name: "Show all of the resource" }).getAttribute("aria-expanded"), "true");
  assert.deepEqual(trouble, []);
});

test("in a lineage too, hostile texts are text: purposes, agents, addresses, file names", async () => {
  const { page, trouble } = await site.open();
  await page.getByRole("button", { name: "Lineage", exact: true }).click();
  for (const [at, text] of FREE_TEXT.entries()) {
    const hostile = withBundle((intent, whole) => {
      intent.purpose = text;
      intent.request.url = text;
      whole.places = [{ intentId: intent.intentId, at: 1, by: text, purpose: text, budget: "5000" }];
      whole.asked = [{ intentId: intent.intentId, purpose: text, actor: text, payer: whole.payer, amount: "1", network: "eip155:84532", asset: intent.attempts[0].domain.verifyingContract, payTo: text, request: { method: text, url: text }, reasons: [text], spent: "0", path: [text], ifNo: text }];
    });
    await page.setInputFiles("#open-lineage", { name: `${at} ${text.slice(0, 200).replaceAll("/", "_")}.json`, mimeType: "application/json", buffer: Buffer.from(hostile) });
    await page.locator(`.source, .fault`).filter({ hasText: new RegExp(`(^|\\s)${at} `) }).first().waitFor();
    await page.locator("cf-lineage:not([aria-busy])").waitFor();
    if (await page.locator(".room [role=row]").count()) {
      await page.locator(".room [role=row]").first().click();
      await page.locator("#panel-title").waitFor();
    }
    const answer = page.getByRole("button", { name: /^Approve or refuse/ });
    if (await answer.count()) {
      await answer.first().click();
      await page.locator("cf-approve dialog[open]").waitFor();
    }
    const seen = await look(page);
    assert.deepEqual(seen.names.filter((element) => !ELEMENTS.has(element) && !["h4", "ol", "kbd"].includes(element)), [], text.slice(0, 40));
    assert.deepEqual(seen.handlers.filter((name) => name !== "style"), [], text.slice(0, 40));
    assert.equal(seen.scripts, 2);
    assert.ok(!UNSEEN.test(seen.text), `${JSON.stringify(UNSEEN.exec(seen.text)?.[0])} is on the page`);
    assert.equal(seen.polluted, undefined);
    assert.ok(seen.wide <= 0, "the page became wider than the window");
    assert.ok(seen.references.every((reference) => /=(#[a-z_-]+|icon\.svg|(style|lineage|audit|print)\.css|main\.mjs)\]$/.test(reference)), String(seen.references));
    if (await answer.count()) await page.keyboard.press("Escape");
    for (const button of await page.getByRole("button", { name: /^Remove \d/ }).all()) await button.click();
  }
  assert.deepEqual(trouble, []);
});

test("70 MB are refused without a crash", async () => {
  const { page, trouble } = await site.open();
  const open = (slot, bytes) => page.evaluate(({ slot, bytes }) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(bytes).fill(0x61)], "large.json"));
    const input = document.querySelector(`#open-${slot}`);
    input.files = transfer.files;
    input.dispatchEvent(new Event("change"));
  }, { slot, bytes });
  await open("receipt", 70 << 20);
  await page.locator('[data-slot="receipt"][data-full]').waitFor();
  await becomes(() => verdict(page), "No verdict");
  await open("response", 70 << 20); // a large answer is an ordinary one
  await page.locator('[data-slot="response"][data-full]').waitFor();
  await put(page, { receipt: sample("bundle.json"), evidence: sample("evidence.json") });
  await becomes(() => verdict(page), "Failed");
  assert.deepEqual(trouble, []);
});
