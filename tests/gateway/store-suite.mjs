// What every store of the gateway promises, as tests. `make()` gives a fresh place for its rows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { updateSteps } from "counterfoil/gateway";
import { increment, openStore } from "./store-place.mjs";

const put = (key, value = { n: 1 }, more = {}) => ({ key, value, ...more });
const write = (store, ...puts) => store.update(puts.map(({ key }) => key), () => ({ puts }));
const keysOf = async (store, prefix, options) => (await store.scan(prefix, options)).map(({ key }) => key);

export function storeSuite(name, make) {
  const check = (title, body, options) =>
    test(`${name}: ${title}`, async () => {
      const place = await make();
      const store = openStore(place, options);
      try {
        await body(store, place);
      } finally {
        await store.close();
      }
    });

  check("a row is absent, then there, then replaced whole, then gone", async (store) => {
    assert.equal(await store.read("a"), undefined);
    const seen = [];
    const decide = (...puts) => (rows) => (seen.push(rows), { puts, result: puts.length });
    assert.equal(await store.update(["a"], decide(put("a", { s: "x" }, { body: Uint8Array.of(7), expiresAt: 12 }))), 1);
    assert.deepEqual(await store.read("a"), { value: { s: "x" }, body: Uint8Array.of(7), expiresAt: 12 });
    await store.update(["a"], decide(put("a", { s: "y" })));
    assert.deepEqual(await store.read("a"), { value: { s: "y" } });
    await store.update(["a"], decide(put("a", null)));
    assert.equal(await store.read("a"), undefined);
    assert.equal(await store.update(["a"], decide()), 0);
    assert.deepEqual(seen, [[undefined], [{ value: { s: "x" }, body: Uint8Array.of(7), expiresAt: 12 }], [{ value: { s: "y" } }], [undefined]]);
  });

  check("a key that is not there is deleted without ado", async (store) => {
    await write(store, put("a", null));
    assert.equal(await store.read("a"), undefined);
  });

  check("several keys are read in the order asked and written together", async (store) => {
    await write(store, put("b", { is: "b" }), put("a", { is: "a" }));
    const rows = await store.update(["c", "b", "a"], (rows) => ({ puts: [put("c"), put("a", null)], result: rows }));
    assert.deepEqual(rows, [undefined, { value: { is: "b" } }, { value: { is: "a" } }]);
    assert.deepEqual(await keysOf(store, ""), ["b", "c"]);
  });

  check("what decide throws is what update rejects with, and nothing is written", async (store) => {
    await write(store, put("a", { is: "old" }));
    for (const thrown of [new Error("no"), undefined, "text"]) {
      const rejected = await store.update(["a", "b"], () => { throw thrown; }).then(() => assert.fail("it resolved"), (error) => error);
      assert.equal(rejected, thrown);
    }
    assert.deepEqual(await store.scan(""), [{ key: "a", value: { is: "old" } }]);
    await write(store, put("a"), put("b"));
  });

  check("decide is called once", async (store) => {
    let calls = 0;
    await Promise.all(Array.from({ length: 20 }, () => increment(store, ["a", "b"], () => calls++)));
    assert.equal(calls, 20);
    assert.deepEqual((await store.read("b")).value, { n: 20 });
  });

  check("what does not fit is refused, and nothing of it is written", async (store) => {
    const refused = (code, field, keys, ...puts) => assert.rejects(store.update(keys, () => ({ puts })), { name: "CounterfoilError", code, field }, field);
    const cyclic = {};
    cyclic.self = cyclic;
    await refused("invalid_type", "puts[1].key", ["a"], put("a"), put("b"));
    await refused("duplicate_key", "puts[1].key", ["a"], put("a"), put("a"));
    for (const value of [undefined, "text", 1, [], true, { toJSON: () => 1 }, { toJSON: () => undefined }, { n: 1n }, cyclic]) {
      await refused("invalid_type", "puts[1].value", ["a", "b"], put("a"), { key: "b", value });
    }
    for (const body of ["text", [1], null, new Uint16Array(1)]) await refused("invalid_type", "puts[1].body", ["a", "b"], put("a"), put("b", {}, { body }));
    for (const expiresAt of ["1", 1.5, NaN, null, 2 ** 53]) await refused("invalid_type", "puts[1].expiresAt", ["a", "b"], put("a"), put("b", {}, { expiresAt }));
    for (const decision of [undefined, null, {}, { puts: {} }, Promise.resolve({ puts: [] })]) {
      await assert.rejects(store.update(["a"], () => decision), { code: "invalid_type", field: "puts" });
    }
    for (const keys of [undefined, "a", []]) await refused("invalid_type", "keys", keys);
    for (const key of [1, undefined, "a\0"]) await refused("invalid_type", "keys[1]", ["a", key]);
    await refused("lone_surrogate", "keys[0]", ["\ud800x"]);
    await refused("duplicate_key", "keys[2]", ["a", "b", "a"]);
    await assert.rejects(store.read("\0"), { code: "invalid_type", field: "key" });
    for (const [prefix, options, field] of [[1, {}, "prefix"], ["", { after: 1 }, "after"], ["", { limit: 0 }, "limit"], ["", { limit: "1" }, "limit"], ["", { expiredBefore: "1" }, "expiredBefore"]]) {
      await assert.rejects(store.scan(prefix, options), { code: "invalid_type", field });
    }
    assert.deepEqual(await store.scan(""), []);
  });

  check("bodies come back as they were, of any length", async (store) => {
    const bodies = [new Uint8Array(0), Uint8Array.from({ length: 256 }, (_, i) => i), Uint8Array.from({ length: 1 << 20 }, (_, i) => i * 31), Buffer.from("part of a pool").subarray(2, 6)];
    await write(store, ...bodies.map((body, i) => put(`k${i}`, {}, { body })));
    for (const [i, body] of bodies.entries()) {
      const row = await store.read(`k${i}`);
      assert.equal(Object.getPrototypeOf(row.body), Uint8Array.prototype);
      assert.ok(Buffer.from(body).equals(row.body), `body ${i}`);
    }
    const [inUpdate] = await store.update(["k2"], (rows) => ({ puts: [], result: rows }));
    assert.ok(Buffer.from(bodies[2]).equals(inUpdate.body));
  });

  check("what decide gave is taken as it was then", async (store) => {
    const body = Uint8Array.of(1);
    const value = { n: 1 };
    const done = store.update(["a"], () => {
      queueMicrotask(() => (body.fill(9), (value.n = 9)));
      return { puts: [put("a", value, { body })] };
    });
    await done;
    assert.deepEqual(await store.read("a"), { value: { n: 1 }, body: Uint8Array.of(1) });
  });

  check("values keep texts, members and their order", async (store) => {
    const texts = ['{"b":"1","a":"340282366920938463463374607431768211455","B":{"z":[],"y":null}}', '{"":"\\u0000","\\ud800":"\\udfff","ä":"\u{1f600}\u2028"}', '{"n":1e21,"m":-0.5,"a":9007199254740991}', '{"__proto__":{"x":1},"constructor":2}', "{}"];
    await write(store, ...texts.map((text, i) => put(`k${i}`, JSON.parse(text))));
    for (const [i, text] of texts.entries()) assert.equal(JSON.stringify((await store.read(`k${i}`)).value), JSON.stringify(JSON.parse(text)));
  });

  check("times of expiry are numbers, far ones too", async (store) => {
    const times = [0, -5, 1_900_000_000, Number.MAX_SAFE_INTEGER];
    await write(store, ...times.map((expiresAt, i) => put(`k${i}`, {}, { expiresAt })));
    assert.deepEqual((await store.scan("k")).map(({ expiresAt }) => expiresAt), times);
  });

  const keys = ["", "%", "%a", "A", "Z", "\\", "_", "a", "a%", "a%b", "aXb", "a_b", "aa", "ab", "b", "~", "ä", "äb", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{1f600}", "\u{10ffff}", "\u{10ffff}\u{10ffff}x", "__proto__", "'; --", '"', "x".repeat(1000)];
  const ordered = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

  check("a scan goes by the bytes of the keys, and a prefix is no pattern", async (store) => {
    await write(store, ...keys.map((key) => put(key, { key }, { body: Uint8Array.of(1) })));
    assert.deepEqual(await store.scan("a%"), [{ key: "a%", value: { key: "a%" } }, { key: "a%b", value: { key: "a%b" } }]);
    for (const prefix of [...keys, "a\\", "nothing", "\u{10ffff}\u{10ffff}"]) {
      assert.deepEqual(await keysOf(store, prefix), ordered.filter((key) => key.startsWith(prefix)), JSON.stringify(prefix));
    }
  });

  check("a scan goes on after a key, as far as its limit", async (store) => {
    await write(store, ...keys.map((key) => put(key)));
    const found = [];
    for (let page = await keysOf(store, "", { limit: 4 }); page.length > 0; page = await keysOf(store, "", { limit: 4, after: page.at(-1) })) {
      assert.ok(page.length <= 4);
      found.push(...page);
    }
    assert.deepEqual(found, ordered);
    assert.deepEqual(await keysOf(store, "a", { after: "a", limit: 2 }), ["a%", "a%b"]);
    assert.deepEqual(await keysOf(store, "a", { after: "Z", limit: 1 }), ["a"]);
    assert.deepEqual(await keysOf(store, "a", { after: "b" }), []);
    await write(store, ...Array.from({ length: 101 }, (_, i) => put(`many${i}`)));
    assert.equal((await store.scan("many")).length, 100);
  });

  check("a scan for what has expired leaves out what expires later or never", async (store) => {
    await write(store, put("a1", {}, { expiresAt: 10 }), put("a2", {}, { expiresAt: 11 }), put("a3"), put("b1", {}, { expiresAt: 1 }), put("a0", {}, { expiresAt: 9 }));
    assert.deepEqual(await keysOf(store, "a", { expiredBefore: 11 }), ["a0", "a1"]);
    assert.deepEqual(await keysOf(store, "a", { expiredBefore: 11, after: "a0" }), ["a1"]);
    assert.deepEqual(await keysOf(store, "a", { expiredBefore: 9 }), []);
    assert.deepEqual(await keysOf(store, "", { expiredBefore: 2 }), ["b1"]);
  });

  const STEPS = ["begin", "locked", "read", "decided", "written:0", "written:1", "committed"];

  test(`${name}: the steps are those that are told, and a failure at any but the last undoes all`, async () => {
    const place = await make();
    const seen = [];
    let failAt;
    const store = openStore(place, {
      hook: (step) => {
        seen.push(step);
        if (step === failAt) throw new Error(step);
      },
    });
    const change = (value) => store.update(["a", "b"], () => ({ puts: [put("a", value), put("b", null)] }));
    await write(store, put("a", { is: "old" }), put("b", { is: "old" }));
    assert.deepEqual(seen, STEPS);
    assert.deepEqual(updateSteps(2), STEPS);
    assert.deepEqual(updateSteps(0), ["begin", "locked", "read", "decided", "committed"]);
    for (failAt of STEPS) {
      await assert.rejects(change({ is: "new" }), { message: failAt });
      const rows = await store.scan("");
      if (failAt === "committed") assert.deepEqual(rows, [{ key: "a", value: { is: "new" } }]);
      else assert.deepEqual(rows, [{ key: "a", value: { is: "old" } }, { key: "b", value: { is: "old" } }], failAt);
    }
    await store.close();
  });

  test(`${name}: what is not committed is seen by nobody`, async () => {
    const place = await make();
    const others = openStore(place);
    let seen;
    const store = openStore(place, {
      hook: async (step) => {
        if (step !== "written:0") return;
        seen = store.read("a");
        assert.equal(await others.read("a"), undefined);
        throw new Error("undone");
      },
    });
    await assert.rejects(write(store, put("a")), { message: "undone" });
    assert.equal(await seen, undefined);
    await Promise.all([store.close(), others.close()]);
  });

  test(`${name}: a name of a table that is more than a name is refused`, async () => {
    const place = await make();
    for (const table of ["", "a b", "a;b", 'a"b', "a.b", "A", "1a", "ä", "a".repeat(49), 1, null, "a\n"]) {
      assert.throws(() => openStore(place, { table }), { code: "invalid_type", field: "table" }, String(table));
    }
    const [one, other] = [openStore(place, { table: "one" }), openStore(place, { table: "other" })];
    await write(one, put("a"));
    assert.deepEqual(await other.scan(""), []);
    assert.deepEqual(await one.scan(""), [{ key: "a", value: { n: 1 } }]);
    await Promise.all([one.close(), other.close()]);
  });

  check("after close everything is refused, and what ran before has ended", async (store) => {
    const running = increment(store, ["a"]);
    const closing = store.close();
    assert.deepEqual(await running, [1]);
    await closing;
    for (const call of [() => store.read("a"), () => store.scan(""), () => increment(store, ["a"]), () => store.prepare()]) {
      await assert.rejects(call(), { code: "store_unavailable", next: "wait", money: "possible" });
    }
  });
}
