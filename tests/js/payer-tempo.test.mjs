// Purchases by a Tempo transaction on a local chain with Tempo's rules: the official server issues the challenges, judges the
// credentials and broadcasts. How often money moved is counted by what the token logged.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { canonicalize, claimDigest, createPayer, findConflicts, verifyReceipt } from "counterfoil";
import { challengeMemo, parseCredential, resolveTempo, tempoPayment } from "counterfoil/core";
import { readEvidence } from "counterfoil/node";
import { evidenceTargets, signDigest } from "counterfoil/raw";
import { KEYS } from "../../demo/chain.mjs";
import { REALM, SECRET, serve } from "./mpp-service.mjs";
import { counted, openJournal, thrown } from "./payer-stage.mjs";
import { Mppx, NETWORK, TOKEN, privateKeyToAccount, startTempo, tempo, tempoSigner } from "./tempo-chain.mjs";

const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const account = privateKeyToAccount(KEYS.payer);
const stops = [];
let chain;
/** How far the chain was moved on: the payer's clock goes with it. */
let ahead = 0;
const clock = () => Math.floor(Date.now() / 1000) + ahead;

before(async () => {
  chain = await startTempo();
});
after(() => {
  for (const stop of stops) stop();
  chain?.stop();
});

const addressOf = (name) => `0x${createHash("sha256").update(name).digest("hex").slice(0, 40)}`;

/** A service on loopback, with a fault of `serve`. */
async function market({ fault, ...charge } = {}) {
  const payTo = addressOf(`tempo ${stops.length}`);
  const seller = { credentials: [], asked: 0, fault };
  const method = tempo.charge({ currency: TOKEN, recipient: payTo, testnet: true, getClient: () => chain.client, ...charge });
  const handle = Mppx.create({ methods: [method], secretKey: SECRET, realm: REALM }).charge({ amount: "0.01", externalId: "order-1" });
  const { url, stop } = await serve(seller, handle, { clock });
  stops.push(stop);
  return Object.assign(seller, { url, payTo, logs: () => chain.paid(payTo), transfers: async () => (await chain.paid(payTo)).length });
}

let purchases = 0;
const another = () => ({ id: `transaction-${String((purchases += 1)).padStart(16, "0")}` });
const signs = (change) => tempoSigner(chain.client, account, change);

function buyer({ signTempo = signs(), journal = openJournal(), policy, ...rest } = {}) {
  const allowed = { perCall: "60000", assets: [{ network: NETWORK, asset: TOKEN }], ...policy };
  const signer = counted();
  const alerts = [];
  return { alerts, signer, signTempo, journal, payer: createPayer({ signer, ...(signTempo && { signTempo }), journal, clock, rpc: { [NETWORK]: chain.url }, onAlert: (finding) => alerts.push(finding), ...rest, policy: allowed }) };
}

test("the official server takes the transaction, and its receipt, the chain and the bundle agree", async () => {
  const seller = await market();
  const { payer, journal, signTempo, signer } = buyer();
  const response = await payer.fetch(seller.url, { intent: another() });
  const receipt = JSON.parse(Buffer.from(response.headers.get("payment-receipt"), "base64url"));
  assert.equal(await response.text(), "the report");
  assert.deepEqual([seller.asked, seller.credentials.length, signTempo.calls, signer.calls, await seller.transfers()], [1, 1, 1, 0, 1]);
  const { challenge, source, payload } = parseCredential(seller.credentials[0]);
  assert.deepEqual([source, payload.type], [`did:pkh:eip155:42431:${account.address}`, "transaction"]);
  const payment = tempoPayment(payload.signature, challenge);
  const [log] = await seller.logs();
  assert.deepEqual([payment.hash, payment.memo], [receipt.reference, challengeMemo(challenge)]);
  assert.deepEqual([log.transactionHash, log.topics[3]], [payment.hash, payment.memo]);

  const [record] = await journal.intents();
  assert.deepEqual([record.rail.protocol, record.rail.method], ["mpp", "tempo"]);
  const [{ tempoPayment: order, signature }] = record.attempts;
  assert.deepEqual([signature, order.hash], [payload.signature, payment.hash]);
  await chain.finalized();
  const read = { network: NETWORK, asset: TOKEN, payer: account.address, nonce: payment.memo, method: "tempo", recipient: seller.payTo, validBefore: payment.validBefore, hash: payment.hash };
  const evidence = await readEvidence([chain.url, chain.url], read);
  assert.equal(resolveTempo(payload.signature, challenge, {}, evidence).verdict, "paid");
  const bundle = await payer.export(record.intentId);
  const report = verifyReceipt(bundle, { evidence });
  assert.deepEqual([report.verdict, report.checks.filter(({ state }) => state === "fail")], ["verified", []]);
  assert.deepEqual(findConflicts([bundle]), []);
});

