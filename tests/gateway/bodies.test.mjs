// Express: whatever a request or an answer carries goes through the gateway as it is, and is kept as it was sent.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import http from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { after, before, test } from "node:test";
import { startChain } from "../../demo/chain.mjs";
import { gate, problemOf, scene, until } from "./scene.mjs";
import { express, pay, randomId, send, sqlite, transfers } from "./shop.mjs";

let chain;
before(async () => { chain = await startChain(); });
after(() => chain.stop());

const sha256 = (bytes) => `0x${createHash("sha256").update(Buffer.from(bytes)).digest("hex")}`;
const large = Buffer.from(Uint8Array.from({ length: 1 << 20 }, (_, i) => i * 31));
const chunked = () => ({ body: Readable.toWeb(Readable.from([large.subarray(0, 10), large.subarray(10, 500_000), large.subarray(500_000)])), duplex: "half", headers: { "content-type": "application/octet-stream" } });

/** What the handler read: the parser's value, or the bytes. */
const echo = async (req, res) => {
  if (req.body !== undefined) return res.json({ parsed: req.body });
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  res.json({ sha256: sha256(Buffer.concat(chunks)), length: Buffer.concat(chunks).length });
};

test("request bodies reach the handler and the parsers behind the gateway whole: none, empty, JSON, a chunked mebibyte", async (t) => {
  const { url, buyer, price, counted } = await scene(t, chain, { routes: { "POST /echo": echo } });
  const cases = [
    ["none", () => ({}), { sha256: sha256(""), length: 0 }],
    ["empty", () => ({ body: "" }), { sha256: sha256(""), length: 0 }],
    ["JSON", () => ({ body: "{\"a\":[1,\"ä\"]}", headers: { "content-type": "application/json" } }), { parsed: { a: [1, "ä"] } }],
    ["chunked", chunked, { sha256: sha256(large), length: large.length }],
  ];
  for (const [what, init, wanted] of cases) {
    const payment = await pay(buyer, await price(), { id: randomId() });
    const first = await send(url, payment, { method: "POST", ...init() });
    assert.equal(first.status, 200, what);
    assert.deepEqual(await first.json(), wanted, what);
    const again = await send(url, payment, { method: "POST", ...init() });
    assert.equal(again.headers.get("idempotency-replayed"), "true", what);
    assert.deepEqual(await again.json(), wanted, what);
  }
  // One byte more is another request.
  const payment = await pay(buyer, await price(), { id: randomId() });
  await send(url, payment, { method: "POST", body: "a" });
  assert.equal((await problemOf(await send(url, payment, { method: "POST", body: "ab" }))).code, "payment_identifier_conflict");
  assert.equal(counted.runs, cases.length + 1);
});

