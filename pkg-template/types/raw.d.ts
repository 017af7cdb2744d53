/** counterfoil/raw: primitives that tests and auditors need. Not covered by semantic versioning. */
import type { Address, Amount, Hex, Money, Network, Next } from "./values.js";

/** One call of the core by its name. */
export function call(name: string, params: object, bytes?: Uint8Array, secret?: Uint8Array): unknown;
/** The same with parameters that are a JSON text already. */
export function callText(name: string, params: string, bytes?: Uint8Array, secret?: Uint8Array): unknown;
/** Standard or URL-safe, not mixed; padding may be left out; surrounding blanks are not part of it. */
export function base64Decode(text: string): Uint8Array;
/** Standard alphabet, padded. */
export function base64Encode(bytes: Uint8Array): string;
/** EIP-55 spelling. */
export function checksumAddress(address: string): Address;
/** RFC 8785 as it stands, without the refusal of integers that a double does not carry. */
export function canonicalizePlain(json: string): string;
export function parseAmount(value: string): Amount;
/** "1.5" with 6 decimals is "1500000". */
export function parseUnits(value: string, decimals: number): Amount;
/** CAIP-2 of a network's name; version 1 names with `x402Version: 1` only. */
export function parseNetwork(value: string, x402Version?: 1 | 2): Network;
/** The registry. */
export function errorCodes(): { code: string; meaning: string; next: Next; money: Money }[];
/** RFC 6979, low-s, v 27/28. */
export function signDigest(digest: Hex, privateKey: Uint8Array): Hex;
export function recover(digest: Hex, signature: Hex): Address;
/** ECDSA over secp256k1 by public key, compressed or not. `lowS` refuses the upper half. */
export function verify(v: { publicKey: Hex; digest: Hex; signature: Hex; encoding?: "der" | "p1363"; lowS?: boolean }): boolean;
/** Whether the key made the signature of a JWS; `task` is the JSON text of `{alg, key, input, signature}`, all but the first as 0x text. */
export function checkJws(task: string): boolean;
export function publicKey(privateKey: Uint8Array): Hex;
export function addressOfKey(privateKey: Uint8Array): Address;
/** Identity of an intent that the caller named, 16 to 256 characters. */
export function explicitIntentId(principal: Address, id: string): string;
/** What keys nonces and payment ids when the payer configures no secret. */
export function defaultSecret(privateKey: Uint8Array): Uint8Array;
/** What a bundle or a claim says is to be read from the chain, for each payment; nothing for other documents. */
export function evidenceTargets(receipt: string): { network: Network; asset: Address; payer: Address; nonce: string; method?: "permit2" }[];
/** What a Merkle-Patricia proof shows: the value under the key, or null when there is none. Throws `proof_*` for anything that is no proof. */
export function trieVerify(v: { root: Hex; key: Hex; proof: Hex[] }): Hex | null;
/** The root of the trie of these entries, and the proof of what it holds under the key. */
export function trieProof(v: { entries: { key: Hex; value: Hex }[]; key: Hex }): { root: Hex; proof: Hex[] };
