// Orders: one quote, one payment, whatever the buyer, its worker or the network do. Each test stands for something that was said
// about selling to agents.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startChain } from "../../demo/chain.mjs";
import { gate, orderShop, problemOf, terms, until } from "./scene.mjs";
import { funded, pay, randomId, send, transfers } from "./shop.mjs";

let chain;
before(async () => { chain = await startChain(); });
after(() => chain.stop());

test("two open quotes for one intent: who asks again after a lost answer gets the same order, and holds one piece of stock", async (t) => {
  const { quote, stock, effects } = await orderShop(t, chain);
  const first = await quote();
  const again = await quote();
  assert.equal(first.replayed, false);
  assert.equal(again.replayed, true);
  assert.deepEqual(again.order, first.order);
  assert.equal(stock.left, 4);
  assert.deepEqual(effects(), ["hold_stock"]);
  // Another intent, another request or another buyer is another purchase.
  const others = await Promise.all([quote({ intentId: "intent_of_one_buyer_2" }), quote({ request: { item: "chair" } }), quote({ buyer: (await funded(chain)).address })]);
  assert.equal(new Set([first, ...others].map(({ order }) => order.id)).size, 4);
  assert.equal(stock.left, 1);
});

test("two askers at once get one order", async (t) => {
  const { quote, stock, effects } = await orderShop(t, chain);
  const all = await Promise.all([quote(), quote(), quote()]);
  assert.equal(new Set(all.map(({ order }) => order.id)).size, 1);
  assert.deepEqual(effects(), ["hold_stock"]);
  assert.equal(stock.left, 4);
});

test("two honest purchases stay two: each order is paid by itself", async (t) => {
  const { quote, at, buy, buyer, gateway } = await orderShop(t, chain);
  const orders = [await quote(), await quote({ intentId: "intent_of_one_buyer_2" })];
  for (const one of orders) assert.equal((await buy({ where: at(one) })).answer.status, 200);
  for (const one of orders) assert.equal((await gateway.order(one.order.id)).order.state, "paid");
  assert.equal(await transfers(chain, buyer.address), 2);
});

test("an unpaid quote expires and gives its stock back, once", async (t) => {
  const { quote, at, buy, buyer, gateway, skip, stock, effects } = await orderShop(t, chain);
  const quoted = await quote();
  skip(890);
  await gateway.sweep();
  assert.equal((await gateway.order(quoted.order.id)).order.state, "quoted");
  skip(20);
  await gateway.sweep();
  await gateway.sweep();
  assert.equal((await gateway.order(quoted.order.id)).order.state, "expired");
  assert.deepEqual(effects(), ["hold_stock", "release_stock"]);
  assert.equal(stock.left, 5);
  const { answer } = await buy({ where: at(quoted) });
  const problem = await problemOf(answer);
  assert.equal(problem.code, "quote_expired");
  assert.equal(problem.next, "requote");
  assert.equal(problem.money, "none");
  assert.equal(await transfers(chain, buyer.address), 0);
  // The same intent starts anew, under another id.
  const next = await quote();
  assert.equal(next.replayed, false);
  assert.notEqual(next.order.id, quoted.order.id);
});

