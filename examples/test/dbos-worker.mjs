// A process that runs the DBOS example, can be killed at one point, and tells at its end what the workflow gave.
//   node dbos-worker.mjs '{"database","order","url","rpc","signed", "maxWindow"?, "killAt"?}'

import { DBOS } from "@dbos-inc/dbos-sdk";
import pg from "pg";
import { createPayer } from "counterfoil";
import { postgresJournal } from "counterfoil/postgres";
import { say, watch } from "../../tests/js/crash/points.mjs";
import { registerPurchase } from "../dbos/purchase.mjs";

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
  // On a slow computer several short windows may pass.
  policy: { perCall: "20000", maxWindow: o.maxWindow ?? 300, attempts: 20 },
  leaseMs: 2000,
});

const logged = [];
const note = (line) => {
  if (!String(line).includes("carried")) return;
  logged.push(String(line));
  watched.point("step recorded");
};
const purchase = registerPurchase(payer);
// For each purchase a version of its own: what one process leaves, only its successor takes up.
const logger = { debug() {}, info: note, warn() {}, error: (line) => console.error(line) };
DBOS.setConfig({ name: "examples", systemDatabaseUrl: o.database, applicationVersion: o.order, logger });
await DBOS.launch();
const handle = await DBOS.startWorkflow(purchase, { workflowID: o.order })(o.url);
const bought = await handle.getResult();
say({ event: "end", bought, logged, points: watched.points });
await DBOS.shutdown();
await payer.close();
await pool.end();
process.exit(0);
