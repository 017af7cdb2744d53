// Several threads at many parcels of blocks, whose verdicts come out in the order in which the parcels went in.

import { Worker } from "node:worker_threads";

/** Parcels that are under way for each thread, so that none waits for the next one to be read. */
const AHEAD = 3;

/** The judged parcels in their order. Ends when the signal comes: those that are under way are left. */
export async function* inOrder(parcels, jobs, workerData, signal) {
  const workers = [];
  const ready = new Map();
  let [wake, failure] = [() => {}, undefined];
  const news = () => new Promise((resolve) => (wake = resolve));
  const settle = (error) => {
    failure ??= error;
    wake();
  };
  for (let at = 0; at < jobs; at++) {
    const worker = new Worker(new URL("./judge.mjs", import.meta.url), { workerData });
    worker.busy = 0;
    worker.on("message", (judged) => {
      worker.busy--;
      ready.set(judged.place, judged);
      wake();
    });
    worker.on("error", settle);
    workers.push(worker);
  }
  signal.addEventListener("abort", () => wake(), { once: true });
  let [sent, taken, ended, reading] = [0, 0, false, undefined];
  const source = parcels[Symbol.asyncIterator]();
  try {
    while (!ended || taken < sent) {
      if (failure) throw failure;
      if (signal.aborted) return;
      const judged = ready.get(taken);
      if (judged) {
        ready.delete(taken++);
        yield judged;
        continue;
      }
      const free = workers.reduce((least, worker) => (worker.busy < least.busy ? worker : least));
      // What is ready and waits for its turn counts too: it takes memory.
      if (!ended && !reading && free.busy < AHEAD && sent - taken < AHEAD * jobs) {
        reading = source.next().then(({ done, value }) => {
          reading = undefined;
          if (done) ended = true;
          else {
            free.busy++;
            free.postMessage({ place: sent++, blocks: value });
          }
          wake();
        }, settle);
      }
      await news();
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
    source.return?.();
  }
}
