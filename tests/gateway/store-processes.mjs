// What every store of the gateway promises where several processes use it, and where they are killed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { updateSteps } from "counterfoil/gateway";
import { increment, openStore } from "./store-place.mjs";

/** A worker: `said(enough)` waits for a line, `ended()` for its end, `done()` for a good one, `kill()` is SIGKILL. */
export function worker(job) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("./store-worker.mjs", import.meta.url)), JSON.stringify(job)], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = [];
  const waiting = new Set();
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    lines.push(...parts);
    waiting.forEach((look) => look());
  });
  const ended = new Promise((done) => child.on("close", (code, signal) => done({ code, signal })));
  ended.then(() => waiting.forEach((look) => look(true)));
  return {
    lines,
    said: (enough) =>
      new Promise((done, failed) => {
        const look = (over) => {
          const line = lines.find(enough);
          if (line !== undefined) done(line);
          else if (over) failed(new Error(`the worker ended and said only ${JSON.stringify(lines)}`));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      }),
    ended: () => ended,
    async done() {
      assert.deepEqual({ ...(await ended), last: lines.at(-1) }, { code: 0, signal: null, last: "done" });
    },
    async kill() {
      child.kill("SIGKILL");
      assert.equal((await ended).signal, "SIGKILL");
    },
  };
}

/** Either store's bound on waiting for others. */
const waiting = (ms) => ({ statementTimeout: ms, busyTimeout: ms });

export function storeProcesses(name, make) {
  const check = (title, body) =>
    test(`${name}: ${title}`, async () => {
      const place = await make();
      const store = openStore(place, waiting(60_000));
      try {
        await body(store, place);
      } finally {
        await store.close();
      }
    });
  const n = async (store, key) => (await store.read(key)).value.n;

  check("eight processes that start at once make one table", async (store, place) => {
    await Promise.all(Array.from({ length: 8 }, () => worker({ place, job: "prepare" }).done()));
    assert.deepEqual(await increment(store, ["a"]), [1]);
  });

  check("increments from eight processes are counted one by one", async (store, place) => {
    await Promise.all(Array.from({ length: 8 }, () => worker({ place, job: "increment", keys: ["a"], times: 25 }).done()));
    assert.equal(await n(store, "a"), 200);
  });

  check("overlapping keys in opposite orders never wait in a circle", async (store, place) => {
    const sets = [["a", "b", "c"], ["c", "b", "a"], ["b", "a"], ["c", "b"]];
    await Promise.all(sets.map((keys) => worker({ place, job: "increment", keys, times: 25 }).done()));
    assert.deepEqual([await n(store, "a"), await n(store, "b"), await n(store, "c")], [75, 100, 75]);
  });

  check("of four that want a row that is not there, one gets it", async (store, place) => {
    for (let round = 0; round < 5; round++) {
      const workers = Array.from({ length: 4 }, () => worker({ place, job: "claim", keys: [`k${round}`] }));
      await Promise.all(workers.map((one) => one.done()));
      assert.deepEqual(workers.map(({ lines }) => lines[0]).sort(), ["lost", "lost", "lost", "won"]);
    }
    assert.equal((await store.scan("k")).length, 5);
  });

  for (const step of updateSteps(3)) {
    check(`a process killed at ${step} leaves all or nothing, and no lock`, async (store, place) => {
      const keys = ["a", "b", "c"];
      const old = keys.map((key) => ({ key, value: { state: "old" }, expiresAt: 1 }));
      await store.update(keys, () => ({ puts: old.map((row) => ({ ...row, body: Uint8Array.of(1) })) }));
      const doomed = worker({ place, job: "stay", keys, step });
      await doomed.said((line) => line === step);
      if (step !== "begin" && step !== "committed") {
        const impatient = openStore(place, waiting(100));
        await assert.rejects(increment(impatient, ["c"]), { code: "store_unavailable", next: "wait", money: "possible" });
        await impatient.close();
      }
      await doomed.kill();
      // Well below the time after which a database would give up on a silent owner by itself.
      const next = openStore(place, waiting(10_000));
      const rows = await next.update(keys, (rows) => ({ puts: [], result: rows }));
      const row = (state, number) => ({ value: { state }, body: Uint8Array.of(number), expiresAt: number });
      assert.deepEqual(rows, step === "committed" ? [row("new", 2), row("new", 2), undefined] : [row("old", 1), row("old", 1), row("old", 1)]);
      await next.close();
    });
  }

  check("what an update resolved with survives the kill of its process", async (store, place) => {
    for (let round = 0; round < 3; round++) {
      const before = await store.read("a");
      const writer = worker({ place, job: "write", keys: ["a"] });
      await writer.said((line) => Number(line) >= (before?.value.n ?? 0) + 10);
      await writer.kill();
      await keptSince(store, writer);
    }
  });
}

/** The row holds the last number that was confirmed, or the one after it, whose confirmation was cut off. */
export async function keptSince(store, writer) {
  const confirmed = Number(writer.lines.filter((line) => /^\d+$/.test(line)).at(-1));
  const { n } = (await store.read("a")).value;
  assert.ok(n === confirmed || n === confirmed + 1, `${n} is there, ${confirmed} was confirmed`);
}
