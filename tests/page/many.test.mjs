// 50,000 payments: only the rows in sight are elements, and all of them are counted for screen readers. What the core takes for them is the bench's.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./browser.mjs";

const PAYMENTS = 50_000;
let site;
before(async () => { site = await start(); });
after(() => site.stop());

const drawn = (page) => page.locator(".room [role=row]").count();
const indices = (page) => page.locator(".room [role=row]").evaluateAll((all) => all.map((row) => Number(row.getAttribute("aria-rowindex"))));

for (const width of [1440, 320]) {
  test(`of 50,000 payments only those in sight are elements, ${width} px wide`, async () => {
    const { page, trouble } = await site.open({ viewport: { width, height: 900 } });
    await page.getByRole("button", { name: "Lineage", exact: true }).click();
    await page.evaluate(async (payments) => {
      const { Rows } = await import("/lineage/rows.mjs");
      const token = { network: "eip155:84532", asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e" };
      const rows = [];
      for (let at = 0; at < payments; at++) {
        const intentId = `0x${String(at).padStart(64, "0")}`;
        const state = at % 10 ? "settled" : "unknown";
        rows.push({ kind: "intent", intentId, depth: 0, agent: `agent-${at % 7}`, label: `Report ${at}`, state, at: 1e9 + at, spent: [], flags: [] });
        rows.push({ kind: "attempt", intentId, attemptId: `${intentId}/0`, depth: 1, agent: `agent-${at % 7}`, state, at: 1e9 + at, endedAt: 1e9 + at + 5, payTo: token.asset, ...token, cost: "10000", runningTotal: String((at + 1) * 10000), flags: [] });
      }
      document.querySelector(".loaded").hidden = false;
      globalThis.rows = new Rows(rows);
      document.querySelector("cf-tree").show(globalThis.rows);
    }, PAYMENTS);
    const grid = page.getByRole("treegrid");
    await page.waitForFunction(() => document.querySelector(".room [role=row]"));
    assert.equal(await grid.getAttribute("aria-rowcount"), String(2 * PAYMENTS + 1));
    assert.ok((await drawn(page)) < 60, `${await drawn(page)} rows are elements`);
    for (const part of [0.37, 0.81, 1]) {
      await grid.evaluate((grid, part) => { grid.scrollTop = (grid.scrollHeight - grid.clientHeight) * part; }, part);
      await page.waitForFunction((least) => [...document.querySelectorAll(".room [role=row]")].filter((row) => Number(row.getAttribute("aria-rowindex")) > least).length > 5, Math.floor(2 * PAYMENTS * part) - 60);
      assert.ok((await drawn(page)) < 60, `${await drawn(page)} rows are elements`);
      const now = await indices(page);
      assert.deepEqual(now, [...now].sort((one, other) => one - other), "rows stand in another order than they are read");
    }
    assert.equal(Math.max(...(await indices(page))), 2 * PAYMENTS + 1);
    // Found by letters far away, with the focus on it, and still few.
    await grid.evaluate((grid) => { grid.scrollTop = 0; });
    await page.locator(".room [role=row]").first().focus();
    await page.keyboard.press("End");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-rowindex")), String(2 * PAYMENTS + 1));
    await grid.evaluate((grid) => { grid.scrollTop = 0; });
    await page.waitForFunction(() => document.querySelector('[aria-rowindex="2"]'));
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-rowindex")), String(2 * PAYMENTS + 1), "scrolling away took the focus");
    await page.evaluate(() => { globalThis.rows.update({ state: "unknown" }); document.querySelector("cf-tree").refresh(); });
    assert.equal(await grid.getAttribute("aria-rowcount"), String((2 * PAYMENTS) / 10 + 1));
    assert.ok((await drawn(page)) < 60);
    assert.deepEqual(trouble, []);
  });
}
