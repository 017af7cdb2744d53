// counterfoil/core: x402, signing, hashes, keys and decisions. Synchronous and pure.

import { call, callAny, object } from "./boundary.mjs";
import "./whole.mjs";

export { approvalDocument, refusalDocument } from "./approval.mjs";
export { canonicalSha256, canonicalize, sha256 } from "./hashes.mjs";

export function authorizationDigest(authorization, domain) {
  return callAny("authorizationDigest", { authorization, domain });
}

export function signAuthorization(authorization, domain, privateKey) {
  return call("signAuthorization", { authorization, domain }, undefined, privateKey);
}

export function recoverPayer(authorization, domain, signature) {
  return callAny("recoverPayer", { authorization, domain, signature });
}

export function permit2Digest(permit, network) {
  return callAny("permit2Digest", { permit, network });
}

export function permit2TypedData(permit, network) {
  return callAny("permit2TypedData", { permit, network });
}

export function signPermit2(permit, network, privateKey) {
  return call("signPermit2", { permit, network }, undefined, privateKey);
}

export function recoverPermit2Payer(permit, network, signature) {
  return callAny("recoverPermit2Payer", { permit, network, signature });
}

export function cancellationDigest(cancellation, domain) {
  return callAny("cancellationDigest", { cancellation, domain });
}

export function cancellationCalldata(cancellation, signature) {
  return callAny("cancellationCalldata", { cancellation, signature });
}

export function hashTypedData(typedData) {
  return callAny("hashTypedData", { typedData });
}

export function parsePaymentRequired(answer) {
  const { header, body } = object(answer, "answer");
  return call("parsePaymentRequired", { header, body });
}

export function encodePayment(payload) {
  return call("encodePayment", { payload });
}

export function parsePayment(headerValue) {
  return call("parsePayment", { headerValue });
}

export function parseSettlement(headerValue) {
  return call("parseSettlement", { headerValue });
}

export function parseChallenges(headerValue) {
  return call("parseChallenges", { headerValue });
}

export function challengeId(challenge, secret) {
  return call("challengeId", { challenge }, undefined, secret);
}

export function isOwnChallenge(challenge, secret) {
  return call("isOwnChallenge", { challenge }, undefined, secret);
}

export function challengeNonce(challenge) {
  return call("challengeNonce", { challenge });
}

export function challengeMemo(challenge, { clientId } = {}) {
  return call("challengeMemo", { challenge, clientId });
}

export function encodeCredential(credential) {
  return call("encodeCredential", { credential });
}

export function parseCredential(headerValue) {
  return call("parseCredential", { headerValue });
}

export function chargeProof(credential) {
  return call("chargeProof", { credential });
}

export function tempoTransaction(transaction) {
  return call("tempoTransaction", { transaction });
}

export function tempoPayment(transaction, challenge) {
  return call("tempoPayment", { transaction, challenge });
}

export function parsePaymentReceipt(headerValue) {
  return call("parsePaymentReceipt", { headerValue });
}

export function requestFingerprint(request) {
  const { method, url, body } = object(request, "request");
  return call("requestFingerprint", { method, url }, body);
}

export function quoteHash(quote) {
  const { requirements, fingerprint } = object(quote, "quote");
  return call("quoteHash", { requirements, fingerprint });
}

export function quoteKey(key) {
  return call("quoteKey", object(key, "key"));
}

export function callKey(callToKey) {
  return call("callKey", object(callToKey, "call"));
}

export function findMissedFields(calls, { window } = {}) {
  return call("findMissedFields", { calls, window });
}

export function intentId(intent) {
  return call("intentId", object(intent, "intent"));
}

export function handOverDigest(handOver) {
  return call("handOverDigest", { handOver: object(handOver, "handOver") });
}

export function authorizationNonce(slot) {
  const { secret, ...params } = object(slot, "slot");
  return call("authorizationNonce", params, undefined, secret);
}

export function permit2Nonce(slot) {
  const { secret, ...params } = object(slot, "slot");
  return call("permit2Nonce", params, undefined, secret);
}

export function paymentId(id) {
  const { secret, ...params } = object(id, "id");
  return call("paymentId", params, undefined, secret);
}

export function classify(answer) {
  return call("classify", { answer });
}

export function resolveTempo(transaction, challenge, ctx, evidence) {
  return callAny("resolveTempo", { transaction, challenge, ctx, evidence: list(evidence) });
}

export function resolve(authorizations, ctx, evidence) {
  return callAny("resolve", { authorizations: list(authorizations), ctx, evidence: list(evidence) });
}

export function refundClosed(refund, evidence, ctx = {}) {
  return callAny("refundClosed", { refund, ctx, evidence: list(evidence) });
}

export function admit(record, request, now, o = {}) {
  const { lease, poll } = object(o, "o");
  return call("admit", { record, request, now, lease, poll });
}

export function advanceOrder(order, event, now) {
  return call("advanceOrder", { order, event, now });
}

function list(one) {
  return Array.isArray(one) ? one : [one];
}

export function receiptProofFrom(receipts, index) {
  return call("receiptProofFrom", { receipts, index });
}
