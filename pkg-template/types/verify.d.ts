/** counterfoil/verify: what a receipt proves, and signatures in bulk. */
import type { Challenge, Refund, TransactionEvidence } from "./core.js";
import type { Address, Amount, Authorization, ChainEvidence, Eip712Domain, Finding, Hex, Network, PaymentRequirements, Seconds, TokenLayout } from "./values.js";

export { approvalDocument, refusalDocument } from "./core.js";
export type { Finding } from "./values.js";

/**
 * As `load` of `counterfoil`, for what this sub-path exports: it fetches a module of its own, a part of the whole one, or nothing where the whole one is
 * loaded. Without a source it takes the build for engines that have vectors of 128 bits where the engine has them; both give the same answers.
 */
export function load(source?: URL | string | Response | Uint8Array | WebAssembly.Module): Promise<void>;
/**
 * Fetches the part that checks JWS signed with ES256 or EdDSA; those of ES256K need no part. In a browser without it `signature` of such a receipt is
 * `not_checked`. In Node and with `counterfoil/inline` it is there already and this does nothing.
 */
export function loadJws(source?: URL | string | Response | Uint8Array | WebAssembly.Module): Promise<void>;

export type CheckState = "pass" | "fail" | "not_checked";
export interface Check { id: string; state: CheckState; title: string; why: string; expected?: string; actual?: string; required: boolean }
export interface Report {
  /** "verified" only when every required check passed. */
  verdict: "verified" | "failed" | "incomplete";
  checks: Check[]; facts: Record<string, unknown>; doesNotProve: string[];
}
export interface Material {
  /** The exact bytes of the answer, as they arrived. */
  body?: Uint8Array;
  /** In place of `body`: its SHA-256 and length, where it was hashed elsewhere. */
  bodySha256?: Hex; bodyLength?: number;
  /** Their content coding, where they still carry one. */
  bodyEncoding?: string;
  /** What is under that coding, by whoever removed it; nothing is decompressed here. */
  decodedBody?: Uint8Array;
  /** The form of a receipt that is not known here, as docs/receipts.md describes it. */
  profile?: unknown;
  authorization?: Authorization; domain?: Eip712Domain; signature?: Hex; requirements?: PaymentRequirements;
  /** Of a `Payment-Receipt`: the challenge that was paid; `facts.standing` says how far the receipt was confirmed. */
  challenge?: Challenge;
  evidence?: ChainEvidence | ChainEvidence[];
  expect?: { kind?: "offer" | "receipt" | "settlement" | "payment_receipt" | "bundle" | "claim"; payer?: string; payTo?: string; resource?: string; amount?: Amount; maxAge?: Seconds };
  /** signers: addresses (EIP-712) or key ids (JWS `kid`); keys: JWKs with their `kid`; didDocuments: documents of `did:web`, fetched by you from where they
   * belong; controllers: the TXT records at `_controllers.<domain>`; blockHashes: headers taken as true, and then the
   * sources of evidence are not: what they say counts as far as it is proven under one of these; layouts: token code beside the pinned. */
  trust?: {
    signers?: string[]; keys?: unknown[]; didDocuments?: unknown[]; controllers?: { domain: string; records: string[] }[];
    blockHashes?: Hex[]; layouts?: TokenLayout[];
  };
  /** Against which the times of a document are held. */
  now?: Seconds;
}
/**
 * Verifies a receipt of any known profile, or of the form in `material.profile`. Trust comes from the caller only, never from the document. The signature's
 * check has the id "signature", whether its key may speak for the seller is "signer.authorized"; malformed input throws; expired means
 * now > validUntil; a bare signed artifact is at most "incomplete": settlement is required. `facts.bodyReading` says what the digest of the answer
 * is over: "exact", "decoded" or "canonical" (RFC 8785).
 */
export function verifyReceipt(receipt: string | Uint8Array, material?: Material): Report;
/**
 * What the payer of a claim signs: the digest of its body, the EIP-712 document and its digest; and Keccak-256 of exactly this text, which a feedback
 * or a validation on chain points at.
 */
export function claimDigest(claim: string | Uint8Array): { body: Hex; digest: Hex; typedData: any; keccak256: Hex };
/** What stands in a claim for a payment id: who holds the id can compare, who reads the claim does not learn it. */
export function claimPaymentIdHash(id: string): Hex;
/**
 * Duplicate charges, conflicting ids, late confirmations, open claims, in one or many exported bundles. A record that stands in two of them counts once, and
 * their order does not matter. One finding for one fact: a late transfer that is also the second one is in two. A malformed bundle throws, naming it.
 *
 * `refunds`: what is said to have gone back, with what `refundClosed` takes. A `duplicate_charge` then says in `refunded` how much of its `amount` the chain shows
 * to have gone back; once that is all of it, it is `info` and its `next` is `stop`. `refund` names the charge: payer, network, token and transaction of the later
 * transfer. It counts for its amount, never for more than is open; one Transfer counts once. A refund of anything else changes nothing, nor does one that
 * `refundClosed` would not close, in a final block and later than the bundles prove the charge to be. A malformed one throws at `refunds[n]`.
 */
