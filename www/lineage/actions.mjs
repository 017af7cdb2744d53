// What a person has to do, before anything else: what happened, the money at stake, who can act, the next safe step. All of it is the core's word.

import { element, symbol } from "../build.mjs";
import { visibleAscii } from "../core.mjs";
import { money, placeOf } from "./money.mjs";
import { nameOf } from "./row.mjs";
import { meaningOf, stepOf, titleOf, whoActs } from "./words.mjs";

const AT_FIRST = 8;
const ICONS = { approval_needed: "state-needs_approval", outcome_unknown: "state-unknown", duplicate_charge: "state-twice", paid_not_delivered: "state-missing" };

/**
 * The list; `on` has what its buttons do: `show(intentId, attemptId)`, `compare(rows, code)`, `answer(intentId)`. `whole` says that every document could be
 * read and relied on: only then does an empty list mean anything.
 */
export function actionList(actions, rows, on, whole) {
  const attempts = new Map(rows.filter((row) => row.attemptId).map((row) => [row.attemptId, row]));
  const intents = new Map(rows.filter((row) => row.kind === "intent").map((row) => [row.intentId, row]));
  if (!actions.length && !whole) {
    return element("p", { class: "nothing" }, symbol("not_checked"), element("span", {}, element("strong", {}, "Unknown."), " Not all of these documents could be read and relied on: whether something was charged twice, is owed or waits for you can't be told."));
  }
  if (!actions.length) {
    return element("p", { class: "nothing good" }, symbol("pass"), element("span", {}, element("strong", {}, "Nothing for you to do."), " Nothing was charged twice, nothing is owed, nothing waits for you."));
  }
  const item = (action) => actionOf(action, { attempts, intents, rows, on });
  const list = element("ol", { class: "actions" }, actions.slice(0, AT_FIRST).map(item));
  if (actions.length <= AT_FIRST) return list;
  const more = element("button", {
    type: "button", class: "button",
    onclick() {
      const shown = list.childElementCount;
      list.append(...actions.slice(shown, shown + 50).map(item));
      more.hidden = list.childElementCount === actions.length;
      more.textContent = `Show more: ${actions.length - list.childElementCount} left`;
      list.children[shown].querySelector("button")?.focus();
    },
  }, `Show more: ${actions.length - AT_FIRST} left`);
  return [list, more];
}

function actionOf({ code, severity, why, next, amount, asset, network, payTo, reasons, refunded, transactions = [], intents: ids, attempts: tries }, { attempts, intents, rows, on }) {
  const intent = intents.get(ids[0]);
  const own = rows.filter((row) => row.kind === "attempt" && ids.includes(row.intentId));
  // Of more than two transfers each later one has a finding of its own, which names it and the first.
  const charged = code === "duplicate_charge" ? own.filter(({ transaction }) => transactions.includes(transaction)) : [];
  const [first, again] = [charged.find(({ owedBack }) => owedBack === undefined), charged.find(({ owedBack }) => owedBack !== undefined)];
  const row = again ?? attempts.get(tries.at(-1)) ?? own[0];
  const stake = amount === undefined ? row && money(row.cost ?? "0", row.network, row.asset) : money(amount, network, asset);
  const pair = first && again ? [first, again] : own.filter(({ flags }) => flags.includes(code)).slice(0, 2);
  const line = (name, content) => element("div", {}, element("dt", {}, name), element("dd", {}, content));
  const urgent = severity === "alert" || next === "ask_human";
  const name = intent ? nameOf(intent) : "an intent that is not in these documents";
  return element("li", { class: "action", "data-urgent": urgent, "data-code": code },
    element("h3", {}, symbol(ICONS[code] ?? (urgent ? "state-alert" : "state-note")), titleOf(code)),
    element("p", { class: "what" }, element("strong", {}, name), element("span", {}, ` ${why}`)),
    element("dl", {},
      stake ? line(MONEY[code] ?? "At stake", [stake, element("span", { class: "note" }, ` on ${placeOf(network ?? row?.network ?? "")}`), refunded && refunded !== "0" ? [" of which came back ", money(refunded, network, asset)] : ""]) : undefined,
      payTo ?? row?.payTo ? line(TO[code] ?? "Paid to", element("code", {}, visibleAscii(payTo ?? row.payTo))) : undefined,
      first?.transaction ? line("The first transfer", [element("code", {}, visibleAscii(first.transaction)), " stands"]) : undefined,
      again ? line("The second one", [element("code", {}, visibleAscii(again.transaction)), " is to come back"]) : undefined,
      reasons?.length ? line("Why you are asked", reasons.map(meaningOf).join(" ")) : undefined,
      line("Who can act", whoActs(next, code)),
      line("Next safe step", STEPS[code]?.() ?? stepOf(next))),
    element("p", { class: "ways" },
      code === "approval_needed" ? element("button", { type: "button", class: "button strong", onclick: () => on.answer(ids[0]) }, "Approve or refuse…", element("span", { class: "unseen" }, `: ${name}`)) : undefined,
      pair.length === 2 ? element("button", { type: "button", class: "button", onclick: () => on.compare(pair, code) }, "Compare the two", element("span", { class: "unseen" }, `: ${name}`)) : undefined,
      element("button", { type: "button", class: "button", onclick: () => on.show(ids[0], tries.at(-1)) }, "Show in the tree", element("span", { class: "unseen" }, `: ${name}`))));
}

const MONEY = { duplicate_charge: "Owed back to you", paid_not_delivered: "Paid", approval_needed: "Would be paid", outcome_unknown: "Perhaps paid" };
const TO = { approval_needed: "Would go to", outcome_unknown: "Sent to" };
/** The same step as the core's, for a person who is not the agent. */
const STEPS = {
  approval_needed: () => "Look at the whole request, then approve or refuse it with your key. Until you approve, nothing is paid.",
  duplicate_charge: () => "Do not pay again. Ask the seller to pay the second transfer back, and show both transactions.",
  paid_not_delivered: () => ["Do not pay again. Whoever runs the agent makes the claim file (in code: ", element("code", {}, "payer.claim(intentId)"), "). Send it to the seller, and ask for the answer or the money back."],
  outcome_unknown: () => ["Do not pay again. Ask the chain whether it was paid, which pays and signs nothing: ", element("code", {}, "npx counterfoil resume <journal> --rpc <network>=<url>")],
};
