// One attempt of the Temporal example's activity, in the context that a worker gives it, in a process that can be killed at one point.
//   node temporal-worker.mjs '{"database","info","url","purchase"?,"rpc","signed","perCall"?,"killAt"?}'

import { asyncLocalStorage } from "@temporalio/activity";
import pg from "pg";
import { createPayer } from "counterfoil";
import { postgresJournal } from "counterfoil/postgres";
import { say, watch } from "../../tests/js/crash/points.mjs";
import { createActivities } from "../out/temporal/activities.js";
import { attempt } from "./temporal-context.mjs";

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
  policy: { perCall: o.perCall ?? "20000", maxWindow: 300 },
  leaseMs: 2000,
});
const beats = [];
const context = attempt(o.info, { heartbeat: (details) => beats.push(details) });
const end = await asyncLocalStorage.run(context, () => createActivities(payer).buy(o.url, o.purchase)).then(
  (result) => ({ result }),
  ({ type, nonRetryable, nextRetryDelay, details, message }) => ({ failure: { type, nonRetryable, nextRetryDelay, details, message } }),
);
say({ event: "end", ...end, beats, points: watched.points });
process.exit(0);