test("the answer is lost after settling: no second transfer, by this call or the next", async () => {
  const seller = await market({ fault: "cut" });
  const intent = another();
  const { payer, signTempo } = buyer();
  for (let n = 0; n < 2; n++) {
    const error = await thrown(payer.fetch(seller.url, { intent }));
    assert.deepEqual([error.code, error.money], ["paid_not_delivered", "proven"]);
  }
  assert.deepEqual([new Set(seller.credentials).size, signTempo.calls, await seller.transfers()], [1, 1, 1]);
});

test("challenged again after paying: the fresh challenge is never signed", async () => {
  const seller = await market({ fault: "challenge" });
  const intent = another();
  const { payer, signTempo, journal } = buyer();
  const error = await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([error.code, error.money], ["paid_not_delivered", "proven"]);
  await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([new Set(seller.credentials).size, signTempo.calls, await seller.transfers()], [1, 1, 1]);
  const [{ claim }] = await journal.intents();
  assert.equal(claim.transaction, (await seller.logs())[0].transactionHash);
});

test("shares of several recipients go in one transaction", async () => {
  const seller = await market({ splits: [{ amount: "0.002", recipient: addressOf("first") }, { amount: "0.001", recipient: addressOf("second") }] });
  const { payer, journal } = buyer();
  assert.equal(await (await payer.fetch(seller.url, { intent: another() })).text(), "the report");
  const [{ attempts, intentId }] = await journal.intents();
  assert.deepEqual(attempts[0].tempoPayment.transfers.map(({ amount }) => amount), ["7000", "2000", "1000"]);
  // The price, and the most that the fee could be, which nobody has read yet.
  assert.deepEqual((await journal.held()).map(({ amount }) => amount), ["60000"]);
  assert.equal(BigInt((await seller.logs())[0].data), 7000n);
  assert.notEqual(verifyReceipt(await payer.export(intentId)).verdict, "failed");
});

test("the service pays the fee: the hash is not known, the memo is", async () => {
  const seller = await market({ fault: "cut", feePayer: privateKeyToAccount(KEYS.facilitator) });
  const intent = another();
  const { payer, journal, signTempo } = buyer();
  const error = await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([error.code, error.money], ["paid_not_delivered", "proven"]);
  const [{ attempts: [{ tempoPayment: order }], claim }] = await journal.intents();
  assert.deepEqual([order.sponsored, order.hash, order.maxFee], [true, undefined, "0"]);
  const [log] = await seller.logs();
  assert.equal(claim.transaction, log.transactionHash);
  assert.deepEqual([signTempo.calls, await seller.transfers()], [1, 1]);
});

