// What the chain knows of a payer whose journal is new or lost, read page by page and written down as each one is judged.

import { call } from "./boundary.mjs";
import { CounterfoilError } from "./errors.mjs";
import { historyTop, readHistory } from "./rpc.mjs";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Blocks of one page; halved where an endpoint refuses so many. */
const WIDTH = 10_000;
/** Between two pages, so that a public endpoint is not overrun. */
const PAUSE_MS = 100;
/** Other workers may write the wallet in between so often. */
const TRIES = 32;

/** The payer's own intents, and how each stands: others may share the journal. */
export async function* intentsOf({ config, journal }) {
  for await (const { key, value } of journal.scan("intent/")) {
    const record = decoder.decode(value);
    const told = call("intentStanding", { record, payer: config.payer });
    if (told.standing !== "another") yield { intentId: key.slice("intent/".length), record, ...told };
  }
}

/** Whether this journal has nothing to know the payer's past by: no intent, and no history that was read. */
export async function isNew(host) {
  for await (const _ of host.journal.scan(`history/${call("rawChecksumAddress", { address: host.config.payer })}/`)) return false;
  for await (const _ of intentsOf(host)) return false;
  return true;
}

/**
 * Reads from `fromBlock` to `toBlock`, the finalized block when absent. Each page is durable before the next one is read: one that was broken off is called again,
 * from the block after its last page. Errors: `missing_field`, `invalid_type`, `evidence_unreadable`, `journal_conflict`, those of the journal.
 */
export async function recover(host, { network, asset, fromBlock, toBlock, width = WIDTH, pauseMs = PAUSE_MS }) {
  for (const [field, value] of Object.entries({ network, asset, fromBlock })) {
    if (value === undefined) throw new CounterfoilError("missing_field", { field });
  }
  for (const [field, value, least] of [["fromBlock", fromBlock, 0], ["toBlock", toBlock ?? fromBlock, fromBlock], ["width", width, 1], ["pauseMs", pauseMs, 0]]) {
    if (!(Number.isSafeInteger(value) && value >= least)) throw new CounterfoilError("invalid_type", { field });
  }
  const { config } = host;
  const keys = call("historyKeys", { config, network, asset });
  const rpcs = host.sources(network);
  if (rpcs.length === 0) throw new CounterfoilError("missing_field", { field: "rpc" });
  const top = await historyTop(rpcs);
  if (top === undefined) throw new CounterfoilError("evidence_unreadable", { field: "rpc" });
  const last = Math.min(toBlock ?? top, top);
  const total = { network, asset, from: fromBlock, to: last, used: 0, cancelled: 0, unknown: 0, spent: 0n };
  const permits = (transactions) => call("historyPermits", { config, network, asset, transactions });
  for (let from = fromBlock, span = width; from <= last; ) {
    const to = Math.min(last, from + span - 1);
    const evidence = await readHistory(rpcs, { asset, payer: config.payer, from, to, permits });
    if (evidence === undefined && span > 1) {
      span = Math.max(1, Math.floor(span / 2));
      continue;
    }
    const { used, cancelled, unknown = 0, spent } = await writeDown(host, { network, asset, keys, evidence: evidence ?? [] });
    total.used += used;
    total.cancelled += cancelled;
    total.unknown += unknown;
    total.spent += BigInt(spent);
    from = to + 1;
    if (from <= last) await new Promise((done) => setTimeout(done, pauseMs));
  }
  return { ...total, spent: total.spent.toString() };
}

async function writeDown(host, { network, asset, keys, evidence }) {
  const { config, clock, journal } = host;
  for (let tries = 0; tries < TRIES; tries++) {
    const records = [];
    for (const key of [keys.wallet, keys.history]) {
      const entry = await journal.read(key);
      if (entry) records.push({ key, rev: entry.rev, text: decoder.decode(entry.value) });
    }
    // Read after the wallet: what an intent begins in between moves the wallet, and this write then meets a conflict.
    const known = await knownWords(host, keys);
    const { ops, ...told } = call("historyPage", { config, now: clock(), network, asset, evidence, records, known });
    const { ok } = await journal.commit(ops.map(({ put, ...op }) => ({ ...op, put: encoder.encode(put) })));
    if (ok) return told;
  }
  throw new CounterfoilError("journal_conflict");
}

async function knownWords(host, keys) {
  const known = [];
  for await (const { key } of host.journal.scan(keys.recovered)) known.push(key.slice(keys.recovered.length));
  for await (const { record, standing } of intentsOf(host)) {
    // What one that can't be read has paid counts twice, if at all.
    if (standing !== "unreadable") known.push(...call("knownToIntent", { record }));
  }
  return known;
}
