// The journal in PostgreSQL, for workers on many machines. A commit is one transaction of conditional writes, in the order of
// their keys so that two commits never wait for each other, and it is over when the server has it on its disk.

import { checked, checkedTtl, string } from "../journal.mjs";
import { CounterfoilError } from "../errors.mjs";
import { connected, fault, inTransaction } from "./transaction.mjs";
import { leasesIn } from "./leases.mjs";
import { namesOf, prepare } from "./tables.mjs";

/** Rows asked for at once by a scan: records may hold an answer's body. */
const PAGE = 50;

/**
 * A journal in a table of PostgreSQL (13 or newer, database in UTF-8), reached through a pool of `pg`, which stays the caller's. The
 * tables are made at the first use where they are missing.
 * @param {{ pool: object, table?: string, durability?: "power-loss" | "replicated", hook?: (at: string) => unknown }} options
 */
export function postgresJournal(options) {
  const { pool, table = "counterfoil_journal", durability = "power-loss", hook = () => {} } = options ?? {};
  if (typeof pool?.connect !== "function") throw new CounterfoilError("missing_field", { field: "pool" });
  if (durability !== "power-loss" && durability !== "replicated") throw new CounterfoilError("invalid_type", { field: "durability" });
  if (typeof hook !== "function") throw new CounterfoilError("invalid_type", { field: "hook" });
  const names = namesOf(table);
  // An idle connection that breaks is the pool's to replace; an "error" event that nobody listens to would end the process.
  pool.on?.("error", ignore);
  let prepared;
  let closed = false;

  async function open() {
    if (closed) throw new CounterfoilError("journal_closed");
    prepared ??= prepare(pool, names).catch((error) => {
      prepared = undefined; // whoever calls next tries again
      throw fault(error);
    });
    await prepared;
    if (closed) throw new CounterfoilError("journal_closed");
  }

  const query = (text, values) => connected(pool, (client) => client.query(text, values)).catch((error) => {
    throw fault(error);
  });

  async function read(key) {
    keyText(key, "key");
    await open();
    const { rows } = await query(`SELECT rev, value FROM ${names.entries} WHERE key = $1`, [key]);
    return rows.length === 0 ? undefined : entry(rows[0]);
  }

  async function commit(ops, fence) {
    const changes = checked(ops).sort((a, b) => (a.key < b.key ? -1 : 1));
    for (const { key } of changes) keyText(key, "ops");
    await open();
    if (changes.length === 0 && !fence) return { ok: true };
    return inTransaction(pool, hook, async (run) => {
      if (fence && !(await leases.stands(run, fence))) return { ok: false, key: fence.lease };
      for (const change of changes) {
        if (!(await apply(run, change))) return { ok: false, key: change.key };
      }
      return { ok: true };
    });
  }

  /** Whether the key was as expected, and with that the change. Each row it touches is held to the end of the transaction. */
  async function apply(run, { key, expect, put }) {
    const { entries, revisions } = names;
    const value = put && Buffer.from(put.buffer, put.byteOffset, put.byteLength);
    const at = `${put ? "put" : "delete"} ${key}`;
    if (expect !== "absent") {
      const { rowCount } = put
        ? await run(at, `UPDATE ${entries} SET rev = nextval('${revisions}'), value = $3 WHERE key = $1 AND rev = $2`, [key, expect, value])
        : await run(at, `DELETE FROM ${entries} WHERE key = $1 AND rev = $2`, [key, expect]);
      return rowCount === 1;
    }
    if (!put) return (await run(at, `SELECT 1 FROM ${entries} WHERE key = $1 FOR UPDATE`, [key])).rowCount === 0;
    const insert = `INSERT INTO ${entries} (key, rev, value) VALUES ($1, nextval('${revisions}'), $2) ON CONFLICT (key) DO NOTHING`;
    return (await run(at, insert, [key, value])).rowCount === 1;
  }

  async function* scan(prefix, after) {
    keyText(prefix, "prefix");
    if (after !== undefined) keyText(after, "after");
    const page = `SELECT key, rev, value FROM ${names.entries} WHERE key >= $1 AND ($2::text IS NULL OR key > $2) ORDER BY key LIMIT ${PAGE}`;
    for (let last = after; ; ) {
      await open();
      const { rows } = await query(page, [prefix, last ?? null]);
      for (const row of rows) {
        // Keys with one prefix stand together.
        if (!row.key.startsWith(prefix)) return;
        yield { key: row.key, ...entry(row) };
      }
      if (rows.length < PAGE) return;
      last = rows.at(-1).key;
    }
  }

  const leases = leasesIn(names.leases);

  async function lease(name, ttlMs) {
    keyText(name, "name");
    checkedTtl(ttlMs);
    await open();
    const token = await inTransaction(pool, hook, (run) => leases.take(run, name, ttlMs));
    if (token === undefined) return undefined;
    return {
      token,
      async renew(ttl) {
        checkedTtl(ttl);
        await open();
        return inTransaction(pool, hook, (run) => leases.renew(run, name, token, ttl));
      },
      async release() {
        await open();
        await inTransaction(pool, hook, (run) => leases.release(run, name, token));
      },
    };
  }

  async function close() {
    if (!closed) pool.off?.("error", ignore);
    closed = true;
  }

  const journal = { durability, read, commit, scan, lease, close };
  if (Symbol.asyncDispose) journal[Symbol.asyncDispose] = close;
  return journal;
}

const ignore = () => {};

function entry({ rev, value }) {
  return { rev: Number(rev), value: new Uint8Array(value) };
}

/** What a `text` of PostgreSQL can hold. */
function keyText(value, field) {
  string(value, field);
  if (value.includes("\0") || !isWellFormed(value)) throw new CounterfoilError("invalid_type", { field });
}

function isWellFormed(text) {
  return !/[\ud800-\udfff]/u.test(text);
}
