// The lineage view on the prepared journals: what is said first, the tree, what narrows it, and two payments side by side.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { lineage } from "counterfoil";
import { FAULTS } from "../js/faults.mjs";
import { becomes, journal, putLineage, shown, start } from "./browser.mjs";
import { many } from "./many.mjs";

let site;
before(async () => { site = await start(); });
after(() => site.stop());

/** A page that shows these journals, by name. */
async function opened(...names) {
  const { page, trouble } = await site.open({ viewport: { width: 1440, height: 1000 } });
  await putLineage(page, Object.fromEntries(names.map((name, at) => [`agent-${at}.jsonl`, journal(name)])));
  return { page, trouble };
}
const part = (page, name) => page.locator(`[data-part="${name}"]`);
const counters = (page) => page.locator(".counter").evaluateAll((all) => Object.fromEntries(all.map((one) => [one.dataset.counter, Number(one.querySelector("strong").textContent)])));
const rows = (page) => page.locator(".room [role=row]").evaluateAll((all) => all.map((row) => row.querySelector(".name .label").textContent));
const NONE = { needsApproval: 0, unknown: 0, conflict: 0, duplicateCharge: 0, notDelivered: 0, refundOwed: 0 };

test("what has to be done comes first: what, how much, who, and the next safe step", async () => {
  const cases = [
    [["charged-twice-buyer-a", "charged-twice-buyer-b"], { duplicateCharge: 1, refundOwed: 1 }, [/Charged twice/, /Weather in Oslo in May/, /Owed back to you\s*0\.01 USDC/, /Paid to\s*0x98[0-9a-zA-Z]{38}/, /The first transfer\s*0x[0-9a-f]{64} stands/, /The second one\s*0x[0-9a-f]{64} is to come back/, /Do not pay again/, /Who can act\s*You/, /pay the second transfer back/]],
    [["paid-without-delivery"], { notDelivered: 1 }, [/Paid, and nothing was delivered/, /Fish prices/, /0\.02 USDC/, /Paid to\s*0x54[0-9a-zA-Z]{38}/, /towards the seller/, /Do not pay again/]],
    [["unknown-in-flight"], { unknown: 1 }, [/Nobody knows yet whether this was paid/, /Map of the north/, /0\.03 USDC/, /Sent to\s*0x39[0-9a-zA-Z]{38}/, /Whoever runs the agent/, /Do not pay again/, /Ask the chain whether it was paid/]],
    [["needs-approval"], { needsApproval: 1 }, [/Waits for your approval/, /The complete atlas/, /0\.25 USDC/, /Would go to\s*0x[0-9a-zA-Z]{40}/, /Why you are asked\s*The price is above the cap for one call\./, /approve or refuse it with your key/]],
    [["all-well"], {}, [/Nothing for you to do/]],
  ];
  for (const [names, counted, said] of cases) {
    const { page, trouble } = await opened(...names);
    const text = await part(page, "actions").innerText();
    for (const words of said) assert.match(text, words, names[0]);
    assert.deepEqual(await counters(page), { ...NONE, ...counted }, names[0]);
    const [todo, money] = await page.evaluate(() => ["#todo", ".money-strip"].map((name) => document.querySelector(name).getBoundingClientRect().top));
    assert.ok(todo < money);
    assert.deepEqual(trouble, []);
    await page.context().close();
  }
});

test("what can't be read or relied on is no proof that all is well", async () => {
  const pair = ["charged-twice-buyer-a", "charged-twice-buyer-b"].map(journal);
  const windows = Object.fromEntries(pair.map((text, at) => [`${at}.jsonl`, text.replaceAll("\n", "\r\n")]));
  const unreadable = { "bad.json": '{"type":"counterfoil/bundle","v":1,"payer":"0x12","intents":[]}' };
  for (const files of [windows, unreadable, { ...unreadable, "well.jsonl": journal("all-well") }, { "cut.jsonl": journal("all-well").split("\n").toSpliced(3, 1).join("\n") }]) {
    const { page } = await site.open();
    await putLineage(page, files);
    await part(page, "actions").getByText("Unknown.").waitFor();
    const text = `${await part(page, "actions").innerText()}\n${await part(page, "budget").innerText()}`;
    assert.doesNotMatch(text, /Nothing|nothing was charged twice/);
    assert.equal(await page.locator(".nothing.good").count(), 0);
    await page.context().close();
  }
});

