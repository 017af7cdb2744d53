export type Hex = `0x${string}`;
/** 20 bytes. Any case accepted, except a mixed-case text whose EIP-55 checksum is wrong; EIP-55 on output. */
export type Address = Hex;
/** Unsigned 256-bit integer in atomic units of the asset, decimal text, no sign, no leading zeros. */
export type Amount = string;
/** Unix time in seconds. */
export type Seconds = number;
/** CAIP-2, e.g. "eip155:8453". x402 v1 names ("base") are accepted on input of v1 messages only. */
export type Network = string;

export type Money = "none" | "possible" | "proven" | "proven_twice";
export type Next =
  | "fix_input" | "requote" | "resend_same" | "wait" | "read_chain" | "read_order"
  | "lookup_receipt" | "claim" | "safe_to_resign" | "ask_human" | "stop";

/** Thrown by every function of this package. `code` is permanent; `next` is what is safe to do now. */
export class CounterfoilError extends Error {
  constructor(code: string, detail?: {
    field?: string; next?: Next; money?: Money; intentId?: string; attemptId?: string; retryAfter?: number; poll?: string; cause?: unknown;
  });
  readonly name: "CounterfoilError";
  /** snake_case, from the one registry. */
  readonly code: string;
  /** Path in the input, e.g. "authorization.validBefore". */
  readonly field?: string;
  readonly next: Next;
  readonly money: Money;
  readonly intentId?: string;
  readonly attemptId?: string;
  /** Seconds. */
  readonly retryAfter?: number;
  /** Where the seller says the payment can be asked after: a URL of its own origin, or the name of one of its tools. */
  readonly poll?: string;
}

export interface Eip712Domain { name: string; version: string; chainId: number; verifyingContract: Address }
/** EIP-3009 TransferWithAuthorization. Both bounds are exclusive: validAfter < block time < validBefore. */
export interface Authorization {
  from: Address; to: Address; value: Amount; validAfter: string; validBefore: string; nonce: Hex;
}

/**
 * Permit2 PermitWitnessTransferFrom as x402 signs it. Both bounds are inclusive: witness.validAfter <= block time <= deadline. `nonce` is a decimal
 * text, and `spender` x402's own contract for the scheme: of `upto`, whose amount is a maximum, the witness names the facilitator who alone may settle it.
 */
export interface Permit2Authorization {
  from: Address; permitted: { token: Address; amount: Amount }; spender: Address; nonce: string; deadline: string;
  witness: { to: Address; facilitator?: Address; validAfter: string };
}

/**
 * One worker's word that another one goes on with an intent; docs/formats.md has it member by member. `live` is what may still land, without its bytes; `reads` is what
 * the giver read of it, raw, for whoever audits it. `signature` is the payer's; without one it counts only in the journal that it was written into.
 */
export interface HandOver {
  type: "counterfoil/hand-over"; v: 1; at: Seconds; expiresAt: Seconds; serial: number; intentId: string; payer: Address; from: string; to: string; budget: Amount;
  id?: string; purpose?: string; scope: string; parent?: string; occurrence: number; request: { method: string; url: string; bodySha256: Hex; fingerprint: Hex };
  slot?: { network: Network; asset: Address; method: "eip3009" | "permit2"; generation: number; keyed: boolean; nonce: Hex };
  live: unknown[]; quotes: unknown[]; reads: unknown[]; hash: Hex; signature?: Hex;
}

/** A person's signed word that more may be spent, and what for; docs/formats.md has it member by member. */
export interface Approval {
  type: "counterfoil/approval"; v: 1; at: Seconds; expiresAt: Seconds;
  /** Hash of the request that it answers. */
  request: Hex;
  payer: Address;
  /** It covers this intent and all below it. */
  intentId: string;
  network: Network; asset: Address;
  /** The most that all calls under it may spend together. */
  amount: Amount;
  hash: Hex; signature: Hex;
}
/** A person's signed no to one approval request; docs/formats.md has it member by member. */
export interface Refusal {
  type: "counterfoil/refusal"; v: 1; at: Seconds;
  /** Hash of the request that it answers. */
  request: Hex;
  payer: Address; intentId: string;
  hash: Hex; signature: Hex;
}

