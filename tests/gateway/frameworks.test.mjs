// The same rules whatever the shop is built with: Hono with the official middleware, a handler of web requests.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CounterfoilError } from "counterfoil";
import { startChain } from "../../demo/chain.mjs";
import { gate, problemOf, until } from "./scene.mjs";
import { funded, pay, randomId, sqlite, transfers } from "./shop.mjs";
import { honoShop, HOST, webShop } from "./web-shops.mjs";

let chain;
before(async () => { chain = await startChain(); });
after(() => chain.stop());

const clear = () => Response.json({ report: "clear", at: Math.random() });

for (const [name, make] of Object.entries({ hono: honoShop, wrap: webShop })) {
  const scene = async (t, { work = clear, ...rest } = {}) => {
    const shop = make({ chain, store: await sqlite(t), work, ...rest });
    const buyer = await funded(chain);
    const send = (payment, init = {}) => shop.fetch("/report", { ...init, headers: { ...init.headers, "payment-signature": payment.header } });
    const price = await shop.fetch("/report");
    return { ...shop, buyer, price, send, pay: (how) => pay(buyer, price, { id: randomId(), ...how }) };
  };

  test(`${name}: without a payment the shop answers as it did`, async (t) => {
    const { price, counted } = await scene(t);
    assert.equal(price.status, 402);
    assert.ok(price.headers.get("payment-required"));
    assert.equal(counted.runs, 0);
  });

  test(`${name}: paid once, repeated from the store byte for byte, with a receipt`, async (t) => {
    const { fetch, counted, buyer, send, pay } = await scene(t);
    const payment = await pay();
    const first = await send(payment);
    assert.equal(first.status, 200);
    const text = await first.text();
    assert.ok(JSON.parse(text).report);
    assert.ok(first.headers.get("payment-response"));
    for (const again of [await send(payment), await send(await pay({ id: payment.payment.extensions["payment-identifier"].info.id }))]) {
      assert.equal(again.headers.get("idempotency-replayed"), "true");
      assert.equal(again.headers.get("payment-response"), first.headers.get("payment-response"));
      assert.equal(again.headers.get("content-type"), first.headers.get("content-type"));
      assert.equal(await again.text(), text);
    }
    const receipt = await (await fetch(`/counterfoil/receipts/${first.headers.get("receipt-id")}`)).json();
    assert.equal(receipt.payer, buyer.address);
    assert.equal(counted.runs, 1);
    assert.equal(await transfers(chain, buyer.address), 1);
  });

  test(`${name}: another body or payer under the same id is a conflict`, async (t) => {
    const { buyer, price, counted, send } = await scene(t);
    const id = randomId();
    const post = (body) => ({ method: "POST", body });
    assert.equal((await send(await pay(buyer, price, { id }), post("a"))).status, 200);
    const stranger = await funded(chain);
    for (const [payment, body] of [[await pay(buyer, price, { id }), "b"], [await pay(stranger, price, { id }), "a"]]) {
      const problem = await problemOf(await send(payment, post(body)));
      assert.deepEqual([problem.status, problem.code, problem.next], [409, "payment_identifier_conflict", "stop"]);
    }
    assert.equal(counted.alerts.length, 2);
    assert.equal(counted.runs, 1);
    assert.equal(await transfers(chain, stranger.address), 0);
  });

  test(`${name}: in flight while it runs`, async (t) => {
    const { open, opened } = gate();
    const { counted, send, fetch, pay, buyer } = await scene(t, { work: async () => { await opened; return clear(); } });
    const payment = await pay();
    const running = send(payment);
    await until(() => counted.runs > 0);
    const answer = await send(payment);
    const problem = await problemOf(answer);
    assert.equal(problem.code, "payment_in_flight");
    assert.equal(answer.headers.get("retry-after"), String(problem.retryAfter));
    const status = await (await fetch(problem.poll, { headers: { "payment-signature": payment.header } })).json();
    assert.equal(status.state, "in_flight");
    open();
    assert.equal((await running).status, 200);
    assert.equal(await transfers(chain, buyer.address), 1);
  });

  test(`${name}: a failed call is not billed and may be tried again`, async (t) => {
    let tries = 0;
    const ways = [() => new Response("busy", { status: 503 }), () => { throw new Error("broken"); }, clear];
    const { send, pay, buyer, counted } = await scene(t, { work: (request) => ways[tries++](request) });
    const payment = await pay();
    assert.equal((await send(payment)).status, 503);
    const second = await send(payment).then((answer) => answer.status, (error) => error.message);
    assert.ok(second === 500 || second === "broken", String(second));
    assert.equal(await transfers(chain, buyer.address), 0);
    assert.equal((await send(payment)).status, 200);
    assert.equal(counted.settled, 1);
    assert.equal(await transfers(chain, buyer.address), 1);
  });

  test(`${name}: what the seller's own code throws is not the gateway's word about the buyer's money`, async (t) => {
    // As from a payer of the handler's own, whose purchase upstream has no known end.
    const upstream = () => { throw new CounterfoilError("outcome_unknown"); };
    for (const how of [{ work: upstream }, { options: { order: upstream } }, { options: { call: async () => upstream() } }]) {
      const { send, pay, buyer, counted } = await scene(t, how);
      const ended = await send(await pay()).then((answer) => answer.status, (error) => error.code);
      assert.equal(ended, name === "hono" ? 500 : "outcome_unknown");
      assert.equal(counted.settled, 0);
      assert.equal(await transfers(chain, buyer.address), 0);
    }
  });

  test(`${name}: the facilitator dies after the transfer: in flight, then answered without another charge`, async (t) => {
    let died = false;
    const settle = async (run) => {
      const result = await run();
      if (died) return result;
      died = true;
      throw new Error("socket hang up");
    };
    const { send, pay, buyer, counted } = await scene(t, { settle });
    const payment = await pay();
    assert.equal((await problemOf(await send(payment))).code, "payment_in_flight");
    assert.equal((await send(payment)).status, 200);
    assert.equal(counted.settled, 1);
    assert.equal(await transfers(chain, buyer.address), 1);
  });

  test(`${name}: bodies, cookies and empty answers pass as they are`, async (t) => {
    const seen = [];
    const work = async (request) => {
      const body = Buffer.from(await request.arrayBuffer());
      seen.push(body);
      if (request.headers.has("x-empty")) return new Response(null, { status: 204 });
      const headers = new Headers([["set-cookie", "a=1"], ["set-cookie", "b=2"], ["x-length", String(body.length)]]);
      const stream = new ReadableStream({ start(c) { for (const part of ["one ", "two ", "three"]) c.enqueue(new TextEncoder().encode(part)); c.close(); } });
      return new Response(stream, { headers });
    };
    const { send, buyer, price } = await scene(t, { work });
    const large = Buffer.alloc(1 << 20, "x");
    const chunks = () => new ReadableStream({ start(c) { for (let i = 0; i < large.length; i += 65_536) c.enqueue(large.subarray(i, i + 65_536)); c.close(); } });
    for (const [what, init, length] of [["no body", {}, 0], ["empty", { method: "POST", body: "" }, 0], ["JSON", { method: "POST", body: "{\"a\":1}" }, 7], ["chunked", () => ({ method: "POST", body: chunks(), duplex: "half" }), large.length]]) {
      const payment = await pay(buyer, price, { id: randomId() });
      const made = () => (typeof init === "function" ? init() : init);
      const first = await send(payment, made());
      assert.equal(first.status, 200, what);
      assert.equal(first.headers.get("x-length"), String(length), what);
      assert.deepEqual(first.headers.getSetCookie(), ["a=1", "b=2"], what);
      assert.equal(await first.text(), "one two three", what);
      const again = await send(payment, made());
      assert.equal(await again.text(), "one two three", what);
      // A cookie is the first caller's.
      assert.deepEqual(again.headers.getSetCookie(), [], what);
    }
    assert.equal(seen.length, 4);
    assert.ok(seen[3].equals(large));
    const payment = await pay(buyer, price, { id: randomId() });
    const tries = [await send(payment, { headers: { "x-empty": "1" } }), await send(payment, { headers: { "x-empty": "1" } })];
    if (name === "hono") {
      // The middleware of this version settles and then fails to rebuild an answer without a body: paid, owed, and said so.
      const problems = await Promise.all(tries.map(problemOf));
      assert.deepEqual(problems.map(({ code, money }) => [code, money]), Array(2).fill(["payment_in_flight", "proven"]));
    } else {
      for (const answer of tries) {
        assert.equal(answer.status, 204);
        assert.equal((await answer.arrayBuffer()).byteLength, 0);
        assert.ok(answer.headers.get("receipt-id"));
      }
      assert.equal(seen.length, 5);
    }
    assert.equal(await transfers(chain, buyer.address), 5);
  });
}

test("the host of a web request is part of what is bought", async (t) => {
  const shop = webShop({ chain, store: await sqlite(t), work: clear });
  const buyer = await funded(chain);
  const payment = await pay(buyer, await shop.fetch("/report"), { id: randomId() });
  const headers = { "payment-signature": payment.header };
  assert.equal((await shop.fetch(`${HOST}/report`, { headers })).status, 200);
  assert.equal((await problemOf(await shop.fetch("http://other.test/report", { headers }))).code, "payment_identifier_conflict");
});
