// The tables of a journal: entries by key, leases by name, and a sequence that no revision is ever given from twice.

import { CounterfoilError } from "../errors.mjs";
import { connected } from "./transaction.mjs";

/** The quoted names that belong to `table`, which may name its schema. Error: `invalid_type`. */
export function namesOf(table) {
  // Room is left for the longest ending: PostgreSQL cuts names at 63 bytes.
  if (typeof table !== "string" || !/^([a-z_][a-z0-9_]{0,62}\.)?[a-z_][a-z0-9_]{0,50}$/.test(table)) {
    throw new CounterfoilError("invalid_type", { field: "table" });
  }
  const quoted = (ending) => `${table}${ending}`.split(".").map((part) => `"${part}"`).join(".");
  return { entries: quoted(""), leases: quoted("_leases"), revisions: quoted("_revisions") };
}

/** Makes what is missing. A role that may not make tables can use them once somebody else has. */
export function prepare(pool, { entries, leases, revisions }) {
  const present = `SELECT to_regclass('${entries}') IS NOT NULL AND to_regclass('${leases}') IS NOT NULL AS present`;
  return connected(pool, async (client) => {
    if ((await client.query(present)).rows[0].present) return;
    await client.query("BEGIN");
    // Two that make the same table at once would both fail: one after the other.
    await client.query("SELECT pg_advisory_xact_lock(hashtext('counterfoil'), hashtext($1))", [entries]);
    await client.query(`CREATE SEQUENCE IF NOT EXISTS ${revisions}`);
    // Byte order, so that a key's place does not depend on the server's language.
    await client.query(`CREATE TABLE IF NOT EXISTS ${entries} (key text COLLATE "C" PRIMARY KEY, rev bigint NOT NULL, value bytea NOT NULL)`);
    await client.query(`CREATE TABLE IF NOT EXISTS ${leases} (name text COLLATE "C" PRIMARY KEY, token bigint NOT NULL, until timestamptz NOT NULL)`);
    await client.query("COMMIT");
  });
}
