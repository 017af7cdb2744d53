// Proofs from a real node about Permit2's own code: which code stands at its address, where it keeps a nonce, and that payment and death are proven from a
// source that nobody trusts, to whoever knows the hash of a block.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { getCreate2Address, keccak256 } from "ethers";
import { resolve } from "counterfoil/core";
import { readEvidence } from "counterfoil/node";
import { call } from "counterfoil/raw";
import { NETWORK, USDC, startChain } from "../../demo/chain.mjs";
import { DEPLOYER, PERMIT2, SALT, permit2Creation, permit2On } from "./permit2/permit2.mjs";
import { PAYER, approve, deploy, invalidate, permitted, settle, together } from "./permit2/scene.mjs";

const word = (value) => `0x${BigInt(value).toString(16).padStart(64, "0")}`;
const sha = (text) => `0x${createHash("sha256").update(text).digest("hex")}`;
let chain;
before(async () => {
  chain = await startChain();
  await deploy(chain);
  await approve(chain);
});
after(() => chain?.stop());

const final = async (receipt) => {
  while ((await chain.block("finalized")).number <= Number(receipt.blockNumber)) await new Promise((done) => setTimeout(done, 100));
};
const read = async (one, more = {}) => (await readEvidence(chain.url, { network: NETWORK, asset: USDC, payer: PAYER, nonce: one.nonce, method: "permit2", proofs: true, ...more }))[0];
const judge = (one, evidence, trustedBlocks, more = {}) => resolve(one, { network: NETWORK, asset: USDC, trustedBlocks, ...more }, evidence);
const said = ({ verdict, reasons }) => [verdict, ...reasons];

test("its address is that of its code, and the code on each known network is pinned", async () => {
  assert.equal(getCreate2Address(DEPLOYER, SALT, keccak256(permit2Creation())), PERMIT2);
  // It was deployed here as it is everywhere.
  assert.equal(await chain.rpc("eth_getCode", [PERMIT2, "latest"]), permit2On(84532));
  const pinned = readFileSync(new URL("../../src/evidence/bitmap_proof.rs", import.meta.url), "utf8").matchAll(/([0-9_]+),\s*b256!\("([0-9a-f]{64})"\)/g);
  const rows = [...pinned].map(([, id, hash]) => [Number(id.replaceAll("_", "")), `0x${hash}`]);
  assert.equal(rows.length, 14);
  for (const [id, hash] of rows) assert.equal(keccak256(permit2On(id)), hash, id);
});

test("the slot of the bitmap, measured", async () => {
  for (const act of [settle, invalidate]) {
    const one = await permitted(chain, `slot ${act.name}`);
    const [at, bit] = [BigInt(one.nonce) >> 8n, BigInt(one.nonce) & 255n];
    const candidates = Array.from({ length: 64 }, (_, base) => keccak256(word(at) + keccak256(word(PAYER) + word(base).slice(2)).slice(2)));
    const values = (tag) => Promise.all(candidates.map((slot) => chain.rpc("eth_getStorageAt", [PERMIT2, slot, tag])));
    const height = Number((await act(chain, one)).blockNumber);
    const [earlier, later] = [await values(`0x${(height - 1).toString(16)}`), await values(`0x${height.toString(16)}`)];
    const changed = candidates.map((slot, base) => ({ base, from: BigInt(earlier[base]), to: BigInt(later[base]) })).filter(({ from, to }) => from !== to);
    assert.deepEqual(changed, [{ base: 0, from: 0n, to: 1n << bit }], act.name);
    assert.deepEqual(call("proofSlots", { payer: PAYER, nonce: word(one.nonce), method: "permit2" }), { implementation: [], state: [candidates[0]] });
  }
});

test("payment is proven, by the bit on both sides of the payment's block", async () => {
  const one = await permitted(chain, "paid");
  const receipt = await settle(chain, one);
  await final(receipt);
  const evidence = await read(one);
  const trusted = judge(one, evidence, [receipt.blockHash]);
  assert.deepEqual(trusted, {
    verdict: "paid", money: "proven", next: "lookup_receipt", transaction: receipt.transactionHash, index: 0, provedIn: receipt.blockHash,
    reasons: ["proved", "transaction_not_proved"],
  });
  // The header of the state's block is another one: it does not hold the receipt.
  assert.deepEqual(said(judge(one, evidence, [evidence.block.hash])), ["unreadable", "included_in_given_header"]);
  assert.deepEqual(said(judge(one, evidence, undefined)), ["paid", "included_in_given_header"], "the source is trusted");
  // The receipt alone says that money moved, and not that it did under this nonce.
  const bare = structuredClone(evidence);
  delete bare.usedWithin.after.storageProof;
  assert.deepEqual(said(judge(one, bare, [receipt.blockHash])), ["unreadable", "not_proved"]);
  const other = { ...one, permitted: { ...one.permitted, amount: "20000" } };
  assert.deepEqual(said(judge(other, evidence, [receipt.blockHash])), ["paid_wrong_terms", "terms_differ", "proved", "transaction_not_proved"]);
  assert.deepEqual(said(judge(other, evidence, undefined)), ["paid_wrong_terms", "terms_differ", "included_in_given_header"]);
});

