// Records what tests/proofs/permit2.json holds: the same as record.mjs of payments by Permit2. Run it with the package linked: `node tests/proofs/record-permit2.mjs`.

import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";

import { readEvidence } from "counterfoil/node";
import { keccak256, toRlp } from "../../demo/node_modules/viem/_esm/index.js";
import { KEYS, NETWORK, USDC, startChain } from "../../demo/chain.mjs";
import { PERMIT2 } from "../js/permit2/permit2.mjs";
import { PAYER, approve, deploy, invalidate, permitted, settle, together } from "../js/permit2/scene.mjs";

const sha = (text) => `0x${createHash("sha256").update(text).digest("hex")}`;
const flip = (hex, at = hex.length - 1) => hex.slice(0, at) + (hex[at] === "0" ? "1" : "0") + hex.slice(at + 1);
const word = (value) => `0x${BigInt(value).toString(16).padStart(64, "0")}`;

const chain = await startChain();
await deploy(chain);
await approve(chain);
const read = async (one) => (await readEvidence(chain.url, { network: NETWORK, asset: USDC, payer: PAYER, nonce: one.nonce, method: "permit2", proofs: true }))[0];
const [one, unsent] = [await permitted(chain, "recorded"), await permitted(chain, "never sent", 30, "20000")];
await settle(chain, one);
const other = await permitted(chain, "another");
await settle(chain, other);
const names = ["invalidated", "invalidated beside a payment", "the payment beside it", "the first of two", "the second of two"];
const [burnt, hidden, shown, first, next] = await Promise.all(names.map((name, i) => permitted(chain, name, 600, i === 4 ? "25000" : "10000")));
await invalidate(chain, burnt);
await together(chain, () => invalidate(chain, hidden), () => settle(chain, shown));
await together(chain, () => settle(chain, first), () => settle(chain, next, KEYS.owner));
await chain.advance(40);
const ctx = { network: NETWORK, asset: USDC };
const base = async (authorization) => {
  const evidence = await read(authorization);
  return { authorization, ctx: { ...ctx, trustedBlocks: [evidence.block.hash, ...(evidence.usedWithin ? [evidence.usedWithin.by.header.hash] : [])] }, evidence };
};
const [paid, dead, second, invalidated, covered, beside] = await Promise.all([one, unsent, other, burnt, hidden, first].map(base));
// Other code stands at Permit2's address: what its storage says means nothing, unless somebody vouches for it.
const code = flip(await chain.rpc("eth_getCode", [PERMIT2, "latest"]));
await chain.rpc("anvil_setCode", [PERMIT2, code]);
await chain.advance(40);
const foreign = await base(unsent);
chain.stop();

const of = (name) => (why, set, reason, verdict = "unreadable") => ({ why, of: name, set, verdict, reasons: [reason].flat() });
const payment = of("paid");
const death = of("dead");
const elsewhere = of("foreign");
const [burn, hiding, two] = ["invalidated", "covered", "beside"].map(of);
const { after, by } = paid.evidence.usedWithin;
const { accountProof, storageProof: [{ proof }] } = dead.evidence.storageProof;
const slot = "evidence.storageProof.storageProof.0";

