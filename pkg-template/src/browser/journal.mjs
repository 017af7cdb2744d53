// The journal in IndexedDB, for the tabs and workers of one origin. A commit is one transaction: the browser runs those that write one
// after the other, whichever tab they are of, and it is over when the browser has put it on the disk.
//
// A dozen requests need no library, and without one the files run in a page as they are.

import { checked, checkedTtl, string } from "../journal.mjs";
import { CounterfoilError } from "../errors.mjs";
import { fault, openDatabase, transact } from "./database.mjs";
import { presence } from "./presence.mjs";

/** Rows asked for at once by a scan: records may hold an answer's body. */
const PAGE = 50;

/**
 * A journal in the IndexedDB database `name` of this origin, made at the first use. Any number may be open at once, in any tab.
 * @param {string} name
 */
export function indexedDbJournal(name) {
  if (typeof name !== "string" || name === "") throw new CounterfoilError("invalid_type", { field: "name" });
  let opening; // promise of { database, here }
  let closed = false;

  function open() {
    if (closed) return Promise.reject(new CounterfoilError("journal_closed"));
    opening ??= begin().catch((cause) => {
      opening = undefined; // whoever calls next tries again
      throw fault(cause);
    });
    return opening;
  }

  async function begin() {
    const here = await presence(name);
    try {
      return { here, database: await openDatabase(name) };
    } catch (error) {
      here.end();
      throw error;
    }
  }

  async function within(mode, stores, body) {
    const { database } = await open();
    if (closed) throw new CounterfoilError("journal_closed");
    return transact(database, mode, stores, body);
  }

  async function read(key) {
    string(key, "key");
    const found = await within("readonly", ["entries"], ({ entries }) => entries.get(key));
    return found && { rev: found.rev, value: found.value };
  }

  async function commit(ops, fence) {
    const changes = checked(ops);
    return within("readwrite", ["entries", "leases", "revisions"], async ({ entries, leases, revisions }) => {
      if (fence && !stands(await leases.get(fence.lease), fence.token)) return { ok: false, key: fence.lease };
      for (const { key, expect } of changes) {
        if (((await entries.get(key))?.rev ?? "absent") !== expect) return { ok: false, key };
      }
      if (changes.length === 0) return { ok: true };
      // No revision is ever given twice, also not to a key that was gone in between.
      const rev = ((await revisions.get("last")) ?? 0) + 1;
      revisions.put(rev, "last");
      for (const { key, put } of changes) {
        if (put) entries.put({ key, rev, value: put });
        else entries.delete(key);
      }
      return { ok: true };
    });
  }

  async function* scan(prefix, after) {
    string(prefix, "prefix");
    if (after !== undefined) string(after, "after");
    const past = after !== undefined && after >= prefix;
    let range = past ? IDBKeyRange.lowerBound(after, true) : IDBKeyRange.lowerBound(prefix);
    for (;;) {
      const rows = await within("readonly", ["entries"], ({ entries }) => entries.getAll(range, PAGE));
      for (const row of rows) {
        // Keys with one prefix stand together.
        if (!row.key.startsWith(prefix)) return;
        yield row;
      }
      if (rows.length < PAGE) return;
      range = IDBKeyRange.lowerBound(rows.at(-1).key, true);
    }
  }

  /** The token, or undefined while one that lives holds the lease. The row stays when its lease ends, so that tokens only rise. */
  async function take(leaseName, ttlMs) {
    const { here } = await open();
    for (let dead; ; ) {
      const { row, mine } = await within("readwrite", ["leases"], async ({ leases }) => {
        const row = await leases.get(leaseName);
        if (row && row.until > Date.now() && row.token !== dead) return { row, mine: false };
        const taken = { name: leaseName, token: (row?.token ?? 0) + 1, until: Date.now() + ttlMs, holder: here.id };
        leases.put(taken);
        return { row: taken, mine: true };
      });
      if (mine) return row.token;
      // Asked after the row was seen: whoever wrote it was there before.
      if (await here.lives(row.holder)) return undefined;
      dead = row.token;
    }
  }

  async function lease(leaseName, ttlMs) {
    string(leaseName, "name");
    checkedTtl(ttlMs);
    const token = await take(leaseName, ttlMs);
    if (token === undefined) return undefined;
    const change = (until) => within("readwrite", ["leases"], async ({ leases }) => {
      const row = await leases.get(leaseName);
      if (!stands(row, token)) return false;
      leases.put({ ...row, until: until() });
      return true;
    });
    return {
      token,
      async renew(ttl) {
        checkedTtl(ttl);
        return change(() => Date.now() + ttl);
      },
      async release() {
        await change(() => 0);
      },
    };
  }

  async function close() {
    if (closed) return;
    closed = true;
    const opened = await opening?.catch(() => undefined);
    opened?.database.close(); // once what was begun is over
    opened?.here.end();
  }

  const journal = { durability: "power-loss", read, commit, scan, lease, close };
  if (Symbol.asyncDispose) journal[Symbol.asyncDispose] = close;
  return journal;
}

/** Whether this token is the newest and lives. Tabs share a clock; whether their holder does too is not asked. */
function stands(row, token) {
  return row !== undefined && row.token === token && row.until > Date.now();
}
