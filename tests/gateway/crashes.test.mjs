// The seller's process dies with SIGKILL in the middle of a sale, and another one goes on over the same rows.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { startChain } from "../../demo/chain.mjs";
import { problemOf } from "./scene.mjs";
import { challenge, funded, pay, randomId, send, transfers } from "./shop.mjs";

let chain;
before(async () => { chain = await startChain(); });
after(() => chain.stop());

const LEASE = 3;

/** A shop in a process of its own: `said(line)` resolves once it has said so, `kill()` once it is gone. */
function startWorker(t, settings) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("shop-worker.mjs", import.meta.url)), JSON.stringify({ url: chain.url, lease: LEASE, ...settings })], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = [];
  const waiting = [];
  let text = "";
  child.stdout.on("data", (chunk) => {
    const parts = (text += chunk).split("\n");
    text = parts.pop();
    lines.push(...parts);
    for (const one of waiting.splice(0)) one();
  });
  const closed = new Promise((done) => child.once("close", () => { for (const one of waiting.splice(0)) one(); done(); }));
  const kill = () => { child.kill("SIGKILL"); return closed; };
  t.after(kill);
  const said = async (wanted) => {
    for (;;) {
      const found = lines.find((line) => line.startsWith(wanted));
      if (found) return found;
      if (child.exitCode !== null || child.signalCode) throw new Error(`the shop ended before it said ${wanted}`);
      await new Promise((done) => waiting.push(done));
    }
  };
  return { said, kill, lines };
}

/** A sale in hand of a shop that is killed at `stay`, and a second shop at the same address over the same rows. */
async function killed(t, stay, { call } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "counterfoil-crash-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "rows.db");
  const first = startWorker(t, { file, port: 0, stay, call });
  const shop = await first.said("http");
  const url = `${shop}/report`;
  const buyer = await funded(chain);
  const price = await challenge(url);
  const id = randomId();
  const payment = await pay(buyer, price, { id });
  const lost = send(url, payment).then(() => assert.fail("it was answered"), (error) => error);
  await first.said(stay);
  await first.kill();
  await lost;
  const second = startWorker(t, { file, port: Number(new URL(url).port), call });
  await second.said("http");
  return { url, shop, buyer, price, id, payment, second, fresh: (how) => pay(buyer, price, { id, ...how }) };
}

/** Asks until it is answered otherwise than "in flight", as the answer says. */
async function patiently(ask) {
  for (let waits = 0; waits < 2 * LEASE; waits++) {
    const answer = await ask();
    if (answer.status !== 409) return { answer };
    const problem = await problemOf(answer);
    assert.deepEqual([problem.code, problem.next], ["payment_in_flight", "wait"]);
    await new Promise((done) => setTimeout(done, problem.retryAfter * 1000));
  }
  throw new Error("in flight for ever");
}

for (const stay of ["handler", "settling", "settled"]) {
  test(`"if the process dies outright, the id stays in flight": killed at ${stay}, the next caller gets its answer within the lease, and pays once`, async (t) => {
    const { url, buyer, fresh, payment } = await killed(t, stay);
    // A fresh signature is what most clients come back with.
    const again = await fresh();
    const { answer } = await patiently(() => send(url, again));
    assert.equal(answer.status, 200);
    const { made } = await answer.json();
    assert.equal(typeof made, "number");
    assert.equal(await transfers(chain, buyer.address), 1);
    assert.deepEqual(await (await send(url, payment)).json(), { made });
    assert.equal(await transfers(chain, buyer.address), 1);
  });
}

test("\"settles the order by payer and nonce\": the same payment under another id finds the sale that died, and does not clear it", async (t) => {
  const { url, buyer, payment } = await killed(t, "settled");
  await new Promise((done) => setTimeout(done, (LEASE + 1) * 1000));
  const renamed = structuredClone(payment.payment);
  renamed.extensions["payment-identifier"].info.id = randomId();
  const stranger = await problemOf(await send(url, { header: Buffer.from(JSON.stringify(renamed)).toString("base64") }));
  assert.equal(stranger.code, "payment_identifier_conflict");
  const { answer } = await patiently(() => send(url, payment));
  assert.equal(answer.status, 200);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("\"keying reconcile by the same key closes the loop\": a keyed call without an id of its own is found by its call", async (t) => {
  const call = { tool: "report", args: {} };
  for (const stay of ["handler", "settled"]) {
    const { url, buyer, price } = await killed(t, stay, { call });
    // Another signature, and no id at all.
    const again = await pay(buyer, price);
    const { answer } = await patiently(() => send(url, again));
    assert.equal(answer.status, 200, stay);
    assert.equal(await transfers(chain, buyer.address), 1, stay);
  }
});

test("several callers find a dead worker at once: one works, the others wait, one transfer", async (t) => {
  const { url, buyer, fresh } = await killed(t, "handler");
  await new Promise((done) => setTimeout(done, (LEASE + 1) * 1000));
  const all = await Promise.all(Array.from({ length: 4 }, async () => {
    const mine = await fresh();
    return patiently(() => send(url, mine));
  }));
  const texts = new Set(await Promise.all(all.map(({ answer }) => answer.text())));
  assert.equal(texts.size, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});
