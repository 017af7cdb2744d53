// Records what tests/proofs/permit2.json holds: the same as record.mjs of payments by Permit2. Run it with the package linked: `node tests/proofs/record-permit2.mjs`.

import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";

import { readEvidence } from "counterfoil/node";
import { keccak256, toRlp } from "../../demo/node_modules/viem/_esm/index.js";
import { NETWORK, USDC, startChain } from "../../demo/chain.mjs";
import { PERMIT2 } from "../js/permit2/permit2.mjs";
import { PAYER, approve, deploy, permitted, settle } from "../js/permit2/scene.mjs";

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
await chain.advance(40);
const ctx = { network: NETWORK, asset: USDC };
const base = async (authorization) => {
  const evidence = await read(authorization);
  return { authorization, ctx: { ...ctx, trustedBlocks: [evidence.block.hash, ...(evidence.receipt ? [evidence.receipt.blockHash] : [])] }, evidence };
};
const [paid, dead, second] = [await base(one), await base(unsent), await base(other)];
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
  payment("no proof of the receipt", { "evidence.receiptProof": null }, "not_proved"),
  payment("no proof that the bit was unset before", { "evidence.usedWithin.after.storageProof": null }, "not_proved"),
  payment("no proof that the bit was set in that block", { "evidence.usedWithin.by.storageProof": null }, "not_proved"),
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
  payment("the payment of another nonce on the same terms", { "evidence.receipt": second.evidence.receipt, "evidence.receiptProof": second.evidence.receiptProof, "ctx.trustedBlocks": second.ctx.trustedBlocks }, "header_disagrees"),
  payment("the amount in the source's receipt", { "evidence.receipt.logs.0.data": word(1) }, "receipt_proof_disagrees"),
  payment("on other terms: what else was in the block is not proven", { "authorization.permitted.amount": "30000" }, "not_proved"),
  payment("nobody trusts any block, but the source", { "ctx.trustedBlocks": null }, "included_in_given_header", "paid"),

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
writeFileSync(new URL("permit2.json", import.meta.url), `${JSON.stringify({ about, bases: { paid, dead, foreign }, cases }, null, 1)}\n`);
