// Two workers on one journal in PostgreSQL and one intent. The first dies with the lease of the intent in its hand, or is stopped by a
// signal and goes on when the other has been there. Chain and seller are real; what was paid is counted from the token's own logs.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { postgresJournal } from "counterfoil/postgres";
import { KEYS } from "../../demo/chain.mjs";
import { GOODS, openMarket, several, signedIn } from "../js/crash/market.mjs";
import { assertRow, bookOf, rowsOf } from "../js/crash/rows.mjs";
import { postgres } from "./postgres-server.mjs";

const WORKER = fileURLToPath(new URL("./lease-worker.mjs", import.meta.url));
const server = await postgres();
const config = await server.database();
const pool = new pg.Pool(config);
pool.on("error", () => {});
let market;
let seller;
before(async () => {
  market = await openMarket();
  seller = await market.seller({ keepsAnswers: true });
});
after(async () => {
  await market.close();
  await pool.end();
});

/** A process that is `ready` and buys once it may `begin`; `here` resolves once it has come to its point, `end` with what it told last, once it is gone. */
function worker(t, options) {
  const child = spawn(process.execPath, [WORKER, JSON.stringify({ pool: config, ...options })], { env: { ...process.env, AGENT_KEY: KEYS.payer }, stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  child.stdin.on("error", () => {});
  const said = {};
  const come = {};
  const [ready, here] = ["ready", "here"].map((event) => new Promise((done) => (come[event] = done)));
  const gone = new Promise((done) => child.once("close", done));
  createInterface({ input: child.stdout }).on("line", (line) => {
    const told = JSON.parse(line);
    said[told.event] = told;
    come[told.event]?.(told);
  });
  const end = gone.then(() => (come.ready(), come.here(), said.end));
  return { ready, begin: () => child.stdin.write("begin\n"), here, end, kill: (signal) => child.kill(signal) };
}

/** Runs both workers over one purchase; `kills` says whether the first dies at its point or comes back after the other's end. */
async function meet(t, label, kills) {
  const { intent, signed, url, rpc } = market.purchase(seller.url, label);
  const table = `leases_${intent.replaceAll("-", "_")}`;
  const options = { table, rpc, url, intent, signed };
  const journal = postgresJournal({ pool, table });
  const leaseNow = async () => (await pool.query(`SELECT until > '-infinity' AS held, extract(epoch FROM until)::float8 AS until FROM ${table}_leases WHERE name LIKE 'call/%'`)).rows[0];

  const one = worker(t, { ...options, [kills ? "killAt" : "stopAt"]: label });
  const other = worker(t, options);
  assert.ok((await one.ready) && (await other.ready));
  one.begin();
  assert.equal((await one.here)?.label, label);
  if (kills) {
    one.kill("SIGKILL");
    assert.equal(await one.end, undefined);
  }
  const [before, book, lease] = [signedIn({ signed }), await bookOf(journal), await leaseNow()];
  other.begin();
  const second = await other.end;
  assert.equal(second.answer, GOODS.sha256, JSON.stringify(second.error));
  const after = await bookOf(journal);
  let first;
  if (!kills) {
    one.kill("SIGCONT");
    first = await one.end;
    assert.equal(first.answer, GOODS.sha256, JSON.stringify(first.error));
    assert.deepEqual(await bookOf(journal), after, "the late one has written nothing");
  }
  const all = signedIn({ signed });
  assert.equal((await market.used(all[0].nonce)).length, 1, "one transfer");
  const sent = seller.payments.filter(({ payload }) => payload.authorization.nonce === all[0].nonce);
  assert.equal(new Set(sent.map(({ payload }) => payload.signature)).size, 1, "the same bytes, whoever sends them");
  return { label, keeps: true, goods: GOODS, book, before, after, signed: all, first, second, lease, outcome: after.intent.status };
}

const rows = rowsOf(import.meta.url);
assert.deepEqual(rows.map(({ id }) => id), ["holding-the-lease", "late-before-writing", "late-before-sending"]);
describe("what a worker leaves to another", { concurrency: true }, () => {
  for (const row of rows) {
    test(row.id, async (t) => {
      await several(row.at, async (label) => assertRow(row, await meet(t, label, row.then === "taken_over")));
    });
  }
});
