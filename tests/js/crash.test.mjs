// A process is killed at every commit and at every effect of a purchase, once each, by SIGKILL, and started again. The
// chain is real, the seller is the official one, and what was paid is counted from the token's own logs.
//
// A first run without a kill tells how many points a purchase has. Reads of the journal and waits are no points: between
// them and their neighbours nothing changes. Bytes of a commit that were only partly written are the matter of tests/crash.rs.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { books, openMarket, run, several, signedIn } from "./crash/market.mjs";

const everything = Boolean(process.env.COUNTERFOIL_ALL);
let market;
before(async () => {
  market = await openMarket();
});
after(() => market.close());

/** Kills one purchase at that point and buys on in a new process, with the same journal and the same intent. */
async function interrupted(url, killAt, expected) {
  const purchase = market.purchase(url, `killed at ${killAt} (${expected})`);
  const first = await run(purchase, { killAt });
  assert.ok(first.killedAt, `${purchase.name}: nobody was killed; the run had the points ${first.end?.points}`);
  const signed = signedIn(purchase).length;
  const second = await run(purchase);
  return { label: first.killedAt, signed, outcome: await books(market, purchase, second), second };
}

/** One purchase without a kill, then one for each of its points, or every nth of them. */
async function killEverywhere(seller, url, { stride = 1, uninterrupted = "delivered" } = {}) {
  const whole = market.purchase(url, "not killed");
  const dry = await run(whole);
  assert.equal(await books(market, whole, dry), uninterrupted);
  const { points } = dry.end;
  const chosen = points.map((label, i) => ({ label, killAt: i + 1 })).filter((_, i) => i % stride === 0);
  const runs = [];
  await several(chosen, async ({ killAt, label }) => runs.push(await interrupted(url, killAt, label)));
  assert.equal(runs.length, chosen.length);
  // Two reads of the chain may answer in either order; apart from that each point was met under its own name.
  const names = (labels) => labels.map((label) => label.replace(/^read_chain \S+/, "read_chain")).sort();
  assert.deepEqual(names(runs.map(({ label }) => label)), names(chosen.map(({ label }) => label)));
  // One transfer for each purchase, and not one more.
  assert.equal(await market.transfersTo(seller.payTo), runs.length + 1 + (seller.before ?? 0));
  seller.before = runs.length + 1 + (seller.before ?? 0);
  return { points, runs };
}

const has = (points, ...labels) => {
  for (const label of labels) assert.ok(points.includes(label), `no point ${label}`);
};
const beforeAndAfter = (...names) => names.flatMap((name) => [`${name} before`, `${name} after`]);

let keeping;
test("killed at every point of a purchase, with a seller that keeps its answers", async () => {
  keeping = await market.seller({ keepsAnswers: true });
  const { points, runs } = await killEverywhere(keeping, keeping.url);
  has(points, ...beforeAndAfter("commit 1", "commit 2", "commit 3", "commit 4", "send unpaid 1", "ask 1", "sign 1", "send paid 1", "body 1", "body 2"));
  has(points, "send paid 1 in flight", ...beforeAndAfter("read_chain eth_call 1", "read_chain eth_getLogs 1"));
  for (const { label, outcome } of runs) assert.equal(outcome, "delivered", label);
  // What was signed before it became durable is signed again, and is the same.
  const before = runs.find(({ label }) => label === "commit 2 before");
  assert.equal(before.signed, 1);
});

test("killed at every point after an answer was lost", async () => {
  const url = `${keeping.url}?cut`;
  const { points, runs } = await killEverywhere(keeping, url);
  has(points, ...beforeAndAfter("commit 5", "commit 6", "commit 7", "send paid 2", "read_chain eth_getTransactionReceipt 1"));
  assert.equal(keeping.struck, runs.length + 1, "each purchase lost its first answer");
  for (const { label, outcome } of runs) assert.equal(outcome, "delivered", label);
});

test("killed at the points of a purchase, with a seller that keeps nothing", async () => {
  const seller = await market.seller({ keepsAnswers: false });
  const { points, runs } = await killEverywhere(seller, seller.url, { stride: everything ? 1 : 3 });
  const sent = points.indexOf("send paid 1 before");
  const written = points.lastIndexOf("commit 4 after");
  for (const { label, outcome } of runs) {
    const at = points.indexOf(label);
    // Before it is sent nothing is lost; once the delivery is written down the answer is in the journal.
    if (at <= sent || at >= written) assert.equal(outcome, "delivered", label);
    else assert.equal(outcome, "claim", label);
  }
  assert.ok(runs.some(({ outcome }) => outcome === "claim"));
});

test("killed at the points after an answer was lost for good", async () => {
  const seller = await market.seller({ keepsAnswers: false });
  await killEverywhere(seller, `${seller.url}?cut`, { stride: everything ? 1 : 5, uninterrupted: "claim" });
});
