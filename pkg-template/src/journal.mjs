// What every store of this package does alike: the latest value of each key, compare-and-swap, leases and closing. Where
// the commits go is the business of a medium: `open()` gives `{ entries, append(ops) → { rev, durable }, close() }`.

import { isBytes } from "./boundary.mjs";
import { CounterfoilError } from "./errors.mjs";

/** A journal that ends with the process. For tests, and for callers that accept that. */
export function memoryJournal() {
  let rev = 0;
  const open = async () => ({ entries: [], append: () => ({ rev: ++rev, durable: Promise.resolve() }), close: async () => {} });
  return store({ durability: "memory", open });
}

export function store({ durability, open }) {
  const leases = new Map();
  let tokens = 0;
  let opening; // promise of { medium, entries, pending }
  let failure; // a commit that could not be made durable: what is held in memory is no longer what is on the medium
  let closing;

  function opened() {
    if (closing) return Promise.reject(new CounterfoilError("journal_closed"));
    if (failure) return Promise.reject(failure);
    opening ??= open().then(
      (medium) => ({ medium, entries: new Map(medium.entries), pending: new Map() }),
      (error) => {
        // Nothing is held; whoever calls next tries again.
        opening = undefined;
        throw error;
      },
    );
    return opening;
  }

  async function current({ entries, pending }, key) {
    // What is not durable yet has not happened yet, for whoever reads.
    while (pending.has(key)) await pending.get(key);
    if (failure) throw failure;
    return entries.get(key);
  }

  async function read(key) {
    string(key, "key");
    const entry = await current(await opened(), key);
    return entry && { rev: entry.rev, value: entry.value.slice() };
  }

  async function commit(ops, fence) {
    const changes = checked(ops);
    const { medium, entries, pending } = await opened();
    if (closing) throw new CounterfoilError("journal_closed");
    if (fence && leases.get(fence.lease)?.held(fence.token) !== true) return { ok: false, key: fence.lease };
    const unmet = changes.find(({ key, expect }) => (entries.get(key)?.rev ?? "absent") !== expect);
    if (unmet) return { ok: false, key: unmet.key };
    if (changes.length === 0) return { ok: true };
    // From here to the end of the loop nothing waits: the order of commits is the order of their lines.
    const { rev, durable } = medium.append(changes);
    for (const { key, put } of changes) {
      if (put) entries.set(key, { rev, value: put });
      else entries.delete(key);
      pending.set(key, durable);
    }
    try {
      await durable;
      return { ok: true };
    } catch (error) {
      failure ??= error;
      throw error;
    } finally {
      for (const { key } of changes) if (pending.get(key) === durable) pending.delete(key);
    }
  }

  async function* scan(prefix, after) {
    string(prefix, "prefix");
    const state = await opened();
    const keys = [...state.entries.keys()].filter((key) => key.startsWith(prefix) && (after === undefined || key > after));
    for (const key of keys.sort()) {
      const entry = await current(state, key);
      if (entry) yield { key, rev: entry.rev, value: entry.value.slice() };
    }
  }

  async function lease(name, ttlMs) {
    string(name, "name");
    checkedTtl(ttlMs);
    await opened();
    if (leases.get(name)?.alive()) return undefined;
    const token = ++tokens;
    let until = performance.now() + ttlMs;
    const mine = {
      alive: () => performance.now() < until,
      held: (claimed) => claimed === token && mine.alive(),
    };
    leases.set(name, mine);
    const holds = () => leases.get(name) === mine && mine.alive();
    return {
      token,
      async renew(ttl) {
        checkedTtl(ttl);
        if (!holds()) return false;
        until = performance.now() + ttl;
        return true;
      },
      async release() {
        if (leases.get(name) === mine) leases.delete(name);
      },
    };
  }

  function close() {
    closing ??= (async () => {
      const state = await opening?.catch(() => undefined);
      await state?.medium.close();
    })();
    return closing;
  }

  const journal = { durability, read, commit, scan, lease, close };
  if (Symbol.asyncDispose) journal[Symbol.asyncDispose] = close;
  return journal;
}

/** The operations as they are now: what the caller does to its arrays later does not matter. */
export function checked(ops) {
  if (!Array.isArray(ops)) throw new CounterfoilError("invalid_type", { field: "ops" });
  const seen = new Set();
  return ops.map((op, i) => {
    const { key, expect, put } = op ?? {};
    string(key, `ops[${i}].key`);
    if (seen.has(key)) throw new CounterfoilError("duplicate_key", { field: `ops[${i}].key` });
    seen.add(key);
    if (expect !== "absent" && !Number.isSafeInteger(expect)) throw new CounterfoilError("invalid_type", { field: `ops[${i}].expect` });
    if (put !== null && !isBytes(put)) throw new CounterfoilError("invalid_type", { field: `ops[${i}].put` });
    return { key, expect, put: put && new Uint8Array(put) };
  });
}

export function string(value, field) {
  if (typeof value !== "string") throw new CounterfoilError("invalid_type", { field });
}

export function checkedTtl(ttlMs) {
  if (!(Number.isFinite(ttlMs) && ttlMs > 0)) throw new CounterfoilError("invalid_type", { field: "ttlMs" });
}