test("unused and death are proven, by the state under a trusted header alone", async () => {
  const one = await permitted(chain, "never sent", 30, "20000");
  const open = await read(one, { tag: "latest" });
  assert.deepEqual(said(judge(one, open, [open.block.hash])), ["not_yet", "window_open", "proved"]);
  await chain.advance(40);
  const evidence = await read(one, { tag: "latest" });
  assert.deepEqual(judge(one, evidence, [evidence.block.hash]), { verdict: "dead", money: "none", next: "safe_to_resign", provedIn: evidence.block.hash, reasons: ["proved"] });
  assert.deepEqual(said(judge(one, evidence, undefined)), ["not_yet", "not_final", "included_in_given_header"]);
  assert.deepEqual(said(judge(one, evidence, [sha("another block")])), ["not_yet", "not_final", "included_in_given_header"]);
});

test("an invalidation is no payment, and proven by the whole block that there was none beside it", async () => {
  const one = await permitted(chain, "invalidated");
  const receipt = await invalidate(chain, one);
  await final(receipt);
  const evidence = await read(one);
  assert.deepEqual(said(judge(one, evidence, undefined)), ["cancelled", "included_in_given_header"]);
  assert.deepEqual(said(judge(one, evidence, [receipt.blockHash])), ["cancelled", "proved", "transaction_not_proved"]);
  assert.deepEqual(said(judge(one, evidence, [evidence.block.hash])), ["unreadable", "included_in_given_header"]);
});

test("invalidated in the block of a payment on the same terms: no source proves that payment for it", async () => {
  const [one, other] = [await permitted(chain, "hidden"), await permitted(chain, "beside it")];
  const [burnt, paid] = await together(chain, () => invalidate(chain, one), () => settle(chain, other));
  assert.equal(burnt.blockHash, paid.blockHash);
  await final(paid);
  const hiding = async (method, params) => {
    const answer = await chain.rpc(method, params);
    return method === "eth_getLogs" ? answer.filter(({ address }) => address !== PERMIT2.toLowerCase()) : answer;
  };
  const evidence = (await readEvidence(hiding, { asset: USDC, payer: PAYER, nonce: one.nonce, method: "permit2", proofs: true }))[0];
  assert.deepEqual(said(judge(one, evidence, [paid.blockHash])), ["unreadable", "receipts_disagree"]);
  assert.deepEqual(said(judge(one, await read(one), [paid.blockHash])), ["used_or_cancelled", "transfer_and_invalidation"]);
  assert.deepEqual(said(judge(other, await read(other), [paid.blockHash])), ["paid", "proved", "transaction_not_proved"]);
});

test("a node that lies about a payment can't prove it unused, nor another code at that address", async () => {
  const one = await permitted(chain, "denied", 30);
  await final(await settle(chain, one));
  await chain.advance(40);
  const deny = { eth_call: () => word(0), eth_getLogs: () => [], eth_getTransactionReceipt: () => null };
  const lying = async (method, params) => (deny[method] ? deny[method]() : chain.rpc(method, params));
  const denial = await read(one, { proofs: false });
  const believed = (await readEvidence(lying, { asset: USDC, payer: PAYER, nonce: one.nonce, method: "permit2", tag: "latest" }))[0];
  assert.equal(denial.nonceBitmap === believed.nonceBitmap, false);
  const proving = (await readEvidence(lying, { asset: USDC, payer: PAYER, nonce: one.nonce, method: "permit2", tag: "latest", proofs: true }))[0];
  assert.deepEqual(said(judge(one, proving, [proving.block.hash])), ["unreadable", "state_proof_disagrees"]);
  assert.deepEqual(said(judge(one, { ...believed, block: { ...believed.block, tag: "finalized" } }, [proving.block.hash])), ["unreadable", "not_proved"]);

  const never = await permitted(chain, "other code", 5, "20000");
  await chain.advance(40);
  await chain.rpc("anvil_setCode", [PERMIT2, `${permit2On(84532)}00`]);
  await chain.advance(1);
  const evidence = await read(never, { tag: "latest" });
  assert.deepEqual(said(judge(never, evidence, [evidence.block.hash])), ["not_yet", "not_final", "code_unknown"]);
  const declared = { layouts: [{ codeHash: keccak256(await chain.rpc("eth_getCode", [PERMIT2, "latest"])) }] };
  assert.deepEqual(said(judge(never, evidence, [evidence.block.hash], declared)), ["dead", "proved"]);
  await chain.rpc("anvil_setCode", [PERMIT2, permit2On(84532)]);
});
