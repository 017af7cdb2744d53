// A family of agents in processes of their own, each with its journal, on the real chain with the official seller: a planner, two buyers, a sub-agent. One
// process is killed with its payment under way and started again, one intent goes from one buyer to the other, and three things are done on purpose that are each
// allowed by themselves: a retry in other words, spending under another name, a purchase split to stay below what a person is asked for. What the lineage says
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

test("a family of agents: its totals are the chain's, what was planted is found, and nothing else", async (t) => {
  const market = await openMarket();
  const home = mkdtempSync(join(tmpdir(), "counterfoil-family-"));
  t.after(async () => {
    await market.close();
    rmSync(home, { recursive: true, force: true });
  });
  const [goods, rates, slow] = [await market.seller({ keepsAnswers: true, price: "$0.004" }), await market.seller({ keepsAnswers: true }), await market.seller({ keepsAnswers: true, price: "$0.004", fault: "sit_on_it" })];
  const journals = ["planner", "one", "two"].map((name) => join(home, `${name}.jsonl`));
  const [planners, ones, twos] = journals;
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
  const [plan, killed, nights] = await Promise.all([
    agent("planner", planners, [PLAN], [1, 2, 2].map((day) => buy(goods, `day=${day}`, { parent: PLAN.id }))),
    agent("buyer one", ones, [TRAVEL], [buy(goods, "leg=1", leg(1)), buy(goods, "leg=2", leg(2), { dies: true })]),
    agent("buyer two", twos, [LODGING], [1, 2, 3].map((page) => buy(goods, `hotels=oslo&page=${page}`, { parent: LODGING.id }))),
  ]);
  assert.equal(new Set(got(plan.ends)).size, 3);
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

  const texts = journals.map((journal) => readFileSync(journal, "utf8"));
  for (const text of texts) assert.equal(verifyLineage(text).verdict, "verified");
  const view = lineage(texts, { threshold: ASKED });
  // The chain's own account of what left the payer.
  const logs = await market.chain.rpc("eth_getLogs", [{ address: USDC, topics: [TRANSFER, word(payer)], fromBlock: "0x0", toBlock: "latest" }]);
  const moved = logs.reduce((sum, { data }) => sum + BigInt(data), 0n);
  assert.equal(logs.length, 15);
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

  const told = view.flags.map(({ code, intents }) => [code, intents]);
  const [near] = told.filter(([code]) => code === "drift_near_repeat");
  assert.equal(near?.[1].at(-1), again);
  assert.ok(![leg1, leg2, leg3, leg4, ...split].includes(near[1][0]));
  assert.deepEqual(told.filter((one) => one !== near), [["drift_other_actor", [leg1, leg4]], ["drift_split", split]]);
});
