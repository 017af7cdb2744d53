// A process that runs the DBOS example, can be killed at one point, and tells at its end what the workflow gave.
//   node dbos-worker.mjs '{"database","order","url","rpc","signed", "maxWindow"?, "killAt"?}'

import { DBOS } from "@dbos-inc/dbos-sdk";
import { say } from "../../tests/js/crash/points.mjs";
import { registerPurchase } from "../dbos/purchase.mjs";
import { paying } from "./paying.mjs";

// On a slow computer several short windows may pass.
const { o, watched, pool, payer } = paying(({ maxWindow = 300 }) => ({ perCall: "20000", maxWindow, attempts: 20 }));

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
