// Reads what the core needs to judge a nonce, over JSON-RPC. It collects answers and judges none of them: a source that
// can't be read is reported as such, and what the answers mean is for `resolve`.

import { callAny } from "./boundary.mjs";
import { CounterfoilError } from "./errors.mjs";
import { readProofs, readReceiptProof, readUse } from "./proofs.mjs";

const AUTHORIZATION_STATE = "0xe94a0102"; // authorizationState(address,bytes32)
const AUTHORIZATION_USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const AUTHORIZATION_CANCELED = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";

const PERMIT2 = "0x000000000022d473030f116ddee9f6b43ac78ba3";
const NONCE_BITMAP = "0x4fe02b44"; // nonceBitmap(address,uint256)
const NONCES_INVALIDATED = "0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d";
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

const TRANSFER_WITH_MEMO = "0x57bc7354aa85aed339e000bccffabbc529466af35f0772c8f8ee1145927de7f0";
/** On Tempo a transaction lands within so many seconds before `validBefore`, a margin for clocks included; so long after it nothing more will. */
const [TEMPO_BEFORE, TEMPO_AFTER] = [360, 60];

const LARGEST_ANSWER = 8 << 20; // bytes
// How many blocks one eth_getLogs may span differs between endpoints: each width is tried where the one before is refused.
const WIDTHS = [Infinity, 10_000, 1_000, 10];
// Each read of a source is a bounded number of calls, one after the other but for a handful: that is what bounds their rate.
const LOG_CALLS = 60;
/** Where half of the logs are none: the seven minutes around a transaction on Tempo, at the narrowest width. */
const WHOLE_LOG_CALLS = 120;
/** Of an unused nonce there is no log to be found; what every endpoint allows is asked for, to have the answer. */
const UNUSED_WIDTH = 10;

/**
 * The evidence of every source about (payer, asset, nonce), all read at one block. Never throws for a source. `proofs` adds what a source
 * has to prove it: true, or `{ layouts }` for tokens whose code is not pinned. With `method` "permit2" the nonce is one of Permit2, with "tempo" the memo of a
 * transaction to `recipient` that ends at `validBefore`, and `hash` its hash where that is known; of that there are no proofs.
 */
export async function readEvidence(rpcs, { method = "eip3009", asset, payer, nonce, tag = "finalized", timeout = 10_000, proofs = false, recipient, validBefore, hash }) {
  const sources = (Array.isArray(rpcs) ? rpcs : [rpcs]).map((rpc) => (method, ...params) => request(rpc, method, params, timeout));
  const heads = await Promise.all(sources.map((ask) => reachable(() => head(ask, tag))));
  // Sources are never quite equally far, and only what is read at the same block can agree.
  const lowest = Math.min(...heads.filter(Boolean).map((found) => number(found.block.number)));
  const named = method === "permit2" ? `0x${hex64(BigInt(nonce))}` : word(nonce);
  const slots = proofs && method !== "tempo" && callAny("proofSlots", { payer, nonce: named, layouts: proofs.layouts, method });
  const what = { asset, payer: word(payer), nonce: method === "permit2" ? BigInt(nonce) : named, tag, lowest, slots };
  if (method === "tempo") Object.assign(what, { recipient: word(recipient), validBefore, hash });
  const read = { permit2: permitEvidence, tempo: tempoEvidence }[method] ?? evidence;
  const found = heads.map((start, i) => start && reachable(() => read(sources[i], start, what)));
  // Of an unused nonce nothing else says whose answer it is, nor of a source that gave none.
  return (await Promise.all(found)).map((read) => ({ nonce: named, ...(read ?? { error: "unreachable" }) }));
}

