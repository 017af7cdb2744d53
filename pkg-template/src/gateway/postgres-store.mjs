// The gateway's rows in PostgreSQL, for any number of gateways. The caller brings the `pg` Pool.

import { checkedKey, checkedKeys, checkedScan, checkedTable, decided, invalid, row, unavailable } from "./rows.mjs";

// A gateway that vanished without closing its connection (power cut, cable) must not keep its rows locked for the hours that
// TCP takes to notice. Between statements a gateway does nothing that takes longer than a moment.
const IDLE_MS = 30_000;

/**
 * @param {object} options `pool` of `pg`; `table`; `statementTimeout` in milliseconds for each statement, waiting for locks included;
 *   `hook(step)`, for tests: awaited at each of `updateSteps`
 */
export function postgresStore({ pool, table = "counterfoil_gateway", statementTimeout, hook }) {
  checkedTable(table);
  if (typeof pool?.connect !== "function") throw invalid("pool");
  if (statementTimeout !== undefined && !(Number.isSafeInteger(statementTimeout) && statementTimeout > 0)) throw invalid("statementTimeout");
  let preparing;
  let closed = false;
  const running = new Set();
  // An idle connection that breaks is the pool's to replace; an "error" event that nobody listens to would end the process.
  pool.on?.("error", ignore);

  const sql = statements(table, statementTimeout);

  /** The table is there. Called by every operation; on its own to find out at the start whether the database can be used. */
  function prepare() {
    preparing ??= transaction(create).catch((error) => {
      preparing = undefined;
      throw error;
    });
    return preparing;
  }

  async function create(query) {
    // Two CREATE TABLE IF NOT EXISTS at once collide in the catalogue. Where the table is there nothing is created, so that a
    // role needs no right to create.
    await query(sql.lockTable, [table]);
    const [{ fsync, there }] = (await query(sql.look, [table])).rows;
    if (fsync !== "on") throw unavailable(new Error("PostgreSQL runs with fsync off: what it confirms does not survive a power cut"));
    if (!there) for (const statement of sql.create) await query(statement);
  }

  async function update(keys, decide) {
    const wanted = checkedKeys(keys);
    await prepare();
    return transaction(async (query) => {
      await hook?.("begin");
      await query(sql.lock, [table, wanted]);
      await hook?.("locked");
      const found = (await query(sql.read, [wanted])).rows;
      await hook?.("read");
      const { puts, result } = decided(decide, wanted, new Map(found.map((each) => [each.key, row(each)])));
      await hook?.("decided");
      for (const [i, put] of puts.entries()) {
        if (put.value === null) await query(sql.remove, [put.key]);
        else await query(sql.write, [put.key, put.value, put.body ?? null, put.expiresAt ?? null]);
        await hook?.(`written:${i}`);
      }
      return result;
    }).then(async (result) => {
      await hook?.("committed");
      return result;
    });
  }

  /** Runs `work` in a transaction. A failure of the database is `store_unavailable`, any other goes through as it is. */
  async function transaction(work) {
    const client = await pool.connect().catch((error) => Promise.reject(unavailable(error)));
    const query = (text, values) => client.query(text, values).catch((error) => Promise.reject(unavailable(error)));
    let broken;
    // A connection may break while no statement runs: the next one says so.
    const onError = (error) => (broken = error);
    client.on("error", onError);
    try {
      await query(sql.begin);
      const result = await work(query);
      const { command } = await query("COMMIT");
      if (command !== "COMMIT") throw unavailable(new Error(`COMMIT was answered with ${command}`));
      return result;
    } catch (error) {
      // When even this fails the connection is of no use, and the server rolls back when it ends.
      await client.query("ROLLBACK").catch(onError);
      throw error;
    } finally {
      client.off("error", onError);
      client.release(broken);
    }
  }

  async function read(key) {
    checkedKey(key, "key");
    await prepare();
    const { rows } = await ask(sql.read, [[key]]);
    return rows[0] && row(rows[0]);
  }

  async function scan(prefix, options) {
    const { from, after, below, limit, expiredBefore } = checkedScan(prefix, options);
    await prepare();
    const { rows } = await ask(sql.scan, [from, below ?? null, after ?? null, expiredBefore ?? null, limit]);
    return rows.map((each) => ({ key: each.key, ...row(each) }));
  }

  const ask = (text, values) => pool.query(text, values).catch((error) => Promise.reject(unavailable(error)));

  /** Refuses what comes later and waits for what runs. */
  const during = (operation) => (...args) => {
    if (closed) return Promise.reject(unavailable(new Error("the store was closed")));
    const work = operation(...args);
    running.add(work);
    return work.finally(() => running.delete(work));
  };

  async function close() {
    closed = true;
    await Promise.allSettled(running);
    pool.off?.("error", ignore);
  }

  return { durability: "power-loss", prepare: during(prepare), update: during(update), read: during(read), scan: during(scan), close };
}

const ignore = () => {};

function statements(table, statementTimeout) {
  return {
    // READ COMMITTED, whatever the database's default is: with any other level the rows would be read as of the first
    // statement, which is the one that waits for the locks. And no asynchronous commit, whatever the default is: a confirmed
    // row is on the disk. `remote_apply` is stronger than `on` and stays.
    begin: `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
      SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true);
      SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}${statementTimeout ? `; SET LOCAL statement_timeout = ${statementTimeout}` : ""}`,
    // Advisory locks, since a row that is not there yet can't be locked. In the order of the numbers, which is one order for all
    // even where two keys share a number; the subquery is sorted before the first lock is taken.
    lock: `SELECT pg_advisory_xact_lock(number) FROM (
        SELECT DISTINCT hashtextextended(key COLLATE "C", hashtextextended($1::text COLLATE "C", 0)) AS number FROM unnest($2::text[]) AS key ORDER BY number OFFSET 0
      ) AS numbers`,
    lockTable: `SELECT pg_advisory_xact_lock(hashtextextended('create ' || $1::text COLLATE "C", 0))`,
    look: "SELECT current_setting('fsync') AS fsync, to_regclass($1::text) IS NOT NULL AS there",
    // The value is text: jsonb would sort members and drop what it thinks is the same.
    create: [
      `CREATE TABLE ${table} (key text COLLATE "C" PRIMARY KEY, value text NOT NULL, body bytea, expires_at bigint)`,
      `CREATE INDEX ${table}_expires_at ON ${table} (expires_at) WHERE expires_at IS NOT NULL`,
    ],
    read: `SELECT key, value, body, expires_at FROM ${table} WHERE key = ANY($1::text[])`,
    write: `INSERT INTO ${table} (key, value, body, expires_at) VALUES ($1, $2, $3, $4)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, body = excluded.body, expires_at = excluded.expires_at`,
    remove: `DELETE FROM ${table} WHERE key = $1`,
    scan: `SELECT key, value, expires_at FROM ${table}
      WHERE key >= $1::text AND ($2::text IS NULL OR key < $2::text) AND ($3::text IS NULL OR key > $3::text) AND ($4::bigint IS NULL OR expires_at < $4::bigint)
      ORDER BY key LIMIT $5`,
  };
}