test("a new id for the same intent can't buy the same quote twice: in flight while it is paid, the stored answer afterwards", async (t) => {
  const { open, opened } = gate();
  const { quote, at, buy, buyer, counted, price } = await orderShop(t, chain, { handler: async (req, res) => { await opened; res.json({ sold: Math.random() }); } });
  const where = at(await quote());
  const running = buy({ where });
  await until(() => counted.runs > 0);
  const second = await buy({ where });
  const problem = await problemOf(second.answer);
  assert.equal(problem.code, "payment_in_flight");
  assert.equal(problem.next, "wait");
  assert.equal(problem.poll, `/counterfoil/payments/${second.id}`);
  assert.ok(Number(second.answer.headers.get("retry-after")) >= 1);
  open();
  const first = await running;
  assert.equal(first.answer.status, 200);
  const text = await first.answer.text();
  // The second id leads to the first answer, and so do its bytes and a third id.
  const third = await pay(buyer, await price(where), { id: randomId() });
  for (const payment of [second.payment, third, first.payment]) {
    const answer = await send(where, payment, { method: "POST" });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("idempotency-replayed"), "true");
    assert.equal(await answer.text(), text);
  }
  assert.equal(counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("another payer meets a quote that is being paid: a problem that says so, never a bare 402, and no charge", async (t) => {
  const { open, opened } = gate();
  const { quote, at, buy, counted } = await orderShop(t, chain, { handler: async (req, res) => { await opened; res.json({}); } });
  const stranger = await funded(chain);
  // A quote for anybody: the seller knew no wallet when it was made.
  const anyone = await quote({ buyer: undefined, key: randomId() });
  const running = buy({ where: at(anyone) });
  await until(() => counted.runs > 0);
  const meanwhile = await problemOf((await buy({ where: at(anyone), by: stranger })).answer);
  assert.deepEqual([meanwhile.status, meanwhile.code, meanwhile.next, meanwhile.money], [409, "quote_already_paying", "wait", "none"]);
  open();
  assert.equal((await running).answer.status, 200);
  const afterwards = await problemOf((await buy({ where: at(anyone), by: stranger })).answer);
  assert.deepEqual([afterwards.status, afterwards.code, afterwards.money], [409, "quote_not_open", "none"]);
  assert.equal(await transfers(chain, stranger.address), 0);
});

test("a quote made for one wallet is not to be had by another, and an order that is none by nobody", async (t) => {
  const { quote, at, buy, shop, counted } = await orderShop(t, chain);
  const stranger = await funded(chain);
  const theirs = await problemOf((await buy({ where: at(await quote()), by: stranger })).answer);
  assert.deepEqual([theirs.code, theirs.next, theirs.money], ["quote_not_open", "requote", "none"]);
  const none = await problemOf((await buy({ where: `${shop.url}/orders/order_${"0".repeat(64)}`, by: stranger })).answer);
  assert.deepEqual([none.code, none.money], ["quote_not_open", "none"]);
  assert.equal(counted.runs, 0);
  assert.equal(await transfers(chain, stranger.address), 0);
});

test("each payment pins exactly one quote: other terms than those frozen are refused before anything is sent", async (t) => {
  const { quote, at, buy, buyer, counted, gateway } = await orderShop(t, chain);
  const quoted = await quote({ terms: terms({ amount: "20000" }) });
  const problem = await problemOf((await buy({ where: at(quoted) })).answer);
  assert.deepEqual([problem.code, problem.money], ["terms_changed", "none"]);
  assert.equal((await gateway.order(quoted.order.id)).order.state, "quoted");
  assert.equal(counted.runs + counted.settled, 0);
  assert.equal(await transfers(chain, buyer.address), 0);
  await assert.rejects(quote({ terms: terms({ amount: "0x1" }) }), { code: "amount_invalid" });
});

test("a failed order can take a new payment while the quote is open", async (t) => {
  const { quote, at, buy, buyer, gateway, state } = await orderShop(t, chain);
  const quoted = await quote();
  state.refuse = 1;
  assert.equal((await buy({ where: at(quoted) })).answer.status, 402);
  assert.equal((await gateway.order(quoted.order.id)).order.state, "payment_failed");
  assert.equal((await buy({ where: at(quoted) })).answer.status, 200);
  assert.equal((await gateway.order(quoted.order.id)).order.state, "paid");
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("stock that is not there: no quote is offered, and the next one starts anew", async (t) => {
  const { quote, stock, effects } = await orderShop(t, chain, { stock: { left: 0 } });
  await assert.rejects(quote(), { message: "nothing is left" });
  stock.left = 1;
  const quoted = await quote();
  assert.equal(quoted.order.state, "quoted");
  assert.equal(stock.left, 0, effects().join());
});

test("an open quote froze its terms: asked for under other ones it is refused, and none is made", async (t) => {
  const { quote, gateway, effects } = await orderShop(t, chain);
  const { order } = await quote();
  await assert.rejects(quote({ terms: terms({ amount: "20000" }) }), { code: "terms_changed", field: "terms" });
  assert.deepEqual((await gateway.order(order.id)).terms, terms());
  assert.deepEqual(effects(), ["hold_stock"]);
});

test("rows that can't be dealt with keep none behind them waiting, however few a sweep looks at", async (t) => {
  const { quote, gateway, store, skip } = await orderShop(t, chain);
  const { order } = await quote({ quoteSeconds: 1 });
  const broken = ["order/a", "order/b", "order/c"].map((key) => ({ key, value: {}, expiresAt: 0 }));
  await store.update(broken.map(({ key }) => key), () => ({ puts: broken }));
  skip(2);
  const swept = [];
  while (swept.length < 5) swept.push(await gateway.sweep({ limit: 2 }));
  assert.ok(swept.some(({ orders }) => orders === 1));
  assert.equal((await gateway.order(order.id)).order.state, "expired");
  // Those are not forgotten for it: each comes again.
  assert.equal(swept.reduce((sum, { failed }) => sum + failed, 0), 9);
});