/** The last record of a journal as a bundle; `change` may alter its attempt. */
function bundleOf(name, change) {
  const ops = journal(name).trimEnd().split("\n").flatMap((line) => JSON.parse(line).ops);
  const last = (kind) => ops.findLast(({ key }) => key.startsWith(kind));
  const record = structuredClone(last("intent/").put);
  change?.(record.attempts[0]);
  return JSON.stringify({ type: "counterfoil/bundle", v: 1, payer: last("wallet/").key.slice("wallet/".length), intents: [record] });
}

test("of three transfers for one purchase each later one is named by its own", async () => {
  const third = `0x${"7c".repeat(32)}`;
  const again = (attempt) => {
    attempt.transaction = third;
    attempt.authorization.nonce = `0x${"33".repeat(32)}`;
    attempt.plannedAt += 10;
    delete attempt.settlement;
    for (const one of attempt.observations) one.transaction = third;
  };
  const { page } = await site.open();
  await putLineage(page, { "a.json": bundleOf("charged-twice-buyer-a"), "b.json": bundleOf("charged-twice-buyer-b"), "c.json": bundleOf("charged-twice-buyer-b", again) });
  const told = await page.locator(".action[data-code=duplicate_charge]").allInnerTexts();
  const named = told.map((text) => [/The first transfer\s*(0x[0-9a-f]{64})/.exec(text)?.[1], /The second one\s*(0x[0-9a-f]{64})/.exec(text)?.[1]]);
  const [first, second] = ["charged-twice-buyer-a", "charged-twice-buyer-b"].map((name) => JSON.parse(bundleOf(name)).intents[0].attempts[0].transaction);
  assert.deepEqual(named.toSorted(), [[first, second], [first, third]].toSorted());
  const at = named.findIndex(([, later]) => later === third);
  await page.getByRole("button", { name: /^Compare the two/ }).nth(at).click();
  const table = page.getByRole("table", { name: "Both payments" });
  await table.waitFor();
  const values = await table.locator("tbody tr", { hasText: "Transaction" }).locator("td").allInnerTexts();
  assert.deepEqual(values.map((value) => value.trim()), [first, third]);
  const nonces = await table.locator("tbody tr", { hasText: "Nonce" }).locator("td").allInnerTexts();
  assert.equal(nonces[1].trim(), `0x${"33".repeat(32)}`);
});

test("charged twice by an amount that is not known is no refund of nothing", async () => {
  const wrong = (attempt) => {
    Object.assign(attempt, { state: "wrong_terms", verdict: { ...attempt.verdict, verdict: "paid_wrong_terms" } });
    delete attempt.evidence;
  };
  const { page } = await site.open();
  await putLineage(page, { "a.json": bundleOf("charged-twice-buyer-a"), "b.json": bundleOf("charged-twice-buyer-b", wrong) });
  assert.equal((await counters(page)).duplicateCharge, 1);
  await part(page, "budget").getByText("moved twice for one purchase; how much is not known").waitFor();
  assert.doesNotMatch(await part(page, "budget").innerText(), /nothing was charged twice/);
});

test("what needs a person most stands first, whatever came first", async () => {
  const { page } = await opened("unknown-in-flight", "needs-approval", "charged-twice-buyer-a", "charged-twice-buyer-b");
  const told = await page.locator(".action").evaluateAll((all) => all.map((one) => one.dataset.code));
  assert.deepEqual(told, ["duplicate_charge", "approval_needed", "outcome_unknown"]);
});

test("each of several things to do has its whole next step", async () => {
  const { page, trouble } = await site.open();
  await putLineage(page, { "many.json": many(30) });
  const told = await part(page, "actions").locator(".action").allInnerTexts();
  assert.equal(told.length, 3);
  for (const text of told) assert.match(text, /Do not pay again\. Ask the chain .*: npx counterfoil resume <journal> --rpc/);
  assert.deepEqual(trouble, []);
});

