// Spent, reserved, left: one bar for each token, or for each intent at the top that has a budget. The numbers are the core's.

import { element } from "../build.mjs";
import { visibleAscii } from "../core.mjs";
import { money, placeOf, unitOf, amountOf } from "./money.mjs";
import { nameOf } from "./row.mjs";

/** The strip as elements. */
export function budgets({ totals, actions, whole }, rows) {
  const tops = rows.filter((row) => row.kind === "intent" && row.depth === 0);
  const one = tops.length === 1 ? tops[0] : undefined;
  if (!totals.length) {
    return [element("p", { class: "nothing" }, whole ? "Nothing was spent and nothing is held." : "Unknown: not all of these documents could be read and relied on.", one?.budget === undefined ? "" : [" The budget is ", element("strong", {}, visibleAscii(one.budget)), " atomic units."])];
  }
  const owed = actions.some(({ code }) => code === "duplicate_charge" || code === "late_confirmation");
  return totals.map((total) => bar(total, one, totals.length === 1 ? tops.filter((top) => top.budget !== undefined).length : 0, { owed, sure: whole }));
}

function bar({ network, asset, settled, reserved, refundOwed, refunded, claimed }, top, budgeted, { owed, sure }) {
  const sums = [BigInt(settled), BigInt(reserved)];
  const spent = sums[0] + sums[1];
  const cap = top?.budget === undefined ? undefined : BigInt(top.budget);
  const whole = cap !== undefined && cap > spent ? cap : spent;
  const left = cap === undefined ? undefined : cap > spent ? cap - spent : 0n;
  const over = cap !== undefined && spent > cap ? spent - cap : undefined;
  const part = (name, amount) => {
    const piece = element("span", { class: `part ${name}` });
    piece.style.width = `${whole === 0n ? 0 : Number((amount * 10000n) / whole) / 100}%`;
    return piece;
  };
  const say = (amount) => `${amountOf(String(amount), network, asset)} ${unitOf(network, asset)}`;
  const words = `Spent ${say(settled)}, reserved ${say(reserved)}${left === undefined ? "" : `, left ${say(left)} of ${say(cap)}`}`;
  const strip = element("div", { class: "strip", role: "img", "aria-label": words }, part("spent", sums[0]), part("reserved", sums[1]), left ? part("left", left) : undefined);
  if (over !== undefined) {
    const mark = element("span", { class: "cap", title: "The budget ends here" });
    mark.style.left = `${Number((cap * 10000n) / spent) / 100}%`;
    strip.append(mark);
  }
  const number = (name, label, about, amount) => element("div", { class: `number ${name}` },
    element("dt", {}, element("span", { class: "key", "aria-hidden": "true" }), label), element("dd", {}, money(String(amount), network, asset), element("span", { class: "about" }, about)));
  return element("div", { class: "budget" },
    element("p", { class: "of-what" }, top ? element("strong", {}, nameOf(top)) : element("strong", {}, "Everything in these documents"), element("span", { class: "note" }, ` on ${placeOf(network)}`)),
    strip,
    element("dl", { class: "numbers" },
      number("spent", "Spent", refundOwed === "0" ? "money that moved" : "all that moved, the second transfer too", settled),
      number("reserved", "Reserved", "in flight or unknown: counts as spent until it is known", reserved),
      left === undefined
        ? element("div", { class: "number" }, element("dt", {}, "Left"), element("dd", {}, element("span", { class: "money" }, "–"), element("span", { class: "about" }, budgeted ? "budgets stand at their intents below" : "no budget was set")))
        : over === undefined ? number("left", "Left", `of a budget of ${say(cap)}`, left) : number("over", "Over budget", `the budget was ${say(cap)}`, over),
      claimed !== "0" ? number("owed", "Paid, not delivered", "the seller owes you the answer or this money", claimed) : undefined,
      refundOwed !== "0" ? number("owed", "Refund owed to you", "moved twice for one purchase", refundOwed)
        : owed || !sure ? element("div", { class: "number owed" }, element("dt", {}, "Refund owed to you"), element("dd", {}, element("span", { class: "money" }, "unknown"), element("span", { class: "about" }, owed ? "moved twice for one purchase; how much is not known" : "not all of these documents could be relied on")))
          : claimed !== "0" ? undefined : number("nothing-owed", "Refund owed to you", "nothing was charged twice", refundOwed),
      refunded === "0" ? undefined : number("back", "Refunded", "the chain shows that it came back", refunded)));
}
