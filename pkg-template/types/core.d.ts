/** counterfoil/core: synchronous and pure; no clock, no randomness, no I/O. In Node at once, in browsers after `await load()`. */
import type {
  Address, Admission, AdmissionRecord, AdmissionRequest, Amount, Approval, Authorization, ChainEvidence, Eip712Domain, Finding, HandOver, Hex, Money, Network, Next, Order,
  OrderEvent, PaymentPayload, PaymentRequired, PaymentRequirements, Permit2Authorization, Refusal, Seconds, SettlementResponse, TokenLayout, UnreadableEvidence,
} from "./values.js";

export type {
  Address, Admission, AdmissionRecord, AdmissionRequest, Amount, Approval, Authorization, ChainEvidence, Eip712Domain, Finding, HandOver, Hex, Money, Network, Next, Order,
  OrderEvent, PaymentPayload, PaymentRequired, PaymentRequirements, Permit2Authorization, Problem, Refusal, Seconds, SettlementResponse, UnreadableEvidence,
} from "./values.js";

export function authorizationDigest(a: Authorization, d: Eip712Domain): { domainSeparator: Hex; structHash: Hex; digest: Hex };
/** A primitive, no policy. RFC 6979, low-s, v 27/28: 65 bytes. The key is a 32-byte array, wiped from wasm memory before return. */
export function signAuthorization(a: Authorization, d: Eip712Domain, privateKey: Uint8Array): Hex;
/** Address that signed. v 0/1 is normalised; high-s, zero, wrong length and EIP-2098 are `signature_invalid`. */
export function recoverPayer(a: Authorization, d: Eip712Domain, signature: Hex): Address;
/** The EIP-712 hashes of a Permit2 authorization. Another spender than x402's is `spender_unknown`. */
export function permit2Digest(permit: Permit2Authorization, network: Network): { domainSeparator: Hex; structHash: Hex; digest: Hex };
/** The whole document, for a signer outside. The payer is no part of it. */
export function permit2TypedData(permit: Permit2Authorization, network: Network): unknown;
/** As `signAuthorization`, of a Permit2 authorization. */
export function signPermit2(permit: Permit2Authorization, network: Network, privateKey: Uint8Array): Hex;
/** Address that signed. It pays only when it is `permit.from`: the payer is no part of what is signed. */
export function recoverPermit2Payer(permit: Permit2Authorization, network: Network, signature: Hex): Address;
/** EIP-3009 CancelAuthorization: burns a nonce that is still unused. */
export interface Cancellation { authorizer: Address; nonce: Hex }
/** What its authorizer signs. */
export function cancellationDigest(c: Cancellation, d: Eip712Domain): Hex;
/** The call of the token that carries it, for whoever pays its gas. `contract_signature`, `signature_invalid`. */
export function cancellationCalldata(c: Cancellation, signature: Hex): Hex;
/** Digest of any EIP-712 document. */
export function hashTypedData(typedData: unknown): Hex;

/** The 402 answer, v2 header or v1 body, as parsed strict JSON with unknown extensions kept. An offer that can't be read is left out where another can. */
export function parsePaymentRequired(answer: { header?: string | null; body?: string | null }): PaymentRequired;
export function encodePayment(payload: PaymentPayload): { header: "PAYMENT-SIGNATURE" | "X-PAYMENT"; value: string };
/** Member order, values and unknown members are kept verbatim. */
export function parsePayment(headerValue: string): PaymentPayload;
export function parseSettlement(headerValue: string): SettlementResponse;

/** A challenge of the Payment HTTP scheme (MPP), its texts as they came; `request` is base64url of the method's own JSON. */
export interface Challenge {
  id: string; realm: string; method: string; intent: string; request: string;
  /** RFC 3339; nothing is sent for it from then on. */
  expires?: string;
  /** `sha-256=` of the request's body, with or without the colons of RFC 9530. */
  digest?: string;
  opaque?: string; description?: string;
  /** `Payment-Authorization`, where the credential does not travel in `Authorization`; no other field is accepted. */
  header?: string;
}
/**
 * The Payment challenges of a `WWW-Authenticate` value in their order; other schemes are passed over. Each is read or refused on its own
 * (`challenge_invalid`, and for `request` also `too_large` above 16 KiB, `base64_invalid` and the JSON errors). Throws `too_large` (64 KiB) and
 * `challenge_invalid` for a value that is not made of challenges.
 */
