// What is left when there is no answer: a claim that anyone can check, and a cancellation that closes an unknown early. On a real chain.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { Wallet } from "ethers";
import { claimDigest, createPayer, verifyReceipt } from "counterfoil";
import { readEvidence } from "counterfoil/node";
import { KEYS, startChain } from "../../demo/chain.mjs";
import { REPORT, startSeller } from "../../demo/seller.mjs";
import { KEY, NETWORK, PAYER, USDC, clockwork, counted, folder, keyBytes, openJournal, recoverTypedDataAddress, thrown } from "./payer-stage.mjs";

const { keccak256, stringToBytes } = createRequire(new URL("../../demo/package.json", import.meta.url))("viem");
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const { bin } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const verify = (...args) => execFileSync(process.execPath, [join(home, bin.counterfoil), "verify", ...args], { encoding: "utf8" });
const word = (hex) => `0x${hex.slice(2).toLowerCase().padStart(64, "0")}`;
const sellers = [];
let chain, purchases = 0;

before(async () => {
  chain = await startChain();
});
after(() => {
  for (const seller of sellers) seller.stop();
  chain?.stop();
});

const another = () => ({ id: `claimed-${String((purchases += 1)).padStart(16, "0")}` });

async function market(options) {
  const payTo = `0x${createHash("sha256").update(`claims ${sellers.length}`).digest("hex").slice(0, 40)}`;
  const seller = await startSeller({ chain, payTo, ...options });
  sellers.push(seller);
  const logs = () => chain.rpc("eth_getLogs", [{ address: USDC, topics: [TRANSFER, word(PAYER), word(payTo)], fromBlock: "0x0", toBlock: "latest" }]);
  return Object.assign(seller, { logs, transfers: async () => (await logs()).length });
}

function buyer({ signer = counted(), journal = openJournal(), rpc = chain.url, ...rest } = {}) {
  return { signer, journal, payer: createPayer({ signer, journal, policy: { perCall: "20000" }, rpc: rpc ? { [NETWORK]: rpc } : undefined, ...rest }) };
}

/** A purchase that is paid and whose answer was lost for good. */
async function lost(options = {}) {
  const seller = await market({ fault: "cut_after_settlement" });
  const made = buyer(options);
  assert.equal((await thrown(made.payer.fetch(seller.url, { intent: another() }))).code, "paid_not_delivered");
  const [{ intentId }] = (await made.journal.intents()).slice(-1);
  return { ...made, seller, intentId };
}

/** What somebody else reads, once it is final. */
async function reads(claim) {
  await chain.finalized();
  const { asset, payer, nonce } = JSON.parse(claim);
  return readEvidence(chain.url, { asset, payer, nonce });
}

/** A payment that was sent and has no known end, because nothing can be read. */
async function unknown(fault, clock) {
  const seller = await market({ fault });
  const intent = another();
  const blind = buyer({ rpc: null, clock });
  await thrown(blind.payer.fetch(seller.url, { intent, signal: AbortSignal.timeout(4000) }));
  const [{ intentId }] = await blind.journal.intents();
  return { ...blind, ...buyer({ signer: blind.signer, journal: blind.journal, clock }), seller, intent, intentId };
}

/** Somebody pays the gas: the receipt's status. */
async function broadcast({ to, data }) {
  const hash = await chain.wallet(KEYS.facilitator).sendTransaction({ to, data, gas: 200_000n });
  const { status } = await chain.pub.waitForTransactionReceipt({ hash });
  await chain.finalized();
  return status;
}

