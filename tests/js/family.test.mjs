// A family of agents in processes of their own, each with its journal, on the real chain with the official seller: a planner, two buyers, a sub-agent. One
// process is killed with its payment under way and started again, one intent goes from one buyer to the other, and things are done on purpose that are each
// allowed by themselves: a retry in other words, spending under another name and by a stranger, a purchase split to stay below what a person is asked for, a seller
// that wants its money elsewhere and then more of it, a budget that eight small errands use up. What the lineage says
// it cost is what the token logged, and what it tells of is what was done on purpose.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { lineage, verifyLineage } from "counterfoil";
import { USDC } from "../../demo/chain.mjs";
import { runKilled } from "./crash/killed.mjs";
import { GOODS, openMarket, payer, TRANSFER, word } from "./crash/market.mjs";

const AGENT = fileURLToPath(new URL("./family/agent.mjs", import.meta.url));
/** Above this a person is asked for one payment. */
const ASKED = "12000";
const id = (name) => name.padEnd(20, "0");
const TRIP = { id: id("trip"), purpose: "Trip to Oslo", budget: "200000" };
const below = (name, budget, parent = TRIP.id) => ({ id: id(name), purpose: name, parent, budget });
const TRAVEL = below("travel", "16000");
const LODGING = below("lodging", "100000");
const ROOMS = below("rooms", "20000", LODGING.id);
const ERRANDS = below("errands", "35000");
const SHOPPING = below("shopping", "100000");
const count = (n) => Array.from({ length: n }, (_, at) => at + 1);