/** Another text of the same length, whatever the digit at that place was. */
const flip = (hex, at = hex.length - 1) => `${hex.slice(0, at)}${hex[at] === "1" ? 2 : 1}${hex.slice(at + 1)}`;
const spoils = {
  "a larger amount": ({ calls: [call, ...rest], ...wanted }) => ({ ...wanted, calls: [{ ...call, data: call.data.replace(/2710(?=.{64}$)/, "2711") }, ...rest] }),
  "another recipient": ({ calls: [call, ...rest], ...wanted }) => ({ ...wanted, calls: [{ ...call, data: flip(call.data, 73) }, ...rest] }),
  "another memo": ({ calls: [call, ...rest], ...wanted }) => ({ ...wanted, calls: [{ ...call, data: flip(call.data) }, ...rest] }),
  "another token": ({ calls: [call, ...rest], ...wanted }) => ({ ...wanted, calls: [{ ...call, to: "0x20c0000000000000000000000000000000000002" }, ...rest] }),
  "one more call": ({ calls, ...wanted }) => ({ ...wanted, calls: [...calls, ...calls] }),
  "a later end": (wanted) => ({ ...wanted, validBefore: wanted.validBefore + 1 }),
  "an earlier beginning": (wanted) => ({ ...wanted, validAfter: wanted.validBefore - 100 }),
  "a lane of its own": (wanted) => ({ ...wanted, nonceKey: 5n }),
  "another nonce": (wanted) => ({ ...wanted, nonce: 1 }),
  "another fee token": (wanted) => ({ ...wanted, feeToken: "0x20c0000000000000000000000000000000000000" }),
  "a sponsor that was not asked for": ({ feeToken, ...wanted }) => ({ ...wanted, feePayer: true }),
  "a fee above the cap": (wanted) => ({ ...wanted, maxFeePerGas: 10n ** 12n }),
};
for (const [what, change] of Object.entries(spoils)) {
  test(`signed with ${what}: nothing is sent`, async () => {
    const seller = await market();
    const { payer, journal } = buyer({ signTempo: signs(change) });
    const error = await thrown(payer.fetch(seller.url, { intent: another() }));
    assert.deepEqual([error.code, error.money], ["transaction_differs", "none"]);
    assert.deepEqual([seller.credentials, await journal.held()], [[], []]);
  });
}

test("signed by somebody else, or no transaction at all: nothing is sent", async () => {
  const seller = await market();
  const other = privateKeyToAccount(KEYS.facilitator);
  const sign = async (key, code, signTempo) => {
    const error = await thrown(buyer({ signTempo }).payer.fetch(seller.url, { intent: another() }));
    assert.deepEqual([error.code, error.money], [code, "none"], key);
  };
  await sign("other", "signer_mismatch", tempoSigner(chain.client, other));
  await sign("text", "signer_failed", async () => "signed");
  await sign("bytes", "transaction_invalid", async () => "0x76c0");
  await sign("throws", "signer_failed", async () => {
    throw new Error("no");
  });
  assert.deepEqual([seller.credentials, await seller.transfers()], [[], 0]);
});

test("without a signer of transactions, without a list of tokens, or to a contract's account nothing is taken", async () => {
  const seller = await market();
  for (const [options, code] of [[{ signTempo: null }, "no_supported_payment_option"], [{ policy: { assets: undefined } }, "no_supported_payment_option"], [{ contractWallet: true }, "no_supported_payment_option"], [{ policy: { perCall: "9999" } }, "over_cap"], [{ policy: { recipients: [addressOf("else")] } }, "recipient_forbidden"]]) {
    const { payer, signTempo } = buyer(options);
    assert.equal((await thrown(payer.fetch(seller.url, { intent: another() }))).code, code, JSON.stringify(options));
    assert.equal(signTempo?.calls ?? 0, 0);
  }
  assert.equal((await thrown((async () => buyer({ signTempo: "0x" }))())).field, "signTempo");
});

test("a journal that was lost learns from the memos what was paid, and it counts", async () => {
  const seller = await market();
  const { payer: first } = buyer();
  const paid = await first.fetch(seller.url, { intent: another() });
  assert.equal(await paid.text(), "the report");
  const [{ blockNumber, transactionHash, topics }] = await seller.logs();
  await chain.finalized();
  const { payer, journal } = buyer();
  assert.equal((await payer.resume())[0].outcome, "unknown_history");
  const told = await payer.recover({ network: NETWORK, asset: TOKEN, fromBlock: Number(blockNumber), toBlock: Number(blockNumber), pauseMs: 0 });
  const receipt = await chain.rpc("eth_getTransactionReceipt", [transactionHash]);
  const left = receipt.logs.filter((log) => log.topics[0] === TRANSFER && log.topics[1] === topics[1]).reduce((sum, { data }) => sum + BigInt(data), 0n);
  assert.deepEqual([told.used, told.cancelled, told.spent], [1, 0, String(left)]);
  // The price and the fee.
  assert.ok(left > 10_000n, String(left));
  const [held] = await journal.held();
  assert.deepEqual([held.amount, held.state, held.id.endsWith(topics[3])], [String(left), "settled", true]);
  const blocked = await thrown(buyer({ journal, policy: { perWallet: [{ amount: "20000", window: 3600 }] } }).payer.fetch(seller.url, { intent: another() }));
  assert.equal(blocked.code, "over_wallet_cap");
});

