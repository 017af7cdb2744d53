/** counterfoil/gateway: the selling side, and the stores that it keeps its rows in. */
import type { CallRule } from "./core.js";
import type { Address, Amount, Finding, Hex, Network, Order, OrderEvent, Rpc, Seconds, TokenLayout } from "./values.js";

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

/** A request as the gateway sees it; `raw` is the framework's own. */
export interface GatewayRequest { method: string; url: string; headers: Record<string, string | string[] | undefined>; body: Uint8Array; raw?: unknown }
/** A plain tool call: two with the same key within the window (seconds, 600 when absent) are one. The scope is the paying wallet when absent. */
export interface GatewayCall { tool: string; args: unknown; scope?: string; rule?: CallRule; window?: Seconds }
export interface GatewayEffect {
  /** `hold_stock`, `release_stock`, `fulfil`, `refund_owed`. */
  effect: string;
  /** An order's effects come one after the other. One told again, after a crash or past the lease, has the same number. */
  number: number; order: Order; about: unknown; transaction?: Hex;
}
export interface GatewayOptions {
  store: GatewayStore;
  /** 16 to 64 bytes that key the hashes of payment ids; the same on every machine of the seller. `keyId` names it, "k1" when absent. */
  secret: Uint8Array;
  keyId?: string;
  /** Earlier secrets, whose ids are still found. */
  older?: { keyId: string; secret: Uint8Array }[];
  /** Read when a worker died or a settlement has no known end; several must agree. */
  rpc: Record<Network, Rpc | Rpc[]>;
  /** Seconds that a worker is believed to be at work without a sign of life, 60; how long answers are kept, a day. */
  lease?: Seconds; retention?: Seconds;
  /** Larger answers are not kept, only their digest: 1 MiB. */
  maxStoredBody?: number;
  /**
   * "https://shop.example". A payment id is bound to the URL of its request, host included: a shop that is reached under several names or behind a
   * proxy that changes them says here which one counts, or one purchase looks like two.
   */
  origin?: string;
  /** Path of the receipts and of where payments stand: "/counterfoil". */
  base?: string;
  /** What one wallet may pay here within a window, and payments of unknown end whenever they began. */
  walletCaps?: { network: Network; asset: Address; amount: Amount; window: Seconds }[];
  /** Networks whose `safe` block counts as final. */
  trustSafe?: boolean;
  /** As for a payer: with it a dead worker's payment is called paid or dead only by a Merkle proof under one of these blocks. */
  trustedBlocks?: Hex[] | ((hash: Hex, network: Network) => boolean | Promise<boolean>);
  /** Code of tokens that is known beside the pinned, for those proofs. */
  layouts?: TokenLayout[];
  /** Repeat answers also for payments without an id. Whoever reads the chain can copy such a payment, so the default is no. */
  replayUnnamed?: boolean;
  /** The order that a request pays, when it pays one. */
  order?: (request: GatewayRequest) => string | undefined | Promise<string | undefined>;
  /** The tool call that a request is, when it is to be keyed. */
  call?: (request: GatewayRequest) => GatewayCall | undefined | Promise<GatewayCall | undefined>;
  /** What to do with a payment that lands after its order was closed: deliver after all, or owe it back. "refund" when absent. */
  late?: (order: unknown) => "fulfil" | "refund" | Promise<"fulfil" | "refund">;
  /** Carries an effect of an order out. What rejects is told again by `sweep`. */
  onEffect?: (effect: GatewayEffect) => unknown;
  /**
   * Conflicts, refunds owed, late confirmations, wrong terms, a facilitator that speaks of another payment (`settlement_differs`). Nobody waits for it, and
   * what it throws or rejects with is dropped.
   */
  onAlert?: (finding: Finding) => unknown;
  clock?: () => Seconds;
}
export interface QuoteTerms { network: Network; asset: Address; payTo: Address; amount: Amount }
/** The key is `quoteKey({buyer, intentId, request})` unless it is given. */
export type QuoteInput = { terms: QuoteTerms; quoteSeconds?: Seconds; stock?: boolean; about?: unknown; buyer?: Address } & ({ key: string } | { buyer: Address; intentId: string; request: unknown });
export interface QuotedOrder { order: Order; terms: QuoteTerms; about: unknown; buyer?: Address; replayed?: boolean }
export interface FacilitatorLike {
  verify(payload: any, requirements: any, ...rest: any[]): Promise<any>;
  settle(payload: any, requirements: any, ...rest: any[]): Promise<any>;
  getSupported(): Promise<any>;
}
export interface Gateway {
  /** Express middleware; before body parsers, or with the bytes at `req.rawBody`, and before the payment middleware. */
  express(): (req: any, res: any, next: (error?: unknown) => void) => Promise<void>;
  /** Hono middleware. */
  hono(): (context: any, next: () => Promise<void>) => Promise<void>;
  /** A handler of web requests with admission in front. What the handler throws is thrown. */
  wrap<Rest extends unknown[]>(handler: (request: Request, ...rest: Rest) => Response | Promise<Response>): (request: Request, ...rest: Rest) => Promise<Response>;
  /**
   * The facilitator client to hand to `x402ResourceServer`: it makes durable that a broadcast begins, before it does. Without it every paid
   * request counts as broadcast from its start, and a paid one whose answer was lost can't be worked on again.
   */
  facilitator<F extends FacilitatorLike>(client: F): FacilitatorLike;
  /**
   * Opens a quote with one order, or finds the one opened before under the same key. `terms_changed` while that one is open on other terms, `number_out_of_range`,
   * `payment_id_invalid`.
   */
  quote(input: QuoteInput): Promise<QuotedOrder>;
  order(id: string): Promise<QuotedOrder | undefined>;
  /**
   * Any event but `pay`, which comes with a payment. `refund` opens a record of `refundsOwed`, to the payer of the sale, the buyer of the quote, or `payer`;
   * `refunded` needs what `refunded` of the gateway needs: the chain is read, and the same record closes. `refund_unproven` when the chain does not show it.
   */
  moveOrder(id: string, event: OrderEvent): Promise<QuotedOrder>;
  /** Second transfers for one purchase and refunds of orders, open ones and closed ones: `state`; a closed one with the `evidence` that closed it. */
  refundsOwed(): AsyncIterable<Record<string, unknown>>;
  /**
   * What buyers owe: an answer was delivered on a payment that the chain showed below finality, and its block was replaced (`payment_vanished` is told). `sweep` looks for such a payment
   * until a final block shows it. While `state` is `open` and its window lasts, `payment` has the bytes to be settled again; it closes by itself once the payment is final after all.
   */
  paymentsOwed(): AsyncIterable<Record<string, unknown>>;
  /**
   * Closes a record of `refundsOwed` when the chain shows that `transaction` gave the money back: it succeeded, is final, came after the charge, and moved at
   * least the amount of the same token to the payer. An order that waited for it is `refunded`. One such transfer closes one record. Else `closed` is false and `reason` says why, and the record stays open. A record that
   * was closed before is given as it stands. `record_invalid` for one that is not there.
   */
  refunded(input: { refund: Record<string, unknown>; transaction: Hex }): Promise<{ closed: boolean; reason?: string; refund: Record<string, unknown> }>;
  /**
   * Reads sales that were left behind, ends quotes that are over, drops what is past its time. Call it now and then. `failed` counts rows that
   * could not be read or whose effect was rejected: they come again. Of each kind it looks at `limit` rows, 100 when absent, and the next one goes on behind them.
   */
  sweep(options?: { limit?: number }): Promise<{ sales: number; orders: number; dropped: number; failed: number }>;
}
/** Errors, at once: `missing_field`, `invalid_type`, `secret_invalid`, `lease_invalid`, `number_out_of_range`, those of the caps. */
export function createGateway(options: GatewayOptions): Gateway;
