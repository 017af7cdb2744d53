// Split payments on a real chain: Circle's token, both transfers in one Multicall3 transaction, and settlements of which only one
// part lands. How often money moved is counted by what the token logged.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { createPayer, findConflicts, verifyReceipt } from "counterfoil";
import { resolve } from "counterfoil/core";
import { readEvidence } from "counterfoil/node";
import { KEYS, startChain } from "../../demo/chain.mjs";
import { NETWORK, OFFER, PAYER, USDC, clockwork, counted, openJournal, priced, shop, thrown } from "./payer-stage.mjs";

const { encodeFunctionData } = createRequire(new URL("../../demo/package.json", import.meta.url))("viem");
const MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11";
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const word = (hex) => `0x${hex.slice(2).toLowerCase().padStart(64, "0")}`;
const of = (...types) => types.map((type, i) => ({ type, name: `a${i}` }));
const TOKEN = [{ type: "function", name: "transferWithAuthorization", stateMutability: "nonpayable", outputs: [], inputs: of("address", "address", "uint256", "uint256", "uint256", "bytes32", "bytes") }];
const CALLS = { type: "tuple[]", name: "calls", components: [{ type: "address", name: "target" }, { type: "bool", name: "allowFailure" }, { type: "bytes", name: "callData" }] };
const MULTICALL = [{ type: "function", name: "aggregate3", stateMutability: "payable", inputs: [CALLS], outputs: [] }];
let chain;
let facilitator;
let purchases = 0;
const another = () => ({ id: `split-${String((purchases += 1)).padStart(16, "0")}` });

before(async () => {
  chain = await startChain();
  facilitator = chain.wallet(KEYS.facilitator);
});
after(() => chain?.stop());

const call = ({ authorization: a, signature }) => ({
  target: USDC, allowFailure: true,
  callData: encodeFunctionData({ abi: TOKEN, functionName: "transferWithAuthorization", args: [a.from, a.to, BigInt(a.value), BigInt(a.validAfter), BigInt(a.validBefore), a.nonce, signature] }),
});
const parts = ({ payload }) => [payload, payload.feeAuthorization];

/** One transaction for all of these authorizations; one that fails takes none of the others with it. */
async function land(signed) {
  const args = [signed.map(call)];
  const hash = await facilitator.writeContract({ address: MULTICALL3, abi: MULTICALL, functionName: "aggregate3", args, gas: 1_000_000n });
  assert.equal((await chain.pub.waitForTransactionReceipt({ hash })).status, "success");
  // Three blocks further it is final.
  await chain.rpc("anvil_mine", ["0x3"]);
  return hash;
}

/** Hours to wait: a call ends here instead of asking again. */
const BUSY = Symbol("busy");

/** A seller that asks for a split; `settle(payment)` gives the transaction, BUSY, or nothing, which leaves the buyer without an answer. */
async function market(t, settle, { fee = "300", maxTimeoutSeconds = 60 } = {}) {
  const of = (name) => `0x${createHash("sha256").update(`${name} ${t.name}`).digest("hex").slice(0, 40)}`;
  const [payTo, fee_to] = [of("seller"), of("fee")];
  const offer = { ...OFFER, payTo, maxTimeoutSeconds, extra: { ...OFFER.extra, fee_split: { v: 1, fee_to, fee_amount: fee, merchant_amount: String(10_000 - Number(fee)) } } };
  const seller = await shop(t, async (req, res, payment) => {
    // Its clock is the chain's, which tests move.
    const date = new Date((await chain.block()).timestamp * 1000).toUTCString();
    if (!payment) return priced(res, { accepts: [offer], headers: { date } });
    const transaction = await settle(payment);
    if (!transaction) return res.destroy();
    if (transaction === BUSY) return res.writeHead(503, { "retry-after": "3600" }).end();
    const settlement = { success: true, transaction, network: NETWORK, payer: PAYER };
    res.writeHead(200, { "payment-response": Buffer.from(JSON.stringify(settlement)).toString("base64") });
    res.end("the report");
  });
  const logs = (to) => chain.rpc("eth_getLogs", [{ address: USDC, topics: [TRANSFER, word(PAYER), word(to)], fromBlock: "0x0", toBlock: "latest" }]);
  return Object.assign(seller, { moved: async () => (await Promise.all([payTo, fee_to].map(logs))).map((found) => found.length) });
}

function buyer({ signer = counted(), journal = openJournal(), rpc = chain.url, ...rest } = {}) {
  const policy = { perCall: "20000" };
  return { signer, journal, payer: createPayer({ signer, journal, policy, rpc: rpc ? { [NETWORK]: rpc } : undefined, ...rest }) };
}

const evidenceOf = async ({ authorization: { nonce } }, tag) => readEvidence(chain.url, { network: NETWORK, asset: USDC, payer: PAYER, nonce, tag });
const held = async (journal) => (await journal.held()).map(({ state, amount }) => `${state} ${amount}`);
const states = async (journal) => (await journal.intents()).flatMap(({ attempts }) => attempts.map(({ state }) => state));