export function findConflicts(bundles: (string | Uint8Array)[], options?: { refunds?: { refund: Refund; evidence: TransactionEvidence | TransactionEvidence[] }[] }): Finding[];
/**
 * What a bundle or a whole journal file proves about the lineage in it. Of a journal: each line is what its hash names and names the one before it, so that one
 * which was rewritten, reordered, spliced in or left out is named; of both: every intent is its digest, parents end in a root, children only narrow, no budget was passed, and what is
 * called over is shown to be over. `doesNotProve` says what remains: a file cut off at its end looks like an older one.
 */
export function verifyLineage(bundle: string | Uint8Array): Report;
/**
 * The lineage in one or several bundles and journal files, to be shown. A record that stands in two of them counts once; their order does not matter. States are computed from what was
 * signed, answered and read. `threshold`: above this a person is asked for one payment; several just below it are told (`drift_split`). `nodes: false`: without them, which are most of
 * the work and of the memory where there is very much. `reports: true`: with the report of `verifyLineage` on each of them, for which none is read again.
 */
export function lineage(bundles: (string | Uint8Array)[], options?: {
  root?: string; threshold?: Amount; nodes?: boolean; reports?: boolean;
  refunds?: { refund: Refund; evidence: TransactionEvidence | TransactionEvidence[] }[];
}): LineageView;
/**
 * The same graph as a PROV-JSON document (W3C), for tools that read provenance: `JSON.stringify` of it is the file. Attempts, sends, observations, reads and hand-overs are activities,
 * what they used and left behind are entities, actors and payers are agents. docs/formats.md has the vocabulary. Throws as `lineage`.
 */
export function lineageProv(bundles: (string | Uint8Array)[], options?: {
  root?: string;
  refunds?: { refund: Refund; evidence: TransactionEvidence | TransactionEvidence[] }[];
}): ProvDocument;
/** By the kind of a record and its id. */
export interface ProvDocument { prefix: Record<string, string>; [kind: string]: Record<string, unknown> }
export interface LineageView {
  /** The intent at the top; empty where there are several. */
  root: string;
  /** Content-addressed: `id` is the digest of the rest; `parents` are what a node follows from, `prev` is what the same actor wrote before. */
  nodes: LineageNode[];
  /** Of each token by itself. What is in flight or unknown is `reserved`: it counts as spent. */
  totals: (LineageCost & { /** Paid, and not delivered. */ claimed: Amount })[];
  /** In the order of the tree, each intent before its hand-over, its attempts and what is below it. */
  rows: LineageRow[];
  counters: { needsApproval: number; unknown: number; conflict: number; duplicateCharge: number; notDelivered: number; refundOwed: number };
  /** What a person has to look at, the urgent first. */
  actions: Finding[];
  /** Conflicts and drift. */
  flags: Finding[];
  /** Of each journal file its last line, and what is wrong with its chain. */
  journals: { seq: number; hash: Hex; torn: boolean; fault?: "malformed" | "rewritten" | "reordered" | "truncated" | "spliced"; line?: number }[];
  /** Of each bundle, where they were asked for. */
  reports?: Report[];
}
export interface LineageCost { network: Network; asset: Address; settled: Amount; reserved: Amount; refundOwed: Amount; refunded: Amount }
export interface LineageNode {
  v: 1; id: Hex; kind: "intent" | "hand_over" | "quote" | "attempt" | "authorization" | "send" | "observation" | "resolution" | "receipt" | "claim" | "refund" | "approval" | "refusal";
  at: Seconds; actor: string; intentId: string; parents: Hex[]; prev?: Hex;
  /** Of an attempt, where its call stood in somebody's trace (W3C): a cross-reference, which `id` does not cover. */
  traceparent?: string;
  [fact: string]: unknown;
}
export interface LineageRow {
  kind: "intent" | "attempt" | "hand_over";
  intentId: string; attemptId?: string; depth: number; parent?: string; agent: string; label?: string;
  /** A hand-over is `given` or `taken`. */
  state: "needs_approval" | "prepared" | "sent" | "unknown" | "settled" | "failed" | "refunded" | "given" | "taken";
  /** Who says that it settled or failed: the chain and the seller are others, the journal is the writer itself. */
  by?: "chain" | "seller" | "journal";
  at: Seconds; endedAt?: Seconds; expiresAt?: Seconds;
  network?: Network; asset?: Address; payTo?: Address; transaction?: Hex; traceparent?: string;
  /** Of an attempt: what counts as spent of it; and of all rows up to this one. */
  cost?: Amount; counts?: boolean; runningTotal?: Amount;
  /** With it what counts below an intent came to more than its budget. */
  passesBudget?: true;
  /** Its transfer was not the first for what was bought: it is owed back, or, where false, came back. */
  owedBack?: boolean;
  /** Of an intent and all below it. */
  budget?: Amount; spent?: LineageCost[];
  flags: string[];
}
/** Many at once; same verdicts as one by one, in the same order. */
export function verifySignatures(items: { digest: Hex; signature: Hex; signer: Address }[]): boolean[];
/** Packed: digest 32 | signature 65 | signer 20 bytes an item; one byte an answer. A malformed item is false. */
export function verifySignatures(packed: Uint8Array): Uint8Array;
/**
 * Gives back the memory of `verifySignatures`: it remembers the keys of at most 4096 signers, and tables for at most 16 whom it met
 * often, which make later calls quicker. No answer depends on them.
 */
