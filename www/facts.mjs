// The facts of a report in words. They are what the document says; the checks say how far it is true.

import { element, value } from "./build.mjs";
import { inUnits, networkName, visible, visibleAscii } from "./core.mjs";

const KINDS = {
  bundle: "A payer's own record (counterfoil bundle)",
  settlement: "A seller's settlement response",
  receipt: "A seller's or gateway's receipt",
  offer: "A seller's signed offer",
};
const STATUSES = {
  open: "Open: not known to have ended",
  delivered: "Paid, and the answer was received",
  paid_not_delivered: "Paid, and the answer was not received",
  released: "Closed by the payer as a claim",
};
const READINGS = {
  exact: "The exact bytes",
  decoded: "The bytes without their content coding",
  canonical: "The RFC 8785 text of the JSON in them",
};
const known = (table, key) => (Object.hasOwn(table, key) ? table[key] : key);

const LINES = {
  kind: ["Kind", (kind) => text(known(KINDS, kind), "the kind")],
  amount: ["Amount", amount],
  payer: ["Payer", (payer) => ascii(payer, "the payer")],
  payTo: ["Recipient", (payTo) => ascii(payTo, "the recipient")],
  network: ["Network", (network) => [ascii(network, "the network"), note(networkName(network))]],
  asset: ["Token", (asset, facts) => [ascii(asset, "the token"), note(facts.token && visible(facts.token.name))]],
  resource: ["Resource", (url, facts) => ascii(facts.method ? `${facts.method} ${url}` : url, "the resource")],
  transaction: ["Transaction", (hash) => ascii(hash, "the transaction")],
  delivered: ["Answer", (delivered) => (delivered === true ? "The bytes were checked" : "The bytes were not checked")],
  bodySha256: ["SHA-256 of the answer", (hash) => ascii(hash, "the digest")],
  bodyReading: ["The digest is over", (reading) => text(known(READINGS, reading), "the reading")],
  signer: ["Signed by", (signer) => ascii(signer, "the signer")],
  issuedAt: ["Written at", time],
  validUntil: ["Holds until", time],
  status: ["Status, by the record", (status) => text(known(STATUSES, status), "the status")],
  intentId: ["Intent", (id) => ascii(id, "the intent")],
  attempts: ["Signed payments", (count) => text(count, "the count")],
  purchases: ["Purchases", (count) => text(count, "the count")],
};
const PART_OF_OTHERS = new Set(["method", "token"]);

/** `[[name, …elements]]`: the known facts in their order, then whatever else there is. */
export function factsOf(facts) {
  const has = (name) => Object.hasOwn(facts, name) && facts[name] !== null;
  const lines = Object.keys(LINES).filter(has).map((name) => {
    const [title, show] = LINES[name];
    return [title, show(facts[name], facts)].flat().filter(Boolean);
  });
  const rest = Object.keys(facts).filter((name) => has(name) && !Object.hasOwn(LINES, name) && !PART_OF_OTHERS.has(name));
  return [...lines, ...rest.map((name) => [visible(name).slice(0, 60), text(plain(facts[name]), "this fact")])];
}

function amount(atomic, facts) {
  const units = inUnits(atomic, facts.token?.decimals);
  if (units === undefined) return [text(atomic, "the amount"), note("atomic units; the token is not known here")];
  return [element("span", { class: "amount" }, units), note(`${visible(facts.token.name)} (${visible(atomic)} atomic units)`)];
}

function time(seconds) {
  const date = new Date(Number(seconds) * 1000);
  return [text(seconds, "the time"), note(Number.isNaN(date.getTime()) ? "no date" : date.toISOString())];
}

function ascii(of, name) {
  return value(visibleAscii(plain(of)), name);
}

function text(of, name) {
  return value(visible(plain(of)), name, undefined, "words");
}

function note(words) {
  return words ? element("span", { class: "note" }, words) : undefined;
}

function plain(of) {
  return typeof of === "object" ? JSON.stringify(of) : String(of);
}
