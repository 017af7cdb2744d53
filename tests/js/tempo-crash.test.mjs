// A buyer on Tempo is killed at every commit and at every effect of a purchase, once each, by SIGKILL, and started again. Nothing on the chain
// keeps one purchase from being paid by two transactions: only what was written down before does.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runKilled } from "./crash/killed.mjs";
import { REALM, SECRET, serve } from "./mpp-service.mjs";
import { Mppx, TOKEN, startTempo, tempo } from "./tempo-chain.mjs";

const AGENT = fileURLToPath(new URL("./crash/tempo-agent.mjs", import.meta.url));
const everything = Boolean(process.env.COUNTERFOIL_ALL);
const home = mkdtempSync(join(tmpdir(), "counterfoil-tempo-crash-"));
const stops = [];
let chain;
let runs = 0;

before(async () => {
  chain = await startTempo();
});
after(() => {
  for (const stop of stops) stop();
  chain?.stop();
  rmSync(home, { recursive: true, force: true });
});

/** One purchase from a service and with a journal of its own: killed there, and gone on with. */
async function purchase(killAt) {
  const n = (runs += 1);
  const payTo = `0x${createHash("sha256").update(`tempo crash ${n}`).digest("hex").slice(0, 40)}`;
  const seller = { credentials: [], asked: 0 };
  const method = tempo.charge({ currency: TOKEN, recipient: payTo, testnet: true, getClient: () => chain.client });
  const handle = Mppx.create({ methods: [method], secretKey: SECRET, realm: REALM }).charge({ amount: "0.01" });
  const { url, stop } = await serve(seller, handle, { clock: () => Math.floor(Date.now() / 1000) });
  stops.push(stop);
  const options = { url, rpc: chain.url, intent: `killed-on-tempo-${String(n).padStart(8, "0")}`, journal: join(home, `${n}.jsonl`) };
  const first = await runKilled(AGENT, { ...options, killAt }, `killed at ${killAt}`);
  if (killAt === undefined) return { ...first, transfers: await chain.paid(payTo), seller };
  assert.ok(first.killedAt, `nobody was killed at ${killAt}`);
  const second = await runKilled(AGENT, options, `after ${first.killedAt}`);
  return { killedAt: first.killedAt, end: second.end, transfers: await chain.paid(payTo), seller };
}

test("killed at every point of a purchase: one transfer, and never a second signature for what may land", async (t) => {
  const whole = await purchase();
  assert.deepEqual([whole.end.answer, whole.transfers.length], ["the report", 1]);
  const { points } = whole.end;
  for (const name of ["commit 1", "sign 1", "commit 2", "send paid 1", "commit 3"]) {
    for (const side of ["before", "after"]) assert.ok(points.includes(`${name} ${side}`), `${name} ${side}: ${points}`);
  }
  const sent = points.indexOf("send paid 1 before");
  const paid = points.indexOf("send paid 1 after");
  const always = ["sign 1 after", "commit 2 before", "commit 2 after", "send paid 1 before", "send paid 1 after", "commit 3 before", "commit 3 after"];
  const chosen = points.filter((label, i) => everything || always.includes(label) || i === 0);
  const outcomes = {};
  for (const label of chosen) {
    const { killedAt, end, transfers, seller } = await purchase(label);
    assert.equal(killedAt, label);
    assert.equal(transfers.length, 1, label);
    // The same bytes, whoever sent them.
    assert.equal(new Set(seller.credentials).size, 1, label);
    const [{ status, attempts }] = end.intents;
    const at = points.indexOf(label);
    const durable = at >= points.indexOf("commit 2 after");
    assert.equal(end.signed, durable ? 0 : 1, `${label}: what was written down is not signed again`);
    assert.equal(attempts.length, 1, label);
    // This service keeps no answers: what it settled before the kill is paid, and the claim is held.
    const outcome = end.answer === undefined ? end.code : "delivered";
    if (at <= sent) assert.deepEqual([outcome, status], ["delivered", "delivered"], label);
    else if (at >= paid) assert.ok(["paid_not_delivered", "delivered"].includes(outcome), `${label}: ${outcome}`);
    if (outcome !== "delivered") assert.equal(end.money, "proven", label);
    outcomes[label] = outcome;
  }
  t.diagnostic(`${chosen.length} of ${points.length} points: ${JSON.stringify(outcomes)}`);
});
