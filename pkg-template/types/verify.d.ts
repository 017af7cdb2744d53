/** counterfoil/verify: what a receipt proves, and signatures in bulk. */
import type { Challenge, Refund, TransactionEvidence } from "./core.js";
import type { Address, Amount, Authorization, ChainEvidence, Eip712Domain, Finding, Hex, PaymentRequirements, Seconds, TokenLayout } from "./values.js";

export type { Finding } from "./values.js";

/**
 * As `load` of `counterfoil`, for what this sub-path exports: it fetches a module of its own, a part of the whole one, or nothing where the whole one is
 * loaded. Without a source it takes the build for engines that have vectors of 128 bits where the engine has them; both give the same answers.
 */
export function load(source?: URL | string | Response | Uint8Array | WebAssembly.Module): Promise<void>;

export type CheckState = "pass" | "fail" | "not_checked";
export interface Check { id: string; state: CheckState; title: string; why: string; expected?: string; actual?: string; required: boolean }
export interface Report {
  /** "verified" only when every required check passed. */
  verdict: "verified" | "failed" | "incomplete";
  checks: Check[]; facts: Record<string, unknown>; doesNotProve: string[];
}
export interface Material {
  /** The exact bytes of the answer. */
  body?: Uint8Array;
  bodyEncoding?: string;
  authorization?: Authorization; domain?: Eip712Domain; signature?: Hex; requirements?: PaymentRequirements;
  /** Of a `Payment-Receipt`: the challenge that was paid; `facts.standing` says how far the receipt was confirmed. */
  challenge?: Challenge;
  evidence?: ChainEvidence | ChainEvidence[];
  expect?: { kind?: "offer" | "receipt" | "settlement" | "payment_receipt" | "bundle" | "claim"; payer?: Address; payTo?: string; resource?: string; amount?: Amount };
  /** signers: addresses (EIP-712) or key ids (JWS `kid`); keys: JWKs with their `kid`; blockHashes: headers taken as true, and then the
   * sources of evidence are not: what they say counts as far as it is proven under one of these; layouts: token code beside the pinned. */
  trust?: { signers?: string[]; keys?: unknown[]; blockHashes?: Hex[]; layouts?: TokenLayout[] };
  /** Against which the times of a document are held. */
  now?: Seconds;
}
/**
 * Verifies a receipt. Trust comes from the caller only, never from the document. The signature's check has the id "signature"; malformed input throws;
 * expired means now > validUntil; a bare signed artifact is at most "incomplete": settlement is required.
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
/** Many at once; same verdicts as one by one, in the same order. */
export function verifySignatures(items: { digest: Hex; signature: Hex; signer: Address }[]): boolean[];
/** Packed: digest 32 | signature 65 | signer 20 bytes an item; one byte an answer. A malformed item is false. */
export function verifySignatures(packed: Uint8Array): Uint8Array;
/**
 * Gives back the memory of `verifySignatures`: it remembers the keys of at most 4096 signers, and tables of 288 KB for at most 16 whom it met
 * often, which make later calls quicker. No answer depends on them.
 */
export function forgetKeys(): void;
