// What lands late, or twice: the order of events that no refusal rule can see coming. The facilitator of these shops refuses a
// payment and keeps it, and presents it to the chain when the order has moved on.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { KEYS, USDC, startChain } from "../../demo/chain.mjs";
import { all, orderShop, problemOf } from "./scene.mjs";
import { challenge, funded, pay, randomId, randomNonce, send, transfers } from "./shop.mjs";

const { encodeFunctionData, parseAbi } = createRequire(new URL("../../demo/package.json", import.meta.url))("viem");
const abi = parseAbi(["function transfer(address to, uint256 value)"]);

let chain;
/** The shop's own account pays; the hash of the transaction, mined. */
async function transfer(to, value) {
  await chain.mint(chain.wallet(KEYS.owner).account.address, value);
  const data = encodeFunctionData({ abi, functionName: "transfer", args: [to, value] });
  const hash = await chain.wallet(KEYS.owner).sendTransaction({ to: USDC, data, gas: 200_000n });
  await chain.pub.waitForTransactionReceipt({ hash });
  return hash;
}

before(async () => { chain = await startChain(); });
after(() => chain.stop());

/** What happened on the chain is final, and the refused payments are due to be looked at. */
async function settled(skip) {
  await chain.finalized();
  skip(400);
}

test("an agent \"re-signs while the first transfer is still pending, and then both confirm\": the second is owed back, the order stays paid", async (t) => {
  const { quote, at, buy, buyer, gateway, state, present, skip, effects, told, counted } = await orderShop(t, chain);
  const quoted = await quote();
  state.refuse = 1;
  const id = randomId();
  assert.equal((await buy({ where: at(quoted), id })).answer.status, 402);
  const paying = await buy({ where: at(quoted) });
  assert.equal(paying.answer.status, 200);
  const { order } = await gateway.order(quoted.order.id);
  const { transaction } = await present();
  assert.equal(await transfers(chain, buyer.address), 2);
  await settled(skip);
  await gateway.sweep();
  await gateway.sweep();
  assert.deepEqual((await gateway.order(quoted.order.id)).order, order);
  assert.equal(order.state, "paid");
  const owed = await all(gateway.refundsOwed());
  assert.deepEqual(owed.map((one) => [one.transaction, one.payer, one.amount, one.order, one.state]), [[transaction, buyer.address, "10000", quoted.order.id, "open"]]);
  assert.deepEqual(effects(), ["hold_stock", "fulfil", "refund_owed"]);
  assert.equal(told.at(-1).transaction, transaction);
  assert.deepEqual(counted.alerts.map((alert) => alert.code), ["refund_owed"]);
  // Both ids were one purchase all along.
  const again = await send(at(quoted), paying.payment, { method: "POST" });
  assert.equal(await again.text(), await paying.answer.text());
});

test("two wallets pay one order and both confirm: one of them is served, the other's money is owed back and nothing is delivered for it", async (t) => {
  const { quote, at, buy, gateway, state, present, skip, counted, effects } = await orderShop(t, chain);
  const [early, other] = [await funded(chain), await funded(chain)];
  const quoted = await quote({ buyer: undefined, key: randomId() });
  state.refuse = 1;
  const first = await buy({ where: at(quoted), by: early });
  assert.equal(first.answer.status, 402);
  assert.equal((await buy({ where: at(quoted), by: other })).answer.status, 200);
  const { transaction } = await present();
  await settled(skip);
  await gateway.sweep();
  const owed = await all(gateway.refundsOwed());
  assert.deepEqual(owed.map((one) => [one.transaction, one.payer]), [[transaction, early.address]]);
  assert.equal((await gateway.order(quoted.order.id)).order.state, "paid");
  assert.deepEqual(effects(), ["hold_stock", "fulfil", "refund_owed"]);
  const runs = counted.runs;
  for (let tries = 0; tries < 2; tries++) {
    const problem = await problemOf(await send(at(quoted), first.payment, { method: "POST" }));
    assert.deepEqual([problem.status, problem.code, problem.money], [409, "refund_owed", "proven"]);
  }
  await gateway.sweep();
  assert.deepEqual(effects(), ["hold_stock", "fulfil", "refund_owed"]);
  assert.equal(counted.runs, runs);
  assert.equal(await transfers(chain, early.address), 1);
});

