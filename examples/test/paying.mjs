// The payer of an example's worker, which is watched: it says what it does, and stops where it is to be killed.

import pg from "pg";
import { createPayer } from "counterfoil";
import { postgresJournal } from "counterfoil/postgres";
import { watch } from "../../tests/js/crash/points.mjs";

/** What a worker is told by its first argument, and the payer that it runs with. */
export function paying(policy) {
  const o = JSON.parse(process.argv[2]);
  const watched = watch(o);
  globalThis.fetch = watched.fetch;
  const pool = new pg.Pool({ connectionString: o.database, max: 3 });
  pool.on("error", () => {});
  const payer = createPayer({
    signer: watched.signer(process.env.AGENT_KEY),
    secret: new Uint8Array(32).fill(7),
    journal: watched.journalTelling(postgresJournal({ pool })),
    rpc: { "eip155:84532": watched.rpc(o.rpc) },
    policy: policy(o),
    leaseMs: 2000,
  });
  return { o, watched, pool, payer };
}
