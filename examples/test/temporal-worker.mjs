// One attempt of the Temporal example's activity, in the context that a worker gives it, in a process that can be killed at one point.
//   node temporal-worker.mjs '{"database","info","url","purchase"?,"rpc","signed","perCall"?,"killAt"?}'

import { asyncLocalStorage } from "@temporalio/activity";
import { say } from "../../tests/js/crash/points.mjs";
import { createActivities } from "../out/temporal/activities.js";
import { paying } from "./paying.mjs";
import { attempt } from "./temporal-context.mjs";

const { o, watched, payer } = paying(({ perCall = "20000" }) => ({ perCall, maxWindow: 300 }));
const beats = [];
const context = attempt(o.info, { heartbeat: (details) => beats.push(details) });
const end = await asyncLocalStorage.run(context, () => createActivities(payer).buy(o.url, o.purchase)).then(
  (result) => ({ result }),
  ({ type, nonRetryable, nextRetryDelay, details, message }) => ({ failure: { type, nonRetryable, nextRetryDelay, details, message } }),
);
say({ event: "end", ...end, beats, points: watched.points });
process.exit(0);
