// A paid call as a Temporal activity.
//
// Temporal repeats an activity whose worker died or whose heartbeat stopped: at least once. counterfoil makes the repeated activity the same
// purchase: at most once. The intent id is made of what is the same in every attempt, wherever it runs; the journal must be one that every
// worker reaches, such as `postgresJournal`. The history carries the activity's input and its result: `carried` says how many bytes that was.
//
//     // worker.ts
//     const payer = createPayer({ signer, secret, journal: postgresJournal({ pool }), rpc, policy: { perCall: "20000" } });
//     await payer.resume();
//     const worker = await Worker.create({ taskQueue: "agents", workflowsPath, activities: createActivities(payer) });
//
//     // workflow.ts
//     const { buy } = proxyActivities<ReturnType<typeof createActivities>>({
//       startToCloseTimeout: "5 minutes",
//       heartbeatTimeout: "30 seconds",               // a dead worker is noticed by this, not by the timeout above
//       retry: { initialInterval: "5 seconds", maximumInterval: "1 minute" },
//     });
//     const { body } = await buy("https://api.example/report");
//
// What to know:
// - Which errors may be tried again is `error.next`, and nothing here or in the retry policy decides it. The others end the activity: `type` is
//   counterfoil's code and `details[0]` what is known about the money, for the workflow to act on (a claim, a person, another seller).
// - Activities are counted anew when a workflow continues as new or runs again under its id (cron, reset). Where that is meant to buy
//   again, name the purchase: `buy(url, "report-2026-11")`. Without a name it is given the first answer, and pays nothing.
// - A cancelled activity stops where it is: before the payment was sent nothing is left, after it `payer.resume()` settles the rest.

import { activityInfo, ApplicationFailure, Context } from "@temporalio/activity";
import type { Payer } from "counterfoil";
import { type Bought, paidCall, refusal, size } from "../paid-call.mjs";

/** Milliseconds between two signs of life; well below the heartbeat timeout. */
const BEAT = 5_000;

export function createActivities(payer: Payer) {
  async function buy(url: string, purchase?: string): Promise<Bought & { carried: { input: number; result: number } }> {
    const { namespace, workflowExecution, activityId } = activityInfo();
    const intentId = ["temporal", namespace, workflowExecution?.workflowId ?? "", purchase ?? activityId].join("/");
    const { heartbeat, cancellationSignal } = Context.current();
    heartbeat({ intentId });
    const beat = setInterval(heartbeat, BEAT, { intentId });
    try {
      const bought = await paidCall(payer, { intentId, url }, cancellationSignal);
      return { ...bought, carried: { input: size({ intentId, url }), result: size(bought) } };
    } catch (error) {
      const { again, ...told } = refusal(error);
      throw ApplicationFailure.create({
        type: told.code,
        message: `${intentId}: ${told.code}; money: ${told.money}, next: ${told.next}`,
        nonRetryable: !again,
        details: [{ intentId, ...told }],
        cause: error instanceof Error ? error : undefined,
        ...(told.retryAfter !== undefined && { nextRetryDelay: told.retryAfter * 1000 }),
      });
    } finally {
      clearInterval(beat);
    }
  }
  return { buy };
}