export function parseChallenges(headerValue: string): { challenges: Challenge[]; refused: { code: string; field: string }[] };
/** Of a service: the id that binds everything but the description (HMAC-SHA-256). An `id` that is there is not looked at. `secret_invalid` under 16 bytes. */
export function challengeId(challenge: Omit<Challenge, "id">, secret: Uint8Array): string;
/** Whether the id is that of `challengeId`: compared in constant time. */
export function isOwnChallenge(challenge: Challenge, secret: Uint8Array): boolean;
/** Nonce of the EIP-3009 authorization that pays an `evm` charge: Keccak-256 of id and realm. */
export function challengeNonce(challenge: Challenge): Hex;
/** Attribution memo of a `tempo` charge; its last 7 bytes are those of the id's Keccak-256. */
export function challengeMemo(challenge: Challenge, o?: { clientId?: string }): Hex;
/** The answer to one challenge. */
export interface Credential { challenge: Challenge; source?: string; payload: Record<string, unknown> }
/** Header field and value: exactly one goes into a request. The challenge is echoed byte for byte. */
export function encodeCredential(credential: Credential): { header: "Authorization" | "Payment-Authorization"; value: string };
/** `credential_invalid` for another scheme or several values, `base64_invalid`, the JSON errors, those of the challenge. */
export function parseCredential(headerValue: string): Credential;
/**
 * In which form the payer that a `proof` credential names signed it, for a `tempo` charge of nothing: the draft's (the challenge alone), that of mppx
 * (account, challenge and realm), or null for neither. `challenge_invalid` for any other charge, `credential_invalid`, `contract_signature`, `signature_invalid`.
 */
export function chargeProof(credential: Credential): "draft" | "mppx" | null;
/** A signed Tempo transaction (type 0x76, or 0x78 on its way to a sponsor). `to` is absent where a contract is created. */
export interface TempoTransaction {
  chainId: number; calls: { to?: Address; value: Amount; input: Hex }[]; nonceKey: Amount; nonce: string; gas: string; maxFeePerGas: Amount;
  validBefore?: Seconds; validAfter?: Seconds; feeToken?: Address; sponsored: boolean; delegates: boolean; signature: Hex;
  /** Who signed it with a plain secp256k1 key. */ sender?: Address;
  /** The hash it lands under; a sponsored one's is known only to its sponsor. */ hash?: Hex;
}
/** Reads a serialized transaction. There is one encoding of each; anything else is `transaction_invalid` at the member at fault. `hex_invalid`, `too_large` (64 KiB). */
export function tempoTransaction(transaction: Hex): TempoTransaction;
/** The primary transfer first. */
export interface TempoPayment { payer: Address; memo: Hex; validBefore: Seconds; transfers: { to: Address; amount: Amount; memo?: Hex }[]; hash?: Hex }
/**
 * What the transaction pays, when it pays exactly this challenge: the transfers due and nothing else, under the dictated memo or the challenge's own, in the
 * lane of expiring nonces, over by `expires`. The fee is not limited here. Errors: those of `tempoTransaction` and of the challenge,
 * `no_supported_payment_option`, `challenge_invalid`, `contract_signature` (no plain key), `transaction_differs` at the member that does anything else.
 */
export function tempoPayment(transaction: Hex, challenge: Challenge): TempoPayment;
/** `Payment-Receipt`: unsigned, so it proves nothing by itself (see `verifyReceipt`). `receipt_invalid` unless its status is `success`. */
export function parsePaymentReceipt(headerValue: string): PaymentReceipt;
export interface PaymentReceipt {
  method: string; timestamp: Seconds;
  /** Transaction hash, or the challenge's id where nothing was to be paid. */
  reference?: string;
  externalId?: string; challengeId?: string; chainId?: number;
}

