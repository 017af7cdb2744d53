// One piece of work for several callers at once. It is given up when every one of them has given up, and not before.

/** Whoever drops an answer unread watches no signal for it any longer. */
const dropped = new FinalizationRegistry((stop) => stop());

/**
 * `begin(work)` starts it once the first caller has joined; `work` gets the signal of all. Each caller who stayed has an answer of its own, which
 * ends with its own signal.
 * @param {(copy: Response, answer: Response) => Response} dress gives a copy what only the answer has
 */
export function sharing(dress) {
  const all = new AbortController();
  const callers = new Set();

  function join(signal) {
    return new Promise((resolve, reject) => {
      const caller = { signal, resolve, reject };
      // The last one ends the work, and is told how it ended.
      caller.giveUp = () => {
        if (callers.size === 1) return all.abort(signal.reason);
        callers.delete(caller);
        reject(signal.reason);
      };
      const onAbort = () => caller.giveUp();
      caller.stop = () => signal?.removeEventListener("abort", onAbort);
      callers.add(caller);
      if (signal?.aborted) onAbort();
      else signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  function answered(answer) {
    const [first, ...others] = callers;
    if (others.length === 0) {
      dropped.register(answer.body ?? answer, first.stop);
      return first.resolve(answer);
    }
    // Copies are made in the moment of the answer: a little later the first caller has begun to read.
    const copies = others.map((caller) => [caller, dress(answer.clone(), answer)]);
    for (const [caller, copy] of [...copies, [first, answer]]) caller.resolve(ownOf(copy, caller, dress));
  }

  function failed(error) {
    for (const { stop, reject } of callers) {
      stop();
      reject(error);
    }
  }

  /** Over when every caller has its answer, or is told why not. */
  const begin = (work) => work(all.signal).then(answered).catch(failed);

  return { join, begin, isGivenUp: () => all.signal.aborted };
}

/** The same answer, whose body ends with the caller's own signal. */
function ownOf(answer, caller, dress) {
  const { signal } = caller;
  if (!signal || !answer.body) {
    caller.stop();
    return answer;
  }
  const reader = answer.body.getReader();
  const leave = (reason) => {
    caller.stop();
    // Of an answer that was copied this ends only when the others have left, too.
    reader.cancel(reason).catch(() => {});
  };
  const body = new ReadableStream({
    start(controller) {
      caller.giveUp = () => {
        controller.error(signal.reason);
        leave(signal.reason);
      };
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (signal.aborted) return;
      if (!done) return controller.enqueue(value);
      caller.stop();
      controller.close();
    },
    cancel: leave,
  }, { highWaterMark: 0 });
  const { status, statusText, headers } = answer;
  return dress(new Response(body, { status, statusText, headers }), answer);
}
