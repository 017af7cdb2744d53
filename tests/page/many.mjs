// Very many purchases: bundles and journals in the form of recorded ones, for how the page and the command line bear them. Nothing in them is signed by
// anybody, so they are for display only. As a program it writes a journal: node tests/page/many.mjs FILE PAYMENTS [reads]

import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";

const recorded = JSON.parse(readFileSync(new URL("../../www/sample/bundle.json", import.meta.url)));
const hex = (text) => `0x${createHash("sha256").update(text).digest("hex")}`;
const AGENTS = ["planner", "scout", "booker", "night-worker", "researcher"];

/** A bundle with so many intents of one attempt each, below one intent for every hundred, as text. Every tenth attempt ended unknown. */
export function many(count) {
  return JSON.stringify(bundle(count));
}

function bundle(count) {
  const [{ attempts: [attempt], request, quotes, ...rest }] = recorded.intents;
  const settled = (transaction) => Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(attempt.settlement, "base64")), transaction })).toString("base64");
  const { header: _, evidence: __, verdict: ___, transaction: ____, ...signed } = attempt;
  const places = [];
  const intents = [];
  for (let at = 0; at < count; at++) {
    const group = hex(`group ${Math.floor(at / 100)}`);
    const second = rest.createdAt + at * 7;
    if (at % 100 === 0) places.push({ intentId: group, at: second, by: AGENTS[(at / 100) % AGENTS.length], purpose: `Errand ${at / 100}`, budget: "10000000" });
    const intentId = hex(`intent ${at}`);
    const known = at % 10 !== 9;
    intents.push({
      ...rest, intentId, parent: group, createdAt: second, updatedAt: second + 5, purpose: `Report ${at}`, request, quotes: [], status: known ? rest.status : "open", delivery: known ? rest.delivery : undefined,
      attempts: [{
        ...signed, attemptId: `${intentId}/0`, authorization: { ...signed.authorization, nonce: hex(`nonce ${at}`) }, plannedAt: second, signedAt: second + 1, sends: [second + 2],
        paymentId: hex(`id ${at}`).slice(2, 66), settlement: known ? settled(hex(`transaction ${at}`)) : undefined, state: known ? signed.state : "sent",
        observations: known ? [{ ...signed.observations[0], at: second + 4 }] : [{ at: second + 4, code: "outcome_unknown", outcome: "unknown", status: 503 }],
      }],
    });
  }
  return { ...recorded, places, intents };
}

/** RFC 8785 for what stands in these journals: ASCII names, whole numbers. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map((one) => canonical(one)).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.keys(value).filter((name) => value[name] !== undefined).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}

/** The same as the lines of a journal, four commits a purchase, as a payer writes them; with `reads`, what it read from the chain before the last. */
export function* manyLines(count, { reads = false } = {}) {
  const { payer, places, intents } = bundle(count);
  let prev = `0x${"0".repeat(64)}`;
  let seq = 0;
  const commit = (ops) => {
    const body = { ops, prev, seq: (seq += 1), v: 1 };
    prev = hex(`counterfoil/journal/v1\n${canonical(body)}`);
    return `${canonical({ ...body, hash: prev })}\n`;
  };
  yield commit([{ key: `wallet/${payer}`, put: { entries: [], kind: "wallet", places, v: 1 } }]);
  for (const intent of intents) {
    const [{ settlement, signature, observations, ...planned }] = intent.attempts;
    const put = (attempt) => commit([{ key: `intent/${intent.intentId}`, put: { ...intent, quotes: recorded.intents[0].quotes, attempts: [attempt] } }]);
    yield put({ ...planned, sends: [], state: "planned" });
    yield put({ ...planned, signature, sends: [], state: "signed" });
    yield put({ ...planned, signature, state: "sent" });
    const transaction = settlement && JSON.parse(Buffer.from(settlement, "base64")).transaction;
    yield put({ ...planned, signature, settlement, observations, evidence: reads && transaction ? about(planned.authorization.nonce, transaction) : undefined });
  }
}

/** Reads of another payment, as they would stand for this one. */
function about(nonce, transaction) {
  const [{ authorization, evidence, transaction: recordedIn }] = recorded.intents[0].attempts;
  return JSON.parse(JSON.stringify(evidence).replaceAll(authorization.nonce, nonce).replaceAll(recordedIn, transaction));
}

const [, program, file, count, reads] = process.argv;
if (program && import.meta.url === pathToFileURL(program).href) {
  const journal = openSync(file, "w");
  for (const line of manyLines(Number(count), { reads: reads === "reads" })) writeSync(journal, line);
  closeSync(journal);
}
