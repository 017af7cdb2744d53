// Plain tool calls that carry no key of their own: which of them are one purchase. Each test stands for something that was said about
// keys made by the server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startChain } from "../../demo/chain.mjs";
import { problemOf, scene } from "./scene.mjs";
import { funded, randomId, send, transfers } from "./shop.mjs";
import { officialFetch } from "./buyers.mjs";

let chain;
before(async () => { chain = await startChain(); });
after(() => chain.stop());

/** A shop with one tool, whose calls are keyed by `rule`; the header `x-session` names a session. */
async function toolShop(t, rule, { window } = {}) {
  const call = ({ url, body, headers }) => {
    const tool = new URL(url).pathname.split("/").at(-1);
    return { tool, args: JSON.parse(Buffer.from(body).toString() || "{}"), ...(rule && { rule }), ...(window && { window }), ...(headers["x-session"] && { scope: `session:${headers["x-session"]}` }) };
  };
  const made = await scene(t, chain, { routes: { "POST /tools/*": (req, res) => res.json({ said: req.body, at: Math.random() }) }, options: { call } });
  const where = `${made.shop.url}/tools/price`;
  return {
    ...made, where,
    ask: (args, { session, ...how } = {}) => made.buy({
      where, ...how, init: { body: JSON.stringify(args), headers: { "content-type": "application/json", ...(session && { "x-session": session }) } },
    }),
  };
}

const text = async ({ answer }) => (assert.equal(answer.status, 200), answer.text());

test("\"a retry after a timeout usually comes with a fresh signature\": the same call under another id and nonce is the same purchase", async (t) => {
  const { ask, buyer, counted } = await toolShop(t, { effect: "write" });
  const first = await ask({ place: "Reykjavík" });
  const answer = await text(first);
  const again = await ask({ place: "Reykjavík" });
  assert.equal(again.answer.headers.get("idempotency-replayed"), "true");
  assert.equal(await text(again), answer);
  assert.equal(counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("\"alias relabeling\": another label for the same call leads to the first purchase for good, and stands on its receipt", async (t) => {
  const { ask, shop, skip, gateway, where, buyer } = await toolShop(t, { effect: "write" });
  const first = await ask({ place: "a" });
  const relabelled = await ask({ place: "a" });
  assert.equal(await text(relabelled), await text(first));
  const receipt = await (await fetch(`${shop.url}/counterfoil/receipts/${first.answer.headers.get("receipt-id")}`)).json();
  assert.equal(receipt.retryIds.length, 2);
  // The window is over, and the label still names what it bought.
  skip(90_000);
  await gateway.sweep();
  const late = await problemOf(await send(where, relabelled.payment, { method: "POST", body: JSON.stringify({ place: "a" }), headers: { "content-type": "application/json" } }));
  assert.deepEqual([late.code, late.receipt], ["answer_expired", `/counterfoil/receipts/${receipt.receiptId}`]);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("\"it would also merge two honest identical calls\": two sessions are two purchases, and so are two tries after the window", async (t) => {
  const { ask, skip, buyer } = await toolShop(t, { effect: "write" }, { window: 120 });
  const answers = [await text(await ask({ place: "a" }, { session: "one" })), await text(await ask({ place: "a" }, { session: "two" }))];
  skip(121);
  answers.push(await text(await ask({ place: "a" }, { session: "one" })));
  assert.equal(new Set(answers).size, 3);
  assert.equal(await transfers(chain, buyer.address), 3);
  // A retry within its session finds the last one.
  assert.equal(await text(await ask({ place: "a" }, { session: "one" })), answers[2]);
  assert.equal(await transfers(chain, buyer.address), 3);
});

test("two wallets in no session never share an answer", async (t) => {
  const { ask, counted } = await toolShop(t, { effect: "write" });
  const other = await funded(chain);
  assert.notEqual(await text(await ask({ place: "a" })), await text(await ask({ place: "a" }, { by: other })));
  assert.equal(counted.runs, 2);
  assert.equal(await transfers(chain, other.address), 1);
});

test("\"volatile fields embedded in args\" would make every retry another call: named, they don't; not named, they do", async (t) => {
  const volatile = ["/cursor", "/page/requestId"];
  const args = () => ({ place: "a", cursor: randomId(), page: { size: 10, requestId: Math.random() } });
  for (const [rule, runs] of [[{ effect: "write", volatile }, 1], [{ effect: "write" }, 2]]) {
    const { ask, counted, buyer } = await toolShop(t, rule);
    const answers = [await text(await ask(args())), await text(await ask(args()))];
    assert.equal(new Set(answers).size, runs);
    assert.equal(counted.runs, runs);
    assert.equal(await transfers(chain, buyer.address), runs);
  }
  // Another value of any other field is another call.
  const { ask, counted } = await toolShop(t, { effect: "write", volatile });
  await text(await ask({ ...args(), place: "a" }));
  await text(await ask({ ...args(), place: "b" }));
  assert.equal(counted.runs, 2);
});

test("the same id with another cursor is a retry; with another place it is a conflict", async (t) => {
  const { ask, counted } = await toolShop(t, { effect: "write", volatile: ["/cursor"] });
  const id = randomId();
  const first = await text(await ask({ place: "a", cursor: 1 }, { id }));
  assert.equal(await text(await ask({ cursor: 2, place: "a" }, { id })), first);
  assert.equal((await problemOf((await ask({ place: "b", cursor: 1 }, { id })).answer)).code, "payment_identifier_conflict");
  assert.equal(counted.runs, 1);
  // A conflict; and whoever reads the alert sees which argument made it one.
  assert.deepEqual(counted.alerts.map(({ code, fields }) => [code, fields]), [["payment_identifier_conflict", ["fingerprint", "quoteHash"]], ["canonicalization_missed_field", ["/place"]]]);
});

test("\"for a duplicated read the damage is one more small charge, full price even from our cache\": a keyed read is repeated uncharged", async (t) => {
  const { ask, counted, buyer } = await toolShop(t, { effect: "read", keyReads: true });
  const answers = [];
  for (let i = 0; i < 3; i++) answers.push(await text(await ask({ place: "a" })));
  assert.equal(new Set(answers).size, 1);
  assert.equal(counted.settled, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("\"for pure reads you can simply not key them at all\": two price checks are two purchases", async (t) => {
  const { ask, buyer } = await toolShop(t, { effect: "read" });
  assert.notEqual(await text(await ask({ place: "a" })), await text(await ask({ place: "a" })));
  assert.equal(await transfers(chain, buyer.address), 2);
});

test("a keyed call that failed is tried again, and billed once it worked", async (t) => {
  const call = () => ({ tool: "flaky", args: {} });
  let tries = 0;
  const { buy, buyer, counted } = await scene(t, chain, { routes: { "POST /flaky": (req, res) => (tries++ ? res.json({ fine: true }) : res.status(502).json({})) }, options: { call } });
  assert.equal((await buy()).answer.status, 502);
  assert.equal(await transfers(chain, buyer.address), 0);
  assert.equal((await buy()).answer.status, 200);
  assert.equal((await buy()).answer.status, 200);
  assert.equal(counted.runs, 2);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("the official client, unchanged, retries a keyed call with fresh signatures and is charged once", async (t) => {
  const { where, buyer, counted } = await toolShop(t, { effect: "write" });
  const fetch = officialFetch(buyer);
  const call = () => fetch(where, { method: "POST", body: "{\"place\":\"a\"}", headers: { "content-type": "application/json" } });
  const texts = [];
  for (let i = 0; i < 3; i++) texts.push(await (await call()).text());
  assert.equal(new Set(texts).size, 1);
  assert.equal(counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});
