// The buyer comes back: too early, under a new name, without its memory, after days. Each test stands for something that was said
// about retries.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { CounterfoilError } from "counterfoil";
import { startChain } from "../../demo/chain.mjs";
import { gate, problemOf, scene, until } from "./scene.mjs";
import { pay, randomId, SECRET, send, sqlite, startShop, transfers } from "./shop.mjs";

let chain;
before(async () => { chain = await startChain(); });
after(() => chain.stop());

const DAY = 86_400;
const sha256 = (bytes) => `0x${createHash("sha256").update(Buffer.from(bytes)).digest("hex")}`;
const receiptAt = async (shop, path) => (await fetch(shop.url + path)).json();

test("\"a day-25 retry\" is answered from the receipt, which carries the retry ids as keyed hashes", async (t) => {
  const { shop, buy, buyer, price, url, skip, gateway, counted } = await scene(t, chain);
  const { id, payment, answer } = await buy();
  const digest = sha256(await answer.arrayBuffer());
  skip(25 * DAY);
  await gateway.sweep();
  // Its own bytes, and a fresh signature under the id: both find it.
  for (const retry of [payment, await pay(buyer, await price(), { id })]) {
    const late = await send(url, retry);
    const problem = await problemOf(late);
    assert.deepEqual([problem.status, problem.code, problem.next, problem.money], [410, "answer_expired", "lookup_receipt", "proven"]);
    assert.equal(late.headers.get("receipt-id"), answer.headers.get("receipt-id"));
    const receipt = await receiptAt(shop, problem.receipt);
    assert.equal(receipt.response.sha256, digest);
    assert.equal(receipt.payer, buyer.address);
    assert.equal((await chain.rpc("eth_getTransactionReceipt", [receipt.transaction])).status, "0x1");
    // Public, and the id is not in it: only its hash under the seller's secret.
    assert.equal(receipt.retryIds.length, 1);
    assert.match(receipt.retryIds[0], /^k1_[0-9a-f]{64}$/);
    assert.ok(!JSON.stringify(receipt).includes(id));
  }
  assert.equal(counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("a retry id is still found when the seller's secret was changed since", async (t) => {
  const store = await sqlite(t);
  let ahead = 0;
  const clock = () => Math.floor(Date.now() / 1000) + ahead;
  const first = await scene(t, chain, { store, options: { clock } });
  const { payment, answer } = await first.buy();
  const newer = { secret: new Uint8Array(32).fill(9), keyId: "k2", older: [{ keyId: "k1", secret: SECRET }], clock };
  const port = Number(new URL(first.url).port);
  await first.shop.stop();
  // The connection that was kept open is found broken by this one.
  await fetch(first.url).catch(() => {});
  const { gateway } = await startShop(t, { chain, store, port, routes: { "GET /report": (req, res) => res.json({}) }, options: newer });
  assert.equal(await (await send(first.url, payment)).text(), await answer.text());
  ahead = 25 * DAY;
  await gateway.sweep();
  assert.equal((await problemOf(await send(first.url, payment))).code, "answer_expired");
});

test("\"paid, provable, and holding no result\": two days later the payment id alone leads to transaction and digest", async (t) => {
  const { shop, buy, skip, url, buyer, gateway } = await scene(t, chain);
  const { id, payment, answer } = await buy();
  const text = await answer.arrayBuffer();
  // Within the retention the answer itself comes back.
  assert.deepEqual(await (await send(url, payment)).arrayBuffer(), text);
  skip(2 * DAY);
  await gateway.sweep();
  const status = await (await send(`${shop.url}/counterfoil/payments/${id}`, payment)).json();
  assert.deepEqual([status.state, status.money, status.next], ["expired", "proven", "lookup_receipt"]);
  const receipt = await receiptAt(shop, status.receipt);
  assert.deepEqual([receipt.transaction, receipt.response.sha256, receipt.amount, receipt.payer], [status.transaction, sha256(text), "10000", buyer.address]);
  const problem = await problemOf(await send(url, payment));
  assert.deepEqual([problem.code, problem.receipt], ["answer_expired", status.receipt]);
});

test("\"a retry that fires before the gateway's 409 arrives\": two requests at once with one id are one purchase", async (t) => {
  const { buyer, price, url, counted } = await scene(t, chain);
  const id = randomId();
  const payments = await Promise.all(Array.from({ length: 5 }, async () => pay(buyer, await price(), { id })));
  const answers = await Promise.all(payments.map((payment) => send(url, payment)));
  const served = answers.filter((answer) => answer.status === 200);
  assert.ok(served.length >= 1);
  const texts = new Set(await Promise.all(served.map((answer) => answer.text())));
  assert.equal(texts.size, 1);
  for (const answer of answers.filter((answer) => answer.status !== 200)) assert.equal((await problemOf(answer)).code, "payment_in_flight");
  assert.equal(counted.runs, 1);
  assert.equal(counted.settled, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("\"many agent runtimes treat any 409 as terminal\": this one says wait, how long, and where, and asking there and again gets the answer", async (t) => {
  const { open, opened } = gate();
  const { shop, buy, url, counted, buyer } = await scene(t, chain, { routes: { "GET /report": async (req, res) => { await opened; res.json({ late: true }); } } });
  const id = randomId();
  const running = buy({ id });
  await until(() => counted.runs > 0);
  const meanwhile = await buy({ id });
  const problem = await problemOf(meanwhile.answer);
  assert.deepEqual([problem.code, problem.next], ["payment_in_flight", "wait"]);
  assert.equal(meanwhile.answer.headers.get("retry-after"), String(problem.retryAfter));
  const { payment } = await new Promise((done) => { open(); done(running); });
  const status = await (await send(shop.url + problem.poll, payment)).json();
  assert.equal(status.state, "delivered");
  assert.deepEqual(await (await send(url, meanwhile.payment)).json(), { late: true });
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("\"if the first request throws, we clear the id\": before a broadcast, yes; after one, never", async (t) => {
  let when = "before";
  const routes = { "GET /report": (req, res) => { if (when === "before") throw new Error("broken"); res.json({ fine: true }); } };
  const settle = async (run) => {
    const result = await run();
    if (when !== "after") return result;
    when = "fine";
    throw new Error("the connection to the facilitator is gone");
  };
  const { buy, url, buyer, counted, skip } = await scene(t, chain, { routes, settle });
  const { payment, answer, id } = await buy();
  assert.equal(answer.status, 500);
  when = "after";
  const second = await problemOf(await send(url, payment));
  assert.deepEqual([second.status, second.code, second.money], [409, "payment_in_flight", "possible"]);
  assert.equal(counted.settled, 1);
  // Whatever comes now, a fresh signature or the same bytes, and however late: it was paid once.
  skip(3600);
  const fresh = await buy({ id });
  assert.deepEqual(await fresh.answer.json(), { fine: true });
  assert.deepEqual(await (await send(url, payment)).json(), { fine: true });
  assert.equal(counted.settled, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("the facilitator answers that it failed, with an exception for a reason, and the transfer landed: the id is not cleared", async (t) => {
  let lied = false;
  const settle = async (run, payment, requirements) => {
    const result = await run();
    if (lied) return result;
    lied = true;
    return { success: false, errorReason: "unexpected_settle_error", transaction: "", network: requirements.network, payer: payment.payload.authorization.from };
  };
  const { buy, url, buyer, counted } = await scene(t, chain, { settle });
  const { payment, answer, id } = await buy();
  assert.equal((await problemOf(answer)).code, "payment_in_flight");
  assert.equal((await buy({ id })).answer.status, 200);
  assert.equal((await send(url, payment)).headers.get("idempotency-replayed"), "true");
  assert.equal(counted.settled, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

/** A store that refuses from the n-th update on, as often as told. */
function failing(store) {
  const state = { updates: 0, from: Infinity, times: 0 };
  const down = () => {
    state.updates += 1;
    if (state.updates < state.from || state.times <= 0) return false;
    state.times -= 1;
    return true;
  };
  const error = () => Promise.reject(new CounterfoilError("store_unavailable"));
  return { state, store: { ...store, update: (...args) => (down() ? error() : store.update(...args)) } };
}

test("the store is down before any work: 503, nothing is run and nothing is charged", async (t) => {
  const { state, store } = failing(await sqlite(t));
  const { buy, url, buyer, counted } = await scene(t, chain, { store });
  Object.assign(state, { updates: 0, from: 1, times: 1 });
  const { payment, answer } = await buy();
  const problem = await problemOf(answer);
  assert.deepEqual([problem.status, problem.code, problem.next], [503, "store_unavailable", "wait"]);
  assert.ok(Number(answer.headers.get("retry-after")) > 0);
  assert.equal(counted.runs + counted.verified + counted.settled, 0);
  assert.equal((await send(url, payment)).status, 200);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("the store goes down at any later point: never charged twice, and the answer comes once it is back", async (t) => {
  // Before the broadcast, after it, at the answer.
  for (const from of [2, 3, 4]) {
    for (const times of [1, 3]) {
      const { state, store } = failing(await sqlite(t));
      const { buy, url, buyer, counted, skip } = await scene(t, chain, { store });
      Object.assign(state, { updates: 0, from, times });
      const { payment, answer } = await buy();
      const where = `update ${from}, ${times} times: ${answer.status}`;
      assert.ok([409, 503].includes(answer.status), where);
      assert.equal((await problemOf(answer)).next, "wait", where);
      // The worker is not dead, but what it can't write nobody knows: the lease has to run out.
      state.times = 0;
      skip(61);
      const again = await send(url, payment);
      assert.equal(again.status, 200, `${where}, then ${again.status} ${again.status === 200 ? "" : await again.text()}`);
      assert.ok((await again.json()).report, where);
      assert.equal(counted.settled, 1, where);
      assert.equal(await transfers(chain, buyer.address), 1, where);
    }
  }
});