test("a claim verifies with somebody else's reads, on the command line too, and with nothing less", async (t) => {
  const { payer, seller, intentId } = await lost();
  const claim = await payer.claim(intentId);
  const [{ transactionHash }] = await seller.logs();
  const alone = verifyReceipt(claim);
  assert.equal(alone.verdict, "incomplete", JSON.stringify(alone.checks));
  const evidence = await reads(claim);
  const report = verifyReceipt(claim, { evidence });
  assert.equal(report.verdict, "verified", JSON.stringify(report.checks.filter((check) => check.state !== "pass")));
  assert.equal(report.facts.transaction, transactionHash);
  assert.equal(report.facts.keccak256, keccak256(stringToBytes(claim)));
  assert.ok(report.doesNotProve.some((text) => text.includes("claimant's word")));
  assert.deepEqual(JSON.parse(claim).proof_of_payment, { fromAddress: PAYER, toAddress: report.facts.payTo, chainId: "84532", txHash: transactionHash });
  const { typedData } = claimDigest(claim);
  assert.equal(await recoverTypedDataAddress({ ...typedData, signature: JSON.parse(claim).signature }), PAYER);

  const files = folder(t);
  writeFileSync(join(files, "claim.json"), claim);
  writeFileSync(join(files, "reads.json"), JSON.stringify(evidence));
  const printed = verify(join(files, "claim.json"), "--evidence", join(files, "reads.json"), "--json");
  assert.equal(JSON.parse(printed).verdict, "verified");
  const read = verify(join(files, "claim.json"), "--rpc", chain.url, "--expect-kind", "claim");
  assert.match(read, /Verified/);
});

test("the same claim is the same bytes; a release is in the next one; neither holds the payment id", async () => {
  const { payer, signer, journal, intentId } = await lost();
  const first = await payer.claim(intentId);
  const signed = signer.calls;
  assert.equal(await payer.claim(intentId), first);
  assert.equal(signer.calls, signed);
  const again = buyer({ signer, journal });
  assert.equal(await again.payer.claim(intentId), first);
  await payer.release(intentId, "the seller will refund it");
  const released = await payer.claim(intentId);
  assert.notEqual(released, first);
  const report = verifyReceipt(released, { evidence: await reads(released) });
  assert.equal(report.verdict, "verified");
  assert.equal(report.facts.reason, "the seller will refund it");
  assert.equal((await journal.intents())[0].status, "released");
  const { attempts: [{ paymentId }] } = (await journal.intents())[0];
  if (paymentId !== undefined) assert.ok(!released.includes(paymentId));
});

test("the seller's receipt names the answer that is missing, when it is about this payment", async () => {
  const { payer, seller, intentId } = await lost();
  const [{ transactionHash }] = await seller.logs();
  const digest = (text) => `0x${createHash("sha256").update(text).digest("hex")}`;
  const receipt = { type: "counterfoil/seller-receipt", v: 1, payer: PAYER, transaction: transactionHash, network: NETWORK, issuedAt: Math.floor(Date.now() / 1000), response: { status: 200, sha256: digest(REPORT), length: REPORT.length, reading: "as_sent" } };
  for (const [change, field] of [[{ transaction: `0x${"11".repeat(32)}` }, "receipt"], [{ payer: USDC }, "receipt"], [{ response: undefined }, "receipt"], [{ response: { sha256: "0x12" } }, "receipt.response.sha256"]]) {
    const error = await thrown(payer.claim(intentId, { receipt: JSON.stringify({ ...receipt, ...change }) }));
    assert.deepEqual([error.code, error.field], ["receipt_invalid", field]);
  }
  const claim = await payer.claim(intentId, { receipt: JSON.stringify(receipt) });
  assert.ok((await payer.claim(intentId)) === claim, "the digest stays, and so do the bytes");
  const evidence = await reads(claim);
  const verdict = (text) => verifyReceipt(claim, { evidence, body: new TextEncoder().encode(text) }).verdict;
  assert.deepEqual([verdict(REPORT), verdict(`${REPORT} `)], ["verified", "failed"]);
});

test("a private key and a wallet of ethers sign claims, too", async () => {
  for (const signer of [{ privateKey: keyBytes() }, new Wallet(KEY)]) {
    const { payer, intentId } = await lost({ signer, secret: new Uint8Array(32).fill(7) });
    const claim = await payer.claim(intentId);
    assert.equal(verifyReceipt(claim, { evidence: await reads(claim) }).verdict, "verified");
  }
});

