// The gateway's rows in one SQLite file, for the gateways of one machine. The caller brings the `better-sqlite3` Database, which
// should be the store's own: the store sets its pragmas and opens transactions on it.

import { checkedKey, checkedKeys, checkedScan, checkedTable, decided, invalid, row, unavailable } from "./rows.mjs";

// How long SQLite itself waits for another process. It blocks the whole process meanwhile, so the longer wait is ours.
const BLOCKING_MS = 20;

/**
 * @param {object} options `database` of `better-sqlite3`; `table`; `busyTimeout` in milliseconds for the turn among other processes, 10,000
 *   when absent; `hook(step)`, for tests: awaited at each of `updateSteps`
 */
export function sqliteStore({ database, table = "counterfoil_gateway", busyTimeout = 10_000, hook }) {
  checkedTable(table);
  if (typeof database?.prepare !== "function" || typeof database.pragma !== "function") throw invalid("database");
  if (!(Number.isSafeInteger(busyTimeout) && busyTimeout >= 0)) throw invalid("busyTimeout");
  let sql;
  let closed = false;
  let last = Promise.resolve();

  /** The table is there and the pragmas hold. Called by every operation; on its own to find out at the start. */
  async function prepare() {
    sql ??= await patiently(() => {
      durable(database);
      return statements(database, table);
    });
  }

  async function update(keys, decide) {
    const wanted = checkedKeys(keys);
    await prepare();
    return patiently(() => sql.begin.run(), () => carriedOut(transaction(wanted, decide)));
  }

  /** Without a hook nothing is awaited from BEGIN to COMMIT: no other statement of this process comes in between. */
  async function carriedOut(work) {
    for (let step = work.next(); ; step = work.next()) {
      if (step.done) return step.value;
      try {
        if (hook) await hook(step.value);
      } catch (error) {
        work.throw(error);
      }
    }
  }

  function* transaction(keys, decide) {
    try {
      yield "begin";
      yield "locked"; // by BEGIN IMMEDIATE, and against every writer
      const rows = new Map();
      for (const key of keys) {
        const found = tried(() => sql.read.get(key));
        if (found) rows.set(key, row(found));
      }
      yield "read";
      const { puts, result } = decided(decide, keys, rows);
      yield "decided";
      for (const [i, { key, value, body, expiresAt }] of puts.entries()) {
        if (value === null) tried(() => sql.remove.run(key));
        else tried(() => sql.write.run(key, value, body ?? null, expiresAt ?? null));
        yield `written:${i}`;
      }
      tried(() => sql.commit.run());
      yield "committed";
      return result;
    } finally {
      if (database.inTransaction) sql.rollback.run();
    }
  }

  async function read(key) {
    checkedKey(key, "key");
    await prepare();
    const found = await patiently(() => sql.read.get(key));
    return found && row(found);
  }

  async function scan(prefix, options) {
    const asked = checkedScan(prefix, options);
    await prepare();
    const found = await patiently(() => sql.scan.all({ ...asked, below: asked.below ?? null, after: asked.after ?? null, expiredBefore: asked.expiredBefore ?? null }));
    return found.map((each) => ({ key: each.key, ...row(each) }));
  }

  /** Runs a statement, again while another process is writing (SQLITE_BUSY) and there is time; then, at once, what follows. */
  async function patiently(statement, next = (found) => found) {
    const until = performance.now() + busyTimeout;
    for (;;) {
      let found;
      try {
        found = statement();
      } catch (error) {
        if (!String(error?.code).startsWith("SQLITE_BUSY") || performance.now() >= until) throw unavailable(error);
        await new Promise((done) => setTimeout(done, 1 + Math.random() * BLOCKING_MS));
        continue;
      }
      return next(found);
    }
  }

  /** One operation after the other: with a hook a transaction stays open across waits, and the connection is one. */
  const inTurn = (operation) => (...args) => {
    if (closed) return Promise.reject(unavailable(new Error("the store was closed")));
    const work = last.then(() => operation(...args));
    last = work.catch(() => {});
    return work;
  };

  async function close() {
    closed = true;
    await last;
  }

  return { durability: "power-loss", prepare: inTurn(prepare), update: inTurn(update), read: inTurn(read), scan: inTurn(scan), close };
}

function tried(statement) {
  try {
    return statement();
  } catch (error) {
    throw unavailable(error);
  }
}

/** Sets what a commit needs to survive a power cut, and looks whether it holds: a database in memory says "memory". */
function durable(database) {
  const pragma = (text) => database.pragma(text, { simple: true });
  pragma(`busy_timeout = ${BLOCKING_MS}`);
  const mode = pragma("journal_mode = WAL");
  // The default of this setting is a choice made when SQLite was built. EXTRA is stronger than FULL and stays.
  if (Number(pragma("synchronous")) < 2) pragma("synchronous = FULL");
  const synchronous = Number(pragma("synchronous"));
  // On macOS an fsync alone leaves the data in the disk's cache; elsewhere these two do nothing.
  pragma("fullfsync = 1");
  pragma("checkpoint_fullfsync = 1");
  if (mode !== "wal" || synchronous < 2) throw new Error(`SQLite is at journal_mode ${mode} and synchronous ${synchronous}: what it confirms does not survive a power cut`);
}

function statements(database, table) {
  database.exec(`CREATE TABLE IF NOT EXISTS ${table} (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL, body BLOB, expires_at INTEGER) STRICT;
    CREATE INDEX IF NOT EXISTS ${table}_expires_at ON ${table} (expires_at) WHERE expires_at IS NOT NULL`);
  const prepared = {
    begin: "BEGIN IMMEDIATE",
    commit: "COMMIT",
    rollback: "ROLLBACK",
    read: `SELECT value, body, expires_at FROM ${table} WHERE key = ?`,
    write: `INSERT INTO ${table} (key, value, body, expires_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, body = excluded.body, expires_at = excluded.expires_at`,
    remove: `DELETE FROM ${table} WHERE key = ?`,
    scan: `SELECT key, value, expires_at FROM ${table}
      WHERE key >= @from AND (@below IS NULL OR key < @below) AND (@after IS NULL OR key > @after) AND (@expiredBefore IS NULL OR expires_at < @expiredBefore)
      ORDER BY key LIMIT @limit`,
  };
  return Object.fromEntries(Object.entries(prepared).map(([name, text]) => [name, database.prepare(text)]));
}
