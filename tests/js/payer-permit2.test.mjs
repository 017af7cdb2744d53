// Purchases by Permit2 on a real chain: Permit2's own code, the official facilitator and middleware, and the payer's approval.
// How often money moved is counted by what the token logged.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Wallet } from "ethers";
import { createPayer, verifyReceipt } from "counterfoil";
import { recoverPermit2Payer, resolve } from "counterfoil/core";
import { readEvidence } from "counterfoil/node";
import { KEYS, startChain } from "../../demo/chain.mjs";
import { REPORT, startSeller } from "../../demo/seller.mjs";
import { PERMIT2, permit2On } from "./permit2/permit2.mjs";
import { KEY, NETWORK, PAYER, USDC, clockwork, counted, keyBytes, openJournal, privateKeyToAccount, thrown } from "./payer-stage.mjs";

const SPENDER = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const PRICE = { asset: USDC, amount: "10000", extra: { name: "USDC", version: "2", assetTransferMethod: "permit2" } };
const POLICY = { perCall: "20000", assets: [{ network: NETWORK, asset: USDC }] };
const abi = (name, ...types) => [{ type: "function", name, stateMutability: "nonpayable", inputs: types.map((type, i) => ({ type, name: `a${i}` })), outputs: [] }];
const code = (name) => readFileSync(new URL(`./permit2/${name}.hex`, import.meta.url), "utf8").trim();
const word = (hex) => `0x${hex.slice(2).toLowerCase().padStart(64, "0")}`;
const sellers = [];
let purchases = 0;
let chain;
const another = () => ({ id: `permitted-${String((purchases += 1)).padStart(16, "0")}` });

const mined = async (hash) => {
  const { status } = await chain.pub.waitForTransactionReceipt({ hash });
  assert.equal(status, "success");
};

const approve = async (key) => mined(await chain.wallet(key).writeContract({ address: USDC, abi: abi("approve", "address", "uint256"), functionName: "approve", args: [PERMIT2, 2n ** 256n - 1n] }));

before(async () => {
  chain = await startChain();
  await chain.rpc("anvil_setCode", [PERMIT2, permit2On(84532)]);
  await chain.rpc("anvil_setCode", [SPENDER, code("exact-spender")]);
  await approve(KEY);
});
after(async () => {
  await Promise.all(sellers.map((seller) => seller.stop()));
  chain?.stop();
});

async function market(options) {
  const payTo = `0x${createHash("sha256").update(`permit2 ${sellers.length}`).digest("hex").slice(0, 40)}`;
  const seller = await startSeller({ chain, payTo, price: PRICE, ...options });
  sellers.push(seller);
  const logs = () => chain.rpc("eth_getLogs", [{ address: USDC, topics: [TRANSFER, null, word(payTo)], fromBlock: "0x0", toBlock: "latest" }]);
  return Object.assign(seller, { logs, transfers: async () => (await logs()).length });
}

function buyer({ signer = counted(), journal = openJournal(), policy = POLICY, ...rest } = {}) {
  return { signer, journal, payer: createPayer({ signer, journal, policy, rpc: { [NETWORK]: chain.url }, ...rest }) };
}

/** The evidence of one payment at the newest block, and what the core says of it. */
async function judged({ payload: { permit2Authorization: permit } }, tag = "latest") {
  const evidence = await readEvidence(chain.url, { network: NETWORK, asset: USDC, payer: permit.from, nonce: permit.nonce, method: "permit2", tag });
  return { evidence, verdict: resolve(permit, { network: NETWORK, asset: USDC }, evidence) };
}

test("the official facilitator settles it: a key, a signer of viem's kind and a wallet of ethers", async () => {
  const seller = await market();
  const secret = new Uint8Array(32).fill(7);
  for (const signer of [{ privateKey: keyBytes() }, counted(), new Wallet(KEY)]) {
    const { payer, journal } = buyer({ signer, secret });
    assert.equal(await (await payer.fetch(seller.url, { intent: another() })).text(), REPORT);
    const { payload } = seller.payments.at(-1);
    assert.equal(recoverPermit2Payer(payload.permit2Authorization, NETWORK, payload.signature), PAYER);
    assert.equal(payload.permit2Authorization.spender, SPENDER);
    const [{ rail }] = await journal.intents();
    assert.deepEqual(rail, { asset: USDC, method: "permit2", network: NETWORK, payer: PAYER });
  }
  assert.equal(await seller.transfers(), 3);
});