/** What every source holds of a refund and of the transaction that it gives back, beside the block that is judged final by, with `proofs` proven. Never throws for a source. */
export async function readRefund(rpcs, { transaction, charge, tag = "finalized", timeout = 10_000, proofs = false }) {
  const sources = (Array.isArray(rpcs) ? rpcs : [rpcs]).map((rpc) => (method, ...params) => request(rpc, method, params, timeout));
  const heads = await Promise.all(sources.map((ask) => reachable(() => head(ask, tag))));
  const lowest = Math.min(...heads.filter(Boolean).map((found) => number(found.block.number)));
  const read = async (ask, { chainId, block: top }) => {
    const block = number(top.number) === lowest ? top : await ask("eth_getBlockByNumber", quantity(lowest), false);
    const { number: height, hash, timestamp } = block;
    const [receipt, owed] = await Promise.all([transaction, charge].map((one) => ask("eth_getTransactionReceipt", one)));
    const [receiptProof, chargeProof] = await Promise.all([receipt, owed].map((one) => proofs && one && readReceiptProof(ask, one)));
    return { chainId, block: { number: height, hash, timestamp, tag }, receipt, charge: owed, ...(receiptProof && { receiptProof }), ...(chargeProof && { chargeProof }) };
  };
  const found = heads.map((start, i) => start && reachable(() => read(sources[i], start)));
  return (await Promise.all(found)).map((one) => one ?? { error: "unreachable" });
}

/** The finalized block that every source has reached; undefined where one of them does not answer. */
export async function historyTop(rpcs, { timeout = 10_000 } = {}) {
  const heads = await Promise.all(rpcs.map((rpc) => reachable(() => head((method, ...params) => request(rpc, method, params, timeout), "finalized"))));
  return heads.every(Boolean) ? Math.min(...heads.map(({ block }) => number(block.number))) : undefined;
}

/**
 * What every source tells of a payer between two blocks: the token's logs about its nonces and what moved from it, the receipt and the block of each, the call of each
 * transfer, and the words of Permit2's bitmap with the nonces that `permits(transactions)` finds in those. Undefined where a source does not answer: so many blocks at once may be
 * too many for it.
 */
export async function readHistory(rpcs, { asset, payer, from, to, permits, timeout = 10_000 }) {
  const filter = { address: asset, topics: [[AUTHORIZATION_USED, AUTHORIZATION_CANCELED, TRANSFER, TRANSFER_WITH_MEMO], word(payer)], fromBlock: quantity(from), toBlock: quantity(to) };
  const read = async (ask) => {
    const { chainId, block } = await head(ask, "finalized");
    const { number: height, hash, timestamp } = block;
    const logs = await ask("eth_getLogs", filter);
    const each = async (name, method, ...more) => {
      const found = [];
      for (const key of new Set(logs.map((log) => log[name]))) found.push(await ask(method, key, ...more));
      return found;
    };
    const calls = await each("transactionHash", "eth_getTransactionByHash");
    const transactions = calls.map(({ hash, from, input = "0x" }) => ({ hash, from, input }));
    const bitmaps = [];
    for (const nonce of permits(transactions)) {
      const read = { to: PERMIT2, data: `${NONCE_BITMAP}${word(payer).slice(2)}${hex64(BigInt(nonce) >> 8n)}` };
      bitmaps.push({ nonce, nonceBitmap: await stateAt(ask, read, block) });
    }
    const receipts = await each("transactionHash", "eth_getTransactionReceipt");
    const blocks = (await each("blockHash", "eth_getBlockByHash", false)).map(({ number, hash, timestamp }) => ({ number, hash, timestamp }));
    return { chainId, block: { number: height, hash, timestamp, tag: "finalized" }, logs, logsRange: { from: filter.fromBlock, to: filter.toBlock }, receipts, blocks, transactions, bitmaps };
  };
  const told = await Promise.all(rpcs.map((rpc) => reachable(() => read((method, ...params) => request(rpc, method, params, timeout)))));
  return told.every(Boolean) ? told : undefined;
}

async function reachable(read) {
  try {
    return await read();
  } catch {
    return undefined;
  }
}

async function head(ask, tag) {
  const [chainId, block] = await Promise.all([ask("eth_chainId"), ask("eth_getBlockByNumber", tag, false)]);
  number(block.number);
  return { chainId, block };
}

