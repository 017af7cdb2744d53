// counterfoil/raw: primitives for tests and auditors. Not covered by semantic versioning.

import { call, callAny, callText, checkJws as checkApart, fromHex } from "./boundary.mjs";
import "./jws.mjs";
import "./whole.mjs";

export { call, callText } from "./boundary.mjs";

export function base64Decode(text) {
  return fromHex(call("rawBase64Decode", { text }));
}

export function base64Encode(bytes) {
  return call("rawBase64Encode", {}, bytes);
}

export function checksumAddress(address) {
  return call("rawChecksumAddress", { address });
}

export function canonicalizePlain(json) {
  return call("rawCanonicalize", { json });
}

export function parseAmount(value) {
  return call("parseAmount", { value });
}

export function parseUnits(value, decimals) {
  return call("parseUnits", { value, decimals });
}

export function parseNetwork(value, x402Version) {
  return call("parseNetwork", { value, x402Version });
}

export function errorCodes() {
  return call("errorCodes", {});
}

export function signDigest(digest, privateKey) {
  return call("rawSignDigest", { digest }, undefined, privateKey);
}

export function recover(digest, signature) {
  return callAny("rawRecover", { digest, signature });
}

export function verify({ publicKey, digest, signature, encoding = "p1363", lowS = false }) {
  return callAny("rawVerify", { publicKey, digest, signature, encoding, lowS });
}

/** Whether a key made the signature of a JWS. `task` is a JSON text. */
export function checkJws(task) {
  return callText("checkJws", task) ?? checkApart(task);
}

export function publicKey(privateKey) {
  return call("rawPublicKey", {}, undefined, privateKey);
}

export function addressOfKey(privateKey) {
  return call("addressOfKey", {}, undefined, privateKey);
}

export function explicitIntentId(principal, id) {
  return call("explicitIntentId", { principal, id });
}

export function defaultSecret(privateKey) {
  return fromHex(call("defaultSecret", {}, undefined, privateKey));
}

/** What a bundle or a claim says is to be read from the chain. */
export function evidenceTargets(receipt) {
  return callAny("bundleEvidenceTargets", { receipt });
}

/** What the trie of that root holds under the key, null when the proof shows that there is nothing. */
export function trieVerify({ root, key, proof }) {
  return callAny("rawTrieVerify", { root, key, proof }).value;
}

export function trieProof({ entries, key }) {
  return call("rawTrieProof", { entries, key });
}
