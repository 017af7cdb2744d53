// What comes out after the answer was given: a second transfer for one purchase, a payment that lands after it was refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startChain } from "../../demo/chain.mjs";
import { challenge, funded, pay, randomId, send, sqlite, startShop, transfers } from "./shop.mjs";

const report = (req, res) => res.json({ report: "clear" });

/** A shop that refuses the first payment it sees, which stays valid; `present` is what a dishonest facilitator does with it. */
async function refusing(t) {
  const chain = await startChain();
  t.after(() => chain.stop());
  let ahead = 0, refused;
  const verify = (run, payment, requirements) => {
    if (refused) return run();
    refused = { payment, requirements };
    return { isValid: false, invalidReason: "insufficient_funds", payer: payment.payload.authorization.from };
  };
  const options = { clock: () => Math.floor(Date.now() / 1000) + ahead };
  const shop = await startShop(t, { chain, store: await sqlite(t), routes: { "GET /report": report }, verify, options });
  const url = `${shop.url}/report`;
  const buyer = await funded(chain);
  const id = randomId();
  const first = await pay(buyer, await challenge(url), { id });
  assert.equal((await send(url, first)).status, 402);
  return {
    chain, shop, url, buyer, id, first,
    present: () => shop.facilitator.settle(refused.payment, refused.requirements),
    /** The clocks of chain and shop, past the end of every payment. */
    async later() {
      ahead += 400;
      await chain.advance(400);
      await chain.finalizedAt(Math.floor(Date.now() / 1000) + ahead - 100);
    },
  };
}

const owed = async (gateway) => { const all = []; for await (const one of gateway.refundsOwed()) all.push(one); return all; };

test("a refused payment that lands beside the one that paid is owed back, and told once", async (t) => {
  const { chain, shop, url, buyer, id, present, later } = await refusing(t);
  assert.equal((await send(url, await pay(buyer, await challenge(url), { id }))).status, 200);
  const { transaction } = await present();
  assert.equal(await transfers(chain, buyer.address), 2);
  await later();
  await shop.gateway.sweep();
  await shop.gateway.sweep();
  const [refund, ...rest] = await owed(shop.gateway);
  assert.deepEqual(rest, []);
  assert.equal(refund.transaction, transaction);
  assert.equal(refund.payer, buyer.address);
  assert.equal(refund.amount, "10000");
  assert.equal(refund.state, "open");
  assert.deepEqual(shop.counted.alerts.map((alert) => alert.code), ["refund_owed"]);
});

test("a refused payment that lands later is a purchase after all: told, and delivered without another charge", async (t) => {
  const { chain, shop, url, buyer, first, present, later } = await refusing(t);
  const { transaction } = await present();
  await later();
  await shop.gateway.sweep();
  assert.deepEqual(shop.counted.alerts.map((alert) => alert.code), ["late_confirmation"]);
  const answer = await send(url, first);
  assert.equal(answer.status, 200);
  assert.equal(JSON.parse(Buffer.from(answer.headers.get("payment-response"), "base64")).transaction, transaction);
  assert.equal(await transfers(chain, buyer.address), 1);
  assert.deepEqual(await owed(shop.gateway), []);
});

test("a refused payment that never landed is forgotten once it can't any more", async (t) => {
  const { chain, shop, url, buyer, id, first, later } = await refusing(t);
  await later();
  await shop.gateway.sweep();
  assert.deepEqual(shop.counted.alerts, []);
  // The spent window is refused by the facilitator, not by anything that was kept.
  assert.equal((await send(url, first)).status, 402);
  assert.equal(await transfers(chain, buyer.address), 0);
  assert.equal(shop.counted.settled, 0);
  assert.ok(id);
});