test("money is the core's, to the last unit: spent, reserved and left in one labelled bar", async () => {
  const { page } = await opened("unknown-in-flight");
  assert.equal(await page.getByRole("img", { name: /^Spent/ }).getAttribute("aria-label"), "Spent 0.01 USDC, reserved 0.03 USDC, left 0.02 USDC of 0.06 USDC");
  const [{ settled, reserved }] = lineage([journal("unknown-in-flight")]).totals;
  assert.deepEqual([settled, reserved], ["10000", "30000"]);
  assert.match(await part(page, "budget").innerText(), /counts as spent until it is known/);
  assert.deepEqual(await page.locator(".money").evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length), 0, "an amount is cut");
});

test("a zero counter is greyed, another shows only its rows with what they hang on", async () => {
  const { page } = await opened("unknown-in-flight");
  assert.ok(await page.locator('[data-counter="conflict"]').isDisabled());
  await page.locator('[data-counter="unknown"]').click();
  await becomes(() => rows(page), ["Night run", "Map of the north", "Payment to 0x39aD54…f4A0"]);
  await becomes(() => page.locator('[data-counter="unknown"]').getAttribute("aria-pressed"), "true");
  await part(page, "count").filter({ hasText: /^2 of 5 rows/ }).waitFor();
  await page.locator('[data-counter="unknown"]').click();
  await becomes(async () => (await rows(page)).length, 5);
});

test("search, state, agent and order narrow and sort the rows", async () => {
  const { page } = await opened("all-well", "unknown-in-flight");
  await page.locator("#search").fill("bergen");
  await page.waitForFunction(() => document.querySelectorAll(".room [role=row]").length === 5);
  assert.deepEqual(await rows(page), ["Trip to Oslo", "Weather along the way", "Weather in Bergen", "Room prices", "Room prices in Bergen"]);
  await page.locator("#search").fill("no such thing");
  await page.waitForFunction(() => document.querySelectorAll(".room [role=row]").length === 0);
  await becomes(() => part(page, "count").innerText(), "Nothing matches.");
  await page.locator("#search").fill("");
  await page.waitForFunction(() => document.querySelectorAll(".room [role=row]").length > 10);
  await page.locator("#by-agent").selectOption("booker");
  await becomes(async () => (await rows(page)).some((name) => /Weather/.test(name)), false);
  await page.locator("#by-agent").selectOption("");
  await page.locator("#by-state").selectOption("unknown");
  await becomes(async () => (await rows(page)).length, 3);
  await page.locator("#by-state").selectOption("");
  await page.locator("#order").selectOption("time");
  await becomes(() => page.locator(".room [role=row]").evaluateAll((all) => all.some((row) => row.getAttribute("aria-level") !== "1")), false);
  const times = await page.locator(".room [role=row] .axis").evaluateAll((all) => all.map((one) => one.title));
  assert.ok(times.length >= 6);
  assert.deepEqual(times, [...times].sort());
  const levels = await page.locator(".room [role=row]").evaluateAll((all) => all.map((row) => row.getAttribute("aria-level")));
  assert.ok(levels.every((level) => level === "1"));
});

test("several journals are put together, once each, and one can be taken away", async () => {
  const { page, trouble } = await opened("charged-twice-buyer-a");
  assert.deepEqual(await counters(page), NONE);
  await putLineage(page, { "b.jsonl": journal("charged-twice-buyer-b") });
  await page.waitForFunction(() => document.querySelector('[data-counter="duplicateCharge"] strong').textContent === "1");
  await putLineage(page, { "again.jsonl": journal("charged-twice-buyer-a"), "night.jsonl": journal("unknown-in-flight") });
  await page.locator(".source", { hasText: "night.jsonl" }).waitFor();
  assert.equal(await page.locator(".source").count(), 3, "the same file is shown once");
  await page.getByRole("button", { name: "Remove b.jsonl" }).click();
  await page.waitForFunction(() => document.querySelector('[data-counter="duplicateCharge"] strong').textContent === "0");
  assert.deepEqual(trouble, []);
});

