// What stands behind the verdict: what the document says, every check, what none of it proves, the document itself.
// Everything here shows what somebody else wrote, so all of it goes through `visible`.

import { element, symbol, value } from "../build.mjs";
import { cut, visible, visibleLines } from "../core.mjs";
import { sideBySide } from "../differences.mjs";
import { factsOf } from "../facts.mjs";
import { groupsOf, purchaseOf } from "../groups.mjs";

const STATES = { pass: "Pass", fail: "Fail", not_checked: "Not checked" };
const SHOWN_RAW = 20000;
// A document may hold any number; beyond this many, the command line shows them all.
const SHOWN_PURCHASES = 50;

class Report extends HTMLElement {
  /** Shows a report and the document that it is about. */
  show(report, receipt) {
    const items = Array.isArray(report.facts.items) ? report.facts.items : undefined;
    const { items: _, ...facts } = report.facts;
    this.replaceChildren(
      ...(items ? purchases(report, facts, items) : [checking(report.checks), saying(facts)]),
      limits(report.doesNotProve),
      raw(receipt),
    );
  }

  /** Shows a document that can't be judged. */
  showRaw(receipt) {
    this.replaceChildren(raw(receipt));
  }

  /** Shows nothing. */
  clear() {
    this.replaceChildren();
  }
}

let sections = 0;

function section(title, kind, ...children) {
  const id = `section-${(sections += 1)}`;
  return element("section", { class: kind, "aria-labelledby": id }, element("h2", { id }, title), children);
}

function saying(facts, title = "What the document says") {
  return section(title, "facts",
    element("dl", {}, factsOf(facts).map(([name, ...shown]) => element("div", {}, element("dt", {}, name), element("dd", {}, shown)))));
}

function checking(checks, title = "Checks") {
  return section(title, "checks", groupsOf(checks).map((group) => table(group, title)));
}

function purchases(report, facts, items) {
  const whole = report.checks.filter((check) => purchaseOf(check) === undefined);
  const rest = items.length - SHOWN_PURCHASES;
  return [
    checking(whole, "Checks of the whole document"),
    saying(facts),
    ...items.slice(0, SHOWN_PURCHASES).flatMap((item, at) => {
      const name = `Purchase ${at + 1} of ${items.length}`;
      const checks = report.checks.filter((check) => purchaseOf(check) === at);
      return [checking(checks, `Checks of purchase ${at + 1}`), saying(item, name)];
    }),
    ...(rest > 0 ? [section("More purchases", "rest", element("p", {}, `${rest} more are part of the verdict and not shown here. The command line lists them all.`))] : []),
  ];
}

// The roles are written out because a table that is laid out as a list on narrow screens would lose them.
function table({ title, checks }, of) {
  const sides = checks.some((check) => check.expected !== undefined || check.actual !== undefined);
  const head = ["Result", "Check", ...(sides ? ["Expected", "Actual"] : [])];
  return [element("h3", {}, title), element("table", { role: "table", "aria-label": `${of}: ${title}` },
    element("colgroup", {}, head.map((_, at) => element("col", { class: at ? undefined : "narrow" }))),
    element("thead", { role: "rowgroup", class: sides ? undefined : "unseen" }, element("tr", { role: "row" },
      head.map((name, at) => element("th", { role: "columnheader", scope: "col" }, at < 2 ? element("span", { class: "unseen" }, name) : name)))),
    element("tbody", { role: "rowgroup" }, checks.map((check) => row(check, sides))))];
}

function row(check, sides) {
  const state = Object.hasOwn(STATES, check.state) ? check.state : "not_checked";
  const both = check.expected !== undefined && check.actual !== undefined;
  const [expected, actual] = both
    ? sideBySide(check.expected, check.actual)
    : [check.expected, check.actual].map((text, at) => (text === undefined ? undefined : value(visible(text), at ? "the actual value" : "the expected value")));
  const cell = (name, content) => element("td", { role: "cell", "data-name": name, "data-empty": content === undefined }, content);
  return element("tr", { role: "row", "data-state": state, "data-optional": state === "not_checked" && !check.required },
    element("td", { role: "cell", class: "state" }, symbol(state), STATES[state],
      state === "not_checked" && check.required ? element("span", { class: "needed" }, "required") : undefined),
    element("th", { role: "rowheader", scope: "row" },
      element("span", { class: "title" }, cut(visible(check.title))),
      element("span", { class: "why" }, cut(visible(check.why), 400)),
      element("code", { class: "id" }, cut(visible(check.id), 80))),
    ...(sides ? [cell("Expected", expected), cell("Actual", actual)] : []));
}

function limits(sentences) {
  return section("What this does not prove", "limits", element("ul", {}, sentences.map((text) => element("li", {}, cut(visible(text), 400)))));
}

function raw(receipt) {
  const text = visibleLines(new TextDecoder("utf-8", { ignoreBOM: true }).decode(receipt));
  const shown = element("pre", { tabindex: "0", "aria-label": "Text of the document" }, text.slice(0, SHOWN_RAW));
  const more = element("button", {
    type: "button", class: "button",
    onclick() {
      shown.textContent = text;
      more.remove();
      shown.focus();
    },
  }, `Show all ${text.length.toLocaleString("en")} characters`);
  return section("The document", "raw",
    element("details", {}, element("summary", {}, "Show its text"), shown, text.length > SHOWN_RAW ? more : undefined));
}

customElements.define("cf-report", Report);