// The block before the payment's, with other extra data: a header that hashes rightly, to something else.
const MEMBERS = ["parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom", "difficulty", "number", "gasLimit", "gasUsed", "timestamp", "extraData", "mixHash", "nonce", "baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot", "requestsHash"];
const QUANTITIES = new Set(["difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas", "blobGasUsed", "excessBlobGas"]);
const bytesOf = (hex) => (hex === "0x0" ? "0x" : hex.length % 2 ? `0x0${hex.slice(2)}` : hex);
const rlp = (members) => toRlp(MEMBERS.filter((name) => members[name] !== undefined).map((name) => (QUANTITIES.has(name) ? bytesOf(members[name]) : members[name])));
if (keccak256(rlp(after.header)) !== after.header.hash) throw new Error("the header's encoding is wrong");
const invented = rlp({ ...after.header, extraData: "0x01" });
const cases = [
  payment("nothing", {}, ["proved", "transaction_not_proved"], "paid"),
  payment("nobody trusts the block", { "ctx.trustedBlocks": [] }, "included_in_given_header"),
  payment("the block of the state alone is trusted", { "ctx.trustedBlocks": [paid.evidence.block.hash] }, "included_in_given_header"),
  payment("not all receipts of the block", { "evidence.usedWithin.by.receipts": null }, "not_proved"),
  payment("no receipt of the block", { "evidence.usedWithin.by.receipts": [] }, "receipts_root_mismatch"),
  payment("a receipt twice", { "evidence.usedWithin.by.receipts": [by.receipts[0], by.receipts[0]] }, "receipts_root_mismatch"),
  payment("the receipts of another block", { "evidence.usedWithin.by.receipts": second.evidence.usedWithin.by.receipts }, "receipts_root_mismatch"),
  payment("a receipt of a type that nobody knows", { "evidence.usedWithin.by.receipts.0.type": "0x9" }, "receipts_malformed"),
  payment("a receipt without logs", { "evidence.usedWithin.by.receipts.0.logs": null }, "receipts_malformed"),
  payment("another amount in the block's receipt", { "evidence.usedWithin.by.receipts.0.logs.0.data": word(1) }, "receipts_root_mismatch"),
  payment("another amount in the source's log", { "evidence.logs.0.data": word(9999) }, "receipts_disagree"),
  payment("a payment that the source keeps to itself", { "evidence.logs": [] }, "receipts_disagree"),
  payment("a payment told twice", { "evidence.logs": [paid.evidence.logs[0], { ...paid.evidence.logs[0], logIndex: "0x9" }] }, "receipts_disagree"),
  payment("a log of that height in another block", { "evidence.logs.0.blockHash": sha("block"), "evidence.receipt.blockHash": sha("block"), "evidence.receipt.logs.0.blockHash": sha("block"), "evidence.receipt.logs.1.blockHash": sha("block") }, "receipts_disagree"),
  payment("no proof that the bit was unset before", { "evidence.usedWithin.after.storageProof": null }, "not_proved"),
  payment("no proof that the bit was set in that block", { "evidence.usedWithin.by.storageProof": null }, "not_proved"),
  payment("no header of the block", { "evidence.usedWithin.by.header": null }, "header_missing"),
  payment("no header before the block", { "evidence.usedWithin.after.header": null }, "header_missing"),
  payment("another header before it", { "evidence.usedWithin.after.header": second.evidence.usedWithin.after.header }, "header_disagrees"),
  payment("an invented block before it, whole in itself", { "evidence.usedWithin.after.header": invented }, "header_disagrees"),
  payment("a header before it with another root", { "evidence.usedWithin.after.header.stateRoot": sha("root") }, "header_hash_mismatch"),
  payment("the bit as it was afterwards, before", { "evidence.usedWithin.after.storageProof": by.storageProof }, "proof_root_mismatch"),
  payment("the bit as it was before, afterwards", { "evidence.usedWithin.by.storageProof": after.storageProof }, "proof_root_mismatch"),
  payment("the account of the token", { "evidence.usedWithin.by.storageProof.address": USDC }, "storage_proof_of_another_account"),
  payment("a byte of the account", { "evidence.usedWithin.by.storageProof.accountProof.0": flip(by.storageProof.accountProof[0]) }, "proof_root_mismatch"),
  payment("a source that says unset of both", { "evidence.usedWithin.by.nonceBitmap": after.nonceBitmap }, "state_proof_disagrees"),
  payment("a source that says set of both", { "evidence.usedWithin.after.nonceBitmap": by.nonceBitmap }, "state_proof_disagrees"),
  payment("two blocks between", { "evidence.usedWithin.after.number": word(0).slice(0, 3) }, "header_disagrees"),
  payment("a block that is not the receipt's", { "evidence.usedWithin.by.number": paid.evidence.block.number }, "header_disagrees"),
  payment("the payment of another nonce on the same terms", { "evidence.usedWithin.by.header": second.evidence.usedWithin.by.header }, "header_disagrees"),
  payment("on other terms", { "authorization.permitted.amount": "30000" }, ["terms_differ", "proved", "transaction_not_proved"], "paid_wrong_terms"),
  payment("used for another token, of which nothing moved in that block", { "authorization.permitted.token": PAYER, "ctx.asset": PAYER, "evidence.logs": [], "evidence.receipt": null }, ["proved", "transaction_not_proved"], "cancelled"),
  payment("the same, and nobody trusts the block", { "authorization.permitted.token": PAYER, "ctx.asset": PAYER, "evidence.logs": [], "evidence.receipt": null, "ctx.trustedBlocks": [] }, "log_missing", "used_or_cancelled"),
  payment("nobody trusts any block, but the source", { "ctx.trustedBlocks": null }, "included_in_given_header", "paid"),

  burn("nothing", {}, ["proved", "transaction_not_proved"], "cancelled"),
  burn("nobody trusts the block", { "ctx.trustedBlocks": [] }, "included_in_given_header"),
  burn("not all receipts of the block", { "evidence.usedWithin.by.receipts": null }, "not_proved"),
  burn("a payment that is not in the block", { "evidence.logs": [{ ...paid.evidence.logs[0], blockNumber: invalidated.evidence.usedWithin.by.number, blockHash: invalidated.evidence.usedWithin.by.header.hash }] }, "receipts_disagree"),
  burn("a latest block, under a trusted header", { "evidence.block.tag": "latest" }, ["proved", "transaction_not_proved"], "cancelled"),
  hiding("nothing", {}, "transfer_and_invalidation", "used_or_cancelled"),
  hiding("the invalidation beside a payment on the same terms", { "evidence.logs": covered.evidence.logs.filter(({ address }) => address === USDC.toLowerCase()) }, "receipts_disagree"),
  hiding("the payment beside the invalidation", { "evidence.logs": covered.evidence.logs.filter(({ address }) => address !== USDC.toLowerCase()) }, "receipts_disagree"),
  two("which of two payments on other terms was this nonce's, is the source's word", {}, "not_proved"),
  two("the source keeps the other one to itself", { "evidence.logs": beside.evidence.logs.slice(0, 1) }, "receipts_disagree"),
  two("nobody trusts any block, but the source", { "ctx.trustedBlocks": null }, [], "paid"),

  death("nothing", {}, "proved", "dead"),
  death("a latest block, under a trusted header", { "evidence.block.tag": "latest" }, "proved", "dead"),
  death("nobody trusts the block", { "ctx.trustedBlocks": [sha("another")] }, "included_in_given_header"),
  death("no proof of the state", { "evidence.storageProof": null }, "not_proved"),
  death("no header above the state", { "evidence.header": null }, "header_missing"),
  death("a later time for the block", { "evidence.block.timestamp": "0x7fffffff" }, "header_disagrees"),
  death("a later time in both", { "evidence.block.timestamp": "0x7fffffff", "evidence.header.timestamp": "0x7fffffff" }, "header_hash_mismatch"),
  death("the account of another contract", { "evidence.storageProof.address": USDC }, "storage_proof_of_another_account"),
  death("another code hash beside the proof", { "evidence.storageProof.codeHash": sha("code") }, "storage_proof_contradicts_itself"),
  death("a byte of the account", { [`evidence.storageProof.accountProof.${accountProof.length - 1}`]: flip(accountProof.at(-1)) }, "proof_node_mismatch"),
  death("no nodes to the slot", { [`${slot}.proof`]: [] }, "proof_root_mismatch"),
  death("a node after the slot's last", { [`${slot}.proof`]: [...proof, proof.at(-1)] }, "proof_too_long"),
  death("the slot under another key", { [`${slot}.key`]: word(5) }, "slot_missing"),
  death("another value beside the proof", { [`${slot}.value`]: "0x1" }, "storage_proof_contradicts_itself"),
  death("a source that says used", { "evidence.nonceBitmap": word((1n << 256n) - 1n) }, "state_proof_disagrees"),
  death("another nonce than the one that was read", { "authorization.nonce": "7" }, "nonce_differs"),
  death("a window that is open at the trusted block", { "authorization.deadline": "9007199254740991" }, ["window_open", "proved"], "not_yet"),
  elsewhere("code that nobody knows", {}, "code_unknown"),
  elsewhere("code that the caller does not know either", { "ctx.layouts": [{ codeHash: sha("code") }] }, "code_unknown"),
  elsewhere("code that the caller knows", { "ctx.layouts": [{ codeHash: keccak256(code) }] }, "proved", "dead"),
];
const about = "Evidence with proofs of a local chain (anvil 1.7.1) with Permit2 deployed as it is everywhere, and alterations of it. `set` names members by their path; null takes one away.";
writeFileSync(new URL("permit2.json", import.meta.url), `${JSON.stringify({ about, bases: { paid, dead, foreign, invalidated, covered, beside }, cases }, null, 1)}\n`);