async function evidence(ask, { chainId, block: top }, { asset, payer, nonce, tag, lowest, slots }) {
  const block = await blockAt(ask, lowest, top);
  const read = { to: asset, data: `${AUTHORIZATION_STATE}${payer.slice(2)}${nonce.slice(2)}` };
  const authorizationState = await stateAt(ask, read, block);
  const filter = { address: asset, topics: [[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], payer, nonce] };
  const used = BigInt(authorizationState) !== 0n;
  const oldest = used ? 0 : Math.max(0, lowest - UNUSED_WIDTH + 1);
  const { logs, logsRange } = await searchBack(ask, filter, lowest, oldest);
  const transaction = logs?.at(-1)?.transactionHash;
  const receipt = transaction === undefined ? null : await ask("eth_getTransactionReceipt", transaction);
  const { number: height, hash, timestamp, stateRoot } = block;
  return {
    chainId,
    block: { number: height, hash, timestamp, tag, ...(stateRoot && { stateRoot }) },
    authorizationState,
    logs,
    ...(logsRange && { logsRange }),
    receipt,
    ...(slots && (await readProofs(ask, { block, asset, slots, receipt }))),
  };
}

function blockAt(ask, height, top) {
  return number(top.number) === height ? top : ask("eth_getBlockByNumber", quantity(height), false);
}

/**
 * The same about a nonce of Permit2, which emits nothing when it is used. Where the bit is set, the block in which it was set is searched for
 * by the state alone, as far back as the source keeps it; of that block every Transfer from the payer is read.
 */
async function permitEvidence(ask, { chainId, block: top }, { asset, payer, nonce, tag, lowest, slots }) {
  const block = await blockAt(ask, lowest, top);
  const read = { to: PERMIT2, data: `${NONCE_BITMAP}${payer.slice(2)}${hex64(nonce >> 8n)}` };
  const nonceBitmap = await stateAt(ask, read, block);
  // Before Permit2 was deployed there is no answer, and nothing is set.
  const isSet = (bitmap) => ((BigInt(bitmap === "0x" ? 0 : bitmap) >> (nonce & 255n)) & 1n) === 1n;
  const { number: height, hash, timestamp } = block;
  const proven = slots && (await readProofs(ask, { block, asset: PERMIT2, slots }));
  const told = { chainId, block: { number: height, hash, timestamp, tag }, nonceBitmap, ...proven };
  const filter = { address: [asset, PERMIT2], topics: [[TRANSFER, NONCES_INVALIDATED], payer] };
  if (!isSet(nonceBitmap)) return { ...told, ...(await searchBack(ask, filter, lowest, Math.max(0, lowest - UNUSED_WIDTH + 1))), receipt: null };
  const usedWithin = await reachable(() => searchUse((at) => ask("eth_call", read, quantity(at)), isSet, { number: lowest, nonceBitmap }));
  if (usedWithin === undefined) return { ...told, logs: null, receipt: null };
  const logsRange = { from: usedWithin.by.number, to: usedWithin.by.number };
  const logs = await ask("eth_getLogs", { ...filter, fromBlock: logsRange.from, toBlock: logsRange.to });
  const transfers = logs.filter(({ topics }) => topics[0] === TRANSFER);
  // Of several transfers the one counts whose transaction was called with this nonce.
  const calls = transfers.length < 2 ? [] : await Promise.all(transfers.map(({ transactionHash }) => ask("eth_getTransactionByHash", transactionHash)));
  const carrier = calls.find(({ input }) => input.includes(hex64(nonce)));
  const burns = ({ data }) => data.slice(2, 66) === hex64(nonce >> 8n) && isSet(`0x${data.slice(66)}`);
  const transaction = carrier?.hash ?? (transfers[0] ?? logs.find(burns))?.transactionHash;
  const receipt = transaction === undefined ? null : await ask("eth_getTransactionReceipt", transaction);
  if (slots) await readUse(ask, { asset: PERMIT2, slots, within: usedWithin });
  return { ...told, usedWithin, logs, logsRange, receipt, ...(carrier && { transaction: { hash: carrier.hash, input: carrier.input } }) };
}

