// Several payers on one journal: one at a time on one intent, what the others are told, and what a late one may still do.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createPayer } from "counterfoil";
import { counted, openJournal, priced, shop, sold, thrown } from "./payer-stage.mjs";

const ID = { id: "order-0000000000000001" };
const secret = new Uint8Array(32).fill(7);
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

function buyer({ signer = counted(), journal, leaseMs = 10_000, ...rest }) {
  const payer = createPayer({ signer, journal, secret, leaseMs, policy: { perCall: "20000" }, ...rest });
  return { signer, payer };
}

/** Something that is waited for until `open` is called. */
function gate() {
  let open;
  const opened = new Promise((done) => (open = done));
  return { open, opened };
}

/** A seller that answers a payment once `may` has opened; `came` opens with the payment. */
async function slowShop(t, may, came = gate()) {
  const seller = await shop(t, async (_, res, payment) => {
    if (!payment) return priced(res);
    came.open();
    await may.opened;
    sold(res, payment);
  });
  return Object.assign(seller, { came: came.opened });
}

/** A journal whose leases are known by the intent, and, while `stopped`, not renewed: as a stopped process leaves them. */
function watched() {
  const journal = openJournal();
  const seen = { stopped: false, name: undefined };
  const { lease } = journal;
  journal.lease = async (name, ttlMs) => {
    const held = await lease(name, ttlMs);
    seen.name = name;
    return held && { ...held, renew: (ttl) => (seen.stopped ? Promise.resolve(false) : held.renew(ttl)) };
  };
  /** Taken by somebody else as soon as it lapses. */
  seen.takeOver = async () => {
    for (;;) {
      const held = await lease(seen.name, 60_000);
      if (held) return held;
      await wait(10);
    }
  };
  return { journal, seen };
}

for (const [kind, intent] of [["a named", ID], ["an unnamed", undefined]]) {
  test(`two payers, ${kind} call at the same moment: one payment, and both have the answer`, async (t) => {
    const may = gate();
    const seller = await slowShop(t, may);
    const journal = openJournal();
    const payers = [buyer({ journal }), buyer({ journal })];
    const answers = payers.map(({ payer }) => payer.fetch(seller.url, { intent }));
    await seller.came;
    await wait(150);
    may.open();
    const had = await Promise.all(answers.map(async (answer) => {
      const response = await answer;
      return [await response.text(), response.headers.get("idempotency-replayed")];
    }));
    assert.deepEqual(had.map(([text]) => text), ["the report", "the report"]);
    assert.deepEqual(had.map(([, replayed]) => replayed).sort(), ["true", null].sort());
    assert.equal(seller.paid.length, 1);
    assert.equal(payers.reduce((sum, { signer }) => sum + signer.calls, 0), 1);
    // A later call is the same purchase by its name, else another one.
    await (await payers[0].payer.fetch(seller.url, { intent })).text();
    assert.equal(seller.paid.length, intent ? 1 : 2);
  });
}

test("one is at it for longer than a lease: the other is told so, and nothing is signed or sent for it", async (t) => {
  const may = gate();
  const seller = await slowShop(t, may);
  const journal = openJournal();
  // Long enough that a process that is not given a core for a while keeps it.
  const [first, second] = [buyer({ journal, leaseMs: 1000 }), buyer({ journal, leaseMs: 1000 })];
  const answer = first.payer.fetch(seller.url, { intent: ID });
  await seller.came;
  const error = await thrown(second.payer.fetch(seller.url, { intent: ID }));
  const [{ intentId }] = await journal.intents();
  assert.deepEqual([error.name, error.code, error.money, error.next, error.retryAfter, error.intentId], ["CounterfoilError", "intent_in_flight", "possible", "wait", 1, intentId]);
  assert.deepEqual([second.signer.calls, seller.paid.length, seller.asked.length], [0, 1, 1]);
  // Whoever gives up waiting is told at once.
  assert.equal((await thrown(second.payer.fetch(seller.url, { intent: ID, signal: AbortSignal.timeout(50) }))).name, "TimeoutError");
  // Another intent is nobody's but its own.
  may.open();
  await (await second.payer.fetch(seller.url, { intent: { id: "order-0000000000000002" } })).text();
  assert.equal(await (await answer).text(), "the report");
  assert.equal(seller.paid.length, 2);
});