/**
 * RFC 8785 text of one JSON text. Errors: duplicate keys, depth > 64, lone surrogates (a JS string that is not well-formed UTF-16 is
 * refused before the boundary), numbers that overflow, and integer literals (no fraction, no exponent) that their double does not print back unchanged.
 */
export function canonicalize(json: string): string;
/** SHA-256 of that text, as UTF-8. The same errors. */
export function canonicalSha256(json: string): Hex;
export function sha256(bytes: Uint8Array): Hex;
/** What is being paid for: method upper-cased, URL as WHATWG serialises it without fragment (userinfo refused), SHA-256 of the exact body bytes. */
export function requestFingerprint(r: { method: string; url: string; body?: Uint8Array }): Hex;
/** One frozen offer: requirements + fingerprint. Equal quotes hash equally, any changed term changes it. */
export function quoteHash(q: { requirements: PaymentRequirements; fingerprint: Hex }): Hex;
/** Deterministic key a buyer sends when asking for a quote, so that a lost answer re-enters the same quote. */
export function quoteKey(q: { buyer: Address; intentId: string; request: unknown }): string;
/**
 * Key of a plain tool call: (tool, canonical args without the volatile fields, scope). Reads give null unless `keyReads`; without a rule the call is a
 * write without volatile fields. `scope` is a session, a run or the paying wallet; how many minutes a key holds is the store's.
 */
export function callKey(c: { tool: string; args: unknown; scope: string; rule?: CallRule }): CallKey | null;
export interface CallRule {
  effect: "read" | "write";
  /** JSON Pointers, `*` for any index; what goes to, through or above amount, payTo, asset, network, resource, payer is `protected_field`. */
  volatile?: string[];
  keyReads?: boolean;
}
export interface CallKey { key: string; argsHash: Hex }
/** A plain call that was made; `key` where the caller chose one, `at` in Unix seconds. */
export interface CallMade { key?: string; tool: string; args: unknown; scope: string; at: Seconds; rule?: CallRule }
/**
 * The tripwire: fields that the canonicalization of a tool missed (`canonicalization_missed_field`). An alert for one key with other arguments; an info for a
 * field that looks volatile and changes in every one of three calls within `window` seconds (900) of one tool and scope, all else equal. Times near
 * the call's own, names such as `requestId` or `cursor`, and opaque values look volatile; pages, counts, words and ids of things do not.
 */
export function findMissedFields(calls: CallMade[], o?: { window?: Seconds }): Finding[];
/** Identity of an intent: a digest of what is wanted and by whom. A label is display only. */
export function intentId(i: { principal: Address; operation: string; args: unknown; scope: string; parent?: string }): string;
/** What the payer of a hand-over signs, and who signed this one. `hand_over_invalid`, `hand_over_altered`, `contract_signature`, `signature_invalid`. */
export function handOverDigest(handOver: HandOver): { hash: Hex; digest: Hex; typedData: any; signer?: Address };
/**
 * What a person signs to answer an approval request, and with the `signature` the document for `payer.approve`. It is for the intent and the amount of the request where nothing else is
 * said; an intent on its `path`, and a larger amount, cover several calls. Errors: those of the request's fields, `approval_invalid`.
 */
export function approvalDocument(request: Record<string, unknown>, answer: {
  at: Seconds; expiresAt: Seconds; intentId?: string; amount?: Amount; signature?: Hex;
}): { typedData: any; digest: Hex; hash: Hex; requestHash: Hex; approval?: Approval };
/** What a person signs to refuse an approval request, and with the `signature` the document for `payer.refuse`. Errors: those of the request's fields. */
export function refusalDocument(request: Record<string, unknown>, answer: { at: Seconds; signature?: Hex }): {
  typedData: any; digest: Hex; hash: Hex; requestHash: Hex; refusal?: Refusal;
};
/**
 * The EIP-3009 nonce of an intent. Same intent and generation, same nonce, on every machine and after losing everything: the token
 * contract itself then refuses a second transfer. Expiry and new quotes keep it; `generation` counts final cancellations on chain.
 */
