// Eight processes pay from one key through one journal in PostgreSQL. The chain is real, the seller is the official one, and what
// was paid is counted from the token's own logs. Where they are killed at random, answers are lost and sources fail as well.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { postgresJournal } from "counterfoil/postgres";
import { KEYS, USDC, startChain } from "../../demo/chain.mjs";
import { FAULTS } from "../../demo/faults.mjs";
import { REPORT, startSeller } from "../../demo/seller.mjs";
import { postgres } from "./postgres-server.mjs";

const everything = Boolean(process.env.COUNTERFOIL_ALL);
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"; // Transfer(address,address,uint256)
const USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"; // AuthorizationUsed(address,bytes32)
const file = fileURLToPath(new URL("./paying-worker.mjs", import.meta.url));
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const reportSha256 = createHash("sha256").update(REPORT).digest("hex");

const server = await postgres();
const config = await server.database();
const pool = new pg.Pool(config);
pool.on("error", () => {});
const chain = await startChain();
const stopping = [];
after(async () => {
  for (const stop of stopping) stop();
  chain.stop();
  await pool.end();
});

let places = 0;
/** A seller and a table of their own. */
async function market({ leaseMs, fault, rpc = chain.url } = {}) {
  const n = ++places;
  const payTo = `0x${createHash("sha256").update(`workers ${n}`).digest("hex").slice(0, 40)}`;
  const seller = await startSeller({ chain, payTo, keepsAnswers: true, fault });
  stopping.push(seller.stop);
  const table = `workers_${n}`;
  const journal = postgresJournal({ pool, table });

  /** A process, ready when it has settled what was left open. `buy(id)` gives what it tells, or undefined when it dies before. */
  function worker() {
    const argument = JSON.stringify({ pool: config, table, rpc, url: seller.url, leaseMs });
    const child = fork(file, [argument], { env: { ...process.env, WORKER_KEY: KEYS.payer } });
    stopping.push(() => child.kill("SIGKILL"));
    const waiting = new Map();
    let ready;
    const started = new Promise((done) => (ready = done));
    const gone = once(child, "exit").then(() => {
      ready(undefined);
      for (const done of waiting.values()) done(undefined);
    });
    child.on("message", (message) => (message.resumed ? ready(message.resumed) : waiting.get(message.id)(message)));
    return {
      started,
      gone,
      buy: (id) => new Promise((done) => {
        if (child.exitCode !== null || child.signalCode !== null || !child.connected) return done(undefined);
        waiting.set(id, done);
        child.send({ id }, () => {});
      }),
      kill: () => child.kill("SIGKILL"),
    };
  }

  const word = `0x${payTo.slice(2).padStart(64, "0")}`;
  const logs = (topics) => chain.rpc("eth_getLogs", [{ address: USDC, topics, fromBlock: "0x0", toBlock: "latest" }]);
  /** The nonce of each transfer that reached the seller. */
  async function paid() {
    const used = new Map((await logs([USED])).map(({ transactionHash, topics }) => [transactionHash, topics[2]]));
    return (await logs([TRANSFER, null, word])).map(({ transactionHash }) => used.get(transactionHash));
  }

  async function intents() {
    const found = [];
    for await (const { value } of journal.scan("intent/")) found.push(JSON.parse(new TextDecoder().decode(value)));
    return found;
  }

  /** Every transfer belongs to one intent, every intent has one, and whoever paid has the answer. */
  async function books(expected) {
    const records = await intents();
    const nonces = await paid();
    assert.equal(records.length, expected);
    assert.equal(nonces.length, expected, "one transfer for each intent");
    assert.equal(new Set(nonces).size, expected);
    for (const { intentId, status, attempts } of records) {
      const own = new Set(attempts.map(({ authorization }) => authorization.nonce));
      assert.equal(own.size, 1, "one nonce for each intent");
      assert.equal(nonces.filter((nonce) => own.has(nonce)).length, 1);
      assert.equal(status, "delivered", intentId);
      for (const { state, settlement } of attempts) assert.ok(state !== "sent" || settlement, `an attempt without an end: ${state}`);
      const signatures = seller.payments.filter(({ payload }) => own.has(payload.authorization.nonce)).map(({ payload }) => payload.signature);
      assert.equal(new Set(signatures).size, 1, "one signature for each intent");
    }
    const unknown = seller.payments.filter(({ payload }) => !records.some(({ attempts }) => attempts.some(({ authorization }) => authorization.nonce === payload.authorization.nonce)));
    assert.deepEqual(unknown, [], "nothing was sent that is not written down");
    return records;
  }

  // On one chain the same payer's same id is the same nonce, whatever the journal: each market has ids of its own.
  const name = (i) => `order-${n}-of-the-workers-${String(i).padStart(6, "0")}`;
  return { seller, worker, books, intents, name };
}

/** Buys until the answer is there, as an agent does. Undefined when the worker died. */
async function bought(worker, id) {
  let told;
  for (let tries = 0; tries < 60; tries++) {
    told = await worker.buy(id);
    if (!told || told.sha256) return told;
    await wait(200);
  }
  assert.fail(JSON.stringify(told));
}

test("eight processes, one intent, at once: one transfer, and eight times the answer", async () => {
  const { seller, worker, books, name } = await market();
  const workers = Array.from({ length: 8 }, worker);
  await Promise.all(workers.map(({ started }) => started));
  const told = await Promise.all(workers.map((worker) => bought(worker, name(1))));
  assert.deepEqual(told.map(({ sha256 }) => sha256), told.map(() => reportSha256));
  assert.equal(told.filter(({ replayed }) => !replayed).length, 1, "one bought it, the others had what it bought");
  assert.equal(seller.payments.length, 1, "sent once");
  await books(1);
  for (const { kill } of workers) kill();
});

