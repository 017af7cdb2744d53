// One of several workers on one journal in PostgreSQL: buys once, and can be killed or stopped at one exact point on the way.
//   node lease-worker.mjs '{"pool","table","rpc","url","intent","signed", "killAt"?, "stopAt"?}'
// Begins when it is told to, by a line on standard input: a process takes its time to start.

import { createHash } from "node:crypto";
import { once } from "node:events";
import pg from "pg";
import { createPayer } from "counterfoil";
import { postgresJournal } from "counterfoil/postgres";
import { say, watch } from "../js/crash/points.mjs";

const o = JSON.parse(process.argv[2]);
const watched = watch(o);
globalThis.fetch = watched.fetch;
const pool = new pg.Pool({ ...o.pool, max: 3 });
pool.on("error", () => {});
const journal = postgresJournal({ pool, table: o.table });
// When this worker first had the lease, by the database's clock.
let tookAt;
const { lease } = journal;
journal.lease = async (...asked) => {
  const held = await lease(...asked);
  if (held) tookAt ??= (await pool.query("SELECT extract(epoch FROM clock_timestamp())::float8 AS now")).rows[0].now;
  return held;
};
const payer = createPayer({
  signer: watched.signer(process.env.AGENT_KEY),
  secret: createHash("sha256").update("lease test").digest(),
  journal: watched.journal(journal),
  rpc: { "eip155:84532": watched.rpc(o.rpc) },
  policy: { perCall: "20000", maxWindow: 300 },
  leaseMs: 3000,
});
say({ event: "ready" });
await once(process.stdin, "data");
let answer;
let error;
for (let tries = 0; tries < 20 && !answer; tries += 1) {
  try {
    const response = await payer.fetch(o.url, { intent: { id: o.intent } });
    answer = createHash("sha256").update(Buffer.from(await response.arrayBuffer())).digest("hex");
  } catch (thrown) {
    error = { code: thrown.code, money: thrown.money, next: thrown.next, message: String(thrown) };
    await new Promise((done) => setTimeout(done, 500));
  }
}
say({ event: "end", answer, error, tookAt, points: watched.points });
process.exit(0);