test("a payer whose lease lapsed while it signed sends nothing, and pays once its turn comes again", async (t) => {
  const seller = await shop(t);
  const { journal, seen } = watched();
  const may = gate();
  const asked = gate();
  const signer = counted();
  const own = signer.signTypedData;
  signer.signTypedData = async (doc) => {
    asked.open();
    await may.opened;
    return own(doc);
  };
  const { payer } = buyer({ journal, signer, leaseMs: 100 });
  seen.stopped = true;
  const late = thrown(payer.fetch(seller.url, { intent: ID }));
  await asked.opened;
  const other = await seen.takeOver();
  const before = await journal.intents();
  may.open();
  // No record has changed: the fence alone keeps it out.
  const error = await late;
  assert.deepEqual([error.code, error.money, error.intentId], ["intent_in_flight", "possible", before[0].intentId]);
  assert.deepEqual(await journal.intents(), before);
  assert.equal(before[0].attempts[0].signature, undefined);
  assert.equal(seller.paid.length, 0);
  await other.release();
  seen.stopped = false;
  assert.equal(await (await payer.fetch(seller.url, { intent: ID })).text(), "the report");
  assert.equal(seller.paid.length, 1);
});

test("a payer whose lease lapsed after its send writes nothing until its turn comes again, and then what happened", async (t) => {
  const may = gate();
  const seller = await slowShop(t, may);
  const { journal, seen } = watched();
  const { payer } = buyer({ journal, leaseMs: 100 });
  seen.stopped = true;
  const answer = payer.fetch(seller.url, { intent: ID });
  await seller.came;
  const other = await seen.takeOver();
  const before = await journal.intents();
  may.open();
  await wait(200);
  assert.deepEqual(await journal.intents(), before);
  await other.release();
  assert.equal(await (await answer).text(), "the report");
  assert.equal((await journal.intents())[0].status, "delivered");
  assert.equal(seller.paid.length, 1);
});

test("an answer that nobody reads to its end keeps the same payer not waiting, and others for one lease", async (t) => {
  const seller = await shop(t);
  const journal = openJournal();
  const [first, second] = [buyer({ journal, leaseMs: 1000 }), buyer({ journal, leaseMs: 1000 })];
  const unread = await first.payer.fetch(seller.url, { intent: ID });
  const [{ intentId }] = await journal.intents();
  assert.equal(await journal.lease(`call/${intentId}`, 1), undefined);
  const again = await first.payer.fetch(seller.url, { intent: ID });
  assert.notEqual(again, unread);
  assert.equal(await (await second.payer.fetch(seller.url, { intent: ID })).text(), "the report");
  // The same bytes each time.
  assert.equal(new Set(seller.payments.map((payment) => JSON.stringify(payment))).size, 1);
});

test("when a call has ended its lease is free: read, cancelled, refused, failed", async (t) => {
  const journal = openJournal();
  const free = async (n) => {
    const intents = await journal.intents();
    assert.equal(intents.length, n);
    for (const { intentId } of intents) {
      const lease = await journal.lease(`call/${intentId}`, 60_000);
      assert.ok(lease, `intent ${n}`);
      await lease.release();
    }
  };
  const { payer, signer } = buyer({ journal });
  const seller = await shop(t);
  await (await payer.fetch(seller.url, { intent: ID })).text();
  await free(1);
  await (await payer.fetch(seller.url, { intent: { id: "order-0000000000000002" } })).body.cancel();
  await free(2);
  signer.signTypedData = async () => {
    throw new Error("no");
  };
  assert.equal((await thrown(payer.fetch(seller.url, { intent: { id: "order-0000000000000003" } }))).code, "signer_failed");
  await free(3);
});

test("resume waits for what another has in hand, and says so where that goes on", async (t) => {
  const may = gate();
  const seller = await slowShop(t, may);
  const journal = openJournal();
  // Long enough that a process that is not given a core for a while keeps it.
  const [first, second] = [buyer({ journal, leaseMs: 1000 }), buyer({ journal, leaseMs: 1000 })];
  const answer = first.payer.fetch(seller.url, { intent: ID }).then((response) => response.text());
  await seller.came;
  const [{ outcome, money, next }] = await second.payer.resume();
  assert.deepEqual([outcome, money, next], ["intent_in_flight", "possible", "wait"]);
  const resumed = second.payer.resume();
  await wait(200);
  may.open();
  assert.equal(await answer, "the report");
  assert.equal((await resumed)[0].outcome, "delivered");
  assert.equal(seller.paid.length, 1);
});

test("a lease is for some time", () => {
  for (const leaseMs of [0, -1, Number.NaN, Infinity, "1"]) {
    assert.throws(() => buyer({ journal: openJournal(), leaseMs }), { code: "invalid_type", field: "leaseMs" });
  }
});
