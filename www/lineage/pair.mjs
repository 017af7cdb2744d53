// Two payments side by side, with what differs marked: two charges for one purchase, or two that contradict each other.

import { element } from "../build.mjs";
import { visible } from "../core.mjs";
import { sideBySide } from "../differences.mjs";
import { amountOf, unitOf } from "./money.mjs";
import { clock } from "./time.mjs";
import { STATES } from "./words.mjs";

/** A table of two columns. `pair` are what the keeper found, `rows` the rows of both. */
export function compared(pair, rows) {
  const of = pair.map((one, at) => ({ ...one, row: rows[at], terms: termsOf(one.attempt) }));
  const lines = [
    ["State", ({ row }) => row && (STATES[row.state] ?? row.state)],
    ["Agent", ({ row }) => row?.agent],
    ["Amount", ({ row, terms }) => terms.value && `${amountOf(terms.value, row?.network, row?.asset)} ${unitOf(row?.network, row?.asset)}`],
    ["Recipient", ({ terms }) => terms.to],
    ["Payer", ({ terms }) => terms.from],
    ["Network", ({ row }) => row?.network],
    ["Token", ({ row }) => row?.asset],
    ["Intent", ({ intentId }) => intentId],
    ["Request", ({ request }) => request && `${request.method} ${request.url}`],
    ["Quote", ({ attempt }) => attempt.quoteHash],
    ["Nonce", ({ terms }) => terms.nonce],
    ["Valid until", ({ terms }) => terms.until && `${clock(terms.until)} UTC`],
    ["Transaction", ({ row }) => row?.transaction],
    ["Signed", ({ row }) => row?.at && `${clock(row.at)} UTC`],
    ["Document", ({ name }) => name],
  ];
  const body = lines.flatMap(([title, read]) => {
    const values = of.map((one) => read(one) ?? "");
    if (values.every((value) => value === "")) return [];
    const differs = String(values[0]) !== String(values[1]);
    const shown = differs ? sideBySide(String(values[0]), String(values[1])) : values.map((value) => element("span", { class: "value" }, visible(value)));
    return [element("tr", { role: "row", "data-differs": differs },
      element("th", { role: "rowheader", scope: "row" }, title, element("span", { class: "unseen" }, differs ? ", differs" : ", the same")),
      ...shown.map((value, at) => element("td", { role: "cell", "data-name": SIDES[at] }, value)))];
  });
  body.sort((one, other) => ("differs" in other.dataset) - ("differs" in one.dataset));
  const same = body.filter((row) => row.dataset.differs === undefined).map((row) => row.querySelector("th").firstChild.textContent.toLowerCase());
  return [
    element("p", { class: "hint" }, same.length ? `The same in both: ${same.join(", ")}. What differs is marked.` : "Nothing is the same in both."),
    element("table", { class: "pair", role: "table", "aria-label": "Both payments" },
      element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, element("td", { role: "cell" }), SIDES.map((side) => element("th", { role: "columnheader", scope: "col" }, side)))),
      element("tbody", { role: "rowgroup" }, body)),
  ];
}

const SIDES = ["First", "Second"];

/** What was signed, by whatever method. */
function termsOf({ authorization = {}, permit2Authorization, permit }) {
  const { from, to, value, nonce, validBefore, permitted, witness, deadline } = permit2Authorization ?? permit ?? authorization;
  return { from, to: to ?? witness?.to, value: value ?? permitted?.amount, nonce, until: validBefore ?? deadline };
}
