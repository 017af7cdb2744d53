/** counterfoil: pay x402 APIs at most once, provably, and check it afterwards. */
import type { Address, Amount, Approval, HandOver, Hex, JournalStore, Money, Network, Next, Refusal, Rpc, Seconds, TokenLayout } from "./values.js";

import type { LineageView } from "./verify.js";

export * from "./core.js";
export * from "./verify.js";
export { CounterfoilError } from "./values.js";
export type { JournalEntry, JournalLease, JournalOp, JournalStore, Rpc } from "./values.js";

/**
 * Makes the functions usable in a browser: fetches the WebAssembly module once, from beside the package unless another source is given.
 * In Node and with `counterfoil/inline` the module is there already and this does nothing. May be called again after a failure.
 */
export function load(source?: URL | string | Response | Uint8Array | WebAssembly.Module): Promise<void>;

/** A payer: one key, one journal, one policy. Nothing is sent and nothing is read until the first call. */
export function createPayer(o: PayerOptions): Payer;
/** A `fetch` that pays: `init.intent` as in `payer.fetch`. The given `fetch` carries the requests. */
export function wrapFetch(fetch: typeof globalThis.fetch, payer: Payer): typeof globalThis.fetch;
/** A journal that ends with the process. For tests, and for callers that accept that. */
export function memoryJournal(): JournalStore;

