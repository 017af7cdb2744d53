// For everybody: axe, the keyboard, narrow windows, both themes, less motion.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { assertAccessible, becomes, journal, put, putLineage, start, verdict } from "./browser.mjs";

const sample = (name) => readFileSync(new URL(`../../www/sample/${name}`, import.meta.url));
const [receipt, evidence, response] = ["bundle.json", "evidence.json", "response.bin"].map(sample);
const two = JSON.stringify({ ...JSON.parse(receipt), intents: [JSON.parse(receipt).intents[0], JSON.parse(receipt).intents[0]] });

const SITUATIONS = {
  "at the start": {},
  "verified": { receipt, evidence, response },
  "incomplete": { receipt },
  "failed": { receipt, evidence, response: "another" },
  "refused": { receipt: "{" },
  "two purchases": { receipt: two, evidence },
};

let site;
before(async () => { site = await start(); });
after(() => site.stop());

for (const [name, places] of Object.entries(SITUATIONS)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe finds nothing: ${name}, ${colorScheme}`, async () => {
      for (const width of [1200, 360]) {
        const { page, trouble } = await site.open({ colorScheme, viewport: { width, height: 800 }, reducedMotion: "reduce" });
        await put(page, places);
        for (const details of await page.locator("details > summary").all()) await details.click();
        await assertAccessible(page, trouble, width);
        await page.context().close();
      }
    });
  }
}

/** Of the lineage view: what is shown, and what a person has opened in it. */
const LINEAGES = {
  "charged twice, side by side": [["charged-twice-buyer-a", "charged-twice-buyer-b"], (page) => page.getByRole("button", { name: /^Compare the two/ }).click()],
  "a receipt beside the tree": [["paid-without-delivery"], (page) => page.getByRole("row", { name: /Payment to 0x54/ }).click()],
  "to be approved": [["needs-approval"], (page) => page.getByRole("button", { name: /^Approve or refuse/ }).click()],
  "changed by somebody": [["broken-rewritten"], (page) => page.getByText("What these documents can't show").click()],
};
for (const [name, [journals, act]] of Object.entries(LINEAGES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe finds nothing in a lineage: ${name}, ${colorScheme}`, async () => {
      for (const width of [1440, 320]) {
        const { page, trouble } = await site.open({ colorScheme, viewport: { width, height: 900 }, reducedMotion: "reduce" });
        await putLineage(page, Object.fromEntries(journals.map((name) => [`${name}.jsonl`, journal(name)])));
        await act(page);
        await page.locator("cf-panel:not([hidden]) h2, dialog[open], .cannot[open]").first().waitFor();
        await assertAccessible(page, trouble, width);
        await page.context().close();
      }
    });
  }
}

test("the verdict is announced, and the landmarks and tables are there for a screen reader", async () => {
  for (const width of [1200, 360]) {
    const { page } = await site.open({ viewport: { width, height: 800 } });
    const status = page.getByRole("status").first();
    assert.equal(await status.getAttribute("aria-live"), "polite");
    await put(page, { receipt });
    assert.match(await status.innerText(), /^Incomplete\s+Nothing failed/);
    for (const role of ["banner", "main", "contentinfo"]) assert.equal(await page.getByRole(role).count(), 1, role);
    assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
    assert.ok((await page.getByRole("table").count()) >= 5);
    const table = page.getByRole("table", { name: "Checks: Signature" });
    const rows = await table.getByRole("row").count();
    assert.equal(await table.getByRole("rowheader").count(), rows - 1);
    assert.equal(await table.getByRole("columnheader").count(), 4);
  }
});

test("everything is reached by the keyboard, in the order of the page, with a visible focus", async () => {
  const { page, trouble } = await site.open();
  const order = [];
  for (let i = 0; i < 14; i++) {
    await page.keyboard.press("Tab");
    order.push(await page.evaluate(() => {
      const at = document.activeElement;
      // The frame of a file field stands on its label.
      const framed = at.matches("input[type=file]") ? at.nextElementSibling : at;
      return { name: at.id || at.textContent.trim(), framed: getComputedStyle(framed).outlineStyle !== "none" };
    }));
  }
  assert.deepEqual(order.slice(0, 10).map(({ name }) => name),
    ["Skip to the verdict", "Dark theme", "One payment", "Lineage", "open-receipt", "open-response", "open-evidence", "Paste text", "Say what you expect", "Open a sample"]);
  for (const { name, framed } of order.slice(0, 10)) assert.ok(framed, name);
  // From the keyboard alone: to the sample, and on to a verdict.
  await page.getByRole("button", { name: "Open a sample" }).focus();
  await page.keyboard.press("Enter");
  await page.locator('[data-slot="receipt"][data-full]').waitFor();
  await becomes(() => verdict(page), "Verified");
  await page.getByRole("button", { name: "Remove the receipt" }).focus();
  await page.keyboard.press("Space");
  await becomes(() => page.evaluate(() => document.activeElement.id), "open-receipt", "the focus is not lost with the button");
  assert.deepEqual(trouble, []);
});

test("the theme follows the system until it is chosen", async () => {
  const { page } = await site.open({ colorScheme: "dark" });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await paper();
  await page.getByRole("button", { name: "Light theme" }).click();
  await becomes(async () => (await paper()) === dark, false);
  const light = await paper();
  await page.emulateMedia({ colorScheme: "light" });
  await becomes(paper, light);
  await page.getByRole("button", { name: "Dark theme" }).click();
  await becomes(paper, dark);
});

test("with less motion asked for, nothing moves", async () => {
  const { page } = await site.open({ reducedMotion: "reduce" });
  const moving = await page.evaluate(() => [...document.querySelectorAll("*")].filter((node) => {
    const { transitionDuration, animationName } = getComputedStyle(node);
    return !/^0s(, 0s)*$/.test(transitionDuration) || animationName !== "none";
  }).length);
  assert.equal(moving, 0);
});

test("without JavaScript, and before it starts, the page says so and claims nothing", async () => {
  const { page } = await site.open();
  const { origin } = new URL(page.url());
  const still = await page.context().browser().newContext({ javaScriptEnabled: false });
  const silent = await still.newPage();
  await silent.goto(origin);
  assert.match(await silent.locator("cf-verdict [role=status]").innerText(), /^No verdict yet\s+The checker has not started/);
});
