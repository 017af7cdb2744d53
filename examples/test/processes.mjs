// Processes that are killed, and what the chain says of a purchase afterwards.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { REPORT } from "../../demo/seller.mjs";
import { runKilled } from "../../tests/js/crash/killed.mjs";
import { signedIn } from "../../tests/js/crash/market.mjs";

export const everything = Boolean(process.env.COUNTERFOIL_ALL);

/** Runs `script` to its end, or to the point at which it is killed. */
export function run(script, options) {
  return runKilled(fileURLToPath(new URL(script, import.meta.url)), options, script);
}

/** The report that was sold, as a result carries it. */
export const goods = { status: 200, bytes: Buffer.byteLength(REPORT), sha256: createHash("sha256").update(REPORT).digest("hex"), body: REPORT };

/** Whatever was signed is for one nonce and is one text, and that nonce moved money once. */
export async function paidOnce(market, purchase, about) {
  const signed = signedIn(purchase);
  assert.ok(signed.length > 0, about);
  assert.equal(new Set(signed.map(({ digest }) => digest)).size, 1, about);
  assert.equal((await market.used(signed[0].nonce)).length, 1, about);
}
