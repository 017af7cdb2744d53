// One worker at a time on one intent, where several share a journal. A lease only keeps workers out of each other's way. What
// may be written is decided by revisions and by the fence, and what is sent stands in the journal before: a worker that
// comes back after its lease has lapsed can send bytes that are written down and counted, and write nothing.

import { pause } from "./abort.mjs";
import { CounterfoilError } from "./errors.mjs";

const POLL_MS = 100;
/** Past the end of a lease, for the way to the journal and back. */
const GRACE_MS = 1000;

/**
 * The intent's lease, renewed until it is released. Whoever waits outlives a dead worker's lease; a living one's call goes on.
 * Errors: `intent_in_flight`, those of the journal, the signal's reason.
 * @param {{ journal: object, clock: () => number, leaseMs: number, loose: Map<string, object> }} host
 */
export async function hold(host, intentId, { signal, patient }) {
  const { journal, leaseMs, loose } = host;
  const name = `call/${intentId}`;
  await loose.get(name)?.release();
  const deadline = performance.now() + (patient ? leaseMs + GRACE_MS : 0);
  let since; // when another was met
  for (;;) {
    const lease = await journal.lease(name, leaseMs);
    if (lease) return holding({ lease, name, intentId, since, leaseMs, loose });
    since ??= host.clock();
    if (performance.now() >= deadline) throw new CounterfoilError("intent_in_flight", { intentId, retryAfter: Math.ceil(leaseMs / 1000) });
    await pause(signal, POLL_MS);
  }
}

function holding({ lease, name, intentId, since, leaseMs, loose }) {
  let renewedAt = performance.now();
  // A renewal that fails lets the lease lapse, and the next write meets the fence.
  const renew = () => {
    renewedAt = performance.now();
    lease.renew(leaseMs).catch(() => {});
  };
  const timer = setInterval(renew, leaseMs / 3);
  timer.unref?.();
  let released;
  const held = {
    intentId,
    since,
    fence: { lease: name, token: lease.token },
    /** From here on the lease lasts only while somebody reads on, and this payer's next call takes it at once. */
    loosen() {
      clearInterval(timer);
      loose.set(name, held);
    },
    readOn() {
      if (!released && performance.now() - renewedAt > leaseMs / 3) renew();
    },
    release() {
      clearInterval(timer);
      if (loose.get(name) === held) loose.delete(name);
      // One that can't be given back lapses.
      released ??= lease.release().catch(() => {});
      return released;
    },
  };
  return held;
}