test("kept and challenged again: nothing new is signed before the proof of death, and then one transfer", async () => {
  const seller = await market({ fault: "sit" });
  const intent = another();
  const { payer, signTempo, journal } = buyer({ policy: { maxWindow: 30 } });
  const error = await thrown(payer.fetch(seller.url, { intent, signal: AbortSignal.timeout(4000) }));
  assert.ok(error.code === "outcome_unknown" || error.name === "TimeoutError", error.name);
  assert.deepEqual([signTempo.calls, (await journal.held()).map(({ state }) => state)], [1, ["reserved"]]);
  const { payload } = parseCredential(seller.credentials[0]);
  // The window is over, and so far that is no proof.
  await chain.advance((ahead = 40));
  await chain.finalizedAt(signTempo.asked[0].validBefore);
  await thrown(payer.fetch(seller.url, { intent, signal: AbortSignal.timeout(4000) }));
  assert.equal(signTempo.calls, 1);
  await chain.advance(60);
  ahead += 60;
  await chain.finalizedAt(signTempo.asked[0].validBefore + 60);
  assert.deepEqual((await payer.resume()).map(({ outcome, money }) => [outcome, money]), [["unpaid", "none"]]);
  assert.deepEqual(await journal.held(), []);
  const [{ attempts: [{ state, verdict }] }] = await journal.intents();
  assert.deepEqual([state, verdict.verdict], ["dead", "dead"]);
  // What the service kept is worth nothing any more.
  await chain.rpc("eth_sendRawTransaction", [payload.signature]).catch(() => {});
  await chain.finalizedAt(Number((await chain.block()).timestamp) + 1);
  assert.equal(await seller.transfers(), 0);
});

test("what its inclusion cost counts against the wallet, as the chain shows it", async () => {
  const seller = await market({ fault: "cut" });
  const { payer, journal } = buyer();
  await thrown(payer.fetch(seller.url, { intent: another() }));
  const [{ transactionHash, topics }] = await seller.logs();
  await chain.finalized();
  const [resolution] = await payer.resume();
  const receipt = await chain.rpc("eth_getTransactionReceipt", [transactionHash]);
  const left = receipt.logs.filter((log) => log.topics[0] === TRANSFER && log.topics[1] === topics[1]).reduce((sum, { data }) => sum + BigInt(data), 0n);
  assert.ok(left > 10_000n && left < 60_000n, String(left));
  assert.deepEqual((await journal.held()).map(({ amount, state }) => [amount, state]), [[String(left), "settled"]]);
  assert.equal(resolution.fee, String(left - 10_000n));
});