export interface PaymentRequired {
  x402Version: 1 | 2; resource?: { url: string }; accepts: PaymentRequirements[]; extensions?: Record<string, unknown>; error?: string;
}
export interface PaymentRequirements {
  scheme: string; network: Network; amount: Amount; asset: string; payTo: string; maxTimeoutSeconds: number; extra?: Record<string, unknown>;
}
export interface PaymentPayload {
  x402Version: 1 | 2;
  payload: { signature: Hex; authorization?: Authorization; permit2Authorization?: unknown; feeAuthorization?: unknown; [k: string]: unknown };
  [k: string]: unknown;
}
export interface SettlementResponse {
  success: boolean; transaction: string; network: Network; amount?: Amount; payer?: Address; errorReason?: string; extensions?: Record<string, unknown>;
}

/**
 * Raw JSON-RPC results, unparsed: eth_chainId; a block and the tag it was asked by; the 32-byte word of `authorizationState` called at that
 * block; eth_getLogs of the token for (AuthorizationUsed | AuthorizationCanceled, payer, nonce), null when not to be had; the receipt
 * of the transaction in those logs; an eth_getProof answer. Only a finalized block proves a death or a cancellation; `safe` does so where `trustSafe` is
 * set, and `reasons` says `safe_only`. `logs: null` is never `dead`.
 */
export interface ChainEvidence {
  chainId: Hex; block: { number: Hex; hash: Hex; timestamp: Hex; tag: "latest" | "safe" | "finalized"; stateRoot?: Hex };
  authorizationState?: Hex | null; logs?: unknown[] | null; logsRange?: { from: Hex; to: Hex }; receipt?: unknown | null;
  /** In place of `authorizationState`, for a nonce of Permit2: the payer's word of the bitmap. `logs` are every Transfer of the token from the payer and every UnorderedNonceInvalidation. */
  nonceBitmap?: Hex | null;
  /** Which nonce of Permit2 was read; its logs don't name it. */
  nonce?: Hex;
  /**
   * Two reads of that word between which the nonce was used, and what proves them: the headers of the block in which it was and of the one before, Permit2's storage
   * under both, and all receipts of that block (eth_getBlockReceipts).
   */
  usedWithin?: {
    after: { number: Hex; nonceBitmap: Hex; header?: unknown; storageProof?: unknown };
    by: { number: Hex; nonceBitmap: Hex; header?: unknown; storageProof?: unknown; receipts?: unknown[] };
  };
  /** Of several transfers, the transaction whose call data carries the nonce. */
  transaction?: { hash: Hex; input: Hex };
  /** The header of `block`: an eth_getBlockByNumber answer, or its RLP. What `storageProof` is proven under. */
  header?: unknown;
  /** eth_getProof answers at that block: of the token with the slots of the authorization and of its implementation, and of the implementation; by Permit2 of Permit2. */
  storageProof?: unknown; implementationProof?: unknown;
  /** The receipt in its own block, made by `receiptProofFrom`; not of a nonce of Permit2. */
  receiptProof?: { header: unknown; index: Hex; proof: Hex[] };
}
/**
 * Where a token's code keeps the states of authorizations: `codeHash` is that of the token, or of the implementation behind its proxy. Absent
 * members are FiatTokenV2_2's behind Circle's proxy.
 */
export interface TokenLayout { codeHash: Hex; baseSlot?: number; implementationSlot?: Hex }
/** A source that could not be read; `resolve` counts it as unreadable. */
export interface UnreadableEvidence { error: "unreachable" }