test("two charges stand side by side, and exactly the fields that differ are marked", async () => {
  const { page, trouble } = await opened("charged-twice-buyer-a", "charged-twice-buyer-b");
  await page.getByRole("button", { name: /^Compare the two/ }).click();
  const table = page.getByRole("table", { name: "Both payments" });
  await table.waitFor();
  const lines = await table.locator("tbody tr").evaluateAll((all) => all.map((row) => [row.querySelector("th").firstChild.textContent, row.hasAttribute("data-differs"), row.querySelectorAll("mark").length]));
  const differs = lines.filter(([, differs]) => differs).map(([name]) => name);
  for (const name of ["Nonce", "Transaction"]) assert.ok(differs.includes(name), name);
  for (const name of ["Amount", "Recipient", "Quote", "Intent"]) assert.ok(!differs.includes(name), name);
  for (const [name, differ, marks] of lines) assert.equal(marks > 0, differ, name);
  assert.deepEqual(trouble, []);
});

test("the receipt of the selected payment opens beside the tree, and Escape puts the focus back", async () => {
  const { page, trouble } = await opened("paid-without-delivery");
  await page.getByRole("row", { name: /Payment to 0x54/ }).click();
  const panel = page.locator("cf-panel");
  await panel.locator(".word").waitFor();
  assert.equal(await panel.locator(".word").textContent(), "Incomplete");
  assert.match(await panel.innerText(), /Settled\s*the chain shows it/);
  await becomes(() => page.evaluate(() => document.activeElement.id), "panel-title");
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "hidden" });
  await becomes(() => page.evaluate(() => /Payment to 0x54/.test(document.activeElement.textContent)), true);
  assert.deepEqual(trouble, []);
});

test("a journal that somebody changed is named before anything that it says, and what no check shows is said", async () => {
  const { page: broken } = await site.open();
  await putLineage(broken, Object.fromEntries(Object.entries(FAULTS).map(([name, [text]]) => [name, text])));
  const told = await part(broken, "faults").locator(".fault").allInnerTexts();
  for (const [name, [, words]] of Object.entries(FAULTS)) {
    const own = told.filter((text) => text.includes(`Do not rely on ${name}.`));
    assert.equal(own.length, words ? 1 : 0, name);
    if (words) assert.match(own[0], words);
  }
  const [fault, todo] = await broken.evaluate(() => [".fault", "#todo"].map((one) => document.querySelector(one).getBoundingClientRect().top));
  assert.ok(fault < todo);
  await broken.context().close();
  const { page } = await opened("all-well");
  await page.getByText("What these documents can't show").click();
  await part(page, "trust").getByText(/a file cut off at its end looks like an older one/).waitFor();
});

test("a file that can't be read is left out and named, and the others are shown", async () => {
  const { page, trouble } = await site.open();
  await putLineage(page, { "good.jsonl": journal("all-well"), "bad.json": '{"type":"counterfoil/bundle","v":1,"payer":"0x12","intents":[]}' });
  assert.match(await part(page, "faults").innerText(), /bad\.json can't be read, and is left out: address_invalid/);
  assert.ok((await page.locator(".room [role=row]").count()) > 5);
  assert.deepEqual(trouble, []);
});

test("samples open from the page's own files", async () => {
  const { page, trouble } = await site.open();
  await page.getByRole("button", { name: "Lineage", exact: true }).click();
  for (const name of await page.locator("#sample option").evaluateAll((all) => all.map(({ value }) => value).filter(Boolean))) {
    await page.locator("#sample").selectOption(name);
    const before = await part(page, "trust").textContent();
    await page.getByRole("button", { name: "Show the sample" }).click();
    await page.waitForFunction((before) => document.querySelector('[data-part="trust"]').textContent !== before, before);
    await shown(page);
  }
  assert.deepEqual(trouble, []);
});