test("what the chain says of it, and a bundle that verifies with that", async () => {
  const seller = await market();
  const { payer, journal } = buyer();
  const body = new Uint8Array(await (await payer.fetch(seller.url)).arrayBuffer());
  await chain.finalized();
  const [log] = await seller.logs();
  const { evidence, verdict } = await judged(seller.payments[0], "finalized");
  assert.deepEqual([verdict.verdict, verdict.transaction, verdict.reasons], ["paid", log.transactionHash, []]);
  assert.equal(evidence[0].usedWithin.by.number, log.blockNumber);
  const [{ intentId }] = await journal.intents();
  const bundle = await payer.export(intentId);
  assert.equal(verifyReceipt(bundle, { body, evidence }).verdict, "verified");
  assert.equal(verifyReceipt(bundle, { body }).verdict, "incomplete");
  const other = structuredClone(JSON.parse(bundle));
  other.intents[0].attempts[0].permit2Authorization.permitted.amount = "9999";
  assert.equal(verifyReceipt(JSON.stringify(other), { body, evidence }).verdict, "failed");
});

test("a lost answer and a lost journal: no second transfer", async () => {
  const seller = await market({ fault: "cut_after_settlement" });
  const intent = another();
  const { payer, signer, journal } = buyer();
  for (let n = 0; n < 2; n++) {
    const error = await thrown(payer.fetch(seller.url, { intent }));
    assert.deepEqual([error.code, error.money], ["paid_not_delivered", "proven"]);
  }
  const [{ claim, intentId }] = await journal.intents();
  assert.equal(claim.transaction, (await seller.logs())[0].transactionHash);
  const file = await payer.claim(intentId);
  signer.calls -= 1;
  await chain.finalized();
  const { evidence } = await judged(seller.payments[0], "finalized");
  assert.deepEqual([verifyReceipt(file).verdict, verifyReceipt(file, { evidence }).verdict], ["incomplete", "verified"]);
  assert.equal(verifyReceipt(file.replace('"amount":"10000"', '"amount":"10001"'), { evidence }).verdict, "failed");
  const error = await thrown(buyer({ signer }).payer.fetch(seller.url, { intent }));
  assert.deepEqual([error.code, error.money], ["authorization_used", "proven"]);
  assert.deepEqual([await seller.transfers(), signer.calls], [1, 1]);
});

test("no approval: the seller's refusal, the money stays held, and after the approval the same bytes pay", async () => {
  const key = KEYS.owner;
  await chain.mint(privateKeyToAccount(key).address, 50_000n);
  const seller = await market();
  const intent = another();
  const { payer, signer, journal } = buyer({ signer: counted({ key }) });
  const error = await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([error.code, error.money], ["outcome_unknown", "possible"]);
  const [{ attempts: [{ observations: [first] }] }] = await journal.intents();
  assert.deepEqual([first.status, first.outcome, first.code], [412, "rejected", "permit2_allowance_required"]);
  assert.equal((await journal.held())[0].state, "reserved");
  await approve(key);
  assert.equal(await (await payer.fetch(seller.url, { intent })).text(), REPORT);
  assert.deepEqual([await seller.transfers(), signer.calls], [1, 1]);
});

/** What a light client says: a block of this chain, and a final one. */
const light = async (hash) => {
  const [block, { number }] = [await chain.rpc("eth_getBlockByHash", [hash, false]), await chain.block("finalized")];
  return block !== null && Number(block.number) <= number;
};

for (const [believed, trust] of [["its sources", {}], ["only what is proven", { trustedBlocks: light }]]) test(`invalidated by a payer that believes ${believed}: the nonce is passed over, and what was sent can't land`, async () => {
  const seller = await market({ fault: "sit_on_it" });
  const intent = another();
  const { payer, journal } = buyer(trust);
  await thrown(payer.fetch(seller.url, { intent, signal: AbortSignal.timeout(4000) }));
  const nonce = BigInt(seller.payments[0].payload.permit2Authorization.nonce);
  const args = [nonce >> 8n, 1n << (nonce & 255n)];
  await mined(await chain.wallet(KEY).writeContract({ address: PERMIT2, abi: abi("invalidateUnorderedNonces", "uint256", "uint256"), functionName: "invalidateUnorderedNonces", args }));
  assert.equal((await judged(seller.payments[0])).verdict.verdict, "used_or_cancelled");
  // The block that is read is a later one, which says nothing of what the block before it held.
  await chain.advance(1);
  await chain.finalized();
  assert.equal((await judged(seller.payments[0], "finalized")).verdict.verdict, "cancelled");
  assert.equal((await payer.resume())[0].outcome, "unpaid");
  const [{ generation, attempts: [{ verdict }] }] = await journal.intents();
  assert.equal(generation, 1);
  assert.deepEqual(verdict.reasons, trust.trustedBlocks ? ["proved", "transaction_not_proved"] : []);
  await seller.presentAll();
  assert.equal(await seller.transfers(), 0);
});

