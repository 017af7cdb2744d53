// Eight processes spend from one wallet through one journal in PostgreSQL, under one cap. Some answers never come, and two of the processes are killed with a payment
// under way: what was signed, by whomever, never passes the cap, and what is left of it is used to the last unit.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { postgresJournal } from "counterfoil/postgres";
import { OFFER, PAYER, priced, shop, sold } from "../js/payer-stage.mjs";
import { postgres } from "./postgres-server.mjs";

const WORKER = fileURLToPath(new URL("./cap-worker.mjs", import.meta.url));
const PROCESSES = 8;
const CALLS = ["plain1", "lost1", "plain2", "plain3"];
/** Of 32 purchases so many fit. */
const FIT = 20;
const CAP = String(FIT * Number(OFFER.amount));

const server = await postgres();

test("eight processes never pass the cap of their wallet", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-cap-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const config = await server.database();
  const signed = join(folder, "signed");
  const children = new Map();
  const killed = new Set();
  const seller = await shop(t, (req, res, payment) => {
    if (!payment) return priced(res);
    const asked = new URL(req.url, "http://seller.test").searchParams;
    const worker = Number(asked.get("worker"));
    // The first two die with their second payment under way.
    if (worker < 2 && asked.get("call") === "lost1") {
      killed.add(worker);
      children.get(worker).kill("SIGKILL");
    }
    return asked.get("call").startsWith("lost") ? res.destroy() : sold(res, payment);
  });
  const ready = [];
  const done = [];
  for (let worker = 0; worker < PROCESSES; worker += 1) {
    const child = fork(WORKER, [JSON.stringify({ pool: config, table: "one_cap", url: seller.url, signed, cap: CAP, worker, calls: CALLS })]);
    t.after(() => child.kill("SIGKILL"));
    children.set(worker, child);
    let told;
    ready.push(new Promise((come) => child.on("message", (message) => (message.ready ? come() : (told = message)))));
    done.push(new Promise((end) => child.once("close", () => end(told?.ends))));
  }
  await Promise.all(ready);
  for (const child of children.values()) child.send("begin");
  const ends = await Promise.all(done);

  const nonces = new Set(readFileSync(signed, "utf8").trim().split("\n"));
  assert.ok(nonces.size <= FIT, `${nonces.size} were signed`);
  const seen = new Set(seller.payments.map(({ payload }) => payload.authorization.nonce));
  assert.ok([...seen].every((nonce) => nonces.has(nonce)));
  const pool = new pg.Pool(config);
  const journal = postgresJournal({ pool, table: "one_cap" });
  const entry = await journal.read(`wallet/${PAYER}`);
  const { entries } = JSON.parse(new TextDecoder().decode(entry.value));
  await pool.end();
  const sum = entries.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  assert.equal(sum, BigInt(CAP), "held, unknown and settled together are the cap");
  assert.equal(new Set(entries.map(({ id }) => id)).size, FIT);

  assert.deepEqual([...killed].filter((worker) => ends[worker] !== undefined), [], "a killed one told its end");
  const all = ends.flatMap((one) => one ?? []);
  const counted = Object.fromEntries([...new Set(all)].map((end) => [end, all.filter((one) => one === end).length]));
  t.diagnostic(JSON.stringify({ killed: killed.size, signed: nonces.size, settled: entries.filter(({ state }) => state === "settled").length, ends: counted }));
  assert.ok(counted.over_wallet_cap > 0 && counted["the report"] > 0);
  const known = ["over_wallet_cap", "the report", "outcome_unknown"];
  assert.deepEqual(Object.keys(counted).filter((end) => !known.includes(end)), []);
  // Whoever was refused was so while the rest of the cap was in others' hands.
  assert.ok(entries.some(({ state }) => state === "reserved"), "nothing is unknown");
});
