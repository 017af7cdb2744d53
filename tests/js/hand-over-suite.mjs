// What a hand-over promises on every journal, as tests. `make()` gives a journal on a fresh place; `another(journal)`, where several may be
// open at once, gives one more on the same place.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createPayer } from "counterfoil";
import { NETWORK, counted, priced, shop, sold, thrown } from "./payer-stage.mjs";

export const ID = { id: "order-0000000000000001" };
const secret = new Uint8Array(32).fill(7);
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const decoder = new TextDecoder();

/** A chain on which no nonce was ever used, a second old. */
export function unusedChain(clock = () => Math.floor(Date.now() / 1000)) {
  const block = () => ({ number: "0x78", hash: `0x${"ab".repeat(32)}`, timestamp: `0x${(clock() - 1).toString(16)}` });
  const answers = { eth_chainId: () => "0x14a34", eth_getBlockByNumber: block, eth_call: () => `0x${"00".repeat(32)}`, eth_getLogs: () => [] };
  const rpc = async (method) => {
    rpc.calls.push(method);
    return answers[method]();
  };
  rpc.calls = [];
  return rpc;
}

export function worker(actor, journal, { signer = counted(), rpc = unusedChain(), leaseMs = 10_000, ...rest } = {}) {
  const payer = createPayer({ signer, journal, secret, actor, leaseMs, rpc: { [NETWORK]: rpc }, policy: { perCall: "20000" }, ...rest });
  return Object.assign(payer, { signer });
}

export async function records(journal) {
  const found = [];
  for await (const { value } of journal.scan("intent/")) found.push(JSON.parse(decoder.decode(value)));
  return found;
}

/** A payment of the actor a whose answer was lost: nobody waits for it any more. */
export async function lost(t, journal, options) {
  const gone = new AbortController();
  const seller = await shop(t, (_, res, payment, { payments }) => {
    if (!payment) priced(res);
    else if (payments.length === 1) gone.abort();
    else sold(res, payment);
  });
  const a = worker("a", journal, options);
  await thrown(a.fetch(seller.url, { intent: ID, signal: gone.signal }));
  const [{ intentId }] = await records(journal);
  return { a, seller, intentId };
}

function gate() {
  let open;
  const opened = new Promise((done) => (open = done));
  return { open, opened };
}

/** The journal as a process has it that stops: nothing is renewed. */
const stopped = (journal) => ({ ...journal, lease: async (...args) => {
  const held = await journal.lease(...args);
  return held && { ...held, renew: async () => false };
} });

export function handOverSuite(name, make, another = (journal) => journal) {
  const check = (title, body) =>
    test(`${name}: ${title}`, async (t) => {
      const journal = await make();
      try {
        await body(t, journal);
      } finally {
        await journal.close();
      }
    });

  check("four want one hand-over at once: one takes it, and the payment's own bytes bring the answer", async (t, journal) => {
    const { a, seller, intentId } = await lost(t, journal);
    const given = await a.handOver(intentId, "b");
    const takers = await Promise.all([1, 2, 3, 4].map(async () => worker("b", await another(journal))));
    const ends = await Promise.allSettled(takers.map((taker) => taker.takeOver(given)));
    const codes = ends.map(({ reason }) => reason?.code ?? "taken").sort();
    assert.deepEqual(codes, ["hand_over_taken", "hand_over_taken", "hand_over_taken", "taken"]);
    const answer = await takers[0].fetch(seller.url, { intent: ID });
    assert.equal(await answer.text(), "the report");
    assert.equal(new Set(seller.payments.map((payment) => JSON.stringify(payment))).size, 1);
    assert.deepEqual([a, ...takers].map(({ signer }) => signer.calls), [2, 0, 0, 0, 0], "the payment and the hand-over, by a");
    const [record] = await records(journal);
    assert.deepEqual([record.status, record.handOver.to, record.handOver.takenAt !== undefined], ["delivered", "b", true]);
  });

  check("four give one intent to four at once: one hand-over stands", async (t, journal) => {
    const { intentId } = await lost(t, journal);
    const givers = await Promise.all([1, 2, 3, 4].map(async () => worker("a", await another(journal))));
    const ends = await Promise.allSettled(givers.map((giver, n) => giver.handOver(intentId, `b${n}`)));
    const given = ends.filter(({ status }) => status === "fulfilled");
    assert.deepEqual(ends.filter(({ status }) => status === "rejected").map(({ reason }) => reason.code), Array(3).fill("intent_handed_over"));
    const [{ handOver }] = await records(journal);
    assert.deepEqual([given.length, given[0].value.hash, given[0].value.to], [1, handOver.hash, handOver.to]);
  });

  check("a signature that comes after the lease and the hand-over is neither written down nor sent", async (t, journal) => {
    const seller = await shop(t);
    const [asked, may, signer] = [gate(), gate(), counted()];
    const own = signer.signTypedData;
    signer.signTypedData = async (doc) => {
      asked.open();
      await may.opened;
      return own(doc);
    };
    const late = worker("a", stopped(await another(journal)), { signer, leaseMs: 100 });
    const end = thrown(late.fetch(seller.url, { intent: ID }));
    await asked.opened;
    await wait(150);
    const [{ intentId }] = await records(journal);
    const given = await worker("a", await another(journal)).handOver(intentId, "b");
    assert.deepEqual(given.live, []);
    const b = worker("b", await another(journal));
    await b.takeOver(given);
    may.open();
    const { code, next } = await end;
    assert.deepEqual([code, next, seller.paid.length], ["intent_handed_over", "stop", 0]);
    assert.deepEqual((await records(journal))[0].attempts, []);
    assert.equal(await (await b.fetch(seller.url, { intent: ID })).text(), "the report");
    assert.equal(seller.paid.length, 1);
  });

  check("a payment on its way when its lease lapses and the intent goes: only its own bytes are ever sent", async (t, journal) => {
    const [came, may] = [gate(), gate()];
    const seller = await shop(t, async (_, res, payment) => {
      if (!payment) return priced(res);
      came.open();
      await may.opened;
      sold(res, payment);
    });
    const late = worker("a", stopped(await another(journal)), { leaseMs: 100 });
    const answer = late.fetch(seller.url, { intent: ID }).then((response) => response.text());
    await came.opened;
    await wait(150);
    const [{ intentId, attempts }] = await records(journal);
    const given = await worker("a", await another(journal)).handOver(intentId, "b");
    assert.equal(given.live.length, 1);
    assert.equal(JSON.stringify(given).includes(attempts[0].signature), false);
    const b = worker("b", await another(journal));
    await b.takeOver(given);
    may.open();
    assert.equal(await answer, "the report");
    assert.equal(await (await b.fetch(seller.url, { intent: ID })).text(), "the report");
    assert.equal(new Set(seller.payments.map((payment) => JSON.stringify(payment))).size, 1);
    assert.deepEqual([late.signer.calls, b.signer.calls], [1, 0]);
  });
}