test("eight processes, eight intents, at once: eight transfers", async () => {
  const { seller, worker, books, name } = await market();
  const workers = Array.from({ length: 8 }, worker);
  await Promise.all(workers.map(({ started }) => started));
  const told = await Promise.all(workers.map((worker, n) => bought(worker, name(n))));
  assert.deepEqual(told.map(({ sha256 }) => sha256), told.map(() => reportSha256));
  assert.equal(seller.payments.length, 8);
  await books(8);
  for (const { kill } of workers) kill();
});

/** Numbers in [0, 1), the same for the same seed. */
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What goes wrong beside the kills, until it is calm: each kind, and how often it struck. */
function weather(draw) {
  const struck = {};
  const sky = { calm: false, struck };
  const strikes = (kind, chance) => !sky.calm && draw() < chance && (struck[kind] = (struck[kind] ?? 0) + 1);
  const refusal = { status: 503, headers: { "content-type": "text/plain" }, body: Buffer.from("Busy, try later") };
  FAULTS.weather = () => ({
    settle: async (run) => {
      const result = await run();
      if (result.success && strikes("facilitator dies", 0.06)) throw new Error("socket hang up");
      return result;
    },
    before: async () => (strikes("refused unseen", 0.06) ? refusal : undefined),
    after: async (answer, res, seller) => {
      if (answer.status !== 200) return false;
      if (strikes("answer cut", 0.1)) return res.socket.destroy(), true;
      if (strikes("answer 500", 0.05)) return seller.write(res, { ...refusal, status: 500 }), true;
      if (strikes("second 402", 0.05)) return seller.write(res, await seller.challenge()), true;
      return false;
    },
  });
  return Object.assign(sky, { strikes });
}

/** A source that fails, or has no logs, beside the true one: the two have to agree. */
async function badSource({ strikes }) {
  const server = http.createServer(async (req, res) => {
    const parts = [];
    for await (const part of req) parts.push(part);
    const body = Buffer.concat(parts);
    if (strikes("source down", 0.04)) return res.writeHead(503).end();
    const answer = await fetch(chain.url, { method: "POST", headers: { "content-type": "application/json" }, body });
    const told = await answer.json();
    if (JSON.parse(body).method === "eth_getLogs" && strikes("no logs", 0.08)) told.result = [];
    res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(told));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  stopping.push(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${server.address().port}`;
}

test("eight processes killed at random: no intent pays twice, no payment is lost, every attempt ends", { timeout: 900_000 }, async (t) => {
  const seed = Number(process.env.COUNTERFOIL_SEED ?? Date.now() % 1_000_000);
  t.diagnostic(`seed ${seed}`);
  const draw = random(seed);
  const sky = weather(random(seed + 1));
  const rpc = [chain.url, await badSource(sky)];
  const { worker, books, intents, name, seller } = await market({ leaseMs: 2000, fault: "weather", rpc });
  const counts = { processes: 0, kills: 0, answers: 0 };
  const open = []; // begun, and nobody has had the answer yet
  const ids = new Set([name(0)]);
  const living = new Set();
  // Where one purchase takes long, eight at once take longer: nobody is killed faster than anything can happen.
  const begun = Date.now();
  const scout = worker();
  await scout.started;
  await bought(scout, name(0));
  scout.kill();
  const pace = Date.now() - begun;
  const end = Date.now() + (everything ? 300_000 : 30_000);

  /** A new purchase, or one that another is at or that a dead one left. */
  function chosen() {
    if (open.length > 0 && draw() < 0.4) return open[Math.floor(draw() * open.length)];
    const id = name(ids.size);
    ids.add(id);
    open.push(id);
    return id;
  }

  async function slot() {
    while (Date.now() < end) {
      const process = worker();
      counts.processes += 1;
      // Some die while they settle what was left to them; most are let begin.
      if (draw() < 0.3) living.add(process);
      if ((await process.started) !== undefined) living.add(process);
      for (let alive = true; alive && Date.now() < end; ) {
        const id = chosen();
        const told = await bought(process, id);
        alive = told !== undefined;
        if (!alive) break;
        assert.equal(told.sha256, reportSha256);
        counts.answers += 1;
        if (open.includes(id)) open.splice(open.indexOf(id), 1);
      }
      living.delete(process);
      process.kill();
    }
  }

  async function killer() {
    while (Date.now() < end) {
      const chance = draw();
      await wait(Math.max(100 + chance * 900, pace * chance * 2));
      const victims = [...living];
      const victim = victims[Math.floor(draw() * victims.length)];
      if (!victim) continue;
      living.delete(victim);
      victim.kill();
      counts.kills += 1;
      await victim.gone;
    }
  }

  await Promise.all([...Array.from({ length: 8 }, slot), killer()]);

  sky.calm = true;
  // One more worker settles what was left: what was sent has its end before anything is bought again.
  const last = worker();
  const resumed = await last.started;
  for (const { outcome } of resumed) assert.ok(["delivered", "planned", "unpaid"].includes(outcome), outcome);
  for (const { intentId, attempts, status } of await intents()) {
    assert.ok(status === "delivered" || attempts.every(({ signature }) => signature === undefined), intentId);
  }
  for (const id of ids) assert.equal((await bought(last, id)).sha256, reportSha256);
  last.kill();
  const records = await books(ids.size);
  assert.equal((await intents()).length, records.length);
  assert.ok(counts.kills > 0 && counts.answers > 0);
  t.diagnostic(`faults: ${Object.entries(sky.struck).map(([kind, times]) => `${kind} ${times}`).join(", ")}`);
  t.diagnostic(`${counts.processes} processes, ${counts.kills} kills, ${ids.size} intents, ${records.length} transfers, ${seller.payments.length} sends, ${counts.answers} answers`);
});