test("a family of agents: its totals are the chain's, what was planted is found, and nothing else", async (t) => {
  const market = await openMarket();
  const home = mkdtempSync(join(tmpdir(), "counterfoil-family-"));
  t.after(async () => {
    await market.close();
    rmSync(home, { recursive: true, force: true });
  });
  const [goods, rates, slow] = [await market.seller({ keepsAnswers: true, price: "$0.004" }), await market.seller({ keepsAnswers: true }), await market.seller({ keepsAnswers: true, price: "$0.004", fault: "sit_on_it" })];
  // Says in the address what it is to ask for.
  const asks = (word, then, usual) => ({ adapter }) => (adapter.getUrl().includes(word) ? then : usual);
  const fickle = await market.seller({ payTo: asks("elsewhere", `0x${"e1".repeat(20)}`, `0x${"0f".repeat(20)}`), price: asks("dear", "$0.005", "$0.002") });
  const journals = ["planner", "one", "two", "courier", "shopper"].map((name) => join(home, `${name}.jsonl`));
  const [planners, ones, twos, couriers, shoppers] = journals;
  const agent = async (actor, journal, intents, steps, root) => {
    const given = { actor, journal, rpc: market.chain.url, policy: { perCall: ASKED }, intents: [TRIP, ...intents], steps, root };
    const { killedAt, end } = await runKilled(AGENT, given, actor);
    return { killedAt, ends: end?.ends };
  };
  const buy = (seller, query, intent, how) => ({ buy: { url: `${seller.url}?${query}`, intent, ...how } });
  /** A purchase with a name; the payer tells its digest. */
  const called = (name, parent) => ({ id: id(name), parent: parent.id });
  const got = (ends) => ends.map((end) => {
    assert.equal(end.sha256, GOODS.sha256, JSON.stringify(end));
    return end.intentId;
  });

  /** What was seen below finality is read again, so that others may be among them. */
  const settled = ({ outcomes }) => assert.deepEqual([...new Set(outcomes)], ["delivered"]);

  // Honest: each agent buys below an intent of its own, all at once. What is bought twice was delivered first; pages are turned; three payments of one price are no split.
  const PLAN = below("plan", "20000");
  const leg = (n) => called(`leg-${n}`, TRAVEL);
  const [plan, killed, nights, errands, shopping] = await Promise.all([
    agent("planner", planners, [PLAN], [1, 2, 2].map((day) => buy(goods, `day=${day}`, { parent: PLAN.id }))),
    agent("buyer one", ones, [TRAVEL], [buy(goods, "leg=1", leg(1)), buy(goods, "leg=2", leg(2), { dies: true })]),
    agent("buyer two", twos, [LODGING], [1, 2, 3].map((page) => buy(goods, `hotels=oslo&page=${page}`, { parent: LODGING.id }))),
    // Planted: eight small ones come near to the budget. Seven would not be many.
    agent("courier", couriers, [ERRANDS], count(8).map((n) => buy(goods, `errand=${n}`, called(`errand-${n}`, ERRANDS)))),
    // Planted: after three purchases another recipient, and then a price that was never asked for. Less than twice as much is none.
    agent("shopper", shoppers, [SHOPPING], ["1", "2", "3", "4&elsewhere", "5&dear"].flatMap((item) => [buy(fickle, `item=${item}`, { parent: SHOPPING.id }), { nextSecond: true }])),
  ]);
  got(errands.ends);
  const [, , , elsewhere, dear] = got(shopping.ends.filter(({ sha256 }) => sha256));
  const planned = got(plan.ends);
  assert.equal(new Set(planned).size, 3);
  assert.equal(new Set(got(nights.ends)).size, 3);
  assert.ok(killed.killedAt);
  // The restart. Then a seller takes the cheque of the third leg and does nothing with it, and the other buyer goes on with that.
  const one = await agent("buyer one", ones, [TRAVEL], [
    { resume: true }, ...[1, 2].map((n) => buy(goods, `leg=${n}`, leg(n))), buy(slow, "leg=3", leg(3)), { handOver: { id: id("leg-3"), to: "buyer two" } },
  ]);
  const [resumed, first, second, lost, { handOver }] = one.ends;
  settled(resumed);
  assert.equal(lost.error, "outcome_unknown");
  slow.lift();
  const [leg1, leg2] = got([first, second]);
  const taken = await agent("buyer two", ones, [TRAVEL], [{ takeOver: handOver }, buy(slow, "leg=3", leg(3))]);
  const [leg3] = got(taken.ends.slice(1));
  assert.equal(leg3, handOver.intentId);

  // Planted: a retry in other words while the first one's end is not known; the sub-agent can't widen what it was given.
  const sub = await agent("sub-agent", twos, [LODGING, ROOMS], [
    { intend: { id: id("wider"), budget: "20001" } },
    buy(goods, "room=Sea+View&cut", { parent: ROOMS.id }, { leaves: true }),
    buy(goods, "cut&room=sea%20view&page=2", { parent: ROOMS.id }),
    { resume: true },
  ], ROOMS.id);
  const [wider, , mutated, after] = sub.ends;
  assert.equal(wider.error, "lineage_wider");
  settled(after);
  const [again] = got([mutated]);
  // Planted: buyer one calls itself something else and buys on; a new name and a new intent are no new room.
  const alias = await agent("buyer uno", ones, [TRAVEL, below("travel again", "16000", TRAVEL.id)], [buy(goods, "leg=4", leg(4)), buy(goods, "leg=5", leg(5)), buy(goods, "leg=5", called("leg-5-again", below("travel again")))]);
  const [leg4] = got(alias.ends.slice(0, 1));
  assert.deepEqual(alias.ends.slice(1).map(({ error }) => error), ["over_budget", "over_budget"]);
  // Planted: what a person would be asked for, in three.
  const split = got((await agent("buyer two", twos, [LODGING], [1, 2, 3].map((part) => buy(rates, `part=${part}`, called(`part-${part}`, LODGING))))).ends);

  // Planted: a stranger spends below the planner's intent, to whom nothing was handed over.
  const [strange] = got((await agent("stranger", planners, [PLAN], [buy(goods, "day=3", { parent: PLAN.id })])).ends);

  const texts = journals.map((journal) => readFileSync(journal, "utf8"));
  for (const text of texts) assert.equal(verifyLineage(text).verdict, "verified");
  const view = lineage(texts, { threshold: ASKED });
  // The chain's own account of what left the payer.
  const logs = await market.chain.rpc("eth_getLogs", [{ address: USDC, topics: [TRANSFER, word(payer)], fromBlock: "0x0", toBlock: "latest" }]);
  const moved = logs.reduce((sum, { data }) => sum + BigInt(data), 0n);
  assert.equal(logs.length, 29);
  const [total, ...others] = view.totals;
  assert.deepEqual([total.settled, total.reserved, total.refundOwed, others], [String(moved), "0", "0", []]);
  const [{ spent }] = view.rows.filter(({ intentId }) => intentId === view.root);
  assert.equal(spent[0].settled, String(moved));
  assert.equal(view.rows.findLast(({ runningTotal }) => runningTotal)?.runningTotal, String(moved));
  const attempts = view.rows.filter(({ kind, state }) => kind === "attempt" && state === "settled");
  assert.equal(attempts.length, logs.length);
  // Of those that were read from the chain the transaction is known, too.
  const known = attempts.map(({ transaction }) => transaction).filter(Boolean);
  assert.ok(known.length > 0);
  assert.deepEqual(known.filter((transaction) => !logs.some(({ transactionHash }) => transactionHash === transaction)), []);
  assert.ok(view.rows.some(({ kind, agent }) => kind === "hand_over" && /buyer two/.test(agent)), JSON.stringify(view.rows.filter(({ kind }) => kind === "hand_over")));

  const told = (code) => view.flags.filter((flag) => flag.code === code).map(({ intents }) => intents);
  // What is written down within one second may stand in either order.
  const [near, ...more] = told("drift_near_repeat");
  assert.ok(near.length === 2 && near.includes(again), JSON.stringify(near));
  assert.ok(![leg1, leg2, leg3, leg4, ...split].includes(near.find((one) => one !== again)));
  assert.deepEqual(more, []);
  assert.deepEqual(told("drift_new_recipient"), [[elsewhere]]);
  assert.deepEqual(told("drift_price_step"), [[dear]]);
  assert.deepEqual(told("drift_cap_approach"), [[view.rows.find(({ label }) => label === ERRANDS.purpose).intentId]]);
  const actors = told("drift_other_actor");
  assert.deepEqual(actors.map(([, last]) => last).sort(), [leg4, strange].sort());
  for (const [known, last] of actors) assert.ok((last === leg4 ? [leg1, leg2] : planned).includes(known));
  assert.deepEqual(told("drift_split").map((parts) => parts.sort()), [split.sort()]);
  assert.equal(view.flags.length, 7, JSON.stringify(view.flags.map(({ code, intents }) => [code, intents])));
});
