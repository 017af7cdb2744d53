// Scheme upto on a real chain: Permit2's own code, the official client as the peer of what is signed, the official facilitator as the
// one that settles. What moved is what the token logged.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { createPayer, verifyReceipt } from "counterfoil";
import { permit2Digest, recoverPermit2Payer, resolve } from "counterfoil/core";
import { readEvidence } from "counterfoil/node";
import { KEYS, startChain } from "../../demo/chain.mjs";
import { KEY, NETWORK, OFFER, PAYER, USDC, clockwork, counted, openJournal, priced, privateKeyToAccount, shop, thrown } from "./payer-stage.mjs";

const fromDemo = createRequire(new URL("../../demo/package.json", import.meta.url));
const { x402Facilitator } = fromDemo("@x402/core/facilitator");
const { toFacilitatorEvmSigner, uptoPermit2WitnessTypes } = fromDemo("@x402/evm");
const { UptoEvmScheme: OfficialFacilitator } = fromDemo("@x402/evm/upto/facilitator");
const { UptoEvmScheme: OfficialClient } = fromDemo("@x402/evm/upto/client");
const { hashTypedData } = fromDemo("viem");

const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
const SPENDER = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const FACILITATOR = privateKeyToAccount(KEYS.facilitator).address;
const POLICY = { perCall: "20000", upto: true, assets: [{ network: NETWORK, asset: USDC }] };
const abi = (name, ...types) => [{ type: "function", name, stateMutability: "nonpayable", inputs: types.map((type, i) => ({ type, name: `a${i}` })), outputs: [] }];
const code = (name) => readFileSync(new URL(`./permit2/${name}.hex`, import.meta.url), "utf8").trim();
const word = (hex) => `0x${hex.slice(2).toLowerCase().padStart(64, "0")}`;
let chain;
let facilitator;
let purchases = 0;
const another = () => ({ id: `up-to-${String((purchases += 1)).padStart(16, "0")}` });

before(async () => {
  chain = await startChain();
  await chain.rpc("anvil_setCode", [PERMIT2, code("permit2")]);
  await chain.rpc("anvil_setCode", [SPENDER, code("upto-spender")]);
  const hash = await chain.wallet(KEY).writeContract({ address: USDC, abi: abi("approve", "address", "uint256"), functionName: "approve", args: [PERMIT2, 2n ** 256n - 1n] });
  assert.equal((await chain.pub.waitForTransactionReceipt({ hash })).status, "success");
  const wallet = chain.wallet(KEYS.facilitator);
  const signer = toFacilitatorEvmSigner({
    address: wallet.account.address,
    // The contract lets the facilitator alone settle, in a trial run too.
    readContract: (a) => chain.pub.readContract({ account: wallet.account, ...a }),
    verifyTypedData: (a) => chain.pub.verifyTypedData(a),
    writeContract: (a) => wallet.writeContract({ gas: 300_000n, ...a }),
    sendTransaction: (a) => wallet.sendTransaction(a),
    waitForTransactionReceipt: (a) => chain.pub.waitForTransactionReceipt(a),
    getCode: (a) => chain.pub.getCode(a),
  });
  facilitator = new x402Facilitator().register([NETWORK], new OfficialFacilitator(signer));
});
after(() => chain?.stop());

/** A seller that settles so much of the 10000 through the official facilitator; `fault` cuts the answer off. */
async function market(t, used, { maxTimeoutSeconds = 60, fault, says } = {}) {
  const payTo = `0x${createHash("sha256").update(t.name).digest("hex").slice(0, 40)}`;
  const offer = { ...OFFER, scheme: "upto", payTo, maxTimeoutSeconds, extra: { ...OFFER.extra, assetTransferMethod: "permit2", facilitatorAddress: FACILITATOR } };
  const seller = await shop(t, async (req, res, payment) => {
    if (!payment) return priced(res, { accepts: [offer] });
    const verified = await facilitator.verify(payment, payment.accepted);
    seller.verified ??= verified;
    if (used === undefined) return res.writeHead(503, { "retry-after": "3600" }).end();
    // The same bytes again, after they were settled: whoever kept no answer has none.
    if (seller.settled) return res.destroy();
    const settled = await facilitator.settle(payment, { ...payment.accepted, amount: used });
    assert.equal(settled.success, true, settled.errorReason);
    seller.settled = settled;
    // Three blocks further it is final.
    await chain.rpc("anvil_mine", ["0x3"]);
    if (fault) return res.destroy();
    const told = { ...settled, ...(says && { amount: says }) };
    res.writeHead(200, { "payment-response": Buffer.from(JSON.stringify(told)).toString("base64") });
    res.end("the report");
  });
  seller.offer = offer;
  seller.moved = async () => (await chain.rpc("eth_getLogs", [{ address: USDC, topics: [TRANSFER, word(PAYER), word(payTo)], fromBlock: "0x0", toBlock: "latest" }])).map(({ data }) => Number(data));
  return seller;
}

