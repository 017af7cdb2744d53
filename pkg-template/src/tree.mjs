// What is written into a payer's wallet record without a purchase: intents that others buy under, and a person's signed answers.

import { call, object } from "./boundary.mjs";
import { CounterfoilError } from "./errors.mjs";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Other workers may write the wallet in between so often. */
const TRIES = 32;

/** Writes an intent down; gives its id. */
export async function intend(host, intent) {
  const { intentId } = await write(host, "clientIntend", { start: { mode: "fetch", intent } });
  return intentId;
}

/** Writes a signed approval down. */
export async function approve(host, approval) {
  await write(host, "clientAccept", { approval: object(approval, "approval") });
}

/** Writes a signed refusal down. */
export async function refuse(host, refusal) {
  await write(host, "clientRefuse", { refusal: object(refusal, "refusal") });
}

/** The wallet's record as it stands, as text; undefined before there is one. */
export async function walletOf({ config, journal }) {
  const entry = await journal.read(keyOf(config));
  return entry && decoder.decode(entry.value);
}

const keyOf = ({ payer }) => `wallet/${call("rawChecksumAddress", { address: payer })}`;

async function write({ config, clock, journal }, name, params) {
  const key = keyOf(config);
  for (let tries = 0; tries < TRIES; tries++) {
    const entry = await journal.read(key);
    const wallet = entry && { key, rev: entry.rev, text: decoder.decode(entry.value) };
    const { ops, ...told } = call(name, { config, now: clock(), wallet, ...params });
    if (ops === undefined) return told;
    const { ok } = await journal.commit(ops.map(({ put, ...op }) => ({ ...op, put: encoder.encode(put) })));
    if (ok) return told;
  }
  throw new CounterfoilError("journal_conflict");
}
