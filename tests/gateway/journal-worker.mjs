// node journal-worker.mjs '{"pool","table","killAt"?}': moves three keys on together, under a lease. Killed by itself, at once and
// without a word to the server, at statement `killAt`; otherwise it tells how many statements there were.

import pg from "pg";
import { postgresJournal } from "counterfoil/postgres";
import { writeSync } from "node:fs";

const { pool: config, table, killAt } = JSON.parse(process.argv[2]);
const pool = new pg.Pool(config);
const points = [];
function hook(at) {
  points.push(at);
  if (points.length === killAt) process.kill(process.pid, "SIGKILL");
}
const journal = postgresJournal({ pool, table, hook });
const lease = await journal.lease("worker", 60_000);
const value = new TextEncoder().encode("new");
const ops = [];
for (const key of ["a", "b"]) ops.push({ key, expect: (await journal.read(key)).rev, put: value });
ops.push({ key: "c", expect: "absent", put: value }, { key: "d", expect: (await journal.read("d")).rev, put: null });
const { ok } = await journal.commit(ops, { lease: "worker", token: lease.token });
if (ok) writeSync(1, "acknowledged\n");
await lease.release();
writeSync(1, `${JSON.stringify(points)}\n`);
await pool.end();
