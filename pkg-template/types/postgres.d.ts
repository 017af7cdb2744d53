/** counterfoil/postgres: what many machines share. */
import type { JournalStore } from "./values.js";

/** A pool of `pg`, as far as it is used. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
}
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ rows: any[]; rowCount: number | null }>;
  release(error?: Error | boolean): void;
}

export interface PostgresJournalOptions {
  pool: PostgresPool;
  /** "counterfoil_journal" when absent; lower case, may name its schema. Two more names begin with it: `_leases` and `_revisions`. */
  table?: string;
  /**
   * What a commit has survived once it resolves: "power-loss" when absent. Say "replicated" only where `synchronous_standby_names` makes the
   * server wait for another machine's disk; the journal can't tell.
   */
  durability?: "power-loss" | "replicated";
  /** For tests: called before each statement with its name, and awaited. */
  hook?: (at: string) => unknown;
}

/**
 * A journal in a table of PostgreSQL (13 or newer, database in UTF-8) for workers on many machines. The tables are made at the first use
 * where they are missing. Keys stand in the order of their UTF-8 bytes. A lease's token rises for ever, whoever holds it; the server's clock
 * decides when it ends. The pool stays the caller's and is not ended by `close`.
 * Errors: `missing_field`, `invalid_type` at once; later `journal_unavailable` (nothing was written), `journal_unknown` (the answer to a commit
 * was lost and the server can't be asked; it may stand), `journal_closed`.
 */
export function postgresJournal(options: PostgresJournalOptions): JournalStore;
