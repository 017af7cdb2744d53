// An intent goes from one worker to another: on one journal, and between journals that know nothing of each other.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { TypedDataEncoder, verifyTypedData } from "ethers";
import { createPayer, handOverDigest, verifyReceipt } from "counterfoil";
import { fileJournal, memoryJournal } from "counterfoil/node";
import { ID, handOverSuite, lost, records, unusedChain, worker } from "./hand-over-suite.mjs";
import { PAYER, clockwork, counted, keyBytes, openJournal, shop, thrown } from "./payer-stage.mjs";

handOverSuite("memory", () => memoryJournal());
const places = mkdtempSync(join(tmpdir(), "counterfoil-hand-over-"));
after(() => rmSync(places, { recursive: true, force: true }));
let opened = 0;
handOverSuite("file", () => fileJournal(join(places, `${(opened += 1)}.jsonl`)));

const secret = new Uint8Array(32).fill(7);

test("what is signed is what ethers says it is, and names no signature of a payment", async (t) => {
  const { a, intentId } = await lost(t, openJournal());
  const given = await a.handOver(intentId, "b", "15000", { expiresIn: 60 });
  const { hash, digest, typedData, signer } = handOverDigest(given);
  const { EIP712Domain, ...types } = typedData.types;
  assert.equal(TypedDataEncoder.hash(typedData.domain, types, typedData.message), digest);
  assert.equal(verifyTypedData(typedData.domain, types, typedData.message, given.signature), PAYER);
  assert.deepEqual([given.hash, signer, given.budget, given.expiresAt - given.at, given.from, given.to], [hash, PAYER, "15000", 60, "a", "b"]);
  assert.equal(typedData.message.hash, hash);
});

test("between two journals: the amount is held, the window is waited for, the same nonce is signed", async (t) => {
  const clock = clockwork();
  const journal = openJournal();
  const { a, seller, intentId } = await lost(t, journal, { clock, rpc: unusedChain(clock) });
  const given = JSON.parse(JSON.stringify(await a.handOver(intentId, "b")));
  const theirs = openJournal();
  const rpc = unusedChain(clock);
  const b = worker("b", theirs, { clock, rpc });
  await b.takeOver(given);
  assert.ok(rpc.calls.includes("eth_call"), "the reads are repeated");
  assert.deepEqual((await theirs.held()).map(({ amount, state }) => [amount, state]), [["10000", "reserved"]]);
  const open = await thrown(b.fetch(seller.url, { intent: ID }));
  assert.deepEqual([open.code, open.money, b.signer.calls, seller.payments.length], ["outcome_unknown", "possible", 0, 1]);
  clock.now += 61;
  assert.equal(await (await b.fetch(seller.url, { intent: ID })).text(), "the report");
  const nonces = seller.payments.map(({ payload }) => payload.authorization.nonce);
  assert.deepEqual([nonces.length, new Set(nonces).size], [2, 1]);
  // The giver learns what the chain says, and signs nothing.
  const late = await thrown(a.fetch(seller.url, { intent: ID }));
  assert.deepEqual([late.code, a.signer.calls], ["intent_handed_over", 2]);
  assert.equal((await thrown(b.takeOver(given))).code, "hand_over_taken");
  // Both records stand beside each other without contradiction.
  for (const payer of [a, b]) {
    const failed = verifyReceipt(await payer.export()).checks.filter(({ state }) => state === "fail");
    assert.deepEqual(failed, []);
  }
});

test("refused: what is no hand-over, another's, altered, unsigned elsewhere, or without a way to read", async (t) => {
  const journal = openJournal();
  const { a, intentId } = await lost(t, journal);
  const given = await a.handOver(intentId, "b");
  const taking = async (document, options = {}, actor = "b") => (await thrown(worker(actor, openJournal(), options).takeOver(document))).code;
  assert.equal(await taking(undefined), "invalid_type");
  assert.equal(await taking({}), "missing_field");
  assert.equal(await taking({ ...given, budget: "20001" }), "hand_over_altered");
  assert.equal(await taking({ ...given, extra: 1 }), "hand_over_invalid");
  assert.equal(await taking(given, {}, "c"), "hand_over_other_actor");
  assert.equal(await taking(given, { signer: { privateKey: new Uint8Array(32).fill(9) } }), "hand_over_other_payer");
  assert.equal(await taking(given, { secret: new Uint8Array(32).fill(8) }), "hand_over_other_secret");
  assert.equal(await taking(given, { rpc: async () => { throw new Error("down"); } }), "evidence_unreadable");
  const { signature, ...unsigned } = given;
  assert.equal(await taking(unsigned), "hand_over_untrusted");
  const blind = createPayer({ signer: counted(), journal: openJournal(), secret, actor: "b", policy: { perCall: "20000" } });
  assert.equal((await thrown(blind.takeOver(given))).code, "hand_over_unread");
  assert.equal((await thrown(a.handOver(intentId, "a"))).code, "actor_invalid");
  assert.equal((await thrown(a.handOver(intentId, "c"))).code, "intent_handed_over");
  assert.equal((await thrown(a.handOver("0x00", "b"))).code, "intent_unknown");
  for (const [option, value, code] of [["actor", "", "actor_invalid"], ["actor", 1, "invalid_type"], ["knownWriters", ["0x00"], "address_invalid"]]) {
    assert.throws(() => worker("a", openJournal(), { [option]: value }), { code, field: option === "actor" ? "config.actor" : "config.knownWriters[0]" });
  }
});

test("a signer that refuses to sign documents: it stands in the shared journal", async (t) => {
  const signer = counted();
  const own = signer.signTypedData;
  signer.signTypedData = async (doc) => {
    if (doc.primaryType === "HandOver") throw new Error("not this kind");
    return own(doc);
  };
  const journal = openJournal();
  const { a, intentId } = await lost(t, journal, { signer });
  const given = await a.handOver(intentId, "b");
  assert.equal(given.signature, undefined);
  assert.equal((await thrown(worker("b", openJournal()).takeOver(given))).code, "hand_over_untrusted");
  await worker("b", journal).takeOver(given);
  assert.equal((await records(journal))[0].handOver.to, "b");
});

test("a delivered purchase is not handed over, and a payer's own process without a name is called by its address", async (t) => {
  const seller = await shop(t);
  const journal = openJournal();
  const payer = createPayer({ signer: { privateKey: keyBytes() }, journal, policy: { perCall: "20000" } });
  await (await payer.fetch(seller.url, { intent: ID })).text();
  const [{ intentId }] = await records(journal);
  const error = await thrown(payer.handOver(intentId, "b"));
  assert.deepEqual([error.code, error.money, error.next], ["hand_over_paid", "proven", "stop"]);
  assert.equal((await thrown(payer.handOver(intentId, PAYER))).code, "actor_invalid");
});