function buyer({ signer = counted(), journal = openJournal(), policy = POLICY, ...rest } = {}) {
  return { signer, journal, payer: createPayer({ signer, journal, policy, rpc: { [NETWORK]: chain.url }, ...rest }) };
}

const held = async (journal) => (await journal.held()).map(({ state, amount }) => `${state} ${amount}`);
const states = async (journal) => (await journal.intents()).flatMap(({ attempts }) => attempts.map(({ state }) => state));

async function judged({ payload: { permit2Authorization: permit } }, tag = "latest") {
  const evidence = await readEvidence(chain.url, { network: NETWORK, asset: USDC, payer: permit.from, nonce: permit.nonce, method: "permit2", tag });
  return { evidence, verdict: resolve(permit, { network: NETWORK, asset: USDC }, evidence) };
}

test("what is signed is what the official client signs, and its digest is viem's", async (t) => {
  const seller = await market(t, "10000");
  const { payer, signer } = buyer();
  await (await payer.fetch(seller.url, { intent: another() })).text();
  const [{ payload }] = seller.payments;
  const permit = payload.permit2Authorization;
  assert.equal(recoverPermit2Payer(permit, NETWORK, payload.signature), PAYER);
  const docs = [];
  const account = privateKeyToAccount(KEY);
  const peer = new OfficialClient({ address: account.address, signTypedData: (doc) => (docs.push(doc), account.signTypedData(doc)) });
  const official = (await peer.createPaymentPayload(2, seller.offer, {})).payload.permit2Authorization;
  // Of their own choice are only the nonce and the window.
  const own = ({ nonce, deadline, witness: { validAfter, ...witness }, ...rest }) => ({ ...rest, witness });
  assert.deepEqual(own(permit), own(official));
  const { EIP712Domain, ...types } = signer.docs[0].types;
  assert.deepEqual(types, uptoPermit2WitnessTypes);
  assert.deepEqual(signer.docs[0].domain, docs[0].domain);
  assert.equal(permit2Digest(official, NETWORK).digest, hashTypedData(docs[0]));
});

test("a part of it is settled: the maximum is held until the chain shows what moved", async (t) => {
  const seller = await market(t, "3000");
  const { payer, journal } = buyer();
  const body = new Uint8Array(await (await payer.fetch(seller.url, { intent: another() })).arrayBuffer());
  assert.deepEqual([seller.verified.isValid, await seller.moved(), seller.settled.amount], [true, [3000], "3000"]);
  assert.deepEqual(await held(journal), ["settled 10000"]);
  await chain.finalized();
  const [resolution] = await payer.resume();
  assert.deepEqual([resolution.outcome, resolution.amount, await held(journal)], ["delivered", "3000", ["settled 3000"]]);
  const { evidence, verdict } = await judged(seller.payments[0], "finalized");
  assert.deepEqual([verdict.verdict, verdict.amount, verdict.reasons], ["paid", "3000", []]);
  const [{ intentId }] = await journal.intents();
  const bundle = await payer.export(intentId);
  const report = verifyReceipt(bundle, { body, evidence });
  assert.equal(report.verdict, "verified", JSON.stringify(report.checks.filter(({ state }) => state !== "pass")));
  assert.equal(report.facts.amount, "3000");
  const changed = (change) => {
    const other = JSON.parse(bundle);
    change(other.intents[0].attempts[0]);
    return verifyReceipt(JSON.stringify(other), { body, evidence }).verdict;
  };
  assert.equal(changed((attempt) => { attempt.permit2Authorization.witness.facilitator = PAYER; }), "failed");
  assert.equal(changed((attempt) => { attempt.permit2Authorization.permitted.amount = "3000"; }), "failed");
});

