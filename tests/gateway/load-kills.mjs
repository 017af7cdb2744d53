// A shop killed at every point of a paid request, once each: the next caller, at another process, gets the answer, and there is
// never a second transfer.
//
// A run without a kill tells the points: every step of every update of the store, the handler, and the broadcast's begin, middle and end.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { updateSteps } from "counterfoil/gateway";
import { ask, buyers, inFlight, read, received, several, startWorker, untilAnswered } from "./load-shops.mjs";
import { pay, randomId } from "./shop.mjs";

const LEASE = 3;

export const kills = (name, { chain: chainOf, place, stride }) => describe(`${name}, killed`, () => {
  let chain, where;
  const shops = [];
  before(async () => {
    chain = chainOf();
    where = await place();
    shops.push(...(await Promise.all([0, 1].map(() => startWorker(chain, where, LEASE)))));
  });
  after(() => Promise.all(shops.map((shop) => shop.stop())));

  const bought = async (withOrder, path) => {
    const order = withOrder && (await shops[0].control("quote", { key: randomId() })).order.id;
    const at = (shop) => `${shop.url}${path}${order ? `?order=${order}` : ""}`;
    const [buyer] = await buyers(chain, 1);
    return { order, at, buyer, id: randomId(), price: await ask(at(shops[0])) };
  };

  /** The points of a purchase, in their order. */
  async function pointsOf(withOrder, path) {
    const { at, buyer, id, price } = await bought(withOrder, path);
    const [shop] = shops;
    await shop.control("arm");
    assert.equal((await read(await ask(at(shop), await pay(buyer, price, { id })))).status, 200);
    return shop.control("points");
  }

  /** One purchase at a shop that dies at that point, gone on with at the others. */
  async function killed(point, fresh, withOrder, path) {
    const { order, at, buyer, id, price } = await bought(withOrder, path);
    const doomed = await startWorker(chain, where, LEASE);
    const first = await pay(buyer, price, { id });
    await doomed.control("arm", { at: point });
    await assert.rejects(ask(at(doomed), first), { code: "ECONNRESET" }, `${point} was not reached`);
    await doomed.killedAt(point);

    let turn = 0;
    const next = fresh ? await pay(buyer, price, { id }) : first;
    const answer = await untilAnswered(() => ask(at(shops[turn++ % shops.length]), next), id);
    for (const [shop, payment] of [[shops[0], first], [shops[1], await pay(buyer, price, { id })]]) {
      const again = await read(await ask(at(shop), payment));
      assert.deepEqual([again.status, again.replayed, again.body, again.receipt], [200, true, answer.body, answer.receipt], point);
    }
    if (order) {
      // An effect that the dead worker had begun is its own until its lease is over; then a sweep carries it out.
      const until = Date.now() + 4 * LEASE * 1000;
      let row;
      do {
        await shops[0].control("sweep");
        row = await shops[1].control("order", { id: order });
      } while (row.effects.length > 0 && Date.now() < until && (await new Promise((done) => setTimeout(done, 300, true))));
      assert.deepEqual([row.order.state, row.effects], ["paid", []], point);
    }
    return { point, buyer, transaction: JSON.parse(Buffer.from(answer.paid, "base64")).transaction, seconds: answer.seconds };
  }

  const beat = (point) => point.startsWith("heartbeat ");

  async function everywhere(t, what, withOrder, path, only) {
    const begin = performance.now();
    const { number: since } = await chain.block();
    const clean = await pointsOf(withOrder, path);
    const points = clean.points.filter(only);
    const chosen = points.filter((_, i) => i % stride === 0);
    const runs = [];
    await several(chosen, 3, async (point, i) => runs.push(await killed(point, i % 2 === 1, withOrder, path)));
    // Whatever was broadcast by the dead is in a block by now.
    const { number } = await chain.block();
    while ((await chain.block()).number < number + 2) await new Promise((done) => setTimeout(done, 200));
    const transfers = await received(chain, since);
    for (const { point, buyer, transaction } of runs) {
      assert.deepEqual(transfers.filter(({ payer }) => payer === buyer.address.toLowerCase()).map(({ transaction }) => transaction), [transaction], point);
    }
    assert.equal(transfers.length, runs.length + 1);
    assert.deepEqual(runs.map(({ point }) => point).sort(), [...chosen].sort());
    const told = { points: points.length, kills: runs.length, transfers: transfers.length, "longest wait": `${Math.max(...runs.map(({ seconds }) => seconds)).toFixed(1)} s of lease ${LEASE} s`, seconds: Math.round((performance.now() - begin) / 1000) };
    t.diagnostic(`${name}, ${what}: ${Object.entries(told).map(([what, n]) => `${what} ${n}`).join(", ")}`);
    t.diagnostic(`${Object.entries(clean.decisions).map(([update, decision]) => `${update}: ${decision}`).join(", ")}; killed at ${chosen.join(", ")}`);
    return { points, decisions: clean.decisions };
  }

  test("at every point of a request", async (t) => {
    const { points, decisions } = await everywhere(t, "a request", false, "/plain", (point) => !beat(point));
    complete(points, decisions, ["process", "settle", "noted", "send"]);
  });

  test("at every point of a request that pays an order", async (t) => {
    const { points, decisions } = await everywhere(t, "an order", true, "/plain", (point) => !beat(point));
    complete(points, decisions, ["process", "settle", "noted", "send", "order", "order"]);
  });

  test("in a heartbeat", async (t) => {
    const { points } = await everywhere(t, "a heartbeat", false, "/slow", beat);
    assert.deepEqual(points, updateSteps(1).map((step) => `heartbeat ${step}`));
  });

  /** Every step that decides something was seen, and all of its statements. */
  function complete(points, { heartbeat, ...decisions }, expected) {
    assert.deepEqual(Object.values(decisions).filter((decision) => decision !== "again"), expected);
    for (const update of Object.keys(decisions)) {
      const seen = points.filter((point) => point.startsWith(`${update} `));
      const written = seen.filter((point) => point.includes("written:")).length;
      assert.deepEqual(seen, updateSteps(written).map((step) => `${update} ${step}`));
      assert.equal(written > 0, decisions[update] !== "again", update);
    }
    for (const point of ["handler", "broadcast begin", "broadcast sent", "broadcast end"]) assert.ok(points.includes(point), point);
  }
});
