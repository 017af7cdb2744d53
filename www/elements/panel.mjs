// The receipt of the selected row, or two payments side by side.

import { element, symbol } from "../build.mjs";
import { networkName, visible, visibleAscii } from "../core.mjs";
import { judge } from "../judge.mjs";
import { amountOf, money } from "../lineage/money.mjs";
import { nameOf } from "../lineage/row.mjs";
import { clock } from "../lineage/time.mjs";
import { compared } from "../lineage/pair.mjs";
import { SAID_BY, STATES, titleOf } from "../lineage/words.mjs";
import { stub } from "./verdict.mjs";

class Panel extends HTMLElement {
  /** Shows a row and the receipts of its intent, `[{name, text}]`. */
  show(row, receipts) {
    this.#open(nameOf(row), [
      about(row),
      row.kind === "hand_over" ? [] : receipts.length ? receipts.flatMap((one) => receipt(one, receipts.length > 1)) : element("p", { class: "hint" }, "Nothing was signed for this intent, so there is no receipt."),
    ]);
  }

  /** Shows what two payments have in common and what not. */
  compare(pair, rows, code) {
    this.#open(titleOf(code), compared(pair, rows));
  }

  /** Shows nothing. */
  close() {
    this.hidden = true;
    this.replaceChildren();
  }

  #open(title, content) {
    const heading = element("h2", { id: "panel-title", tabindex: "-1" }, title);
    this.replaceChildren(element("section", { "aria-labelledby": heading.id },
      element("header", {}, heading, element("button", { type: "button", class: "quiet close", onclick: () => this.dispatchEvent(new Event("done")) }, "Close", element("span", { class: "unseen" }, " the receipt"))),
      content));
    this.hidden = false;
    heading.focus({ preventScroll: true });
    heading.scrollIntoView({ block: "nearest" });
  }
}

function about(row) {
  const { state, by, agent, at, endedAt, cost, network, asset, payTo, transaction, budget, flags, spent } = row;
  const line = (name, shown) => (shown === undefined ? undefined : element("div", {}, element("dt", {}, name), element("dd", {}, shown)));
  const first = spent?.[0];
  return element("dl", { class: "about-row" },
    line("State", [element("span", { class: "state", "data-state": state }, symbol(`state-${state}`), STATES[state] ?? visible(state)), by ? element("span", { class: "note" }, SAID_BY[by]) : ""]),
    line("Cost", cost === undefined ? undefined : [money(cost, network, asset), state === "unknown" || state === "sent" ? element("span", { class: "note" }, "counts against the budget until it is known") : ""]),
    line("Budget", budget === undefined ? undefined : first ? money(budget, first.network, first.asset) : amountOf(budget)),
    line("Recipient", payTo && element("span", { class: "value" }, visibleAscii(payTo))),
    line("Agent", visible(agent)),
    line("Network", network && (networkName(network) ?? visibleAscii(network))),
    line("Began", at ? `${clock(at)} UTC` : undefined),
    line("Last word", endedAt ? `${clock(endedAt)} UTC` : undefined),
    line("Transaction", transaction && element("span", { class: "value" }, visibleAscii(transaction))),
    line("Flags", flags.length ? flags.map(titleOf).join("; ") : undefined));
}

/** Checked here and not in the worker: one receipt is quick, and the page fetches what its signature needs. */
function receipt({ name, text }, several) {
  const verdict = stub();
  const report = document.createElement("cf-report");
  const bytes = new TextEncoder().encode(text);
  const check = () => judge(bytes, {}, { verdict, report }, check);
  check();
  return [several ? element("p", { class: "hint" }, `As ${visible(name)} has it`) : undefined, verdict, report];
}

customElements.define("cf-panel", Panel);
