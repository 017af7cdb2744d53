// The words of the lineage view: fixed here or told by the core, never by a document.

import { CounterfoilError, callAny } from "../core.mjs";

/** State, word. The icon is the symbol of that name; the pattern of a bar is in the style sheet. */
export const STATES = {
  needs_approval: "Needs approval",
  unknown: "Unknown",
  sent: "Sent",
  prepared: "Prepared",
  settled: "Settled",
  failed: "Failed",
  refunded: "Refunded",
  given: "Handed over",
  taken: "Taken over",
};

/** Who says that it settled or failed. */
export const SAID_BY = { chain: "the chain shows it", seller: "the seller says so", journal: "the journal alone says so" };

/** Counter, word, and which rows it is about. */
export const COUNTERS = {
  needsApproval: ["Needs approval", (row) => row.state === "needs_approval"],
  unknown: ["Unknown", (row) => row.state === "unknown"],
  conflict: ["Conflict", (row) => row.flags.some((flag) => CONFLICTS.includes(flag))],
  duplicateCharge: ["Charged twice", (row) => row.flags.includes("duplicate_charge")],
  notDelivered: ["Paid, not delivered", (row) => row.flags.includes("paid_not_delivered")],
  refundOwed: ["Refund owed", (row) => row.flags.includes("duplicate_charge") || Boolean(row.spent?.some(({ refundOwed }) => refundOwed !== "0"))],
};
const CONFLICTS = ["payment_identifier_conflict", "transaction_claimed_twice", "paid_wrong_terms"];

const TITLES = {
  approval_needed: "Waits for your approval",
  outcome_unknown: "Nobody knows yet whether this was paid",
  duplicate_charge: "Charged twice for one purchase",
  paid_not_delivered: "Paid, and nothing was delivered",
  late_confirmation: "A payment that was called failed landed late",
  payment_identifier_conflict: "One id was used for two requests",
  transaction_claimed_twice: "One transaction stands for two purchases",
  paid_wrong_terms: "Paid on other terms than signed",
  over_budget: "Over budget",
};

/** A code of the registry as a heading. */
export function titleOf(code) {
  if (Object.hasOwn(TITLES, code)) return TITLES[code];
  const words = code.replace(/^drift_/, "unusual: ").replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

/** What a code of the registry means, in a sentence of the registry. */
export const meaningOf = (code) => new CounterfoilError(code).message.slice(code.length + 2);

const FLAGS = { duplicate_charge: "Charged twice", paid_not_delivered: "Nothing delivered", payment_identifier_conflict: "One id, two requests", transaction_claimed_twice: "Transaction used twice", paid_wrong_terms: "Other terms paid", unproven_state: "State not proven", approval_denied: "Refused by a person" };

/** The same in two or three words. */
export const flagOf = (code) => (Object.hasOwn(FLAGS, code) ? FLAGS[code] : titleOf(code));

const AGENT = "Whoever runs the agent: you, if it is yours";
const WHO = {
  ask_human: "You, if this money is yours to decide about",
  wait: "Nobody yet: time decides",
  read_chain: AGENT,
  resend_same: AGENT,
  read_order: AGENT,
  lookup_receipt: AGENT,
  claim: "You, towards the seller",
  stop: "Nobody: it is closed",
};
/** Who can act on it. An unknown payment waits by itself, but whoever runs the agent can end the waiting. */
export const whoActs = (next, code) => (code !== "outcome_unknown" && Object.hasOwn(WHO, next) ? WHO[next] : AGENT);

let told;
/** The next safe step in a sentence, as the core words it. */
export function stepOf(next) {
  told ??= callAny("errorWords", {});
  return Object.hasOwn(told.next, next) ? told.next[next] : next;
}
