// A process is killed at every commit and at every effect of a purchase, once each, by SIGKILL, and started again. The
// chain is real, the seller is the official one, and what was paid is counted from the token's own logs.
//
// A first run without a kill tells how many points a purchase has. Reads of the journal and waits are no points: between
// them and their neighbours nothing changes. Bytes of a commit that were only partly written are the matter of tests/crash.rs.

import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileJournal } from "counterfoil/node";
import { books, GOODS, openMarket, run, several, signedIn } from "./crash/market.mjs";
import { assertRow, bookOf, placed, rowsOf } from "./crash/rows.mjs";

const rows = rowsOf(import.meta.url);
const everything = Boolean(process.env.COUNTERFOIL_ALL);
let market;
before(async () => {
  market = await openMarket();
});
after(() => market.close());

/** Kills one purchase at that point and buys on in a new process, with the same journal and the same intent. */
async function interrupted(seller, url, killAt, { lose = false } = {}) {
  const purchase = market.purchase(url, `killed at ${killAt}`);
  const first = await run(purchase, { killAt });
  assert.ok(first.killedAt, `${purchase.name}: nobody was killed; the run had the points ${first.end?.points}`);
  if (lose) rmSync(purchase.journal);
  const before = signedIn(purchase);
  const book = await leftIn(purchase);
  const second = await run(purchase);
  const outcome = await books(market, purchase, second, lose ? "authorization_used" : undefined);
  const after = await leftIn(purchase);
  const sent = second.end.points.filter((label) => /^send paid \d+ before$/.test(label)).length;
  const arrived = seller.payments.filter(({ payload }) => payload.authorization.nonce === signedIn(purchase)[0].nonce).length - sent;
  return { arrived, label: first.killedAt, keeps: seller.keeps, goods: GOODS, book, before, after, signed: signedIn(purchase), second: second.end, outcome };
}

/** What a journal's file holds, read from a copy: a process that died still has its lock. */
async function leftIn({ journal }) {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-left-"));
  const copy = join(folder, "journal.jsonl");
  if (existsSync(journal)) copyFileSync(journal, copy);
  const store = fileJournal(copy);
  const book = await bookOf(store);
  await store.close();
  rmSync(folder, { recursive: true });
  return book;
}

/** A seller whose answers are handed on as they come. */
const seller = async (keeps, type = "text/plain") => Object.assign(await market.seller({ keepsAnswers: keeps, type }), { keeps });

/** One purchase without a kill, then one for each of its points, or every nth of them and those of `always`. */
async function killEverywhere(seller, url, { stride = 1, always = [], uninterrupted = "delivered" } = {}) {
  const whole = market.purchase(url, "not killed");
  const dry = await run(whole);
  assert.equal(await books(market, whole, dry), uninterrupted);
  const { points } = dry.end;
  const all = points.map((label, i) => ({ label, killAt: i + 1 }));
  const chosen = all.filter(({ label }, i) => i % stride === 0 || always.includes(label));
  const runs = [];
  let purchases = 1;
  // Two reads of the chain may answer in either order; apart from that each point is met under its own name.
  const name = (label) => label.replace(/^read_chain \S+/, "read_chain");
  await several(chosen, async ({ label, killAt }) => {
    let run;
    // Whether the chain is read once more depends on when its blocks come: then another purchase is killed there.
    for (let tries = 0; tries < 3 && name(run?.label ?? "") !== name(label); tries++) {
      run = await interrupted(seller, url, killAt);
      purchases++;
    }
    runs.push({ killAt, ...run });
  });
  const names = (labels) => labels.map(name).sort();
  assert.deepEqual(names(runs.map(({ label }) => label)), names(chosen.map(({ label }) => label)));
  // One transfer for each purchase, and not one more.
  seller.before = purchases + (seller.before ?? 0);
  assert.equal(await market.transfersTo(seller.payTo), seller.before);
  return { points, runs, purchases };
}

/** Each kill against the row of its point; every row of the table that has a range was met. */
async function proveRows(t, { points, runs }) {
  const place = placed(rows, points);
  for (const row of rows.filter(({ from }) => from)) {
    await t.test(row.id, () => {
      const own = runs.filter(({ killAt }) => place[killAt - 1] === row);
      assert.ok(own.length > 0, "nobody was killed there");
      for (const kill of own) assertRow(row, kill);
    });
  }
}

const has = (points, ...labels) => {
  for (const label of labels) assert.ok(points.includes(label), `no point ${label}`);
};
const beforeAndAfter = (...names) => names.flatMap((name) => [`${name} before`, `${name} after`]);

test("killed at every point of a purchase, with a seller that keeps its answers", async (t) => {
  const keeping = await seller(true);
  const { points, runs } = await killEverywhere(keeping, keeping.url);
  has(points, ...beforeAndAfter("commit 1", "commit 2", "commit 3", "commit 4", "send unpaid 1", "ask 1", "sign 1", "send paid 1", "body 1", "body 2"));
  has(points, "send paid 1 in flight", ...beforeAndAfter("read_chain eth_call 1", "read_chain eth_getLogs 1"));
  for (const { label, outcome } of runs) assert.equal(outcome, "delivered", label);
  // What was signed before it became durable is signed again, and is the same.
  assert.equal(runs.find(({ label }) => label === "commit 2 before").before.length, 1);
  await proveRows(t, { points, runs });
});

test("killed at every point after an answer was lost", async () => {
  // A short answer in JSON, which is read before the settlement is written down.
  const keeping = await seller(true, "json");
  const { points, runs, purchases } = await killEverywhere(keeping, `${keeping.url}?cut`);
  has(points, ...beforeAndAfter("commit 5", "commit 6", "commit 7", "send paid 2", "read_chain eth_getTransactionReceipt 1"));
  assert.equal(keeping.struck, purchases, "each purchase lost its first answer");
  for (const { label, outcome } of runs) assert.equal(outcome, "delivered", label);
});

test("killed at the points of a purchase, with a seller that keeps nothing", async (t) => {
  const forgetful = await seller(false);
  const always = rows.flatMap(({ from, to }) => [from, to]);
  const proven = await killEverywhere(forgetful, forgetful.url, { stride: everything ? 1 : 8, always });
  assert.ok(proven.runs.some(({ outcome }) => outcome === "claim"));
  await proveRows(t, proven);
});

test("killed at the points after an answer was lost for good", async () => {
  const forgetful = await seller(false);
  await killEverywhere(forgetful, `${forgetful.url}?cut`, { stride: everything ? 1 : 5, uninterrupted: "claim" });
});

for (const keeps of [true, false]) {
  test(`killed, and the journal deleted, with a seller that ${keeps ? "keeps its answers" : "keeps nothing"}`, async (t) => {
    const sold = await seller(keeps);
    for (const row of rows.filter(({ at }) => at)) {
      await t.test(row.id, async () => {
        await several(row.at, async (label) => assertRow(row, await interrupted(sold, sold.url, label, { lose: true })));
      });
    }
  });
}
