// The journal in IndexedDB, in a real browser: the promises of every store, and what tabs that race, stop and die do to it; then purchases
// on a real chain, from the official seller, by tabs.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import http from "node:http";
import { after, test } from "node:test";
import { KEYS, NETWORK, USDC, startChain } from "../../demo/chain.mjs";
import { REPORT, startSeller } from "../../demo/seller.mjs";
import { FIREFOX, kill, start, startFirefox } from "./journal/browser.mjs";

const browser = await start();
const firefox = (existsSync(FIREFOX) || process.env.CI) && (await startFirefox());
const chain = await startChain();
const stopping = [() => chain.stop(), () => browser.stop(), () => firefox && firefox.stop()];
// Nothing is waited for between the first test and the last one: the end would come in between.
const first = await browser.tab();
const titles = await first.evaluate(() => window.tab.titles);
const firstInFirefox = firefox && (await firefox.tab());
after(async () => {
  for (const stop of stopping.reverse()) await stop();
});

let places = 0;
const place = () => `tabs-${++places}`;
const tabs = (count, of = browser) => Promise.all(Array.from({ length: count }, () => of.tab()));

/** Opens the journal in a tab and puts it on its window, with what the tests do to it. */
function open(page, name) {
  return page.evaluate(async (name) => {
    const journal = (window.journal = window.tab.indexedDbJournal(name));
    const bytes = (text) => new TextEncoder().encode(text);
    window.put = (texts, revs = {}, fence) => journal.commit(Object.entries(texts).map(([key, text]) => ({ key, expect: revs[key] ?? "absent", put: bytes(text) })), fence);
    window.all = async () => {
      const found = {};
      for await (const { key, rev, value } of journal.scan("")) found[key] = [new TextDecoder().decode(value), rev];
      return found;
    };
    await journal.read("");
  }, name);
}

const contents = async (page) => Object.fromEntries(Object.entries(await page.evaluate(() => window.all())).map(([key, [text]]) => [key, text]));

/** What holds in every browser: the promises of the store, and a race of four tabs. */
function everywhere(browser, first, where) {
  for (const [n, title] of titles.entries()) test(`${title}${where}`, () => first.evaluate((n) => window.tab.run(n), n));

  test(`four tabs change the same keys: one at a time, and never half${where}`, async () => {
    const name = place();
    const pages = await tabs(4, browser);
    await Promise.all(pages.map((page) => open(page, name)));
    await pages[0].evaluate(() => window.put({ a: "0", b: "0", c: "0" }));
    for (let round = 1; round <= 8; round++) {
      const before = await pages[0].evaluate(() => window.all());
      const revs = Object.fromEntries(Object.entries(before).map(([key, [, rev]]) => [key, rev]));
      const results = await Promise.all(pages.map((page, n) => page.evaluate(({ text, revs, back }) => {
        const keys = back ? ["c", "b", "a"] : ["a", "b", "c"];
        return window.put(Object.fromEntries(keys.map((key) => [key, text])), revs);
      }, { text: `${round} by ${n}`, revs, back: n % 2 === 1 })));
      const winners = results.flatMap(({ ok }, n) => (ok ? [n] : []));
      assert.equal(winners.length, 1, JSON.stringify(results));
      const text = `${round} by ${winners[0]}`;
      for (const page of pages) assert.deepEqual(await contents(page), { a: text, b: text, c: text });
    }
    await Promise.all(pages.map((page) => page.close()));
  });
}

everywhere(browser, first, "");
if (firefox) everywhere(firefox, firstInFirefox, ", in Firefox");
else test("the same in Firefox", { skip: "Firefox is missing" }, () => {});