test("both parts in one transaction, each matched by its log; the bundle verifies with both and with nothing less", async (t) => {
  const seller = await market(t, (payment) => land(parts(payment)));
  const { payer, signer, journal } = buyer();
  const body = new Uint8Array(await (await payer.fetch(seller.url, { intent: another() })).arrayBuffer());
  assert.deepEqual([await seller.moved(), signer.calls, await held(journal)], [[1, 1], 2, ["settled 10000"]]);
  const [sold, fee] = parts(seller.payments[0]);
  await chain.finalized();
  const [ofSold, ofFee] = [await evidenceOf(sold), await evidenceOf(fee)];
  const verdicts = [[sold, ofSold], [fee, ofFee]].map(([{ authorization }, evidence]) => resolve(authorization, { network: NETWORK, asset: USDC }, evidence));
  assert.deepEqual(verdicts.map(({ verdict, reasons }) => [verdict, reasons]), [["paid", []], ["paid", []]]);
  assert.equal(verdicts[0].transaction, verdicts[1].transaction);
  assert.equal((await payer.resume())[0].outcome, "delivered");
  assert.deepEqual(await states(journal), ["paid"]);

  const [{ intentId }] = await journal.intents();
  const bundle = await payer.export(intentId);
  const report = verifyReceipt(bundle, { body, evidence: [...ofSold, ...ofFee] });
  assert.equal(report.verdict, "verified", JSON.stringify(report.checks.filter(({ state }) => state !== "pass")));
  assert.equal(report.facts.amount, "10000");
  for (const evidence of [ofSold, ofFee]) assert.equal(verifyReceipt(bundle, { body, evidence }).verdict, "incomplete");
  const changed = (change) => {
    const other = JSON.parse(bundle);
    change(other.intents[0].attempts[0].parts[0], other.intents[0].attempts[0]);
    return verifyReceipt(JSON.stringify(other), { body, evidence: [...ofSold, ...ofFee] });
  };
  for (const change of [
    (part) => { part.authorization.value = "299"; },
    (part) => { part.authorization.to = PAYER; },
    (part, attempt) => { part.signature = attempt.signature; },
    (part, attempt) => { Object.assign(part, { authorization: attempt.authorization, signature: attempt.signature }); },
    (part, attempt) => { attempt.parts.push(part); },
  ]) assert.equal(changed(change).verdict, "failed");
  assert.deepEqual(findConflicts([bundle]), []);
});

test("a lost answer: paid once both are read, and a lost journal signs nothing", async (t) => {
  const seller = await market(t, async (payment) => void (await land(parts(payment))));
  const intent = another();
  const { payer, signer, journal } = buyer();
  const error = await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([error.code, error.money], ["paid_not_delivered", "proven"]);
  assert.deepEqual([await states(journal), await held(journal)], [["paid"], ["settled 10000"]]);
  const [{ intentId }] = await journal.intents();
  const claim = await payer.claim(intentId);
  const reads = (await Promise.all(parts(seller.payments[0]).map((one) => evidenceOf(one)))).flat();
  const report = verifyReceipt(claim, { evidence: reads });
  assert.equal(report.verdict, "verified", JSON.stringify(report.checks.filter(({ state }) => state !== "pass")));
  for (const less of [[], reads.slice(1), reads.slice(0, 1)]) assert.equal(verifyReceipt(claim, { evidence: less }).verdict, "incomplete");
  signer.calls -= 1;
  const lost = await thrown(buyer({ signer }).payer.fetch(seller.url, { intent }));
  assert.deepEqual([lost.code, lost.money], ["authorization_used", "proven"]);
  assert.deepEqual([await seller.moved(), signer.calls], [[1, 1], 2]);
});