export function authorizationNonce(n: {
  intentId: string; payer: Address; network: Network; asset: Address; generation: number;
  /** Position in a split attempt, 0 when absent. */
  index?: number;
  secret?: Uint8Array;
}): Hex;
/** The Permit2 nonce of an intent, as decimal text: the same as `authorizationNonce` for the other method, from a tag of its own. */
export function permit2Nonce(n: {
  intentId: string; payer: Address; network: Network; asset: Address; generation: number;
  /** Position in a split attempt, 0 when absent. */
  index?: number;
  secret?: Uint8Array;
}): string;
/** Client idempotency key, [A-Za-z0-9_-]{16,128}; bound to the intent and its quote. */
export function paymentId(p: { intentId: string; quoteHash: Hex; generation: number; secret?: Uint8Array }): string;

/**
 * What an answer to a paid request means. Code in the body first, status second, hint last. Header names in any case; `retryAfter` is 1 to 300.
 * `rejected` after a send keeps `money: possible`, and its reservation, until `resolve` closes it.
 */
export function classify(answer: {
  transport?: "timeout" | "reset" | "aborted" | "refused_before_send";
  status?: number; headers?: Record<string, string>; body?: string; receivedAt?: Seconds; resend?: boolean;
  /** The URL that was asked: a `poll` of its origin is given back, one of another is not. */
  url?: string;
}): {
  outcome: "settled" | "delivered" | "rejected" | "in_flight" | "conflict" | "unknown";
  money: Money; next: Next; code: string; retryAfter?: number; transaction?: Hex;
  /** Where the payment can be asked after: an absolute URL of the origin that was asked, or the name of a tool of the same server. */
  poll?: string;
};
/**
 * Reads the chain evidence for the authorizations signed under one nonce (one, or all siblings: re-quotes, later windows; `index` names the one paid). Sources
 * that disagree are `unreadable`, never a vote. The Transfer counted is the token's first from the payer after our AuthorizationUsed and before its next one;
 * one log pays one authorization. `paid` below finality carries the reason `not_final`. Of scheme `upto` `amount` is what moved: any amount up to the one signed is
 * `paid`, more is `paid_wrong_terms`, and 0 is `paid` with money `none`.
 *
 * With `trustedBlocks` the sources are not trusted: `paid`, `dead` and `cancelled` need a proof under one of those headers, then with
 * the reason `proved` and the block in `provedIn`; else they are `unreadable` (`not_proved`, `included_in_given_header`, `code_unknown`; on Tempo always `not_provable`). Of a nonce of Permit2
 * these need the bitmap on both sides of the block in which it was used, and every receipt of that block. Without it a proof that holds adds `included_in_given_header`. A proof that does not hold makes the evidence unreadable either way.
 */
export function resolve(
  a: Authorization | Authorization[] | Permit2Authorization | Permit2Authorization[],
  ctx: { network: Network; asset: Address; trustSafe?: boolean; trustedBlocks?: Hex[]; layouts?: TokenLayout[] },
  evidence: ChainEvidence | UnreadableEvidence | (ChainEvidence | UnreadableEvidence)[],
): {
  verdict: "not_yet" | "dead" | "paid" | "paid_wrong_terms" | "cancelled" | "used_or_cancelled" | "unreadable";
  money: Money; next: Next; decidableAt?: Seconds; transaction?: Hex; amount?: Amount; fee?: Amount; index?: number; provedIn?: Hex; reasons: string[];
};
/**
 * Raw JSON-RPC results about one Tempo payment. `receipt` is what its hash gave, null for none; absent when it was not asked or is sponsored. `logs` are all
 * `TransferWithMemo` of the token from payer to recipient within `logsRange`; `searchedFrom` is a block of that range, at least 6 minutes older than `validBefore` or block 0, `searchedTo`
 * one a minute past it, where the range does not reach `block`.
 * `settled` is the receipt of the transaction that such a log names where it is another than `receipt`.
 */