test("case 050: a commit asks for the disk and is over when its transaction is; one that is aborted was not", async () => {
  const page = await browser.tab();
  await open(page, place());
  const seen = await page.evaluate(async () => {
    const seen = { asked: [], told: [] };
    const begin = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function (stores, mode, options) {
      const transaction = begin.call(this, stores, mode, options);
      if (mode === "readwrite") {
        seen.asked.push(options?.durability, transaction.durability);
        transaction.addEventListener("complete", () => seen.told.push("complete"));
      }
      return transaction;
    };
    await window.put({ a: "1" }).then(() => seen.told.push("resolved"));
    // All requests succeed, and then the disk is full.
    const put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = function (...args) {
      const request = put.apply(this, args);
      request.addEventListener("success", () => this.transaction.abort());
      return request;
    };
    seen.error = await window.put({ b: "1", c: "1" }).then(() => "none", ({ name, code, money }) => ({ name, code, money }));
    IDBObjectStore.prototype.put = put;
    return seen;
  });
  assert.deepEqual(seen.asked.slice(0, 2), ["strict", "strict"]);
  assert.ok(seen.asked.every((asked) => asked === "strict"));
  assert.deepEqual(seen.told, ["complete", "resolved"]);
  assert.deepEqual(seen.error, { name: "CounterfoilError", code: "journal_unavailable", money: "none" });
  assert.deepEqual(await contents(page), { a: "1" });
  await page.close();
});

test("of four tabs that want a lease one gets it; past its end another does, and the late one writes nothing", async () => {
  const name = place();
  const pages = await tabs(4);
  await Promise.all(pages.map((page) => open(page, name)));
  await pages[0].evaluate(() => window.put({ a: "start" }));
  const want = (ttl) => Promise.all(pages.map((page) => page.evaluate(async (ttl) => {
    const lease = await window.journal.lease("one", ttl);
    if (lease) window.lease = lease;
    return lease?.token;
  }, ttl)));
  let before = 0;
  for (let round = 0; round < 4; round++) {
    const tokens = await want(300);
    const holder = tokens.findIndex((token) => token !== undefined);
    assert.equal(tokens.filter((token) => token !== undefined).length, 1, JSON.stringify(tokens));
    assert.ok(tokens[holder] > before);
    before = tokens[holder];
    // The tab lives, so its lease lasts its time.
    const next = pages[(holder + 1) % 4];
    const token = await next.evaluate(async () => {
      for (;;) {
        const lease = await window.journal.lease("one", 60_000);
        if (lease) return (window.lease = lease).token;
        await new Promise((done) => setTimeout(done, 20));
      }
    });
    assert.ok(token > before);
    const rev = await next.evaluate(async () => (await window.journal.read("a")).rev);
    const write = (page, token) => page.evaluate(({ rev, token }) => window.put({ a: `by ${token}` }, { a: rev }, { lease: "one", token }), { rev, token });
    assert.deepEqual(await write(pages[holder], before), { ok: false, key: "one" });
    assert.equal(await pages[holder].evaluate(() => window.lease.renew(60_000)), false);
    assert.deepEqual(await write(next, token), { ok: true });
    before = token;
    await next.evaluate(() => window.lease.release());
  }
  await Promise.all(pages.map((page) => page.close()));
});

/** Kills the tab in the middle of a commit: the first of two values is put, and the transaction is held open. */
async function dieWriting(page) {
  await page.evaluate(() => {
    const put = IDBObjectStore.prototype.put;
    let puts = 0;
    IDBObjectStore.prototype.put = function (...args) {
      if (this.name !== "entries" || ++puts === 1) return put.apply(this, args);
      const store = this;
      (function stay() {
        store.get("a").onsuccess = stay;
        window.half = true;
      })();
      return store.get("a");
    };
    window.journal.read("a").then(({ rev }) => window.put({ a: "half", z: "half" }, { a: rev }));
  });
  await page.waitForFunction(() => window.half);
  await kill(page);
}

test("a tab is killed in the middle of a commit: nothing of it stands, and its lease is free at once", { timeout: 120_000 }, async () => {
  const name = place();
  const [dying, other] = await tabs(2);
  await open(dying, name);
  await open(other, name);
  await dying.evaluate(() => window.put({ a: "whole" }));
  const token = await dying.evaluate(async () => (await window.journal.lease("one", 3_600_000)).token);
  assert.equal(await other.evaluate(async () => window.journal.lease("one", 1000)), undefined);
  await dieWriting(dying);
  assert.deepEqual(await contents(other), { a: "whole" });
  const next = await other.evaluate(async () => {
    for (;;) {
      const lease = await window.journal.lease("one", 1000);
      if (lease) return lease.token;
      await new Promise((done) => setTimeout(done, 20));
    }
  });
  assert.ok(next > token);
  assert.deepEqual(await other.evaluate((token) => window.put({ b: "1" }, {}, { lease: "one", token }), token), { ok: false, key: "one" });
  await other.close();
});

