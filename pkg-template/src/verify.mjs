// counterfoil/verify: what a receipt proves, what contradicts itself in several journals, and signatures in bulk.

import { call, fromHex, isBytes, object, text } from "./boundary.mjs";
import { CounterfoilError } from "./errors.mjs";

export function verifyReceipt(receipt, material = {}) {
  const { body, ...rest } = object(material, "material");
  return call("verifyReceipt", { receipt: text(receipt, "receipt"), material: rest }, body);
}

export function claimDigest(claim) {
  return call("claimDigest", { claim: text(claim, "claim") });
}

export function claimPaymentIdHash(id) {
  return call("claimPaymentIdHash", { id });
}

export function findConflicts(bundles, options = {}) {
  const { refunds } = object(options, "options");
  if (!Array.isArray(bundles)) throw new CounterfoilError("invalid_type", { field: "bundles" });
  return call("findConflicts", { bundles: bundles.map((bundle, index) => text(bundle, `bundles[${index}]`)), refunds });
}

export function verifySignatures(items) {
  if (isBytes(items)) return fromHex(call("verifySignaturesPacked", {}, items));
  return call("verifySignatures", { items });
}

export function forgetKeys() {
  call("forgetKeys", {});
}
