// counterfoil/verify: what a receipt proves, and signatures in bulk.

import { call, fromHex, isBytes, object, text } from "./boundary.mjs";

export function verifyReceipt(receipt, material = {}) {
  const { body, ...rest } = object(material, "material");
  return call("verifyReceipt", { receipt: text(receipt, "receipt"), material: rest }, body);
}

export function verifySignatures(items) {
  if (isBytes(items)) return fromHex(call("verifySignaturesPacked", {}, items));
  return call("verifySignatures", { items });
}