export interface PayerOptions {
  signer: { address: Address; signTypedData(doc: any): Promise<Hex> } | { privateKey: Uint8Array };
  journal: JournalStore;
  /** Several sources of one network must agree. */
  rpc?: Record<Network, Rpc | Rpc[]>;
  policy?: Policy;
  /** Keys nonces and payment ids, the same on every machine. Derived from the private key when absent; with an external signer they are then unkeyed. */
  secret?: Uint8Array;
  /** Bytes; 1 MiB when absent. Of a larger answer only the digest is kept. */
  maxStoredBody?: number;
  /**
   * Milliseconds, 10,000 when absent: how long other workers of the same journal leave an intent to this one after they last heard of it. A second
   * call of the same intent waits that long for the first one's answer, then ends as `intent_in_flight`.
   */
  leaseMs?: number;
  /** Which worker this is, 1 to 128 characters: hand-overs are from one actor to another. The payer's address when absent. */
  actor?: string;
  /** Whose signed hand-overs `takeOver` takes, beside the payer's own. */
  knownWriters?: Address[];
  /**
   * The signer's address is a contract: its signature is bytes of any length, also wrapped for a wallet that is not deployed yet (ERC-6492). With an RPC endpoint the contract
   * is asked (`isValidSignature`, ERC-1271) before anything is sent: `signer_mismatch` when it says no, `evidence_unreadable` when it can't be asked. Without one it is sent unchecked.
   * Reports call such a signature not checked. Claims and cancellations by it are `contract_signature`; its hand-overs stand in the shared journal.
   */
  contractWallet?: boolean;
  /**
   * With it no source is trusted: an unknown ends only by a Merkle proof under the header of one of these blocks, and what is not proven is `evidence_unreadable`. A list of
   * hashes, or a function that says of a block whether it is on the chain for good, such as a light client's. Reads then fetch proofs. Permit2 has none: its unknowns stay open.
   */
  trustedBlocks?: Hex[] | ((hash: Hex, network: Network) => boolean | Promise<boolean>);
  /** Code of tokens that is known beside the pinned, for those proofs. */
  layouts?: TokenLayout[];
  /**
   * Signs a transaction on Tempo, without sending it: what is needed to pay `tempo` challenges of the Payment scheme. Everything but gas, its price and the signature is fixed
   * in what it is given; what it gives back, the serialized transaction, is held against that before anything is sent (`transaction_differs`). Of a plain secp256k1 key only.
   */
  signTempo?: (transaction: TempoOrder) => Promise<Hex> | Hex;
  /**
   * The intent that everything of this payer is bought under: what names no parent is bought right below it, and what names one that is not below it is refused
   * (`bad_lineage`). For a worker that is to stay within what it was given.
   */
  root?: string;
  /**
   * Sees every call as spans: that of the call (`execute_tool payer.fetch`), within it one for each attempt from its signature on, and within that its settlement from the first send on.
   * They end when the call gives its answer. Attributes are those of docs/formats.md: no signature, header, URL, body or id of the caller's own. A tracer that throws changes nothing.
   */
  tracer?: Tracer;
  /** Whole seconds; milliseconds are refused (`time_invalid`). */
  clock?: () => Seconds;
  /** One that throws or rejects changes nothing. */
  onAlert?: (f: Finding) => void;
}
/** The shape of a tracer of @opentelemetry/api, of which `startActiveSpan` is used where it is there, so that what is done within a span is below it. */
export interface Tracer {
  startActiveSpan?<T>(name: string, options: { attributes?: Record<string, string> }, act: (span: TracerSpan) => T): T;
  startSpan?(name: string, options?: { attributes?: Record<string, string> }): TracerSpan;
}
export interface TracerSpan {
  spanContext(): { traceId: string; spanId: string; traceFlags: number };
  setAttributes(attributes: Record<string, string>): unknown;
  setStatus(status: { code: number }): unknown;
  end(): void;
}
/** In the shape in which viem takes a transaction. `feePayer`: the service pays the fee and chooses its token; else it is at most `maxFee`, in atomic units of `feeToken`. */
export interface TempoOrder {
  chainId: number; calls: { to: Address; value: bigint; data: Hex }[]; nonceKey: bigint; nonce: number; validBefore: Seconds;
  feePayer: boolean; feeToken?: Address; maxFee?: bigint;
}
export interface Policy {
  /** Seconds an authorization can land at most, 600 when absent; the seller's Date shifts a window by at most 120 s and never lengthens it. */
  maxWindow?: Seconds;
  /** Without `perCall` and without `approve` every purchase is refused. */
  perCall?: Amount;
  /** For an intent without a parent and all below it, at any time, of each token. */
  perIntentTree?: Amount;
  /** What is held or unknown counts at any age, what settled for `window` seconds, at most 400 days. */
  perWallet?: { amount: Amount; window: number }[];
  /** The same for what one recipient has. */
  perRecipient?: { amount: Amount; window: number }[];
  attempts?: number;
  /** The most that the inclusion of one transaction on Tempo may cost beside its amount, in millionths of a dollar; "50000" when absent, and no more than what `perCall` leaves beside the price. It counts against the other caps: held in full, spent as the chain shows it. */
  maxFee?: Amount;
  /** The pinned table of known tokens when absent. Of each token EIP-3009 comes first; Permit2 and Tempo are used only for a token of this list. */
  assets?: { network: Network; asset: Address }[];
  /** Each recipient of a split payment must be on it. */
  recipients?: string[];
  /**
   * Pay offers of scheme `upto` too, by Permit2 and after every other: the seller settles as much as was used, at most the amount. That amount counts against
   * every cap until the chain shows what moved; `resume` reads it, and where nothing is read it stays.
   */
  upto?: boolean;
  /**
   * What becomes of a call that drifts from what this wallet paid for so far, before anything is signed; of every process that shares the journal, and where nothing is said, nothing.
   * One word is for all but `split`. Where nobody can be asked, and by `"refuse"`: `drift_refused`. The rules are those of the lineage's flags, told once, not call by call: `nearRepeat` while
   * the end of the earlier call is not known; `split` about payments just below `threshold`.
   */
  drift?: DriftRule | { nearRepeat?: DriftRule; newRecipient?: DriftRule; priceStep?: DriftRule; capApproach?: DriftRule; split?: DriftRule; threshold?: Amount };
  /**
   * Asked before anything is signed, for what a cap or a budget would refuse, and again for another price of the same call. With `approvers` a yes is what one of them signed: anything else is
   * `approval_untrusted`.
   */
  approve?: (r: ApprovalRequest) => Promise<boolean | Approval> | boolean | Approval;
  /**
   * People whose signed approvals count. What needs one is written down first and ends as `approval_needed` where there is no `approve`: once `payer.approve`
   * or `npx counterfoil approve` has written the answer down, the same call goes on.
   */
  approvers?: Address[];
}
export type DriftRule = "ask" | "refuse";
export interface Payer {
  /**
   * Resolves only with the seller's answer; throws CounterfoilError when unpaid, unknown or undelivered. Aborting before the send releases the reservation; after it
   * rejects with AbortError and leaves the intent open. Identical calls at once are one purchase, and each caller's signal ends its own alone. A `202` is no
   * delivery: the error has `poll`, where the seller names one. A form gets a boundary of its content, so that it is the same request each time it is made.
   * *Delivered* is recorded at the last body byte. A stored answer carries `Idempotency-Replayed: true`.
   */
  fetch(input: string | URL | Request, init?: RequestInit & { intent?: IntentInit }): Promise<Response>;
  /** Intent, attempt, transaction and receipt behind an answer. */
  describe(r: Response): Resolution | undefined;
  /** Closes a paid, undelivered purchase as a claim; an unresolved one throws. */
  release(intentId: string, reason: string): Promise<void>;
  /**
   * The signed claim of a purchase that was paid and not delivered, released or not: the text of a file that `verifyReceipt` and `npx counterfoil verify`
   * check without this journal. While nothing changes it is the same text. `intent_unknown`, `claim_delivered`, `claim_unpaid`; an unresolved purchase throws
   * as `release` does. `receipt`: the seller's receipt for this payment, so that the claim names the digest of the answer that is missing (`receipt_invalid`
   * for one about another payment).
   */
  claim(intentId: string, about?: { receipt?: string | Uint8Array }): Promise<string>;
  /**
   * Signs a cancellation of an authorization that was sent and has no known end, and gives the call for whoever pays its gas; written down first, the same
   * each time. It races with the payment: `resume` reads which of the two landed. `further` are the calls for the other nonces of a split payment: it is closed
   * when all are burnt. `intent_unknown`, `nothing_to_cancel`, `permit2_unsupported`, `ends_by_itself` (on Tempo, with `retryAfter`).
   */
  cancel(intentId: string): Promise<{ to: Address; data: Hex; network: Network; further?: { to: Address; data: Hex; network: Network }[] }>;
  /**
   * Settles everything left open: resend same bytes, read the chain, look up the receipt. Run it after every start. A journal that knows nothing, of no intent and no history,
   * gives one entry of no intent, with the outcome `unknown_history`: if there ever was another journal, `recover` reads what was paid.
   * A record that can't be read is told last, with the code that says why and money `possible`. Another payer's on the same journal is left alone.
   */
  resume(): Promise<Resolution[]>;
  /**
   * Reads the payer's own `AuthorizationUsed`, `AuthorizationCanceled` and `Transfer` logs of one token in final blocks and writes each nonce that the journal does not know down, with what it
   * moved: it counts as spent against the caps at the time of its block, and is in `export()`. Which intent it was for shows when that is asked for again: its derived nonce is then
   * known as used, and the call ends as paid, not delivered, with a claim. Page by page, each durable before the next one is read, so that it can be called again. Several sources must agree.
   * A payment by Permit2 logs no nonce: it is taken from the call that made the transfer and looked up in the payer's bitmap. What another's transaction moved and no permit explains is
   * written down as `unknown`, and counts; what the payer's own transactions moved is no purchase. On Tempo a `TransferWithMemo` whose memo is the
   * Payment scheme's stands for the nonce, with all that left the payer in its transaction: it matches a challenge that comes back, not an id.
   * Errors: `missing_field`, `invalid_type`, `evidence_unreadable`, `journal_conflict`.
   */
  recover(what: {
    network: Network; asset: Address; fromBlock: number;
    /** The finalized block when absent or later than that. */
    toBlock?: number;
    /** Blocks of one page, 10,000 when absent; halved where a source refuses so many. */
    width?: number;
    /** Between two pages, 100 when absent. */
    pauseMs?: number;
  }): Promise<{ network: Network; asset: Address; from: number; to: number; used: number; cancelled: number; unknown: number; spent: Amount }>;
  /**
   * Gives an intent to the actor `to`: the attempt stays, the intent goes. What may still land is read in this call, from a block of the last ten minutes; what
   * is proven dead, paid or cancelled on the way is written down. From then on this actor signs nothing for the intent (`intent_handed_over`) and can only send what is
   * journalled and counted. `budget` narrows what the intent may cost, to the policy's cap when absent; `expiresIn`: seconds to take it, 3600 when absent, at most 86400.
   * Given anew to the same actor until it is taken. Without a signer that signs, it stands in this journal alone. Errors in order: `actor_invalid`, `number_out_of_range`,
   * `intent_unknown`, `intent_released`, `hand_over_paid`, `payment_identifier_conflict`, `intent_handed_over`, `hand_over_wider`, `missing_field`; of an open
   * authorization `hand_over_unread`, `paid_wrong_terms`, `hand_over_stale`, `evidence_unreadable`, `used_or_cancelled`.
   */
  handOver(intentId: string, to: string, budget?: Amount, o?: { expiresIn?: Seconds }): Promise<HandOver>;
  /**
   * Goes on with an intent that was given to this actor, once: it is in this very journal, or signed by the payer or a known writer. Its reads are repeated, never believed.
   * What is open elsewhere counts as reserved here, whatever the caps are; it has to end before anything is signed, for the same nonce. Errors in order: `hand_over_invalid`,
   * `hand_over_altered`, `hand_over_other_payer`, `hand_over_other_actor`, `hand_over_expired`, `hand_over_taken`, `hand_over_replayed`, `hand_over_untrusted`,
   * `intent_conflict`, `rail_changed`, `hand_over_wider`, `intent_released`, `hand_over_paid`, `payment_identifier_conflict`, `hand_over_other_secret`; of an open
   * authorization `hand_over_unread`, `hand_over_unproven`, `evidence_unreadable`, `used_or_cancelled`.
   */
  takeOver(h: HandOver): Promise<void>;
  /**
   * Writes an intent down for others to be bought under, by `parent`, or for itself to be bought later by the same `id`; gives its id. Its limits hold for it and for all below it
   * together, whoever buys and whatever it is called; what is held or unknown counts as spent. A child can narrow them and not widen them. Errors: `missing_field`,
   * `intent_id_invalid`, `intent_conflict` (it stands on other terms), `intent_expired`, `bad_lineage`, `lineage_wider`, `journal_conflict`.
   */
  intend(intent: IntentInit & { id: string }): Promise<string>;
  /**
   * Writes a person's signed answer down, for the call that asked. Errors in order: `approval_invalid`, `unsupported_version`, `approval_altered`,
   * `approval_other_payer`, `approval_untrusted`, `approval_expired`, `approval_replayed`, `approval_other_request`, `approval_other_intent`, `approval_exceeded`.
   */
  approve(approval: Approval): Promise<void>;
  /**
   * Writes a person's signed no down in the place of the question: the call that asked, and every one that would ask the same, ends as `approval_denied`, until `approve` is given a yes to the
   * same request. Errors in order: `approval_invalid`, `unsupported_version`, `approval_altered`, `approval_other_payer`, `approval_untrusted`, `approval_replayed`,
   * `approval_other_request`, `approval_other_intent`.
   */
  refuse(refusal: Refusal): Promise<void>;
  /** What was done, what it cost and what a person has to do: of everything, or of one intent and all below it. `intent_unknown`. */
  lineage(root?: string): Promise<LineageView>;
  /** The bundle that the inspector page opens. */
  export(root?: string): Promise<string>;
  close(): Promise<void>;
}
export interface IntentInit {
  id?: string; purpose?: string; scope?: string;
  /** The intent above: one that this payer wrote down with `intend`, or bought. */
  parent?: string;
  /** The most that it, and all below it, may cost, of one token: the first payment says of which. */
  budget?: Amount;
  /** Nobody else is paid for it, nor for what is below it. */
  recipients?: Address[];
  /** The first second at which nothing is signed for it any more, nor for what is below it. */
  expiresAt?: Seconds;
}
/** What a person is asked. */
export interface ApprovalRequest {
  intentId: string;
  /** The first of `reasons`: `no_cap`, `over_cap`, `over_tree_cap`, `over_wallet_cap`, `over_recipient_cap`, `over_budget`, or the code of a drift. */
  reason: string; reasons: string[];
  amount: Amount; network: Network; asset: Address;
  /** Of this token, by this payer: held, unknown and settled. */
  spent: Amount;
  payTo: Address; /** Who receives what of a split payment. */ parts?: { payTo: Address; amount: Amount }[];
  /** Nobody at this address was paid from here before. */
  newRecipient: boolean;
  payer: Address; actor: string; at: Seconds; purpose?: string; parent?: string;
  /** From the intent up to its root: an approval can be for any of them. */
  path: string[];
  request?: { method: string; url: string; bodySha256: Hex };
  ifNo: string;
  /** With `approvers`: what the answer names. */
  hash?: Hex;
}
export interface Resolution {
  intentId: string; attemptId: string; outcome: string; money: Money; next: Next; transaction?: Hex;
  /** What the chain shows of a payment by scheme `upto`. */
  amount?: Amount;
  /** What the chain shows that the inclusion of the payer's own transaction on Tempo cost. */
  fee?: Amount;
  /** False while the payment was only seen in a block that can still be replaced: every call and `resume` read it again until it is final. */
  final?: false;
  receipt?: string; response?: Response;
}
export interface Finding {
  code: string; severity: "info" | "alert"; intents: string[]; attempts: string[]; amount?: Amount; asset?: Address; network?: Network; next: Next; why: string;
}
