// Very many purchases: bundles in the form of recorded ones, for how the page bears them. Nothing in them is signed by anybody, so they are for display only.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const recorded = JSON.parse(readFileSync(new URL("../../www/sample/bundle.json", import.meta.url)));
const hex = (text) => `0x${createHash("sha256").update(text).digest("hex")}`;
const AGENTS = ["planner", "scout", "booker", "night-worker", "researcher"];

/** A bundle with so many intents of one attempt each, below one intent for every hundred, as text. Every tenth attempt ended unknown. */
export function many(count) {
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
  return JSON.stringify({ ...recorded, places, intents });
}
