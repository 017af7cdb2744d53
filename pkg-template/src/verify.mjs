// counterfoil/verify: what a receipt proves, what contradicts itself in several journals, and signatures in bulk.

import { callAny, callBulk, fromHex, isBytes, object, text } from "./boundary.mjs";
import { CounterfoilError } from "./errors.mjs";

export { load } from "./verifier.mjs";

export function verifyReceipt(receipt, material = {}) {
  const { body, ...rest } = object(material, "material");
  return callAny("verifyReceipt", { receipt: text(receipt, "receipt"), material: rest }, body);
}

export function claimDigest(claim) {
  return callAny("claimDigest", { claim: text(claim, "claim") });
}

export function claimPaymentIdHash(id) {
  return callAny("claimPaymentIdHash", { id });
}

export function findConflicts(bundles, options = {}) {
  const { refunds } = object(options, "options");
  if (!Array.isArray(bundles)) throw new CounterfoilError("invalid_type", { field: "bundles" });
  return callAny("findConflicts", { bundles: bundles.map((bundle, index) => text(bundle, `bundles[${index}]`)), refunds });
}

export function verifySignatures(items) {
  if (isBytes(items)) return fromHex(callBulk("verifySignaturesPacked", {}, items));
  return callBulk("verifySignatures", { items });
}

export function forgetKeys() {
  callBulk("forgetKeys", {});
}