export function forgetKeys(): void;

// ---------------------------------------------------------------- many documents
/** How one line of an audit stands, and what it is joined by; docs/audit.md has every member. */
export interface Verdict {
  v: 1; input: string; line: number; id?: string;
  verdict: "verified" | "failed" | "incomplete" | "error";
  /** Checks that failed, or that could not be made; the error of a line that is no document. */
  codes: string[]; field?: string; kind?: string;
  keys: {
    receipt?: Hex; intent?: string; paymentId?: string; network?: string; asset?: string; payer?: string; payTo?: string; amount?: Amount;
    nonce?: Hex; transaction?: string; response?: Hex; resource?: string; shown?: true; signed?: true;
  };
}
export interface AuditMoney { lines: number; amounts: { network: string; asset: string; lines: number; amount: Amount | null }[]; others?: number }
export interface AuditSummary {
  v: 1; inputs: { name: string; sha256: string; bytes: number; lines: number }[]; lines: number;
  verdicts: Record<Verdict["verdict"], AuditMoney>; codes: Record<string, AuditMoney>;
  failures: { input: string; line: number; id?: string; verdict: string; codes: string[]; field?: string }[];
}
/** What only shows across lines. `key` is the kind of what they share, `lines` the first 20 of `count`. */
export interface AuditFinding extends Omit<Finding, "attempts"> { key: string; count: number; lines: { input: string; line: number; id?: string }[] }
export interface Audited {
  /** One `Verdict` a line, in plain ASCII, each with its line feed. */
  verdicts: Uint8Array;
  /** What lines are joined by: 20 bytes a key, the place of its line (4, little end first) and the key (16), whose first byte is its kind. */
  keys: Uint8Array;
  summary: AuditSummary;
}
export interface AuditOptions {
  /** The name that verdicts carry, "-" when not given. */
  input?: string;
  /** `evidence`: chain evidence in the lines comes from nodes that you trust. Without it what is not proven under `blockHashes` counts for nothing. */
  given?: { trust?: Material["trust"] & { evidence?: boolean }; now?: Seconds; profile?: Material["profile"] /* the form of every document */ };
  /** The number of the first line, 1 when not given; or of every line. */
  first?: number; numbers?: number[];
  /** Of each line what is known of its answer; null: nothing was looked for. */
  found?: (null | "unreadable" | { sha256: Hex; length?: number; canonical?: Hex | false /* of the RFC 8785 text; false where it is no JSON, absent where that was not looked at */ })[];
  /**
   * Instead of `found`: asked for each line, with what `auditNames` gives, so that lines are read once. `unless`: the digest of an answer whose `canonical` is of no use; null
   * where it never is.
   */
  find?: (names: null | string | string[], unless: null | Hex | "") => null | "unreadable" | { sha256: Hex; length?: number; canonical?: Hex | false };
  /** Blank lines get a verdict too, an error. */
  blank?: boolean;
  /** The input could not be read from this line on. */
  broken?: number;
}
/**
 * The verdicts on many lines, parted by line feeds: documents that `verifyReceipt` takes, bare or as `{receipt, …material}`. Verdicts are those of one by one;
 * signatures are checked together. Nothing in a line makes it throw.
 */
export function auditLines(lines: Uint8Array, options?: AuditOptions): Audited;
/** Reads verdicts that `auditLines` wrote, for their keys and their sum. */
export function auditVerdicts(lines: Uint8Array): Audited;
/** Where the answer of each line may be found: the name it says, or a list of which one may be there; null where it needs none. */
export function auditNames(lines: Uint8Array): (null | string | string[])[];
/** The findings about groups of lines that share a key: its kind is the key's first byte, `count` where there are more lines than `verdicts`, of which 1000 are compared. */
export function auditAcross(groups: { kind: number; count?: number; verdicts: Verdict[] }[]): AuditFinding[];
/** The sum of sums, the same in any order and of any parts; `inputs`: the files that were read. */
export function auditSummary(summaries: AuditSummary[], inputs?: AuditSummary["inputs"]): AuditSummary;