test("a lost answer: what moved is read from the chain, and a lost journal signs nothing", async (t) => {
  const seller = await market(t, "1", { fault: true });
  const intent = another();
  const { payer, signer, journal } = buyer();
  const error = await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([error.code, error.money], ["paid_not_delivered", "proven"]);
  assert.deepEqual([await states(journal), await held(journal)], [["paid"], ["settled 1"]]);
  const [{ intentId }] = await journal.intents();
  const claim = await payer.claim(intentId);
  signer.calls -= 1;
  const { evidence } = await judged(seller.payments[0], "finalized");
  const report = verifyReceipt(claim, { evidence });
  assert.deepEqual([verifyReceipt(claim).verdict, report.verdict, report.facts.amount], ["incomplete", "verified", "1"]);
  const again = await thrown(buyer({ signer }).payer.fetch(seller.url, { intent }));
  assert.deepEqual([again.code, again.money], ["authorization_used", "proven"]);
  assert.deepEqual([await seller.moved(), signer.calls], [[1], 1]);
});

test("a seller that says less than it took is told of", async (t) => {
  const seller = await market(t, "10000", { says: "3000" });
  const alerts = [];
  const { payer, journal } = buyer({ onAlert: ({ code }) => alerts.push(code) });
  await (await payer.fetch(seller.url, { intent: another() })).text();
  await payer.resume();
  assert.deepEqual([alerts, await held(journal)], [["settlement_differs"], ["settled 10000"]]);
});

test("a settlement of nothing: the official facilitator sends no transaction, and the deadline proves it", async (t) => {
  const seller = await market(t, "0");
  const clock = clockwork();
  const { payer, journal, signer } = buyer({ clock });
  await (await payer.fetch(seller.url, { intent: another() })).text();
  assert.deepEqual([seller.settled.transaction, seller.settled.amount], ["", "0"]);
  assert.deepEqual(await held(journal), ["reserved 10000"]);
  const deadline = Number(seller.payments[0].payload.permit2Authorization.deadline);
  await chain.advance(70);
  await chain.finalizedAt(deadline + 1);
  clock.now = deadline + 1;
  assert.equal((await payer.resume())[0].outcome, "delivered");
  assert.deepEqual([await states(journal), await held(journal)], [["dead"], []]);
  assert.deepEqual([await seller.moved(), signer.calls], [[], 1]);
});

test("nothing settled on chain: the nonce is used, a Transfer of nothing says so, and nothing is spent", async (t) => {
  const seller = await market(t, undefined, { maxTimeoutSeconds: 600 });
  const { payer, journal } = buyer();
  await thrown(payer.fetch(seller.url, { intent: another() }));
  const { permit2Authorization: p, signature } = seller.payments[0].payload;
  const tuple = (...components) => ({ type: "tuple", components: components.map(([name, type]) => (typeof type === "string" ? { name, type } : { name, ...type })) });
  const permit = tuple(["permitted", tuple(["token", "address"], ["amount", "uint256"])], ["nonce", "uint256"], ["deadline", "uint256"]);
  const witness = tuple(["to", "address"], ["facilitator", "address"], ["validAfter", "uint256"]);
  const inputs = [{ name: "permit", ...permit }, { name: "amount", type: "uint256" }, { name: "owner", type: "address" }, { name: "witness", ...witness }, { name: "signature", type: "bytes" }];
  const args = [{ permitted: { token: p.permitted.token, amount: BigInt(p.permitted.amount) }, nonce: BigInt(p.nonce), deadline: BigInt(p.deadline) }, 0n, p.from, { ...p.witness, validAfter: BigInt(p.witness.validAfter) }, signature];
  const settle = [{ type: "function", name: "settle", stateMutability: "nonpayable", inputs, outputs: [] }];
  const hash = await chain.wallet(KEYS.facilitator).writeContract({ address: SPENDER, abi: settle, functionName: "settle", args });
  assert.equal((await chain.pub.waitForTransactionReceipt({ hash })).status, "success");
  await chain.rpc("anvil_mine", ["0x3"]);
  const { verdict } = await judged(seller.payments[0], "finalized");
  assert.deepEqual([verdict.verdict, verdict.amount, verdict.money], ["paid", "0", "none"]);
  await payer.resume();
  assert.deepEqual([await states(journal), await held(journal), await seller.moved()], [["paid"], ["settled 0"], [0]]);
});
