// Reads what proves a source's answers: the header of the block, the token's storage under it, and the receipt in its own
// block. What a source can't give is left out; whether the proofs hold is for the core.

import { call } from "./boundary.mjs";

/** `{header, storageProof, implementationProof?, receiptProof?}`, as far as the source gives them. */
export async function readProofs(ask, { block, asset, slots, receipt }) {
  const found = await Promise.all([state(ask, block, asset, slots), receipt && inBlock(ask, receipt)].map((read) => Promise.resolve(read).catch(() => undefined)));
  return Object.assign({}, ...found);
}

/**
 * Adds to the two ends of `within` what proves how a nonce of Permit2 was used, where the source has it: the header and the storage of both, and every receipt of the
 * block in which it was used.
 */
export async function readUse(ask, { asset, slots, within }) {
  const read = async () => {
    const [before, block] = await Promise.all([within.after, within.by].map(({ number }) => ask("eth_getBlockByNumber", number, false)));
    const [after, by, receipts] = await Promise.all([state(ask, before, asset, slots), state(ask, block, asset, slots), receiptsOf(ask, block)]);
    proofIn(block, receipts, 0);
    Object.assign(within.after, after);
    Object.assign(within.by, by, { receipts: receipts.map(standing) });
  };
  await read().catch(() => undefined);
}

async function state(ask, block, asset, slots) {
  const at = (account, keys) => atBlock(block.hash, block.number, (which) => ask("eth_getProof", account, keys, which));
  const storageProof = await at(asset, [...slots.implementation, ...slots.state]);
  const behind = storageProof.storageProof.find(({ key, value }) => slots.implementation.some((slot) => BigInt(slot) === BigInt(key)) && BigInt(value) !== 0n);
  const implementationProof = behind && (await at(`0x${BigInt(behind.value).toString(16).padStart(40, "0")}`, []));
  return { header: headerOf(block), storageProof, ...(implementationProof && { implementationProof }) };
}

/** That proof alone of one receipt; undefined where the source does not give it. */
export async function readReceiptProof(ask, receipt) {
  const found = await inBlock(ask, receipt).catch(() => undefined);
  return found?.receiptProof;
}

async function inBlock(ask, { blockHash, blockNumber, transactionHash }) {
  const [block, receipts] = await Promise.all([
    ask("eth_getBlockByHash", blockHash, false),
    receiptsOf(ask, { hash: blockHash, number: blockNumber }),
  ]);
  const place = receipts.findIndex((receipt) => receipt.transactionHash === transactionHash);
  return { receiptProof: { header: headerOf(block), ...proofIn(block, receipts, place) } };
}

/** The proof of one receipt. Throws where these are not the block's receipts. */
function proofIn(block, receipts, place) {
  const { receiptsRoot, ...proof } = call("receiptProofFrom", { receipts, index: place });
  if (receiptsRoot !== block.receiptsRoot) throw new Error("these are not the block's receipts");
  return proof;
}

function receiptsOf(ask, { hash, number }) {
  return atBlock(hash, number, (which) => ask("eth_getBlockReceipts", which));
}

/** Of a receipt what stands in the block. */
function standing({ type, status, root, cumulativeGasUsed, logs, depositNonce, depositReceiptVersion }) {
  return { type, status, root, cumulativeGasUsed, logs: logs.map(({ address, topics, data }) => ({ address, topics, data })), depositNonce, depositReceiptVersion };
}

/** By hash (EIP-1898), by number where that is refused: a proof under another block's root does not hold. */
async function atBlock(hash, number, read) {
  try {
    return await read({ blockHash: hash });
  } catch {
    return read(number);
  }
}

function headerOf({ transactions, uncles, withdrawals, ...header }) {
  return header;
}
