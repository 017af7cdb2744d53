// The gateway in front of the official middleware and facilitator, on a real chain.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { NETWORK, startChain, USDC } from "../../demo/chain.mjs";
import { challenge, funded, pay, randomId, send, sqlite, startShop, transfers } from "./shop.mjs";

let chain;
before(async () => { chain = await startChain(); });
after(() => chain.stop());

const sha256 = (bytes) => `0x${createHash("sha256").update(Buffer.from(bytes)).digest("hex")}`;
const report = (req, res) => res.json({ report: "clear", at: Math.random() });
const gate = () => {
  let open;
  const opened = new Promise((done) => { open = done; });
  return { open, opened };
};
/** A shop with one report, a buyer, and the 402 answer for it. */
async function scene(t, { routes = { "GET /report": report }, path = "/report", ...rest } = {}) {
  const shop = await startShop(t, { chain, store: await sqlite(t), routes, ...rest });
  const url = shop.url + path;
  return { shop, url, buyer: await funded(chain), price: await challenge(url, { method: Object.keys(routes)[0].split(" ")[0] }) };
}

test("a paid request is answered once and repeated from the store, byte for byte", async (t) => {
  const { shop, url, buyer, price } = await scene(t);
  const payment = await pay(buyer, price, { id: randomId() });
  const first = await send(url, payment);
  assert.equal(first.status, 200);
  assert.ok(first.headers.get("payment-response"));
  const body = await first.arrayBuffer();
  const receipt = await (await fetch(shop.url + `/counterfoil/receipts/${first.headers.get("receipt-id")}`)).json();
  assert.equal(receipt.payer, buyer.address);
  assert.equal(receipt.amount, "10000");
  assert.equal(receipt.response.sha256, sha256(body));
  assert.doesNotMatch(JSON.stringify(receipt), new RegExp(payment.payment.extensions["payment-identifier"].info.id));

  const again = await send(url, payment);
  assert.equal(again.status, 200);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal(again.headers.get("payment-response"), first.headers.get("payment-response"));
  assert.deepEqual(Buffer.from(await again.arrayBuffer()), Buffer.from(body));
  assert.equal(shop.counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("a fresh signature under the same id is the same request: the stored answer, and no second transfer", async (t) => {
  const { shop, url, buyer, price } = await scene(t);
  const id = randomId();
  const first = await (await send(url, await pay(buyer, price, { id }))).text();
  const again = await send(url, await pay(buyer, price, { id }));
  assert.equal(await again.text(), first);
  assert.equal(shop.counted.settled, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
  assert.deepEqual(shop.counted.alerts, []);
});

test("another payer, body, path or price under the same id is a conflict: 409, stop, an alert, and nothing of the first answer", async (t) => {
  const { shop, url, buyer } = await scene(t, { routes: { "POST /report": report, "POST /other": report }, path: "/report" });
  const post = (body) => ({ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const price = await challenge(url, post({ place: "a" }));
  const id = randomId();
  const first = await send(url, await pay(buyer, price, { id }), post({ place: "a" }));
  assert.equal(first.status, 200);
  const stored = await first.text();
  const stranger = await funded(chain);
  const tries = [
    [await pay(stranger, price, { id }), url, { place: "a" }, ["payer"]],
    [await pay(buyer, price, { id }), url, { place: "b" }, ["fingerprint", "quoteHash"]],
    [await pay(buyer, price, { id }), `${shop.url}/other`, { place: "a" }, ["fingerprint", "quoteHash"]],
    [await pay(buyer, price, { id, over: { amount: "20000" } }), url, { place: "a" }, ["quoteHash"]],
    [await pay(buyer, price, { id, over: { payTo: stranger.address } }), url, { place: "a" }, ["quoteHash"]],
  ];
  for (const [payment, where, body, differs] of tries) {
    const before = shop.counted.alerts.length;
    const answer = await send(where, payment, post(body));
    assert.equal(answer.status, 409);
    assert.match(answer.headers.get("content-type"), /problem\+json/);
    const text = await answer.text();
    const problem = JSON.parse(text);
    assert.equal(problem.code, "payment_identifier_conflict");
    assert.equal(problem.next, "stop");
    assert.equal(answer.headers.get("retry-after"), null);
    assert.ok(!text.includes(JSON.parse(stored).at) && !text.toLowerCase().includes(buyer.address.slice(2).toLowerCase()));
    const alert = shop.counted.alerts[before];
    assert.equal(alert.code, "payment_identifier_conflict");
    assert.deepEqual(alert.fields, differs);
  }
  assert.equal(shop.counted.runs, 1);
  assert.equal(await transfers(chain, stranger.address), 0);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("while it runs, the same id is in flight: 409, Retry-After, a place to ask that answers the payer alone", async (t) => {
  const { open, opened } = gate();
  const { shop, url, buyer, price } = await scene(t, { routes: { "GET /report": async (req, res) => { await opened; res.json({ late: true }); } } });
  const id = randomId();
  const payment = await pay(buyer, price, { id });
  const running = send(url, payment);
  while (shop.counted.runs === 0) await new Promise((r) => setTimeout(r, 20));
  for (const second of [payment, await pay(buyer, price, { id })]) {
    const answer = await send(url, second);
    const problem = await answer.json();
    assert.equal(answer.status, 409);
    assert.equal(problem.code, "payment_in_flight");
    assert.equal(problem.next, "wait");
    assert.equal(problem.money, "possible");
    assert.equal(answer.headers.get("retry-after"), String(problem.retryAfter));
    assert.ok(problem.retryAfter >= 1 && problem.retryAfter <= 300);
    assert.equal(problem.poll, `/counterfoil/payments/${id}`);
  }
  const status = await (await send(`${shop.url}/counterfoil/payments/${id}`, payment)).json();
  assert.equal(status.state, "in_flight");
  const stranger = await funded(chain);
  const elsewhere = await pay(buyer, price, { id, over: { payTo: stranger.address } });
  const otherId = await pay(buyer, price, { id: randomId() });
  for (const other of [await pay(stranger, price, { id }), elsewhere, otherId]) {
    const answer = await send(`${shop.url}/counterfoil/payments/${id}`, other);
    assert.equal(answer.status, 404);
    assert.equal((await answer.json()).code, "not_found");
  }
  assert.equal((await fetch(`${shop.url}/counterfoil/payments/${id}`)).status, 404);
  // A fresh signature of the same payer under the same id asks as well as the first one.
  const fresh = await send(`${shop.url}/counterfoil/payments/${id}`, await pay(buyer, price, { id }));
  assert.equal((await fresh.json()).state, "in_flight");
  open();
  assert.deepEqual(await (await running).json(), { late: true });
  const done = await (await send(`${shop.url}/counterfoil/payments/${id}`, payment)).json();
  assert.equal(done.state, "delivered");
  assert.match(done.receipt, /^\/counterfoil\/receipts\/[0-9a-f]{64}$/);
  assert.equal(shop.counted.runs, 1);
  assert.deepEqual(shop.counted.alerts, []);
});

test("a failed call is not billed, whatever way it failed, and the same id is tried again", async (t) => {
  let tries = 0;
  const ways = [(res) => res.status(503).json({ error: "busy" }), () => { throw new Error("broken"); }, (res) => res.json({ fine: true })];
  const { shop, url, buyer, price } = await scene(t, { routes: { "GET /report": (req, res) => ways[tries++](res) } });
  const payment = await pay(buyer, price, { id: randomId() });
  assert.equal((await send(url, payment)).status, 503);
  assert.equal((await send(url, payment)).status, 500);
  assert.equal(await transfers(chain, buyer.address), 0);
  assert.equal((await send(url, payment)).status, 200);
  assert.equal(shop.counted.settled, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("the facilitator dies after the transfer: never failed, never a bare 402; the next call gets the answer without being charged", async (t) => {
  let died = false;
  const settle = async (run) => {
    const result = await run();
    if (!died) { died = true; throw new Error("socket hang up"); }
    return result;
  };
  const { shop, url, buyer, price } = await scene(t, { settle });
  const id = randomId();
  const payment = await pay(buyer, price, { id });
  const first = await send(url, payment);
  assert.equal(first.status, 409);
  const problem = await first.json();
  assert.equal(problem.code, "payment_in_flight");
  assert.ok(first.headers.get("retry-after"));
  // A fresh signature does not buy it again either.
  const second = await send(url, await pay(buyer, price, { id }));
  assert.equal(second.status, 200);
  const statement = JSON.parse(Buffer.from(second.headers.get("payment-response"), "base64"));
  assert.equal(statement.success, true);
  const mined = await chain.rpc("eth_getTransactionReceipt", [statement.transaction]);
  assert.equal(mined.status, "0x1");
  assert.equal(shop.counted.settled, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
  assert.equal(await (await send(url, payment)).text(), await second.text());
});

test("a payment under another id is not another purchase, and not a stranger's", async (t) => {
  const { shop, url, buyer, price } = await scene(t);
  const payment = await pay(buyer, price, { id: randomId() });
  assert.equal((await send(url, payment)).status, 200);
  const renamed = structuredClone(payment.payment);
  renamed.extensions["payment-identifier"].info.id = randomId();
  const bare = structuredClone(payment.payment);
  delete bare.extensions["payment-identifier"].info.id;
  for (const copy of [renamed, bare]) {
    const answer = await send(url, { header: Buffer.from(JSON.stringify(copy)).toString("base64") });
    assert.equal(answer.status, 409);
    assert.equal((await answer.json()).code, "payment_identifier_conflict");
    assert.deepEqual(shop.counted.alerts.at(-1).fields, ["paymentId"]);
  }
  assert.equal(shop.counted.runs, 1);
});

test("a payment without an id can be copied from the chain: it shows the receipt, not the answer, unless the seller says so", async (t) => {
  for (const [options, status, code] of [[{}, 410, "answer_not_stored"], [{ replayUnnamed: true }, 200]]) {
    const { url, buyer, price } = await scene(t, { options });
    const payment = await pay(buyer, price);
    const first = await send(url, payment);
    assert.equal(first.status, 200);
    const again = await send(url, payment);
    assert.equal(again.status, status);
    if (code) {
      const problem = await again.json();
      assert.equal(problem.code, code);
      assert.equal(problem.receipt, `/counterfoil/receipts/${first.headers.get("receipt-id")}`);
    }
    assert.equal(await transfers(chain, buyer.address), 1);
  }
});

test("what can't be read or is not signed by its payer is refused before anything is looked up or run", async (t) => {
  const { shop, url, buyer, price } = await scene(t);
  const good = await pay(buyer, price, { id: randomId() });
  const stranger = await funded(chain);
  const changed = (change) => { const payment = structuredClone(good.payment); change(payment); return Buffer.from(JSON.stringify(payment)).toString("base64"); };
  const tries = {
    "not base64": "%%%",
    "not JSON": Buffer.from("{").toString("base64"),
    "another payer's name": changed((p) => { p.payload.authorization.from = stranger.address; }),
    "another amount than signed": changed((p) => { p.payload.authorization.value = "1"; }),
    "high s": changed((p) => { p.payload.signature = `0x${"ff".repeat(65)}`; }),
    "no signature": changed((p) => { delete p.payload.signature; }),
    "wrapped for a wallet that does not exist": changed((p) => { p.payload.signature += "6492".repeat(16); }),
    "no authorization": changed((p) => { delete p.payload.authorization; }),
    "too large": "A".repeat(20_000),
  };
  for (const [what, header] of Object.entries(tries)) {
    // A plain Node server refuses headers above 16 KiB by itself.
    const answer = await send(url, { header });
    assert.ok(answer.status === 400 || (what === "too large" && [413, 431].includes(answer.status)), `${what}: ${answer.status} ${await answer.text()}`);
  }
  const twice = await fetch(url, { headers: { "payment-signature": good.header, "x-payment": good.header } });
  assert.equal(twice.status, 400);
  assert.equal(shop.counted.runs + shop.counted.verified + shop.counted.settled, 0);
});

test("a wallet contract is asked whether it signed (ERC-1271)", async (t) => {
  const { shop, url, price } = await scene(t, { verify: async (_, p) => ({ isValid: true, payer: p.payload.authorization.from }) });
  const [yes, no] = ["0x00000000000000000000000000000000000c0de1", "0x00000000000000000000000000000000000c0de2"];
  // Return the selector of isValidSignature, left-aligned; and return zero.
  await chain.rpc("anvil_setCode", [yes, "0x631626ba7e60e01b60005260206000f3"]);
  await chain.rpc("anvil_setCode", [no, "0x60006000526020 6000f3".replace(" ", "")]);
  const signer = await funded(chain);
  for (const [address, status] of [[yes, 200], [no, 400], ["0x00000000000000000000000000000000000c0de3", 400]]) {
    await chain.mint(address, 1_000_000n);
    const wallet = { address, account: signer.account };
    const answer = await send(url, await pay(wallet, price, { id: randomId() }));
    assert.equal(answer.status, status, await answer.text());
    assert.equal(await transfers(chain, address), status === 200 ? 1 : 0);
  }
  assert.equal(shop.counted.runs, 1);
});

test("a coded answer's receipt names the bytes as sent and what was under the coding", async (t) => {
  const text = JSON.stringify({ long: "x".repeat(500) });
  const coded = gzipSync(text);
  const { shop, url, buyer, price } = await scene(t, { routes: { "GET /report": (req, res) => res.set("content-encoding", "gzip").type("json").send(coded) } });
  const answer = await send(url, await pay(buyer, price, { id: randomId() }));
  assert.equal(await answer.text(), text);
  const { response } = await (await fetch(`${shop.url}/counterfoil/receipts/${answer.headers.get("receipt-id")}`)).json();
  assert.equal(response.sha256, sha256(coded));
  assert.equal(response.reading, "as_sent");
  assert.deepEqual(response.decoded, { contentCoding: "gzip", sha256: sha256(text), length: text.length });
});

test("one shop under two names is one shop when it says which", async (t) => {
  for (const [options, status] of [[{ origin: "https://shop.example" }, 200], [{}, 409]]) {
    const { url, buyer, price } = await scene(t, { options });
    const payment = await pay(buyer, price, { id: randomId() });
    assert.equal((await send(url, payment)).status, 200);
    assert.equal((await send(url.replace("127.0.0.1", "localhost"), payment)).status, status);
  }
});

test("an answer too large to be kept shows its receipt; headers of earlier middleware stand on every answer", async (t) => {
  const before = [(req, res, next) => { res.set("access-control-allow-origin", "*"); next(); }];
  const { url, buyer, price } = await scene(t, { before, options: { maxStoredBody: 10 } });
  const payment = await pay(buyer, price, { id: randomId() });
  const first = await send(url, payment);
  assert.equal(first.status, 200);
  const again = await send(url, payment);
  assert.equal(again.status, 410);
  assert.equal((await again.json()).code, "answer_not_stored");
  for (const answer of [price, first, again]) assert.equal(answer.headers.get("access-control-allow-origin"), "*");
});

for (const swept of [true, false]) test(`an answer past its retention is gone, its receipt is not; a conflict stays one (${swept ? "swept" : "not swept"})`, async (t) => {
  let time = Math.floor(Date.now() / 1000);
  const { shop, url, buyer, price } = await scene(t, { options: { clock: () => time } });
  const id = randomId();
  const payment = await pay(buyer, price, { id });
  const first = await send(url, payment);
  time += 86_399;
  assert.equal((await send(url, payment)).status, 200);
  time += 1;
  // With or without a sweep.
  if (swept) assert.equal((await shop.gateway.sweep()).sales, 1);
  const late = await send(url, payment);
  assert.equal(late.status, 410);
  const problem = await late.json();
  assert.equal(problem.code, "answer_expired");
  assert.equal(problem.next, "lookup_receipt");
  assert.equal(problem.money, "proven");
  assert.equal(problem.receipt, `/counterfoil/receipts/${first.headers.get("receipt-id")}`);
  assert.equal((await fetch(shop.url + problem.receipt)).status, 200);
  const stranger = await funded(chain);
  assert.equal((await send(url, await pay(stranger, price, { id }))).status, 409);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("a wallet's cap counts what is on its way, and gives back what failed", async (t) => {
  const { open, opened } = gate();
  let fail = true;
  const routes = { "GET /slow": async (req, res) => { await opened; res.json({}); }, "GET /bad": (req, res) => (fail ? res.status(500).end() : res.json({})) };
  const walletCaps = [{ network: NETWORK, asset: USDC, amount: "20000", window: 3600 }];
  const { shop, buyer, price } = await scene(t, { routes, path: "/slow", options: { walletCaps } });
  const badPrice = await challenge(`${shop.url}/bad`);
  const slow = send(`${shop.url}/slow`, await pay(buyer, price, { id: randomId() }));
  while (shop.counted.runs === 0) await new Promise((r) => setTimeout(r, 20));
  assert.equal((await send(`${shop.url}/bad`, await pay(buyer, badPrice, { id: randomId() }))).status, 500);
  fail = false;
  const last = await pay(buyer, badPrice, { id: randomId() });
  assert.equal((await send(`${shop.url}/bad`, last)).status, 200);
  const over = await send(`${shop.url}/bad`, await pay(buyer, badPrice, { id: randomId() }));
  assert.equal(over.status, 403);
  assert.equal((await over.json()).code, "over_wallet_cap");
  // What was bought is answered all the same.
  assert.equal((await send(`${shop.url}/bad`, last)).status, 200);
  open();
  assert.equal((await slow).status, 200);
  const other = await funded(chain);
  assert.equal((await send(`${shop.url}/bad`, await pay(other, badPrice, { id: randomId() }))).status, 200);
});

for (const [how, onAlert] of Object.entries({ throws: () => { throw new Error("no pager"); }, rejects: async () => { throw new Error("no pager"); } })) {
  test(`an alert that ${how} is not the buyer's trouble, nor the end of the process`, async (t) => {
    const told = [];
    const { shop, buyer, price, url } = await scene(t, { options: { onAlert: (finding) => (told.push(finding.code), onAlert()) } });
    const id = randomId();
    assert.equal((await send(url, await pay(buyer, price, { id }))).status, 200);
    assert.equal((await send(`${url}?other`, await pay(buyer, price, { id }))).status, 409);
    assert.deepEqual(told, ["payment_identifier_conflict"]);
    assert.equal(shop.counted.runs, 1);
  });
}