test("no claim without a purchase, for one that is open, delivered, unpaid, or signed by another", async () => {
  const { payer } = buyer();
  assert.equal((await thrown(payer.claim(`0x${"ab".repeat(32)}`))).code, "intent_unknown");
  assert.equal((await thrown(payer.cancel(`0x${"ab".repeat(32)}`))).code, "intent_unknown");

  const open = await unknown("sit_on_it", clockwork());
  const error = await thrown(open.payer.claim(open.intentId));
  assert.deepEqual([error.code, error.money], ["outcome_unknown", "possible"]);

  const seller = await market();
  const fine = buyer();
  await (await fine.payer.fetch(seller.url, { intent: another() })).text();
  const [{ intentId }] = await fine.journal.intents();
  assert.equal((await thrown(fine.payer.claim(intentId))).code, "claim_delivered");
  assert.equal((await thrown(fine.payer.cancel(intentId))).code, "nothing_to_cancel");

  const refusing = buyer({ signer: counted({ sign: () => { throw new Error("no"); } }) });
  await thrown(refusing.payer.fetch(seller.url, { intent: another() }));
  const [unpaid] = await refusing.journal.intents();
  assert.equal((await thrown(refusing.payer.claim(unpaid.intentId))).code, "claim_unpaid");
  assert.equal((await thrown(refusing.payer.cancel(unpaid.intentId))).code, "nothing_to_cancel");

  const { journal, intentId: paid } = await lost();
  const forger = counted({ key: KEYS.owner, address: PAYER });
  assert.equal((await thrown(buyer({ signer: forger, journal }).payer.claim(paid))).code, "signer_mismatch");
  assert.equal((await thrown(buyer({ journal }).payer.cancel(paid))).code, "nothing_to_cancel");
});

test("a cancellation that lands first ends the unknown: nothing was paid, and the next try has another nonce", async () => {
  const { payer, signer, journal, seller, intent, intentId } = await unknown("sit_on_it", clockwork());
  const call = await payer.cancel(intentId);
  assert.equal(call.network, NETWORK);
  assert.equal(call.to, USDC);
  const [{ attempts: [{ cancellation, authorization }] }] = await journal.intents();
  assert.ok(call.data.includes(cancellation.signature.slice(2, 130)), "written down before it is handed out");
  const signed = signer.calls;
  assert.deepEqual(await payer.cancel(intentId), call);
  assert.equal(signer.calls, signed);

  assert.equal(await broadcast(call), "success");
  await seller.presentAll();
  assert.equal(await seller.transfers(), 0);
  const [{ outcome, money }] = await payer.resume();
  assert.deepEqual([outcome, money], ["unpaid", "none"]);
  const [{ generation }] = await journal.intents();
  assert.equal(generation, 1);
  assert.equal((await thrown(payer.cancel(intentId))).code, "nothing_to_cancel");
  assert.deepEqual(await journal.held(), []);

  seller.lift();
  assert.equal(await (await payer.fetch(seller.url, { intent })).text(), REPORT);
  assert.equal(await seller.transfers(), 1);
  const [{ attempts }] = await journal.intents();
  assert.notEqual(attempts.at(-1).authorization.nonce, authorization.nonce);
});

test("a payment that lands first makes the cancellation fail: it is paid, and paid once", async () => {
  const { payer, journal, seller, intentId } = await unknown("cut_after_settlement", clockwork());
  assert.equal(await seller.transfers(), 1);
  const call = await payer.cancel(intentId);
  assert.equal(await broadcast(call), "reverted");
  const [{ outcome, money }] = await payer.resume();
  assert.deepEqual([outcome, money], ["paid_not_delivered", "proven"]);
  const [{ generation, attempts }] = await journal.intents();
  assert.deepEqual([generation, attempts.length, attempts[0].state], [0, 1, "paid"]);
  assert.equal(await seller.transfers(), 1);
});