test("without IndexedDB or Web Locks it is journal_unavailable, and a name is a name", async () => {
  const page = await browser.tab();
  const codes = await page.evaluate(async () => {
    const code = (use) => Promise.resolve().then(use).then(() => "none", ({ code, field }) => [code, field].join(" "));
    const named = await Promise.all([undefined, "", 1, {}].map((name) => code(() => window.tab.indexedDbJournal(name))));
    const { locks } = navigator;
    Object.defineProperty(navigator, "locks", { value: undefined, configurable: true });
    const journal = window.tab.indexedDbJournal("no-locks");
    const without = await code(() => journal.read("a"));
    Object.defineProperty(navigator, "locks", { value: locks, configurable: true });
    return { named, without, with: await code(() => journal.read("a")) };
  });
  assert.deepEqual(codes, { named: Array(4).fill("invalid_type name"), without: "journal_unavailable ", with: "none" });
  await page.close();
});

// ---------------------------------------------------------------- purchases

const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** The official seller behind what lets pages of another origin ask it; `logs()` are the transfers that reached it. */
async function market(options) {
  const payTo = `0x${createHash("sha256").update(`tabs ${stopping.length}`).digest("hex").slice(0, 40)}`;
  const seller = await startSeller({ chain, payTo, keepsAnswers: true, ...options });
  const front = http.createServer(async (req, res) => {
    const cors = {
      "access-control-allow-origin": req.headers.origin ?? "*", "access-control-allow-headers": req.headers["access-control-request-headers"] ?? "",
      "access-control-expose-headers": "PAYMENT-REQUIRED, PAYMENT-RESPONSE",
    };
    if (req.method === "OPTIONS") return res.writeHead(204, cors).end();
    const { host, origin, connection, ...headers } = req.headers;
    try {
      const answer = await fetch(seller.url, { headers });
      res.writeHead(answer.status, { ...Object.fromEntries(answer.headers), "content-encoding": "identity", ...cors }).end(Buffer.from(await answer.arrayBuffer()));
    } catch {
      res.destroy();
    }
  });
  await new Promise((done) => front.listen(0, "127.0.0.1", done));
  stopping.push(() => (front.closeAllConnections(), front.close()), () => seller.stop());
  const word = `0x${payTo.slice(2).padStart(64, "0")}`;
  const logs = () => chain.rpc("eth_getLogs", [{ address: USDC, topics: [TRANSFER, null, word], fromBlock: "0x0", toBlock: "latest" }]);
  return { seller, url: `http://127.0.0.1:${front.address().port}/weather`, logs };
}

/** Makes a payer in a tab; `window.signed` counts what it signs, and `window.buy(url, id)` tells what became of a call. */
function payerIn(page, name) {
  return page.evaluate(({ name, key, network, rpc }) => {
    const { createPayer, indexedDbJournal, raw } = window.tab;
    const own = Uint8Array.from(key);
    window.signed = 0;
    const signer = {
      address: raw.call("addressOfKey", {}, undefined, own),
      async signTypedData(typedData) {
        window.signed += 1;
        return raw.call("signTypedData", { typedData }, undefined, own);
      },
    };
    window.journal = indexedDbJournal(name);
    window.payer = createPayer({ signer, secret: own, journal: window.journal, rpc: { [network]: rpc }, policy: { perCall: "20000", maxWindow: 300 }, leaseMs: 5000 });
    window.buy = (url, id) => window.payer.fetch(url, { intent: { id } }).then(
      async (response) => ({ text: await response.text(), replayed: response.headers.has("idempotency-replayed") }),
      ({ code, money, message, cause }) => ({ code, money, message, cause: String(cause) }),
    );
  }, { name, key: [...Buffer.from(KEYS.payer.slice(2), "hex")], network: NETWORK, rpc: chain.url });
}

const intents = (page) => page.evaluate(async () => {
  const found = [];
  for await (const { value } of window.journal.scan("intent/")) found.push(JSON.parse(new TextDecoder().decode(value)));
  return found;
});
const idOf = (n) => `order-of-the-tabs-${String(n).padStart(8, "0")}`;

