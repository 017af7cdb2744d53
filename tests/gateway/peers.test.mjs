// Buyers that know nothing of this gateway, and counterfoil's own: none pays twice because of what the gateway answers, and none
// takes a problem for what it bought.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { wrapFetch } from "counterfoil";
import { memoryJournal } from "counterfoil/node";
import { startChain } from "../../demo/chain.mjs";
import { losing, officialFetch, officialFetchV1, payerOf } from "./buyers.mjs";
import { gate, problemOf, scene, until } from "./scene.mjs";
import { funded, pay, randomId, sqlite, transfers } from "./shop.mjs";
import { webShop } from "./web-shops.mjs";

let chain;
before(async () => { chain = await startChain(); });
after(() => chain.stop());

const clear = () => Response.json({ report: "clear", at: Math.random() });
const first = (n) => n === 1;

test("the official client buys through the gateway, unchanged", async (t) => {
  const { url, counted } = await scene(t, chain);
  const buyer = await funded(chain);
  const fetch = losing(globalThis.fetch, () => false);
  const answer = await officialFetch(buyer, fetch)(url);
  assert.equal(answer.status, 200);
  assert.equal((await answer.json()).report, "clear");
  assert.ok(answer.headers.get("payment-response"));
  assert.equal(fetch.sent.length, 1);
  assert.equal(counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("the official client with an id of its own loses the answer, signs anew, and gets the first answer uncharged", async (t) => {
  const { url, counted } = await scene(t, chain);
  const buyer = await funded(chain);
  const fetch = losing(globalThis.fetch, first);
  const pays = officialFetch(buyer, fetch, { id: randomId() });
  await assert.rejects(pays(url));
  const answer = await pays(url);
  assert.equal(answer.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(await answer.json(), await fetch.seen[0].json());
  const nonces = fetch.sent.map(({ payload }) => payload.authorization.nonce);
  assert.equal(new Set(nonces).size, 2);
  assert.equal(counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("the official client meets problems: it hands each on as what it is, and signs nothing more for it", async (t) => {
  const { open, opened } = gate();
  let wait = false;
  const { url, counted, skip, gateway, buy } = await scene(t, chain, { routes: { "GET /report": async (req, res) => { if (wait) await opened; res.json({ report: "clear" }); } } });
  const buyer = await funded(chain);
  const fetch = losing(globalThis.fetch, () => false);
  const id = randomId();
  const ask = () => officialFetch(buyer, fetch, { id })(url);

  // In flight.
  wait = true;
  const running = ask();
  await until(() => counted.runs > 0);
  const meanwhile = await ask();
  assert.equal((await problemOf(meanwhile)).code, "payment_in_flight");
  open();
  assert.equal((await running).status, 200);
  // Past its retention.
  skip(90_000);
  await gateway.sweep();
  const late = await ask();
  assert.equal((await problemOf(late)).code, "answer_expired");
  // Another one's id.
  const taken = await buy();
  const conflict = await officialFetch(buyer, fetch, { id: taken.id })(url);
  assert.equal((await problemOf(conflict)).code, "payment_identifier_conflict");
  assert.equal(fetch.sent.length, 4);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("version 1: the official client buys from a shop of version 1 behind the gateway, and each signature is one purchase", async (t) => {
  const { fetch, counted } = webShop({ chain, store: await sqlite(t), work: clear, version: 1 });
  const buyer = await funded(chain);
  const watch = losing(fetch, () => false);
  const answer = await officialFetchV1(buyer, watch)("http://shop.test/report");
  assert.equal(answer.status, 200);
  const settlement = JSON.parse(Buffer.from(answer.headers.get("x-payment-response"), "base64").toString());
  assert.equal(settlement.success, true);
  assert.equal(watch.sent[0].x402Version, 1);
  const receipt = await (await fetch(`/counterfoil/receipts/${answer.headers.get("receipt-id")}`)).json();
  assert.deepEqual([receipt.payer, receipt.network, receipt.transaction], [buyer.address, "eip155:84532", settlement.transaction]);
  // It names no id: the same bytes show the receipt, and are not charged.
  const header = Buffer.from(JSON.stringify(watch.sent[0])).toString("base64");
  const again = await problemOf(await fetch("/report", { headers: { "x-payment": header } }));
  assert.deepEqual([again.code, again.receipt], ["answer_not_stored", `/counterfoil/receipts/${receipt.receiptId}`]);
  assert.equal(counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("version 1: a keyed call whose answer was lost is not bought again by a fresh signature", async (t) => {
  const { fetch, counted } = webShop({ chain, store: await sqlite(t), work: clear, version: 1, options: { call: ({ url }) => ({ tool: "report", args: { url } }) } });
  const buyer = await funded(chain);
  const watch = losing(fetch, first);
  const pays = officialFetchV1(buyer, watch);
  await assert.rejects(pays("http://shop.test/report"));
  const answer = await pays("http://shop.test/report");
  assert.deepEqual(await answer.json(), await watch.seen[0].json());
  assert.equal(counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("version 1 at a shop of version 2: the middleware wants another payment, and nothing is charged or kept", async (t) => {
  const { url, counted } = await scene(t, chain);
  const v1 = webShop({ chain, store: await sqlite(t), work: clear, version: 1 });
  const buyer = await funded(chain);
  const watch = losing(v1.fetch, () => false);
  await officialFetchV1(buyer, watch)("http://shop.test/report");
  const header = Buffer.from(JSON.stringify(watch.sent[0])).toString("base64");
  const answer = await fetch(url, { headers: { "x-payment": header } });
  assert.equal(answer.status, 402);
  assert.equal(counted.runs + counted.settled, 0);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("counterfoil loses the answer after the settlement: the same bytes fetch it, and nothing else is signed", async (t) => {
  const { url, counted } = await scene(t, chain);
  const buyer = await funded(chain);
  const carried = losing(globalThis.fetch, first);
  const payer = payerOf(buyer, chain);
  t.after(() => payer.close());
  const ask = () => wrapFetch(carried, payer)(url, { intent: { id: "one_report_for_monday" } });
  const answer = await ask().catch(ask);
  assert.equal(answer.status, 200);
  assert.deepEqual(await answer.json(), await carried.seen[0].json());
  assert.equal(new Set(carried.sent.map(({ payload }) => payload.signature)).size, 1);
  assert.equal(counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("counterfoil waits while a payment is in flight and gets the answer; an agent beside it with the same intent too", async (t) => {
  const { open, opened } = gate();
  const { url, counted } = await scene(t, chain, { routes: { "GET /report": async (req, res) => { await opened; res.json({ report: "clear" }); } } });
  const buyer = await funded(chain);
  const payers = [payerOf(buyer, chain), payerOf(buyer, chain)];
  t.after(() => Promise.all(payers.map((payer) => payer.close())));
  const asked = payers.map((payer) => payer.fetch(url, { intent: { id: "one_report_for_monday" } }));
  await until(() => counted.runs > 0);
  setTimeout(open, 1500);
  const ends = await Promise.all(asked.map((answer) => answer.then(async (a) => (await a.json()).report, (error) => error.code)));
  assert.ok(ends.includes("clear"), ends.join());
  assert.equal(counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("counterfoil with its journal lost pays nothing more for the same intent; so does one that comes back two days later", async (t) => {
  const { url, counted, skip, gateway, clock } = await scene(t, chain);
  const buyer = await funded(chain);
  const intent = { id: "one_report_for_monday" };
  const journal = memoryJournal();
  const before = payerOf(buyer, chain, { journal });
  const carried = losing(globalThis.fetch);
  await assert.rejects(wrapFetch(carried, before)(url, { intent }));
  // Another machine, an empty journal: the chain and the seller know.
  const lost = payerOf(buyer, chain);
  const end = await lost.fetch(url, { intent }).then(async (a) => (await a.json()).report, (error) => [error.code, error.money, error.next]);
  assert.ok(end === "clear" || end[1] === "proven", JSON.stringify(end));
  skip(2 * 86_400);
  await gateway.sweep();
  // The same journal, its process started again, two days later.
  const late = payerOf(buyer, chain, { journal, clock });
  const error = await late.fetch(url, { intent }).then(() => assert.fail("it was answered"), (error) => error);
  assert.equal(error.money, "proven", `${error.code} ${error.next}`);
  const [resolution] = await late.resume();
  if (resolution) assert.equal(resolution.money, "proven");
  const bundle = JSON.parse(await late.export());
  assert.ok(JSON.stringify(bundle).includes(carried.sent[0].payload.authorization.nonce));
  assert.equal(counted.settled, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

/**
 * A buyer that knows `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header) and nothing of ours: 409 is "still being worked on", 422 or
 * a stop ends it, another 4xx is its own fault, 5xx is tried again with the same key; a 402 is paid once per key.
 */
async function keyedBuyer(url, buyer, { fetch, id, tries = 6 }) {
  let payment;
  const log = [];
  for (let n = 0; n < tries; n++) {
    const answer = await fetch(url, { headers: { "idempotency-key": `"${id}"`, ...(payment && { "payment-signature": payment.header }) } }).catch(() => undefined);
    log.push(answer?.status ?? "lost");
    if (answer?.ok) return { answer, log };
    if (answer?.status === 402 && !payment) payment = await pay(buyer, answer, { id });
    else if (answer && ![409, 500, 502, 503].includes(answer.status)) return { answer, log };
    await new Promise((done) => setTimeout(done, answer?.headers.get("retry-after") ? 1000 : 50));
  }
  return { log };
}

test("a buyer that only knows Idempotency-Key: lost answers and waiting end with one answer and one transfer", async (t) => {
  let slow = true;
  const { url, counted } = await scene(t, chain, { routes: { "GET /report": async (req, res) => { if (slow) await new Promise((done) => setTimeout(done, 1500)); slow = false; res.json({ report: "clear" }); } } });
  const buyer = await funded(chain);
  const id = randomId();
  const both = await Promise.all([keyedBuyer(url, buyer, { fetch: losing(globalThis.fetch, first), id }), keyedBuyer(url, buyer, { fetch: globalThis.fetch, id })]);
  for (const { answer, log } of both) assert.equal(answer?.status, 200, log.join());
  for (const { answer } of both) assert.deepEqual(await answer.json(), { report: "clear" });
  assert.equal(counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});
