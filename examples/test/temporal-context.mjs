// The context in which a worker runs an activity: Temporal's own class, with what this example reads of it.

import { Context } from "@temporalio/activity";

/** @param {{ workflowId: string, activityId: string, attempt: number }} about */
export function attempt({ workflowId, activityId, attempt }, { heartbeat, signal = new AbortController().signal }) {
  const info = { namespace: "default", activityId, activityType: "buy", attempt, inWorkflow: true, workflowExecution: { workflowId, runId: `run-${attempt}` } };
  const cancelled = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  cancelled.catch(() => {});
  return new Context(info, cancelled, signal, heartbeat, undefined, console, undefined, {});
}