test("never cashed: dead once a final block is past the deadline, and not one second before", async () => {
  const seller = await market({ fault: "sit_on_it", maxTimeoutSeconds: 60 });
  const intent = another();
  const { payer } = buyer();
  await thrown(payer.fetch(seller.url, { intent, signal: AbortSignal.timeout(4000) }));
  const deadline = Number(seller.payments[0].payload.permit2Authorization.deadline);
  const { verdict } = await judged(seller.payments[0], "finalized");
  assert.deepEqual([verdict.verdict, verdict.decidableAt], ["not_yet", deadline + 1]);
  await chain.advance(70);
  await chain.finalizedAt(deadline + 1);
  assert.equal((await judged(seller.payments[0], "finalized")).verdict.verdict, "dead");
  await seller.presentAll();
  assert.equal(await seller.transfers(), 0);
});

test("two equal purchases in one block are told apart by their call data", async () => {
  const seller = await market({ maxTimeoutSeconds: 600 });
  const clock = clockwork((await chain.block()).timestamp);
  const { payer } = buyer({ clock });
  await chain.hold();
  const both = [another(), another()].map((intent) => payer.fetch(seller.url, { intent }));
  while (Number(await chain.rpc("txpool_status").then(({ pending }) => pending)) < 2) await new Promise((done) => setTimeout(done, 20));
  await chain.release();
  assert.deepEqual(await Promise.all(both.map(async (answer) => (await answer).text())), [REPORT, REPORT]);
  const [one, other] = await seller.logs();
  assert.equal(one.blockNumber, other.blockNumber);
  const found = await Promise.all(seller.payments.map(async (payment) => (await judged(payment)).verdict));
  assert.deepEqual(found.map(({ verdict }) => verdict), ["paid", "paid"]);
  assert.deepEqual(new Set(found.map(({ transaction }) => transaction)), new Set([one.transactionHash, other.transactionHash]));
});

test("a journal that was lost: what Permit2 moved is found, what nothing explains is told, and both count", async () => {
  const seller = await market();
  const bought = [another(), another()];
  const first = buyer();
  const fromBlock = Number(await chain.rpc("eth_blockNumber")) + 1;
  for (const intent of bought) await (await first.payer.fetch(seller.url, { intent })).text();
  // The payer's own transfer is no purchase; another's, by an allowance, may be one.
  const stranger = privateKeyToAccount(KEYS.facilitator).address;
  const own = (functionName, args) => chain.wallet(KEY).writeContract({ address: USDC, abi: abi(functionName, "address", "uint256"), functionName, args });
  await mined(await own("transfer", [stranger, 5n]));
  await mined(await own("approve", [stranger, 7n]));
  await mined(await chain.wallet(KEYS.facilitator).writeContract({ address: USDC, abi: abi("transferFrom", "address", "address", "uint256"), functionName: "transferFrom", args: [PAYER, stranger, 7n] }));
  await chain.finalized();
  const what = { network: NETWORK, asset: USDC, fromBlock, pauseMs: 0 };

  const lost = buyer({ signer: first.signer, policy: { ...POLICY, perWallet: [{ amount: "30000", window: 3600 }] } });
  const told = await lost.payer.recover(what);
  assert.deepEqual([told.used, told.cancelled, told.unknown, told.spent], [2, 0, 1, "20007"]);
  const { recovered } = JSON.parse(await lost.payer.export());
  const rows = recovered.map(({ event, method, amount }) => [event, method, amount]).sort();
  assert.deepEqual(rows, [["unknown", undefined, "7"], ["used", "permit2", "10000"], ["used", "permit2", "10000"]]);
  const nonces = seller.payments.map(({ payload }) => BigInt(payload.permit2Authorization.nonce));
  assert.deepEqual(new Set(recovered.filter(({ event }) => event === "used").map(({ nonce }) => BigInt(nonce))), new Set(nonces));
  // The cap counts all three, and an id of before is known as paid without an endpoint.
  assert.equal((await thrown(lost.payer.fetch(seller.url, { intent: another() }))).code, "over_wallet_cap");
  const blind = buyer({ signer: first.signer, journal: lost.journal, rpc: undefined });
  const signed = first.signer.calls;
  const error = await thrown(blind.payer.fetch(seller.url, { intent: bought[0] }));
  assert.deepEqual([error.code, error.money, first.signer.calls], ["authorization_used", "proven", signed]);
  // Once more adds nothing, and who has the purchases in its journal counts none of them twice.
  const again = await lost.payer.recover(what);
  const known = await first.payer.recover(what);
  assert.deepEqual([again.used, again.unknown, known.used, known.unknown], [0, 0, 0, 1]);
});
