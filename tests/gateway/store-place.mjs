// Where a store keeps its rows, as a value that goes to other processes.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { postgresStore, sqliteStore } from "counterfoil/gateway";
import pg from "pg";

/** A store on `place`, `{ postgres: configuration of a pool, table? }` or `{ sqlite: path of a file }`, and a `close` that closes its database too. */
export function openStore({ postgres, table, sqlite }, options = {}) {
  if (postgres) {
    const pool = new pg.Pool(postgres);
    return closing(postgresStore({ pool, table, ...options }), () => pool.end());
  }
  const database = new Database(sqlite);
  return closing(sqliteStore({ database, ...options }), async () => database.close());
}

function closing(store, close) {
  let closed;
  return { ...store, close: () => (closed ??= store.close().then(close)) };
}

const folders = [];

export function sqliteFile() {
  folders.push(mkdtempSync(join(tmpdir(), "counterfoil-sqlite-")));
  return join(folders.at(-1), "gateway.db");
}

export function removeFiles() {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** An update that adds one to `value.n` of every key. */
export function increment(store, keys, then = () => {}) {
  return store.update(keys, (rows) => {
    const next = rows.map((row) => (row?.value.n ?? 0) + 1);
    then(next);
    return { puts: keys.map((key, i) => ({ key, value: { n: next[i] } })), result: next };
  });
}