/** A paid request, its payer recovered from the signature. */
export interface AdmissionRequest {
  paymentId: string; payer: Address; fingerprint: Hex; quoteHash: Hex; payloadHash: Hex;
  authorizations?: { network: Network; asset: Address; nonce: Hex; validBefore: string }[];
}
/** What the seller keeps of one; a store may put a keyed digest in the place of `paymentId`. */
export interface AdmissionRecord extends AdmissionRequest {
  state: "in_flight" | "settled" | "delivered" | "failed" | "expired"; openedAt: Seconds; leaseUntil: Seconds;
  response?: { status: number; headers: Record<string, string>; bodySha256: Hex }; receiptId?: string;
}
export type Admission =
  | { decision: "process"; record: AdmissionRecord }
  | { decision: "replay"; record: AdmissionRecord }
  /** 409, retryable with the same id. */
  | { decision: "in_flight"; problem: Problem }
  /** Never retryable. */
  | { decision: "conflict"; alert: true; differs: string[]; problem: Problem }
  /** The lease ran out: read the chain by payer and nonce first. */
  | { decision: "reconcile"; record: AdmissionRecord }
  /** The answer is past its retention, the receipt is not. */
  | { decision: "receipt"; receiptId: string };
/** RFC 9457 body plus the members every client needs. */
export interface Problem {
  type: string; title: string; status: number; detail: string; code: string; money: Money; next: Next; retryAfter?: number;
  /** Same origin, or a tool of the same server; else ignored. */
  poll?: string;
}

export interface Order {
  id: string; quoteHash: Hex;
  state: "quoted" | "paying" | "payment_failed" | "paid" | "fulfilled" | "expired" | "cancelled" | "refund_pending" | "refunded";
  quoteUntil: Seconds; stockHeld: boolean; paymentId?: string; transaction?: Hex;
}
/**
 * `pay` {paymentId, quoteHash}, `payment_failed` {paymentId?}, `payment_confirmed` {transaction, late?: "fulfil" | "refund"}, `fulfilled`, `expire`,
 * `cancel`, `refund` {payer?}, `refunded` {transaction}.
 */
export type OrderEvent = { type: string; [k: string]: unknown };

/** An endpoint's URL, or a function that performs one JSON-RPC call and gives its `result`. */
export type Rpc = string | ((method: string, params: unknown[]) => Promise<unknown>);

/** All-or-nothing compare-and-swap over several keys; resolves only once durable at the declared level. */
export interface JournalStore {
  readonly durability: "memory" | "process-crash" | "power-loss" | "replicated";
  read(key: string): Promise<JournalEntry | undefined>;
  commit(ops: JournalOp[], fence?: { lease: string; token: number }): Promise<{ ok: true } | { ok: false; key: string }>;
  scan(prefix: string, after?: string): AsyncIterable<JournalEntry & { key: string }>;
  lease(name: string, ttlMs: number): Promise<JournalLease | undefined>;
  close(): Promise<void>;
}
export interface JournalEntry { rev: number; value: Uint8Array }
/** `put: null` deletes. */
export interface JournalOp { key: string; expect: "absent" | number; put: Uint8Array | null }
export interface JournalLease { token: number; renew(ttlMs: number): Promise<boolean>; release(): Promise<void> }
/** One thing to look at: what, how urgent, about whom, and the one thing to do. */
export interface Finding {
  /** `duplicate_charge`, `transaction_claimed_twice`, `payment_identifier_conflict`, `paid_wrong_terms`, `late_confirmation`, `paid_not_delivered`,
   * `quotes_accumulating`, `canonicalization_missed_field`; each is in the manual of codes. */
  code: string; severity: "info" | "alert";
  intents: string[]; attempts: string[]; transactions?: Hex[];
  /** What is owed back or claimed. */
  amount?: Amount; asset?: Address; network?: Network;
  /** How much of `amount` went back, as the chain shows: of `duplicate_charge`, where `findConflicts` was given refunds. */
  refunded?: Amount;
  /** Of `approval_needed`: whom it would pay, and the codes because of which a person is asked. */
  payTo?: Address; reasons?: string[];
  /** Of plain calls. */
  tool?: string; key?: string;
  /** Names, or JSON Pointers, of the fields that differ. */
  fields?: string[];
  next: Next; why: string;
}