for (const [which, moved, amount] of [["the seller's", [1, 0], "9700"], ["the fee's", [0, 1], "300"]]) {
  test(`only ${which} part lands: waited for while the other can, then for a person, and never signed again`, async (t) => {
    // In the same transaction the other part is there too, and fails.
    const spoilt = (one) => ({ ...one, signature: `0x${"11".repeat(64)}1b` });
    const landing = (payment) => parts(payment).map((one, i) => (moved[i] ? one : spoilt(one)));
    const seller = await market(t, async (payment) => (await land(landing(payment)), BUSY));
    const intent = another();
    const clock = clockwork((await chain.block()).timestamp);
    const alerts = [];
    const { payer, signer, journal } = buyer({ clock, onAlert: ({ code }) => alerts.push(code) });
    const open = await thrown(payer.fetch(seller.url, { intent }));
    assert.deepEqual([await states(journal), await held(journal), await seller.moved()], [["sent"], ["reserved 10000"], moved]);
    assert.deepEqual([open.code, open.money], ["outcome_unknown", "proven"]);
    // The window is over, by our clock and then by the chain's.
    const { validBefore } = seller.payments[0].payload.authorization;
    clock.now = Number(validBefore) + 1;
    const waits = await thrown(payer.fetch(seller.url, { intent }));
    assert.equal(waits.money, "proven");
    assert.deepEqual([await states(journal), signer.calls], [["sent"], 2]);
    await chain.advance(70);
    await chain.finalizedAt(Number(validBefore));
    for (let n = 0; n < 2; n++) {
      const error = await thrown(payer.fetch(seller.url, { intent }));
      assert.deepEqual([error.code, error.money, error.next], ["partly_paid", "proven", "ask_human"]);
    }
    assert.deepEqual([await states(journal), await held(journal)], [["partly_paid"], [`settled ${amount}`]]);
    assert.deepEqual(alerts, ["partly_paid"]);
    assert.equal((await payer.resume())[0].outcome, "partly_paid");
    assert.deepEqual([await seller.moved(), signer.calls], [moved, 2]);
    const [{ intentId }] = await journal.intents();
    const found = findConflicts([await payer.export(intentId)]).map(({ code, amount }) => [code, amount]);
    assert.deepEqual(found.filter(([code]) => code === "partly_paid"), [["partly_paid", amount]]);
    assert.ok(!found.some(([code]) => code === "duplicate_charge"));
    // Each part is decided by what was read of its own nonce: the one moved, the other never can.
    const bundle = await payer.export(intentId);
    const reads = (await Promise.all(parts(seller.payments[0]).map((one) => evidenceOf(one)))).flat();
    const report = verifyReceipt(bundle, { evidence: reads });
    assert.equal(report.verdict, "verified", JSON.stringify(report.checks.filter(({ state }) => state !== "pass")));
    assert.deepEqual([report.facts.amount, report.facts.parts.map(({ verdict }) => verdict)], [amount, moved.map((one) => (one ? "paid" : "dead"))]);
    for (const less of [reads.slice(1), reads.slice(0, 1), reads.map(({ nonce, ...rest }) => rest)]) assert.equal(verifyReceipt(bundle, { evidence: less }).verdict, "incomplete");
    assert.equal((await thrown(payer.claim(intentId))).code, "partly_paid");
  });
}

test("the second part lands later: one payment after all", async (t) => {
  const intent = another();
  let settle = async (payment) => (await land(parts(payment).slice(0, 1)), BUSY);
  const seller = await market(t, (payment) => settle(payment), { maxTimeoutSeconds: 600 });
  const { payer, journal, signer } = buyer();
  await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([await states(journal), await seller.moved()], [["sent"], [1, 0]]);
  const transaction = await land(parts(seller.payments[0]).slice(1));
  settle = async () => transaction;
  assert.equal((await payer.resume())[0].outcome, "delivered");
  assert.deepEqual([await states(journal), await held(journal)], [["paid"], ["settled 10000"]]);
  assert.deepEqual([await seller.moved(), signer.calls], [[1, 1], 2]);
});

test("two purchases in one transaction: four transfers, each matched by its log", async (t) => {
  const waiting = [];
  let landed;
  const seller = await market(t, (payment) => {
    waiting.push(payment);
    if (waiting.length === 2) landed = land(waiting.flatMap(parts));
    return new Promise((done) => setInterval(() => landed && done(landed), 20).unref());
  }, { maxTimeoutSeconds: 600 });
  const { payer, journal } = buyer();
  const both = [another(), another()].map((intent) => payer.fetch(seller.url, { intent }));
  for (const answer of await Promise.all(both)) await answer.text();
  await chain.finalized();
  assert.deepEqual((await payer.resume()).map(({ outcome }) => outcome), ["delivered", "delivered"]);
  assert.deepEqual([await states(journal), await seller.moved()], [["paid", "paid"], [2, 2]]);
  const bundles = await Promise.all((await journal.intents()).map(({ intentId }) => payer.export(intentId)));
  assert.deepEqual(findConflicts(bundles), []);
});

test("cancelled: one burnt nonce is not enough, both are, and the next generation is paid", async (t) => {
  let settle = async () => BUSY;
  const seller = await market(t, (payment) => settle(payment), { maxTimeoutSeconds: 600 });
  const intent = another();
  const { payer, signer, journal } = buyer();
  await thrown(payer.fetch(seller.url, { intent }));
  const [{ intentId }] = await journal.intents();
  const cancellation = await payer.cancel(intentId);
  assert.equal(cancellation.further.length, 1);
  const burn = async ({ to, data }) => {
    const hash = await facilitator.sendTransaction({ to, data });
    assert.equal((await chain.pub.waitForTransactionReceipt({ hash })).status, "success");
    await chain.finalized();
  };
  await burn(cancellation);
  await payer.resume();
  assert.deepEqual(await states(journal), ["sent"]);
  await burn(cancellation.further[0]);
  assert.equal((await payer.resume())[0].outcome, "unpaid");
  assert.deepEqual(await states(journal), ["cancelled"]);
  settle = (payment) => land(parts(payment));
  await (await payer.fetch(seller.url, { intent })).text();
  assert.deepEqual(await seller.moved(), [1, 1]);
  // A journal that was lost passes over the burnt generation, and finds the next one used.
  const error = await thrown(buyer({ signer }).payer.fetch(seller.url, { intent }));
  assert.deepEqual([error.code, error.money], ["authorization_used", "proven"]);
  assert.deepEqual(await seller.moved(), [1, 1]);
});