test("a page buys from a seller of another origin, and after a restart of the browser has what it bought", async () => {
  const { url, logs, seller } = await market();
  const name = place();
  const page = await browser.tab();
  await payerIn(page, name);
  assert.deepEqual(await page.evaluate(([url, id]) => window.buy(url, id), [url, idOf(1)]), { text: REPORT, replayed: false });
  assert.deepEqual([(await logs()).length, seller.payments.length], [1, 1]);
  await page.close();

  const again = await browser.tab();
  await payerIn(again, name);
  assert.deepEqual(await again.evaluate(([url, id]) => window.buy(url, id), [url, idOf(1)]), { text: REPORT, replayed: true });
  assert.deepEqual([(await logs()).length, seller.payments.length, await again.evaluate(() => window.signed)], [1, 1, 0]);
  const [{ status, attempts }] = await intents(again);
  assert.deepEqual([status, attempts.length], ["delivered", 1]);
  await again.close();
});

test("case 052: two tabs pay one intent at once: one signature, one transfer, and both have the answer", async () => {
  const { url, logs, seller } = await market();
  const name = place();
  const pages = await tabs(2);
  await Promise.all(pages.map((page) => payerIn(page, name)));
  const told = await Promise.all(pages.map((page) => page.evaluate(([url, id]) => window.buy(url, id), [url, idOf(2)])));
  assert.deepEqual(told.map(({ text }) => text), [REPORT, REPORT], JSON.stringify(told));
  assert.equal(told.filter(({ replayed }) => replayed).length, 1);
  const signed = await Promise.all(pages.map((page) => page.evaluate(() => window.signed)));
  assert.equal(signed[0] + signed[1], 1);
  assert.deepEqual([(await logs()).length, seller.payments.length], [1, 1]);
  await Promise.all(pages.map((page) => page.close()));
});

test("a commit that fails before the send: nothing is sent", async () => {
  const { url, logs, seller } = await market();
  const page = await browser.tab();
  await payerIn(page, place());
  const told = await page.evaluate(([url, id]) => {
    const put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = function (value, ...rest) {
      const request = put.call(this, value, ...rest);
      // The signature is in it: the last write before the send.
      const text = value?.value instanceof Uint8Array ? new TextDecoder().decode(value.value) : "";
      if (text.includes('"signature"')) request.addEventListener("success", () => this.transaction.abort());
      return request;
    };
    return window.buy(url, id);
  }, [url, idOf(3)]);
  assert.deepEqual([told.code, told.money], ["journal_unavailable", "none"], JSON.stringify(told));
  assert.deepEqual([(await logs()).length, seller.payments.length], [0, 0]);
  assert.equal(await page.evaluate(() => window.signed), 1);
  await page.close();
});

for (const sent of [false, true]) {
  test(`a tab is killed ${sent ? "after" : "before"} its payment is sent: another settles it, and there is one transfer`, async () => {
    const { url, logs, seller } = await market();
    const name = place();
    const [dying, other] = await tabs(2);
    await payerIn(dying, name);
    await payerIn(other, name);
    await dying.evaluate(({ url, id, sent }) => {
      const send = window.fetch;
      window.fetch = async (target, init) => {
        if (!new Headers(init?.headers).has("payment-signature")) return send(target, init);
        if (sent) await send(target, init);
        window.atSend = true;
        return new Promise(() => {});
      };
      window.buy(url, id);
    }, { url, id: idOf(sent ? 5 : 4), sent });
    await dying.waitForFunction(() => window.atSend);
    assert.equal(await dying.evaluate(() => window.signed), 1);
    await kill(dying);
    const [resolution] = await other.evaluate(() => window.payer.resume().then((all) => all.map(({ outcome, money }) => ({ outcome, money }))));
    assert.deepEqual(resolution, { outcome: "delivered", money: "proven" });
    assert.deepEqual(await other.evaluate(([url, id]) => window.buy(url, id), [url, idOf(sent ? 5 : 4)]), { text: REPORT, replayed: true });
    assert.deepEqual([(await logs()).length, await other.evaluate(() => window.signed)], [1, 0]);
    assert.equal(new Set(seller.payments.map(({ payload }) => payload.signature)).size, 1);
    await other.close();
  });
}

test("the whole browser is killed: what was committed is there", async () => {
  const name = place();
  const page = await browser.tab();
  await open(page, name);
  await page.evaluate(() => window.put({ a: "whole", b: "\u{1f600}" }));
  await browser.restart();
  const again = await browser.tab();
  await open(again, name);
  assert.deepEqual(await contents(again), { a: "whole", b: "\u{1f600}" });
});
