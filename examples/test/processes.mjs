// Processes that are killed, and what the chain says of a purchase afterwards.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { KEYS } from "../../demo/chain.mjs";
import { REPORT } from "../../demo/seller.mjs";
import { signedIn } from "../../tests/js/crash/market.mjs";

export const everything = Boolean(process.env.COUNTERFOIL_ALL);
const LONGEST = 120_000; // ms, of one process

/** Runs `script` to its end, or to the point at which it says that it is to be killed: then it is, by a signal that can't be caught. */
export async function run(script, options) {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify(options)], { env: { ...process.env, AGENT_KEY: KEYS.payer }, stdio: ["ignore", "pipe", "pipe"] });
  const late = setTimeout(() => child.kill("SIGKILL"), LONGEST);
  const said = {};
  let errors = "";
  child.stderr.on("data", (chunk) => (errors += chunk));
  const exit = new Promise((done) => child.once("close", (code, signal) => done(signal ?? code)));
  for await (const line of createInterface({ input: child.stdout })) {
    const told = JSON.parse(line);
    said[told.event] = told;
    if (told.event === "here") child.kill("SIGKILL");
  }
  const ended = await exit;
  clearTimeout(late);
  if (said.here) assert.equal(ended, "SIGKILL", `the kill at ${said.here.label} came too late`);
  else assert.ok(said.end, `the process ended with ${ended}: ${errors.slice(0, 2000)}`);
  return { killedAt: said.here?.label, end: said.end };
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