export interface TempoEvidence {
  chainId: Hex; block: { number: Hex; hash: Hex; timestamp: Hex; tag: "latest" | "safe" | "finalized" };
  receipt?: unknown | null; settled?: unknown; logs?: unknown[]; logsRange?: { from: Hex; to: Hex }; searchedFrom?: { number: Hex; timestamp: Hex }; searchedTo?: { number: Hex; timestamp: Hex };
}
/**
 * What the chain says of one payment of a `tempo` charge, sources as in `resolve`. `dead` is said at a final block a minute past `validBefore` at the earliest, when all
 * reads that apply are there and found nothing; logs that are missing, or reads that disagree, are `unreadable`. Another transaction under the
 * challenge's memo is `paid` with `other_transaction`; two primary transfers under it are `proven_twice` with `duplicate_transfer`. A memo that is dictated
 * names no challenge: found by it alone stays `not_yet` (`transfer_matches`). `again` are the further transactions of `proven_twice`. Errors: those of `tempoPayment`.
 */
export function resolveTempo(
  transaction: Hex, challenge: Challenge, ctx: { trustSafe?: boolean; trustedBlocks?: Hex[] }, evidence: TempoEvidence | TempoEvidence[],
): { verdict: "not_yet" | "dead" | "paid" | "paid_wrong_terms" | "unreadable"; money: Money; next: Next; decidableAt?: Seconds; transaction?: Hex; again?: Hex[]; reasons: string[] };
/** The proof of one receipt for `receiptProof`, from all receipts of its block (eth_getBlockReceipts). They are the block's if the root is. */
export function receiptProofFrom(receipts: unknown[], index: number): { receiptsRoot: Hex; index: Hex; proof: Hex[] };

/** A transfer that is owed back. */
export interface Refund { payer: Address; network: Network; asset: Address; amount: Amount; transaction: Hex }
/** What a source says of a refund: raw JSON-RPC results, and the tag that its block was asked by. `charge` is the receipt of the transaction that is owed back. */
export interface TransactionEvidence { chainId: Hex; block: { number: Hex; hash: Hex; timestamp: Hex; tag: "latest" | "safe" | "finalized" }; receipt: unknown | null; charge: unknown | null; receiptProof?: { header: unknown; index: Hex; proof: Hex[] }; chargeProof?: { header: unknown; index: Hex; proof: Hex[] } }
/**
 * Whether a transaction gives back what is owed: another one than the one owed back and later, successful, in a final block (a safe one where `trustSafe` is set), with a
 * Transfer of the token from somebody else to the payer of at least the amount. `logIndexes` are the transfers that would do; each may close one refund.
 * Else the reason, a short token; sources that disagree prove nothing. With `trustedBlocks` both receipts have to be proven under one of them (`not_proved`, `included_in_given_header`).
 */
export function refundClosed(refund: Refund, evidence: TransactionEvidence | TransactionEvidence[], ctx?: { trustSafe?: boolean; trustedBlocks?: Hex[] }):
  { closed: true; transaction: Hex; logIndexes: number[] } | { closed: false; reason: string };
/**
 * Server side: what to do with a paid request, given the record kept under its payment id (or call key). Payer, fingerprint and quoteHash
 * bind the id, at every age and in every state (`differs` names them by field); payloadHash alone does not: a fresh signature of the same request is the
 * same request. The lease (60 seconds unless given, at most a day) is over at `leaseUntil`. A problem never repeats what the record holds; a conflict's
 * `next` is `stop`. Codes: `payment_in_flight`, `payment_identifier_conflict`.
 * `failed`: refused before any broadcast, or proven dead; an unknown settle stays `in_flight`, also when a handler threw after broadcast. `settled`: in flight
 * within the lease, then `reconcile` (deliver without charging). `expired` without `receiptId`: `reconcile`. `poll` is where an in-flight answer sends the
 * caller: a path of this origin, or a tool of this server.
 */
export function admit(record: AdmissionRecord | null | undefined, request: AdmissionRequest, now: Seconds, o?: { lease?: Seconds; poll?: string }): Admission;
/** One quote, one payment: the seller's order moved by one event; an illegal move is an error, never a panic. Write the order before carrying out `effects`. */
export function advanceOrder(order: Order, event: OrderEvent, now: Seconds): {
  order: Order; effects: ("broadcast" | "hold_stock" | "release_stock" | "fulfil" | "refund_owed")[];
};
