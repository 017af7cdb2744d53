// The gateway's store in SQLite: what only a file and its connection can do to it.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { sqliteStore } from "counterfoil/gateway";
import { increment, removeFiles, sqliteFile } from "./store-place.mjs";

const UNAVAILABLE = { name: "CounterfoilError", code: "store_unavailable", next: "wait", money: "possible" };

after(removeFiles);

test("the connection is made durable, and is not weakened where it is more than that", async () => {
  for (const [before, then] of [["OFF", 2], ["NORMAL", 2], ["FULL", 2], ["EXTRA", 3]]) {
    const database = new Database(sqliteFile());
    database.pragma(`synchronous = ${before}`);
    await sqliteStore({ database }).prepare();
    assert.deepEqual([database.pragma("journal_mode", { simple: true }), database.pragma("synchronous", { simple: true })], ["wal", then]);
    database.close();
  }
});

test("a database that can't be made durable is refused", async () => {
  const memory = new Database(":memory:");
  await assert.rejects(increment(sqliteStore({ database: memory }), ["a"]), UNAVAILABLE);
  // Inside a transaction SQLite leaves both settings as they are.
  const busy = new Database(sqliteFile());
  busy.exec("BEGIN; CREATE TABLE t (x)");
  await assert.rejects(increment(sqliteStore({ database: busy }), ["a"]), UNAVAILABLE);
  // `synchronous` alone does not hold here.
  const stubborn = new Database(sqliteFile());
  const pragma = stubborn.pragma.bind(stubborn);
  pragma("synchronous = NORMAL");
  stubborn.pragma = (text, options) => (text.startsWith("synchronous =") ? undefined : pragma(text, options));
  await assert.rejects(increment(sqliteStore({ database: stubborn }), ["a"]), UNAVAILABLE);
  for (const database of [memory, busy, stubborn]) database.close();
});

test("a file that is no database, one that may only be read, and a closed connection are told", async () => {
  const file = sqliteFile();
  writeFileSync(file, "no database ".repeat(1000));
  const damaged = new Database(file);
  await assert.rejects(sqliteStore({ database: damaged }).prepare(), UNAVAILABLE);
  const path = sqliteFile();
  const database = new Database(path);
  const store = sqliteStore({ database });
  await increment(store, ["a"]);
  const reader = new Database(path, { readonly: true });
  await assert.rejects(increment(sqliteStore({ database: reader }), ["a"]), UNAVAILABLE);
  database.close();
  for (const call of [() => increment(store, ["a"]), () => store.read("a"), () => store.scan("")]) await assert.rejects(call(), UNAVAILABLE);
  for (const each of [damaged, reader]) each.close();
});

test("another writer is waited for as long as is asked, and told when it is too long", async () => {
  const file = sqliteFile();
  const [database, other] = [new Database(file), new Database(file)];
  await sqliteStore({ database }).prepare();
  other.exec("BEGIN IMMEDIATE");
  await assert.rejects(increment(sqliteStore({ database, busyTimeout: 60 }), ["a"]), UNAVAILABLE);
  const patient = increment(sqliteStore({ database }), ["a"]);
  // The wait leaves room for what else the process does: here, for the end of the other transaction.
  setTimeout(() => other.exec("COMMIT"), 150);
  assert.deepEqual(await patient, [1]);
  for (const each of [database, other]) each.close();
});

test("a transaction that the caller left open is not joined", async () => {
  const database = new Database(sqliteFile());
  const store = sqliteStore({ database });
  await store.prepare();
  database.exec("BEGIN");
  let called = false;
  await assert.rejects(increment(store, ["a"], () => (called = true)), UNAVAILABLE);
  assert.equal(called, false);
  database.exec("ROLLBACK");
  assert.deepEqual(await increment(store, ["a"]), [1]);
  database.close();
});

test("integers of a connection that gives bigints are numbers", async () => {
  const database = new Database(sqliteFile());
  database.defaultSafeIntegers();
  const store = sqliteStore({ database });
  await store.update(["a"], () => ({ puts: [{ key: "a", value: {}, expiresAt: 12 }] }));
  assert.deepEqual(await store.read("a"), { value: {}, expiresAt: 12 });
  database.close();
});

test("without a hook nothing of the process comes between BEGIN and COMMIT", async () => {
  const database = new Database(sqliteFile());
  const store = sqliteStore({ database });
  await store.prepare();
  let open = 0;
  let over = false;
  const update = increment(store, ["a"]).finally(() => (over = true));
  while (!over) {
    if (database.inTransaction) open++;
    await null;
  }
  await update;
  assert.equal(open, 0);
  database.close();
});

test("what is no database or no time is refused", () => {
  for (const database of [undefined, {}, "file.db"]) assert.throws(() => sqliteStore({ database }), { code: "invalid_type", field: "database" });
  const database = new Database(":memory:");
  for (const busyTimeout of [-1, "1", 1.5]) assert.throws(() => sqliteStore({ database, busyTimeout }), { code: "invalid_type", field: "busyTimeout" });
  database.close();
});