/**
 * The same about a transaction on Tempo: the receipt by its hash, every TransferWithMemo from payer to recipient while it could land, and the receipt of
 * another transaction that carries the memo.
 */
async function tempoEvidence(ask, { chainId, block: top }, { asset, payer, nonce, tag, lowest, recipient, validBefore, hash }) {
  const block = await blockAt(ask, lowest, top);
  const { number: height, hash: own, timestamp } = block;
  const receipt = hash === undefined ? undefined : await ask("eth_getTransactionReceipt", hash);
  const from = await lastBlock(ask, block, (at) => at <= validBefore - TEMPO_BEFORE);
  const open = await lastBlock(ask, block, (at) => at < validBefore + TEMPO_AFTER);
  const to = number(open.number) < lowest ? await blockAt(ask, number(open.number) + 1, block) : block;
  const filter = { address: asset, topics: [TRANSFER_WITH_MEMO, payer, recipient] };
  const { logs, logsRange } = await searchAll(ask, filter, number(from.number), number(to.number));
  const other = logs?.find(({ topics, transactionHash }) => anonymous(topics[3]) === anonymous(nonce) && transactionHash !== hash);
  const settled = other && receipt?.status !== "0x1" ? await ask("eth_getTransactionReceipt", other.transactionHash) : undefined;
  const instant = ({ number, timestamp }) => ({ number, timestamp });
  return {
    chainId,
    nonce,
    block: { number: height, hash: own, timestamp, tag },
    ...(receipt !== undefined && { receipt }),
    ...(settled && { settled }),
    ...(logs && { logs, logsRange, searchedFrom: instant(from), searchedTo: instant(to) }),
  };
}

/** The last block whose time is so, up to `top`; block 0 where none is. Back in growing steps, then by halves. */
async function lastBlock(ask, top, isSo) {
  const so = (block) => isSo(number(block.timestamp));
  if (so(top)) return top;
  let [yes, no] = [undefined, top];
  for (let step = 1; yes === undefined; step *= 2) {
    const block = await blockAt(ask, Math.max(0, number(no.number) - step), top);
    if (so(block) || number(block.number) === 0) yes = block;
    else no = block;
  }
  while (number(no.number) - number(yes.number) > 1) {
    const block = await blockAt(ask, Math.floor((number(no.number) + number(yes.number)) / 2), top);
    if (so(block)) yes = block;
    else no = block;
  }
  return yes;
}

/** A memo without the bytes of the client that wrote it. */
function anonymous(memo) {
  return `${memo.slice(0, 32)}${memo.slice(52)}`.toLowerCase();
}

/** The last block at which the bit is unset and the one after it: back from the top in growing steps, then by halves. */
async function searchUse(bitmapAt, isSet, top) {
  let [by, after] = [top, undefined];
  for (let step = 1; after === undefined; step *= 2) {
    const at = Math.max(0, top.number - step);
    const nonceBitmap = await bitmapAt(at);
    if (!isSet(nonceBitmap)) after = { number: at, nonceBitmap };
    else if (at === 0) return undefined;
    else by = { number: at, nonceBitmap };
  }
  while (by.number - after.number > 1) {
    const at = Math.floor((by.number + after.number) / 2);
    const nonceBitmap = await bitmapAt(at);
    if (isSet(nonceBitmap)) by = { number: at, nonceBitmap };
    else after = { number: at, nonceBitmap };
  }
  const told = ({ number: at, nonceBitmap }) => ({ number: quantity(at), nonceBitmap });
  return { after: told(after), by: told(by) };
}

function hex64(value) {
  return value.toString(16).padStart(64, "0");
}

/** By hash (EIP-1898), so that a reorganisation can't slip in between; by number where that is refused, and looked at again. */
async function stateAt(ask, read, block) {
  try {
    return await ask("eth_call", read, { blockHash: block.hash, requireCanonical: true });
  } catch {
    const state = await ask("eth_call", read, block.number);
    const again = await ask("eth_getBlockByNumber", block.number, false);
    if (again.hash !== block.hash) throw new Error("reorganised");
    return state;
  }
}

