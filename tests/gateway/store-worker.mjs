// A process of its own over a store: node store-worker.mjs <job as JSON>. It says on its output what has happened, a line each.

import { writeSync } from "node:fs";
import { increment, openStore } from "./store-place.mjs";

const { place, job, keys, times, step } = JSON.parse(process.argv[2]);
// Straight to the pipe: what is said is said, whatever becomes of this process.
const say = (line) => writeSync(1, `${line}\n`);
const forever = () => new Promise((done) => setTimeout(done, 1 << 30));

const jobs = {
  /** Adds one to every key, so many times. */
  async increment() {
    const store = openStore(place);
    for (let i = 0; i < times; i++) await increment(store, keys);
    await store.close();
    say("done");
  },

  /** Makes the store ready. */
  async prepare() {
    const store = openStore(place);
    await store.prepare();
    await store.close();
    say("done");
  },

  /** Changes the keys and stays at `step`. The last key is deleted. */
  async stay() {
    const store = openStore(place, { hook: (at) => at === step && (say(at), forever()) });
    await store.update(keys, () => ({
      puts: keys.map((key, i) => (i === keys.length - 1 ? { key, value: null } : { key, value: { state: "new" }, body: Uint8Array.of(2), expiresAt: 2 })),
    }));
    say("not reached");
  },

  /** Takes the first key if nobody has it. */
  async claim() {
    const store = openStore(place);
    say(await store.update(keys, ([row]) => (row ? { puts: [], result: "lost" } : { puts: [{ key: keys[0], value: {} }], result: "won" })));
    await store.close();
    say("done");
  },

  /** Adds one until that fails and says each number that is confirmed. */
  async write() {
    const store = openStore(place);
    try {
      for (;;) say((await increment(store, keys))[0]);
    } catch (error) {
      say(error.code);
      await store.close();
    }
  },
};

await jobs[job]();
