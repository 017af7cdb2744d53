// What every JournalStore promises, as tests. `make()` gives a store on a fresh place; `another(store)`, where several may be open
// at once, gives one more on the same place, which is not closed here.

import assert from "node:assert/strict";
import { test } from "node:test";

export const bytes = (text) => new TextEncoder().encode(text);
export const textOf = (entry) => entry && new TextDecoder().decode(entry.value);
export const put = (key, text, expect = "absent") => ({ key, expect, put: bytes(text) });

export async function all(store, prefix = "", after) {
  const found = [];
  for await (const { key, value } of store.scan(prefix, after)) found.push([key, new TextDecoder().decode(value)]);
  return found;
}

export function journalSuite(name, make, another = (store) => store) {
  const check = (title, body) =>
    test(`${name}: ${title}`, async () => {
      const store = await make();
      try {
        await body(store);
      } finally {
        await store.close();
      }
    });

  check("a key is absent, then there, then gone", async (store) => {
    assert.equal(await store.read("a"), undefined);
    assert.deepEqual(await store.commit([put("a", "1")]), { ok: true });
    const { rev } = await store.read("a");
    assert.equal(textOf(await store.read("a")), "1");
    assert.deepEqual(await store.commit([{ key: "a", expect: rev, put: null }]), { ok: true });
    assert.equal(await store.read("a"), undefined);
    assert.deepEqual(await store.commit([put("a", "2")]), { ok: true });
  });

  check("compare-and-swap refuses what has changed and names the key", async (store) => {
    await store.commit([put("a", "1")]);
    const { rev } = await store.read("a");
    assert.deepEqual(await store.commit([put("a", "2")]), { ok: false, key: "a" });
    assert.deepEqual(await store.commit([put("a", "2", rev)]), { ok: true });
    assert.deepEqual(await store.commit([put("a", "3", rev)]), { ok: false, key: "a" });
    assert.deepEqual(await store.commit([put("b", "1", 1)]), { ok: false, key: "b" });
    assert.ok((await store.read("a")).rev > rev);
    assert.equal(textOf(await store.read("a")), "2");
  });

  check("a commit is all or nothing", async (store) => {
    await store.commit([put("b", "old")]);
    assert.deepEqual(await store.commit([put("a", "1"), put("b", "new"), put("c", "1")]), { ok: false, key: "b" });
    assert.deepEqual(await all(store), [["b", "old"]]);
    const { rev } = await store.read("b");
    assert.deepEqual(await store.commit([put("a", "1"), put("b", "new", rev), put("c", "1")]), { ok: true });
    assert.deepEqual(await all(store), [["a", "1"], ["b", "new"], ["c", "1"]]);
  });

  check("of many at once for one key exactly one wins", async (store) => {
    const results = await Promise.all(Array.from({ length: 50 }, (_, i) => store.commit([put("a", String(i))])));
    assert.equal(results.filter(({ ok }) => ok).length, 1);
    assert.equal(textOf(await store.read("a")), String(results.findIndex(({ ok }) => ok)));
  });

  check("any bytes come back as they were", async (store) => {
    const values = [[], [0], [0xff, 0xfe], [0xef, 0xbb, 0xbf, 0x7b, 0x7d], [0xed, 0xa0, 0x80], [...bytes('{"b":1,"a":2}')], [...bytes('{"a":1}')], [...bytes("null")], [...bytes("1e400")], [...bytes('"\\ud800"')], [...bytes("ä\u2028\n\r")], Array.from({ length: 256 }, (_, i) => i)];
    await store.commit(values.map((value, i) => ({ key: `k${i}`, expect: "absent", put: Uint8Array.from(value) })));
    for (const [i, value] of values.entries()) assert.deepEqual([...(await store.read(`k${i}`)).value], value);
  });

  check("any key is a key", async (store) => {
    const keys = ["", "__proto__", "constructor", "a\nb", '"', "ä", "\u{1f600}", "x".repeat(10_000)].sort();
    for (const key of keys) assert.deepEqual(await store.commit([put(key, key)]), { ok: true });
    assert.deepEqual((await all(store)).map(([key]) => key), keys);
  });

  check("arrays are the caller's before and after", async (store) => {
    const value = bytes("mine");
    const done = store.commit([{ key: "a", expect: "absent", put: value }]);
    value.fill(0);
    await done;
    (await store.read("a")).value.fill(0);
    for await (const entry of store.scan("")) entry.value.fill(0);
    assert.equal(textOf(await store.read("a")), "mine");
  });

  check("scan goes in the order of keys, by prefix, after a key", async (store) => {
    await store.commit(["b/2", "a", "b/1", "b/10", "c"].map((key) => put(key, "")));
    assert.deepEqual((await all(store, "b/")).map(([key]) => key), ["b/1", "b/10", "b/2"]);
    assert.deepEqual((await all(store, "b/", "b/1")).map(([key]) => key), ["b/10", "b/2"]);
    assert.deepEqual(await all(store, "x"), []);
  });

  check("what is not a commit is refused and changes nothing", async (store) => {
    const wrong = [undefined, {}, [undefined], [{}], [{ key: 1, expect: "absent", put: null }], [{ key: "a", put: bytes("") }], [{ key: "a", expect: 1.5, put: null }], [{ key: "a", expect: "present", put: null }], [{ key: "a", expect: "absent", put: "text" }], [{ key: "a", expect: "absent", put: [1] }], [{ key: "a", expect: "absent" }]];
    for (const ops of wrong) await assert.rejects(store.commit(ops), { name: "CounterfoilError", code: "invalid_type" }, JSON.stringify(ops));
    await assert.rejects(store.commit([put("a", "1"), put("a", "2")]), { code: "duplicate_key", field: "ops[1].key" });
    assert.deepEqual(await store.commit([]), { ok: true });
    assert.deepEqual(await all(store), []);
  });

  check("a lease has one holder, and its token fences commits", async (store) => {
    const first = await store.lease("worker", 60_000);
    assert.equal(await store.lease("worker", 60_000), undefined);
    assert.notEqual(await store.lease("other", 60_000), undefined);
    assert.deepEqual(await store.commit([put("a", "1")], { lease: "worker", token: first.token }), { ok: true });
    assert.deepEqual(await store.commit([put("b", "1")], { lease: "worker", token: first.token + 1_000 }), { ok: false, key: "worker" });
    assert.deepEqual(await store.commit([put("b", "1")], { lease: "nobody", token: first.token }), { ok: false, key: "nobody" });
    await first.release();
    assert.deepEqual(await store.commit([put("b", "1")], { lease: "worker", token: first.token }), { ok: false, key: "worker" });
    const second = await store.lease("worker", 60_000);
    assert.ok(second.token > first.token);
    assert.equal(await first.renew(60_000), false);
    await first.release(); // not its lease any more
    assert.equal(await store.lease("worker", 60_000), undefined);
  });

  check("a lease ends by itself and can be renewed before", async (store) => {
    const first = await store.lease("worker", 40);
    assert.equal(await first.renew(200), true);
    await new Promise((resolve) => setTimeout(resolve, 60));
    assert.equal(await store.lease("worker", 40), undefined);
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(await first.renew(40), false);
    assert.deepEqual(await store.commit([put("a", "1")], { lease: "worker", token: first.token }), { ok: false, key: "worker" });
    assert.notEqual(await store.lease("worker", 40), undefined);
  });

  check("four workers change the same keys, each in its own order: one at a time, and never half", async (store) => {
    const workers = await Promise.all([1, 2, 3, 4].map(() => another(store)));
    const keys = ["a", "b", "c"];
    await store.commit(keys.map((key) => put(key, "start")));
    let before = 0;
    for (let round = 0; round < 10; round++) {
      const revs = await Promise.all(keys.map(async (key) => (await store.read(key)).rev));
      for (const rev of revs) assert.ok(rev > before);
      before = Math.max(...revs);
      const results = await Promise.all(workers.map((worker, w) => {
        const ops = keys.map((key, i) => put(key, `${round} by ${w}`, revs[i]));
        return worker.commit(w % 2 === 0 ? ops : ops.reverse());
      }));
      const winners = results.flatMap(({ ok }, w) => (ok ? [w] : []));
      assert.equal(winners.length, 1, JSON.stringify(results));
      assert.deepEqual((await all(store)).map(([, text]) => text), keys.map(() => `${round} by ${winners[0]}`));
    }
  });

  check("of four that want a lease, free or lapsed, one gets it, each time with a higher token", async (store) => {
    const workers = await Promise.all([1, 2, 3, 4].map(() => another(store)));
    let before = 0;
    for (let round = 0; round < 5; round++) {
      const taken = (await Promise.all(workers.map((worker) => worker.lease("one", 60_000)))).filter(Boolean);
      assert.equal(taken.length, 1);
      assert.ok(taken[0].token > before);
      before = taken[0].token;
      if (round % 2 === 0) {
        await taken[0].release();
        continue;
      }
      // Long while they race, however slow the machine is, and then over.
      assert.equal(await taken[0].renew(1), true);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
  });

  check("a worker that comes back after its lease writes nothing", async (store) => {
    const [late, next] = await Promise.all([another(store), another(store)]);
    await store.commit([put("a", "start")]);
    const { rev } = await store.read("a");
    const first = await late.lease("worker", 30);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const second = await next.lease("worker", 60_000);
    assert.ok(second.token > first.token);
    // The revision is right; only the fence keeps it out.
    assert.deepEqual(await late.commit([put("a", "late", rev)], { lease: "worker", token: first.token }), { ok: false, key: "worker" });
    assert.equal(await first.renew(60_000), false);
    await first.release();
    assert.deepEqual(await next.commit([put("a", "next", rev)], { lease: "worker", token: second.token }), { ok: true });
    assert.deepEqual(await all(store), [["a", "next"]]);
  });

  check("a lease is for some time", async (store) => {
    for (const ttl of [undefined, 0, -1, Number.NaN, Infinity, "1"]) await assert.rejects(store.lease("a", ttl), { code: "invalid_type", field: "ttlMs" });
  });

  check("a scan goes through more than it holds at once", async (store) => {
    const keys = Array.from({ length: 120 }, (_, i) => `k/${String(i).padStart(3, "0")}`);
    await store.commit([...keys, "j", "l"].map((key) => put(key, "")));
    assert.deepEqual((await all(store, "k/")).map(([key]) => key), keys);
    assert.deepEqual((await all(store, "k/", "k/049")).map(([key]) => key), keys.slice(50));
    assert.deepEqual((await all(store, "k/", "j")).map(([key]) => key), keys);
    assert.deepEqual(await all(store, "k/", "l"), []);
  });

  check("after close nothing is answered, and close can be called again", async (store) => {
    const late = store.commit([put("a", "1")]);
    await late;
    await Promise.all([store.close(), store.close()]);
    for (const use of [() => store.read("a"), () => store.commit([put("b", "1")]), () => store.lease("x", 1), () => all(store)]) {
      await assert.rejects(use(), { name: "CounterfoilError", code: "journal_closed" });
    }
  });
}