/**
 * Logs from `to` backwards to `from`, stretch by stretch, until some are found; null when no width is allowed. The range told is
 * the same whatever the widths were: sources that found the same log agree.
 */
async function searchBack(ask, filter, to, from) {
  let width = 0;
  let end = to;
  for (let calls = 0; calls < LOG_CALLS && end >= from; calls++) {
    const start = Math.max(from, end - WIDTHS[width] + 1);
    let logs;
    try {
      logs = await ask("eth_getLogs", { ...filter, fromBlock: quantity(start), toBlock: quantity(end) });
      if (!Array.isArray(logs)) throw new Error("no list");
    } catch {
      if (++width === WIDTHS.length) return { logs: null };
      continue;
    }
    if (logs.length > 0) return { logs, logsRange: { from: logs[0].blockNumber, to: quantity(to) } };
    end = start - 1;
  }
  return { logs: [], logsRange: { from: quantity(end + 1), to: quantity(to) } };
}

/** Every log between two blocks, stretch by stretch; none told when no width is allowed or they are too many. */
async function searchAll(ask, filter, from, to) {
  const logs = [];
  let width = 0;
  for (let [start, calls] = [from, 0]; start <= to; calls++) {
    if (calls === WHOLE_LOG_CALLS) return {};
    const end = Math.min(to, start + WIDTHS[width] - 1);
    try {
      logs.push(...(await ask("eth_getLogs", { ...filter, fromBlock: quantity(start), toBlock: quantity(end) })));
      start = end + 1;
    } catch {
      if (++width === WIDTHS.length) return {};
    }
  }
  return { logs, logsRange: { from: quantity(from), to: quantity(to) } };
}

/** One call, and what it gives. Rejects when the endpoint does not answer it within the time given, in milliseconds. */
export function ask(rpc, method, params, timeout = 10_000) {
  return request(rpc, method, params, timeout);
}

/** What every source answers, which must be the same; an account without code answers `0x`. */
export async function askContract(rpcs, { to, data }) {
  if (rpcs.length === 0) throw new CounterfoilError("contract_signature", { field: "payload.signature" });
  let answers;
  try {
    answers = await Promise.all(rpcs.map((rpc) => ask(rpc, "eth_call", [{ to, data }, "latest"])));
  } catch (cause) {
    throw new CounterfoilError("evidence_unreadable", { cause });
  }
  if (answers.some((answer) => answer !== answers[0])) throw new CounterfoilError("evidence_unreadable");
  return answers[0];
}

/** One call within the time given. The timer keeps the process alive, which AbortSignal.timeout would not. */
async function request(rpc, method, params, timeout) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`${method} took too long`)), timeout);
  try {
    return await (typeof rpc === "function" ? inTime(rpc(method, params), late.signal) : post(rpc, method, params, late.signal));
  } finally {
    clearTimeout(timer);
  }
}

function inTime(answer, signal) {
  const late = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  return Promise.race([answer, late]);
}

async function post(url, method, params, signal) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    redirect: "error",
    signal,
  });
  const { error, result } = JSON.parse(await bounded(answer));
  if (error || result === undefined) throw new Error(`${method} was refused`);
  return result;
}

async function bounded(answer) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = answer.body.getReader();
  let [text, length] = ["", 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    length += value.length;
    if (length > LARGEST_ANSWER) {
      await reader.cancel();
      throw new Error("the answer is too large");
    }
    text += decoder.decode(value, { stream: true });
  }
}

function word(hex) {
  return `0x${hex.slice(2).toLowerCase().padStart(64, "0")}`;
}

function quantity(value) {
  return `0x${value.toString(16)}`;
}

function number(hex) {
  if (!/^0x[0-9a-f]{1,13}$/i.test(hex)) throw new Error("not a quantity");
  return parseInt(hex, 16);
}
