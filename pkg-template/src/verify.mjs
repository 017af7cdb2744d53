// counterfoil/verify: what a receipt proves, what contradicts itself in several journals, signatures and whole sets of documents in bulk.

import { attachment, callAny, callBulk, documents, fromHex, isBytes, missing, object, snapshot, text, utf8, withJws } from "./boundary.mjs";
import { CounterfoilError } from "./errors.mjs";
import { enterBulk } from "./wasm.mjs";

export { approvalDocument, refusalDocument } from "./approval.mjs";
export { loadJws } from "./jws.mjs";
export { load } from "./verifier.mjs";

export function verifyReceipt(receipt, material = {}) {
  const { body, decodedBody, ...rest } = object(material, "material");
  const bytes = joined(body, decodedBody, rest);
  const params = { receipt: text(receipt, "receipt"), material: rest };
  return withJws(params, (params) => callAny("verifyReceipt", params, bytes));
}

/** The answer's bytes, and behind them what is under its content coding. */
function joined(body, decoded, rest) {
  delete rest.bodyEnds;
  if (decoded === undefined) return body;
  for (const [field, part] of Object.entries({ body, decodedBody: decoded })) {
    if (!isBytes(part)) throw new CounterfoilError("invalid_type", { field: `material.${field}` });
  }
  const both = new Uint8Array(body.length + decoded.length);
  both.set(body);
  both.set(decoded, body.length);
  rest.bodyEnds = body.length;
  return both;
}

export function claimDigest(claim) {
  return callAny("claimDigest", { claim: text(claim, "claim") });
}

export function claimPaymentIdHash(id) {
  return callAny("claimPaymentIdHash", { id });
}

export function findConflicts(bundles, options = {}) {
  const { refunds } = object(options, "options");
  const { lengths, bytes } = texts(bundles);
  return callAny("findConflicts", { bundles: lengths, refunds }, bytes);
}

export function verifyLineage(bundle) {
  const { lengths: [length], bytes } = documents([bundle], () => "bundle");
  return callBulk("verifyLineage", { bundle: length }, bytes);
}

export function lineage(bundles, options) {
  return lineageCall("lineage", bundles, options);
}

export function lineageProv(bundles, options) {
  return lineageCall("lineageProv", bundles, options);
}

function lineageCall(name, bundles, options = {}) {
  const { root, refunds, threshold, nodes, reports } = object(options, "options");
  const { lengths, bytes } = texts(bundles);
  return callBulk(name, { bundles: lengths, root, refunds, threshold, nodes, reports }, bytes);
}

function texts(bundles) {
  if (!Array.isArray(bundles)) throw new CounterfoilError("invalid_type", { field: "bundles" });
  return documents(bundles, (index) => `bundles[${index}]`);
}

export function verifySignatures(items) {
  if (isBytes(items)) return fromHex(callBulk("verifySignaturesPacked", {}, items));
  return callBulk("verifySignatures", { items });
}

export function forgetKeys() {
  callBulk("forgetKeys", {});
}

export function auditLines(lines, options = {}) {
  const { find, ...params } = { input: "-", ...object(options, "options") };
  if (find === undefined) return audited(lines, params, false);
  // The core keeps the lines that it has read until it is told what stands under the names in them.
  const { held, names, unless } = callBulk("auditHold", params, attachment(lines, "lines") ?? missing("lines"));
  return audited(new Uint8Array(0), { held, found: names.map((name, at) => find(name, unless[at])) }, false);
}

export function auditVerdicts(lines) {
  return audited(lines, {}, true);
}

/** The lines cross as bytes, both ways: their verdicts are written down as they come. */
function audited(lines, params, again) {
  const bytes = attachment(lines, "lines") ?? missing("lines");
  return withJws(params, (params) => unpacked(enterBulk("audit", [utf8(snapshot(params)), bytes, again])));
}

function unpacked(answer) {
  const view = new DataView(answer.buffer, answer.byteOffset);
  const [head, text] = [8 + view.getUint32(0, true), view.getUint32(4, true)];
  const { ok, error } = JSON.parse(new TextDecoder().decode(answer.subarray(8, head)));
  if (error) throw new CounterfoilError(error.code, error);
  return { ...ok, verdicts: answer.subarray(head, head + text), keys: answer.subarray(head + text) };
}

export function auditNames(lines) {
  return callBulk("auditNames", {}, lines);
}

export function auditAcross(groups) {
  return callBulk("auditAcross", { groups });
}

export function auditSummary(summaries, inputs) {
  return callBulk("auditSummary", { summaries, inputs });
}
