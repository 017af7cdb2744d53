/** counterfoil/gateway: the selling side, and the stores that it keeps its rows in. */
import type { Seconds } from "./values.js";

/** What a store keeps under a key: a JSON object, given back with its members in their order, and bytes beside it. */
export interface GatewayRow { value: Record<string, unknown>; body?: Uint8Array; expiresAt?: Seconds }
/** `value: null` deletes. A put replaces the whole row: no `body` means that none is kept. */
export interface GatewayPut { key: string; value: object | null; body?: Uint8Array; expiresAt?: Seconds }
export interface GatewayScan {
  /** Keys above this one only. */
  after?: string;
  /** At most so many rows, 100 when absent. */
  limit?: number;
  /** Rows with an `expiresAt` below this one only. */
  expiredBefore?: Seconds;
}

/**
 * Rows under keys, changed by one caller at a time. Keys are any text but U+0000 and lone surrogates. What a store can't do is
 * `store_unavailable`: the change may be kept all the same, when the answer to its commit was lost, so the caller reads again.
 */
export interface GatewayStore {
  readonly durability: "power-loss" | "replicated";
  /**
   * Locks the keys, reads them, calls `decide` once with their rows (`rows[i]` is that of `keys[i]`), writes what it says in the same transaction, and
   * resolves with its `result` once that is durable. Callers whose keys overlap take turns, also across processes, and never wait for each
   * other in a circle. What `decide` throws is what `update` rejects with, and nothing is written. `invalid_type` at `keys`, or at `puts` for what
   * is not asked for among the keys; `duplicate_key` for a key given twice; `lone_surrogate`.
   */
  update<T>(keys: string[], decide: (rows: (GatewayRow | undefined)[]) => { puts: GatewayPut[]; result?: T }): Promise<T>;
  /** The row as last committed. Locks nothing and waits for nobody. */
  read(key: string): Promise<GatewayRow | undefined>;
  /** Rows whose key begins with `prefix`, without their bodies, in the order of the keys' UTF-8 bytes. */
  scan(prefix: string, options?: GatewayScan): Promise<(Omit<GatewayRow, "body"> & { key: string })[]>;
  /** Waits for what runs and refuses what comes later. A pool or database handed in stays open: it is the caller's. */
  close(): Promise<void>;
}

/** A store that can be made ready ahead of the first call, to learn at the start whether its database can be used. */
export interface PreparedStore extends GatewayStore { prepare(): Promise<void> }

/**
 * Rows in PostgreSQL (11 or later), for any number of gateways; the table is made at the first use. `pool` is a `Pool` of `pg`: give it
 * `connectionTimeoutMillis` and `query_timeout`, or a server that vanished is waited for as long as TCP does. Works behind a pooler in transaction
 * mode. Refuses a server with `fsync` off.
 */
export function postgresStore(options: {
  pool: { connect(): Promise<any>; query(text: string, values?: any[]): Promise<any> };
  /** Lower-case letters, digits and underscores; "counterfoil_gateway" when absent. */
  table?: string;
  /** Milliseconds for each statement of an update, its turn for the keys included. Without a limit when absent. */
  statementTimeout?: number;
  /** For tests: awaited at each of `updateSteps`. */
  hook?: (step: string) => unknown;
}): PreparedStore;

/**
 * Rows in one SQLite file, for the gateways of one machine; the table is made at the first use. `database` is a `Database` of `better-sqlite3`, best one of
 * the store's own: the store sets `journal_mode`, `synchronous` and `busy_timeout`, and refuses a database that can't be made durable, such as one in memory.
 */
export function sqliteStore(options: {
  database: { prepare(sql: string): any; pragma(text: string, options?: any): any; exec(sql: string): any; readonly inTransaction: boolean };
  /** Lower-case letters, digits and underscores; "counterfoil_gateway" when absent. */
  table?: string;
  /** Milliseconds to wait for other processes, 10,000 when absent. */
  busyTimeout?: number;
  /** For tests: awaited at each of `updateSteps`. */
  hook?: (step: string) => unknown;
}): PreparedStore;

/** The steps of an update that writes so many rows: "begin", "locked", "read", "decided", "written:0" and so on, "committed". */
export function updateSteps(puts: number): string[];