test("a parser before the gateway leaves the bytes at req.rawBody, or the request is refused before anything is run", async (t) => {
  const keeping = express.json({ verify: (req, _, bytes) => { req.rawBody = bytes; } });
  const post = (body) => ({ method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const routes = { "POST /echo": (req, res) => res.json({ parsed: req.body }) };
  const kept = await scene(t, chain, { routes, before: [keeping] });
  const payment = await pay(kept.buyer, await kept.price(), { id: randomId() });
  assert.deepEqual(await (await send(kept.url, payment, post({ a: 1 }))).json(), { parsed: { a: 1 } });
  assert.equal((await problemOf(await send(kept.url, payment, post({ a: 2 })))).code, "payment_identifier_conflict");

  const lost = await scene(t, chain, { routes, before: [express.json()] });
  const answer = await send(lost.url, await pay(lost.buyer, await lost.price(), { id: randomId() }), post({ a: 1 }));
  assert.equal(answer.status, 500);
  assert.equal(lost.counted.runs + lost.counted.verified, 0);
  assert.equal(await transfers(chain, lost.buyer.address), 0);
});

test("a request that ends before its body does is not bought", async (t) => {
  const { url, buyer, price, counted } = await scene(t, chain, { routes: { "POST /echo": echo } });
  const { header } = await pay(buyer, await price(), { id: randomId() });
  const request = http.request(url, { method: "POST", headers: { "payment-signature": header, "content-length": 100 } });
  request.on("error", () => {});
  await new Promise((done) => request.write("half", done));
  await new Promise((done) => setTimeout(done, 200));
  request.destroy();
  await new Promise((done) => setTimeout(done, 300));
  assert.equal(counted.runs + counted.verified, 0);
  assert.equal(await transfers(chain, buyer.address), 0);
});

test("answers pass as they are: streams, cookies, headers that stand twice, an empty one, HEAD", async (t) => {
  const routes = {
    "GET /report": async (req, res) => {
      res.cookie("session", "one").cookie("other", "two").append("warning", "first").append("warning", "second");
      res.type("text/plain");
      for (const part of ["one ", "two ", Buffer.from("three")]) {
        res.write(part);
        await new Promise((done) => setTimeout(done, 10));
      }
      res.end(" four");
    },
    "GET /piped": (req, res) => pipeline(Readable.from([large.subarray(0, 100), large.subarray(100)]), res.type("bin")),
    "DELETE /thing": (req, res) => res.status(204).end(),
    "HEAD /file": (req, res) => res.set("content-length", "12345").end(),
  };
  const { shop, buyer } = await scene(t, chain, { routes });
  const buy = async (route) => {
    const [method, path] = route.split(" ");
    const url = shop.url + path;
    const payment = await pay(buyer, await fetch(url, { method }), { id: randomId() });
    return [await send(url, payment, { method }), await send(url, payment, { method })];
  };
  const [first, again] = await buy("GET /report");
  assert.equal(await first.text(), "one two three four");
  assert.deepEqual(first.headers.getSetCookie().length, 2);
  assert.equal(first.headers.get("warning"), "first, second");
  assert.equal(await again.text(), "one two three four");
  assert.equal(again.headers.get("warning"), "first, second");
  assert.deepEqual(again.headers.getSetCookie(), []);

  for (const answer of await buy("GET /piped")) assert.equal(sha256(await answer.arrayBuffer()), sha256(large));
  for (const answer of await buy("DELETE /thing")) {
    assert.equal(answer.status, 204);
    assert.equal((await answer.arrayBuffer()).byteLength, 0);
    assert.ok(answer.headers.get("receipt-id"));
  }
  const [head, headAgain] = await buy("HEAD /file");
  assert.equal(head.status, 200);
  assert.equal(head.headers.get("content-length"), "12345");
  assert.equal(headAgain.status, 200);
  assert.equal(await transfers(chain, buyer.address), 4);
});

test("an answer above the limit is sent whole, and its retry is answered with the receipt", async (t) => {
  const { url, buyer, shop, price } = await scene(t, chain, { routes: { "GET /report": (req, res) => res.type("bin").send(large) }, options: { maxStoredBody: 1000 } });
  const payment = await pay(buyer, await price(), { id: randomId() });
  assert.equal(sha256(await (await send(url, payment)).arrayBuffer()), sha256(large));
  const problem = await problemOf(await send(url, payment));
  assert.deepEqual([problem.code, problem.next, problem.money], ["answer_not_stored", "lookup_receipt", "proven"]);
  const { response } = await (await fetch(shop.url + problem.receipt)).json();
  assert.deepEqual([response.sha256, response.length], [sha256(large), large.length]);
});

test("the buyer leaves: a handler that ends all the same is kept; one that gives up is no running worker for ever", async (t) => {
  let way = "goes on";
  const routes = {
    "GET /report": async (req, res) => {
      if (way === "fine") return res.json({ report: "clear" });
      const left = new Promise((done) => res.once("close", done));
      await left;
      if (way === "goes on") res.json({ report: "clear" });
    },
  };
  const { url, buyer, price, counted, skip } = await scene(t, chain, { routes, options: { lease: 3 } });
  const leave = async (payment) => {
    const runs = counted.runs;
    const gone = new AbortController();
    const asked = send(url, payment, { signal: gone.signal });
    await until(() => counted.runs > runs);
    gone.abort();
    await assert.rejects(asked);
  };
  const kept = await pay(buyer, await price(), { id: randomId() });
  await leave(kept);
  await until(async () => (await send(url, kept)).status === 200);
  assert.equal(counted.runs, 1);

  way = "gives up";
  const dropped = await pay(buyer, await price(), { id: randomId() });
  await leave(dropped);
  assert.equal((await problemOf(await send(url, dropped))).code, "payment_in_flight");
  way = "fine";
  // A second of the real clock after the other: were the worker still thought alive, its lease would be renewed meanwhile.
  for (let seconds = 0; seconds < 2; seconds++) {
    await new Promise((done) => setTimeout(done, 1100));
    skip(1);
  }
  assert.equal((await send(url, dropped)).status, 200);
  assert.equal(counted.runs, 3);
  assert.equal(await transfers(chain, buyer.address), 2);
});

test("a handler that was overtaken settles nothing, whatever became of the one that took over", async (t) => {
  const { open, opened } = gate();
  const ways = [async (res) => { await opened; res.json({ report: "late" }); }, (res) => res.status(500).end(), (res) => res.json({ report: "clear" })];
  const store = await sqlite(t);
  let updates = 0;
  const watched = { ...store, update: (...asked) => (updates++, store.update(...asked)) };
  let run = 0;
  const { url, buyer, price, counted, skip } = await scene(t, chain, { store: watched, routes: { "GET /report": (req, res) => ways[run++](res) } });
  const id = randomId();
  const payment = await pay(buyer, await price(), { id });
  const gone = new AbortController();
  const asked = send(url, payment, { signal: gone.signal });
  await until(() => counted.runs === 1);
  gone.abort();
  await assert.rejects(asked);
  // The lease is over, the second worker fails, and nothing was broadcast: the sale is to be had again.
  skip(61);
  await until(async () => (await send(url, payment)).status === 500);
  const before = updates;
  open();
  // The late one asks the row, or goes past it.
  await until(() => updates > before || counted.settled > 0);
  assert.equal((await send(url, await pay(buyer, await price(), { id }))).status, 200);
  assert.equal(counted.runs, 3);
  assert.equal(counted.settled, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});