/** An order whose payment was refused, whose quote is over, whose stock went back, and whose payment then lands. */
async function landsLate(t, how) {
  const made = await orderShop(t, chain, how);
  const quoted = await made.quote();
  made.state.refuse = 1;
  const { payment, answer } = await made.buy({ where: made.at(quoted) });
  assert.equal(answer.status, 402);
  made.skip(1000);
  // The first sweep ends the quote; the sale can't be read as dead yet.
  await made.gateway.sweep();
  assert.equal((await made.gateway.order(quoted.order.id)).order.state, "expired");
  assert.deepEqual(made.effects(), ["hold_stock", "release_stock"]);
  return { ...made, quoted, payment, state: async () => (await made.gateway.order(quoted.order.id)).order };
}

test("\"a late confirmation that flips a failed order back to paid also needs a stock story\": there is stock, it is taken again and delivered", async (t) => {
  const { present, skip, gateway, stock, effects, state, quoted, at, payment, buyer, counted } = await landsLate(t, { options: { late: (told) => { assert.equal(told.order.state, "expired"); return "fulfil"; } } });
  const { transaction } = await present();
  await settled(skip);
  await gateway.sweep();
  assert.deepEqual((({ state, transaction, stockHeld }) => ({ state, transaction, stockHeld }))(await state()), { state: "paid", transaction, stockHeld: true });
  assert.deepEqual(effects(), ["hold_stock", "release_stock", "hold_stock", "fulfil"]);
  assert.equal(stock.left, 4);
  assert.deepEqual(counted.alerts.map((alert) => alert.code), ["late_confirmation"]);
  assert.deepEqual(await all(gateway.refundsOwed()), []);
  // The buyer who comes back with the same bytes gets what was paid for.
  assert.deepEqual(await (await send(at(quoted), payment, { method: "POST" })).json(), { sold: quoted.order.id });
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("a late confirmation without stock: the money is owed back, and nothing is delivered", async (t) => {
  const left = { left: 1 };
  const { present, skip, gateway, effects, state, quoted, at, payment, counted, told, buyer } = await landsLate(t, { stock: left, options: { late: () => (left.left > 0 ? "fulfil" : "refund") } });
  left.left = 0;
  const { transaction } = await present();
  await settled(skip);
  await gateway.sweep();
  assert.equal((await state()).state, "refund_pending");
  assert.deepEqual(effects(), ["hold_stock", "release_stock", "refund_owed"]);
  assert.equal(told.at(-1).transaction, transaction);
  assert.deepEqual((await all(gateway.refundsOwed())).map((one) => [one.transaction, one.payer, one.order]), [[transaction, buyer.address, quoted.order.id]]);
  assert.deepEqual(counted.alerts.map((alert) => alert.code), ["refund_owed"]);
  const problem = await problemOf(await send(at(quoted), payment, { method: "POST" }));
  assert.equal(problem.code, "refund_owed");
  assert.equal(counted.runs, 0);
  // It closes with a final transfer that gives the money back, and with nothing else.
  const refunded = (transaction) => gateway.moveOrder(quoted.order.id, { type: "refunded", transaction });
  await assert.rejects(refunded(transaction), { code: "order_event_invalid" });
  await assert.rejects(refunded(`0x${"ab".repeat(32)}`), { code: "refund_unproven", field: "event.transaction" });
  const short = await transfer(buyer.address, 9_999n);
  const back = await transfer(buyer.address, 10_000n);
  await assert.rejects(refunded(back), { code: "refund_unproven" }, "not final yet");
  await settled(skip);
  await assert.rejects(refunded(short), { code: "refund_unproven" });
  assert.equal((await state()).state, "refund_pending");
  assert.equal((await refunded(back)).order.state, "refunded");
  const [{ refundedIn, state: closed }] = await all(gateway.refundsOwed());
  assert.deepEqual([refundedIn, closed], [back, "closed"]);
});

test("without a rule a late confirmation is owed back; who comes back before anybody looked is not told that nothing was paid", async (t) => {
  const { present, gateway, state, quoted, at, payment, skip } = await landsLate(t);
  await present();
  await settled(skip);
  const problem = await problemOf(await send(at(quoted), payment, { method: "POST" }));
  assert.deepEqual([problem.code, problem.money], ["quote_expired", "possible"]);
  await gateway.sweep();
  assert.equal((await state()).state, "refund_pending");
  assert.equal((await problemOf(await send(at(quoted), payment, { method: "POST" }))).code, "refund_owed");
});

test("an effect that fails is told again under its number, and keeps no other order waiting", async (t) => {
  let fail = true;
  const seen = [];
  const onEffect = ({ effect, number, order }) => {
    seen.push([order.id, effect, number]);
    if (effect === "release_stock" && fail) { fail = false; throw new Error("the warehouse does not answer"); }
  };
  const { quote, gateway, skip } = await orderShop(t, chain, { options: { onEffect } });
  const orders = [await quote(), await quote({ intentId: "intent_of_one_buyer_2" })];
  skip(901);
  assert.equal((await gateway.sweep()).failed, 1);
  for (const { order } of orders) assert.equal((await gateway.order(order.id)).order.state, "expired");
  assert.equal(seen.filter(([, effect]) => effect === "release_stock").length, 2);
  assert.equal((await gateway.sweep()).failed, 0);
  await gateway.sweep();
  const released = seen.filter(([, effect]) => effect === "release_stock").map(([id, , number]) => `${id} ${number}`);
  assert.equal(released.length, 3);
  assert.equal(new Set(released).size, 2);
});

test("an effect may move its order: no stock after all, so the money goes back, and nothing is told twice meanwhile", async (t) => {
  const seen = [];
  let shop;
  const onEffect = async ({ effect, order }) => {
    seen.push(effect);
    if (effect === "fulfil") await shop.gateway.moveOrder(order.id, { type: "refund" });
  };
  shop = await orderShop(t, chain, { options: { onEffect } });
  const quoted = await shop.quote();
  assert.equal((await shop.buy({ where: shop.at(quoted) })).answer.status, 200);
  assert.deepEqual(seen, ["hold_stock", "fulfil", "release_stock", "refund_owed"]);
  assert.equal((await shop.gateway.order(quoted.order.id)).order.state, "refund_pending");
});

test("the buyer's nonce goes to something else while the end of its payment is unknown: the order ends as failed, its stock comes back, and the seller hears of it once", async (t) => {
  const settle = () => { throw new Error("the connection to the facilitator is gone"); };
  const { quote, at, buy, buyer, shop, gateway, skip, counted, effects, stock } = await orderShop(t, chain, { settle });
  const quoted = await quote();
  const nonce = randomNonce();
  assert.equal((await problemOf((await buy({ where: at(quoted), nonce })).answer)).code, "payment_in_flight");
  const { payment } = await pay(buyer, await challenge(at(quoted), { method: "POST" }), { nonce, over: { amount: "1" } });
  assert.equal((await shop.facilitator.settle(payment, payment.accepted)).success, true);
  await settled(skip);
  skip(1000);
  for (let sweeps = 0; sweeps < 3; sweeps++) await gateway.sweep();
  assert.deepEqual(counted.alerts.map((alert) => alert.code), ["paid_wrong_terms"]);
  const { order } = await gateway.order(quoted.order.id);
  assert.deepEqual([order.stockHeld, stock.left], [false, 5]);
  assert.deepEqual(effects(), ["hold_stock", "release_stock"]);
  assert.deepEqual(await all(gateway.refundsOwed()), []);
  assert.deepEqual(await gateway.sweep(), { sales: 0, orders: 0, dropped: 0, failed: 0 });
  assert.equal(await transfers(chain, buyer.address), 1);
});
