// What a file is, by its shape. It only chooses the place that the file is put in; whether it is true is for the core.

import { trusting } from "./trusted.mjs";

const LARGEST_DOCUMENT = 64 << 20;
const LARGEST_LINE = 1 << 20;
const LARGEST_HEADER = 64 << 10;
const HEADER_NAME = /^\s*(?:x-)?payment-response\s*:\s*/i;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;
const DIGESTS = ["responseSha256", "response_sha256", "responseHash", "response_hash", "bodySha256", "body_sha256", "sha256",
  "contentDigest", "content-digest", "reprDigest", "repr-digest", "digest"];

const TRANSACTION = ["transaction", "txHash", "tx_hash", "transactionHash"];

/** One of "journal", "bundle", "statement", "evidence", "trust", "text" and "bytes". */
export function recognise(bytes) {
  if (isJournal(bytes)) return "journal";
  if (bytes.byteLength > LARGEST_DOCUMENT) return "bytes";
  const text = decode(bytes);
  if (text === undefined) return "bytes";
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed)) return trimmed.length <= LARGEST_HEADER && (BASE64.test(trimmed) || JWS.test(trimmed)) ? "statement" : "text";
  const value = parse(trimmed);
  if (isEvidence(value) || (Array.isArray(value) && value.length > 0 && value.every(isEvidence))) return "evidence";
  if (trusting(value)) return "trust";
  if (has(value, "type") && value.type === "counterfoil/bundle") return "bundle";
  return isStatement(value) ? "statement" : "text";
}

/** As the core tells receipts from anything else: a document of ours, a settlement, a signed receipt, a `Payment-Receipt`, or a gateway's. */
function isStatement(value) {
  if (typeof value !== "object" || value === null) return false;
  const all = (...names) => names.every((name) => has(value, name));
  const any = (of, names) => names.some((name) => has(of, name));
  if (all("type") && typeof value.type === "string" && value.type.startsWith("counterfoil/")) return true;
  if (all("success", "network") || all("format", "signature")) return true;
  if (all("status", "method", "timestamp") && !all("success")) return true;
  if (any(value.payment, TRANSACTION) || any(value, DIGESTS) || has(value.response, "sha256")) return true;
  return any(value, TRANSACTION) && all("payer");
}

/** Sorts files into `{receipt?, response?, evidence: […], trust: […]}`. `taken` says whether a receipt is there already. */
export function sort(files, taken) {
  const places = { evidence: [], trust: [] };
  const rest = [];
  for (const file of files) {
    const kind = recognise(file.bytes);
    if (kind === "evidence" || kind === "trust") places[kind].push(file);
    else if (kind === "bundle" && !places.receipt) places.receipt = file;
    else rest.push([kind, file]);
  }
  const receipt = () => places.receipt || taken;
  // A statement is the receipt where there is none yet; beside a receipt, it is what the seller answered.
  for (const kind of ["statement", "text", "bytes"]) {
    for (const [is, file] of rest.filter(([is]) => is === kind)) {
      if (!receipt() && is !== "bytes") places.receipt = file;
      else places.response = file;
    }
  }
  return places;
}

/** Pasted text as bytes, without the name of the header field when that came along. */
export function pasted(text) {
  return new TextEncoder().encode(text.replace(HEADER_NAME, ""));
}

/** A journal of any length shows itself in its first line. */
function isJournal(bytes) {
  if (bytes[0] !== 0x7b) return false;
  const end = bytes.subarray(0, LARGEST_LINE).indexOf(10);
  const first = end < 0 ? undefined : parse(decode(bytes.subarray(0, end)) ?? "");
  return has(first, "ops") && has(first, "prev");
}

function isEvidence(value) {
  return has(value, "chainId") && has(value, "block") && (has(value, "authorizationState") || has(value, "searchedFrom"));
}

function has(value, name) {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function decode(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