test("paid and no answer: the claim is verified by whoever reads the chain, and what was changed in it is found", async () => {
  const seller = await market({ fault: "cut" });
  const { payer, journal, signTempo } = buyer();
  await thrown(payer.fetch(seller.url, { intent: another() }));
  await chain.finalized();
  await payer.resume();
  const [{ intentId }] = await journal.intents();
  const claim = await payer.claim(intentId);
  assert.equal(await payer.claim(intentId), claim);
  const file = JSON.parse(claim);
  assert.deepEqual([file.v, file.protocol, file.method, file.amount, file.payTo.toLowerCase()], [2, "mpp", "tempo", "10000", seller.payTo]);
  assert.equal(file.authorization.signature, parseCredential(seller.credentials[0]).payload.signature);
  const [target] = evidenceTargets(claim);
  assert.deepEqual([target.method, target.nonce, target.hash], ["tempo", file.nonce, file.transaction]);
  const evidence = await readEvidence([chain.url, chain.url], target);
  const report = verifyReceipt(claim, { evidence });
  assert.deepEqual([report.verdict, report.checks.filter(({ state }) => state === "fail")], ["verified", []]);
  assert.equal(verifyReceipt(claim).verdict, "incomplete");
  assert.equal(signTempo.calls, 1);

  // Signed anew by the payer itself, so that only what it says can be wrong.
  const key = Buffer.from(KEYS.payer.slice(2), "hex");
  const resigned = (change) => {
    const { signature, ...rest } = structuredClone(file);
    change(rest);
    const text = canonicalize(JSON.stringify({ ...rest, signature }));
    return canonicalize(JSON.stringify({ ...rest, signature: signDigest(claimDigest(text).digest, key) }));
  };
  assert.equal(verifyReceipt(resigned(() => {}), { evidence }).verdict, "verified");
  const other = privateKeyToAccount(KEYS.facilitator).address;
  const lies = {
    "authorization.terms": (one) => (one.amount = "10001"),
    "authorization.nonce": (one) => (one.nonce = flip(one.nonce)),
    "authorization.digest": (one) => (one.authorization.digest = flip(one.authorization.digest)),
    "authorization.signature": (one) => (one.authorization.message.validBefore += 1),
    "record.consistent": (one) => (one.payer = one.proof_of_payment.fromAddress = other),
    "quote.hash": (one) => (one.quoteHash = flip(one.quoteHash)),
    "settlement.transaction": (one) => (one.transaction = one.proof_of_payment.txHash = flip(one.transaction)),
  };
  for (const [id, change] of Object.entries(lies)) {
    const { verdict, checks } = verifyReceipt(resigned(change), { evidence });
    assert.deepEqual([verdict, checks.find((check) => check.id === id)?.state], ["failed", "fail"], id);
  }
  for (const [change, code] of [[(one) => delete one.authorization, "missing_field"], [(one) => (one.method = "eip3009"), "receipt_invalid"]]) {
    assert.throws(() => verifyReceipt(resigned(change)), { name: "CounterfoilError" }, code);
  }
});

test("cancelled while it is unknown: it ends by itself, and says when", async () => {
  const seller = await market({ fault: "sit" });
  const { payer, journal } = buyer();
  await thrown(payer.fetch(seller.url, { intent: another(), signal: AbortSignal.timeout(3000) }));
  const [{ intentId }] = await journal.intents();
  const error = await thrown(payer.cancel(intentId));
  assert.deepEqual([error.code, error.next, error.money], ["ends_by_itself", "wait", "possible"]);
  assert.ok(error.retryAfter > 0 && error.retryAfter <= 85, String(error.retryAfter));
});

test("under trusted blocks nothing of it could be proven: it is refused before anything is signed", async () => {
  const seller = await market({ fault: "cut" });
  const { payer, journal } = buyer({ trustedBlocks: [`0x${"ab".repeat(32)}`] });
  const error = await thrown(payer.fetch(seller.url, { intent: another() }));
  assert.deepEqual([error.code, error.next, error.money], ["rail_not_provable", "stop", "none"]);
  assert.equal(await seller.transfers(), 0);
  assert.deepEqual([await journal.intents(), await journal.held()], [[], []]);
});

test("what was signed before stays unknown under trusted blocks, and the reason says why", async () => {
  const seller = await market({ fault: "cut" });
  const { payer, journal, signer } = buyer({ rpc: undefined });
  await thrown(payer.fetch(seller.url, { intent: another(), signal: AbortSignal.timeout(4000) }));
  assert.equal(await seller.transfers(), 1);
  const wary = buyer({ journal, signer, trustedBlocks: [`0x${"ab".repeat(32)}`] });
  const [{ outcome }] = await wary.payer.resume();
  assert.equal(outcome, "unknown");
  const [{ attempts: [{ state, verdict }] }] = await journal.intents();
  assert.deepEqual([state, verdict.verdict, verdict.reasons], ["sent", "unreadable", ["not_provable"]]);
  assert.deepEqual((await journal.held()).map(({ state }) => state), ["reserved"]);
});
