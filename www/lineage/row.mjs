// One row of the tree. What is written in it came from documents, so all of it is made visible and none of it is markup.

import { element, symbol } from "../build.mjs";
import { cut, visible, visibleAscii } from "../core.mjs";
import { amountOf, unitOf } from "./money.mjs";
import { clock, span } from "./time.mjs";
import { SAID_BY, STATES, flagOf } from "./words.mjs";

export const COLUMNS = [["name", "Intent or payment"], ["agent", "Agent"], ["state", "State"], ["when", "When"], ["cost", "Cost"], ["total", "Running total"], ["flags", "Flags"]];

export const short = (id) => (id.length > 14 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id);

/** The one axis that all bars stand on. */
export class Scale {
  constructor({ first, last }) {
    this.first = Number.isFinite(first) ? first : 0;
    this.length = Math.max(1, last - this.first);
    this.last = this.first + this.length;
  }

  /** Both ends of it in words. */
  ends() {
    if (!this.first) return [];
    const [from, to] = [clock(this.first), clock(this.last)];
    const day = from.slice(0, 10) === to.slice(0, 10);
    // Within one day the day is told once, beside the word; else each end is a day.
    const both = day ? [from.slice(11, 19), to.slice(11, 19)] : [from.slice(0, 10), to.slice(0, 10)];
    return [element("span", { class: "day" }, day ? ` ${from.slice(0, 10)}, UTC` : " UTC"), element("span", { class: "ends" }, both.map((end) => element("span", {}, end)))];
  }

  bar({ at, endedAt, state, kind }) {
    if (!at) return undefined;
    const left = Math.max(0, Math.min(100, ((at - this.first) / this.length) * 100));
    const width = Math.max(0, Math.min(100 - left, (((endedAt ?? at) - at) / this.length) * 100));
    const bar = element("span", { class: "bar", "data-state": state, "data-kind": kind });
    bar.style.left = `min(${left}%, 100% - 6px)`;
    bar.style.width = `max(${width}%, 6px)`;
    const took = endedAt > at ? `, ${span(endedAt - at)}` : "";
    return element("span", { class: "axis", title: `${clock(at)} UTC${took}` }, bar, element("span", { class: "unseen" }, `${clock(at)}${took}`));
  }
}

const KINDS = [["intent", "settled", "An intent, from its first to its last step"], ...["settled", "sent", "unknown", "failed", "refunded"].map((state) => ["attempt", state, STATES[state]]), ["hand_over", "taken", "Handed over"]];

/** What each bar stands for. */
export function legend() {
  const item = ([kind, state, word]) => element("li", {}, element("span", { class: "bar", "data-kind": kind, "data-state": state, "aria-hidden": "true" }), word);
  return element("div", { class: "legend" }, element("span", { id: "legend-title" }, "Bars"), element("ul", { "aria-labelledby": "legend-title" }, KINDS.map(item)));
}

/** What a row is called. */
export function nameOf(row) {
  if (row.kind === "hand_over") return visible(row.agent);
  if (row.kind === "attempt") return `Payment to ${short(visibleAscii(row.payTo ?? ""))}`;
  return row.label === undefined ? `Intent ${short(row.intentId)}` : cut(visible(row.label), 80);
}

/** The row at `at` as an element; the tree places it. */
export function rowOf(rows, at, { scale }) {
  const row = rows.all[at];
  const parent = rows.hasChildren(at) && !rows.isFlat();
  const holds = row.kind === "intent" && row.state === "prepared" && rows.hasChildren(at) && rows.all[at + 1].kind === "intent";
  const made = element("div", {
    role: "row", class: "cells", "data-kind": row.kind, "data-state": row.state, "data-crossed": row.passesBudget,
    "aria-level": String(rows.isFlat() ? 1 : row.depth + 1), "aria-expanded": parent ? String(rows.isOpen(at)) : undefined,
  }, COLUMNS.map(([name], index) => element("div", { role: "gridcell", class: name, "aria-colindex": String(index + 1) }, CELLS[name](row, { rows, at, scale, parent, holds }))));
  made.style.setProperty("--depth", String(rows.isFlat() ? 0 : Math.min(row.depth, 12)));
  return made;
}

const stateOf = (row) => [symbol(`state-${row.state}`), element("span", {}, STATES[row.state] ?? visible(row.state)), row.by ? element("span", { class: "by" }, SAID_BY[row.by]) : undefined];

/** A flag's words; of several transfers for one purchase which it is: the one that stands is no trouble. */
function flagIn({ kind, owedBack }, flag) {
  const stands = flag === "duplicate_charge" && kind === "attempt" && owedBack === undefined;
  const words = flag !== "duplicate_charge" || kind !== "attempt" ? flagOf(flag) : stands ? "First: the payment" : owedBack ? "Second: owed back" : "Second: came back";
  return element("span", { class: stands ? "flag calm" : "flag" }, `⚑ ${words}`);
}

const CELLS = {
  name: (row, { rows, at, parent }) => [
    element("span", { class: "fold", "aria-hidden": "true" }, parent ? (rows.isOpen(at) ? "▾" : "▸") : ""),
    element("span", { class: "label", title: row.kind === "attempt" ? row.payTo : row.intentId }, nameOf(row)),
  ],
  agent: (row) => (row.kind === "hand_over" ? "" : element("span", { class: "label", title: visible(row.agent) }, row.agent.startsWith("0x") ? short(visible(row.agent)) : cut(visible(row.agent), 40))),
  // An intent that only holds others has no payment that could be in a state.
  state: (row, { holds }) => (holds ? element("span", { class: "unseen" }, "holds others") : stateOf(row)),
  when: (row, { scale }) => scale.bar(row),
  cost: (row) => {
    if (row.kind === "intent" && row.budget !== undefined) {
      const { network, asset } = row.spent?.[0] ?? {};
      return [element("span", { class: "of" }, "budget "), amountOf(row.budget, network, asset), asset === undefined ? "" : [" ", element("span", { class: "unit" }, unitOf(network, asset))]];
    }
    if (row.cost === undefined) return "";
    return [amountOf(row.cost, row.network, row.asset), " ", element("span", { class: "unit" }, unitOf(row.network, row.asset))];
  },
  total: (row) => (row.runningTotal === undefined ? "" : amountOf(row.runningTotal, row.network, row.asset)),
  flags: (row) => [
    row.passesBudget ? element("span", { class: "flag over" }, "▲ budget passed here") : undefined,
    ...row.flags.map((flag) => flagIn(row, flag)),
  ],
};
