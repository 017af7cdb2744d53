// What an audit of many documents found, as `npx counterfoil audit --report` embedded it. All of it was written by others or names what they wrote,
// so all of it goes through `visible`.

import { element, symbol, value } from "../build.mjs";
import { cut, networkName, visible } from "../core.mjs";

const VERDICTS = {
  verified: ["pass", "Verified", "Every required check passed."],
  failed: ["fail", "Failed", "A check failed."],
  incomplete: ["not_checked", "Incomplete", "Nothing failed, but required checks could not be made."],
  error: ["fail", "Unusable", "The line is no document that can be judged."],
};
/** Rows that are shown at once, and more of them on demand. */
const STEP = 100;

class Audit extends HTMLElement {
  /** Shows one report; docs/page.md has its form. */
  show({ summary, findings, across = [], lines = [], complete, why, tool, now, options = [] }) {
    const { verdicts } = summary;
    const alerts = across.filter(({ severity }) => severity === "alert").length;
    const bad = verdicts.failed.lines + verdicts.error.lines;
    this.replaceChildren(
      verdictOf({ verdicts, alerts, bad, complete, why, all: summary.lines }),
      section("Lines by verdict", "audit-sums", sums(Object.entries(VERDICTS).map(([name, [state, title, says]]) => [state, title, says, verdicts[name]]), "Verdict")),
      ...(Object.keys(summary.codes).length ? [section("Lines by code", "audit-sums", sums(codes(summary.codes), "Code"))] : []),
      ...(lines.length ? [section("First lines that failed or are unusable", "audit-lines", list(lines, bad, failureOf, ["Verdict", "Where", "Why"], "Failures"))] : []),
      ...(across.length ? [section("Across lines", "audit-across", list(across, sum(Object.values(findings)), findingOf, ["Finding", "Lines", "Why"], "Findings across lines"))] : []),
      section("What was audited", "audit-inputs", list(summary.inputs, summary.inputs.length, inputOf, ["File", "SHA-256", "Size"], "Inputs"), facts({ tool, now, options })),
    );
  }
}

const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
const count = (number) => Number(number).toLocaleString("en");
const counted = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

function verdictOf({ verdicts, alerts, bad, complete, why, all }) {
  const kind = bad || alerts ? "failed" : verdicts.incomplete.lines || !complete || !all ? "incomplete" : "verified";
  const word = { failed: "Faults found", incomplete: "Not all decided", verified: "All verified" }[kind];
  const parts = [`${counted(all, "line")}.`];
  if (bad) parts.push(`${counted(bad, "line")} failed or can't be judged.`);
  if (alerts) parts.push(`${counted(alerts, "alert")} across lines.`);
  if (verdicts.incomplete.lines) parts.push(`${counted(verdicts.incomplete.lines, "line")} undecided.`);
  if (!complete) parts.push(`This is not all: ${why}.`);
  return element("section", { class: "stub", "data-verdict": kind, "aria-label": "Result" },
    element("div", { class: "answer" }, element("p", { class: "word" }, word), element("p", { class: "sentence" }, visible(parts.join(" ")))),
    element("div", { class: "ground" }));
}

let sections = 0;

function section(title, kind, ...children) {
  const id = `audit-section-${(sections += 1)}`;
  return element("section", { class: `audit-part ${kind}`, "aria-labelledby": id }, element("h2", { id }, title), children);
}

// The roles are written out because a table that is laid out as a list on narrow screens would lose them.
function table(label, head, rows) {
  return element("table", { role: "table", "aria-label": label },
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, head.map((name) => element("th", { role: "columnheader", scope: "col" }, name)))),
    element("tbody", { role: "rowgroup" }, rows));
}

function row(head, first, ...cells) {
  return element("tr", { role: "row", ...first.attributes },
    element("th", { role: "rowheader", scope: "row" }, first.content),
    cells.map((cell, at) => element("td", { role: "cell", "data-name": head[at + 1] }, cell)));
}

function sums(rows, name) {
  const head = [name, "Lines", "Amounts"];
  return table(`Lines and amounts by ${name.toLowerCase()}`, head, rows.map(([state, title, says, { lines, amounts, others }]) => row(head,
    { attributes: { "data-state": lines ? state : "none" }, content: [state ? symbol(state) : undefined, element("span", { class: "title" }, title), says ? element("span", { class: "why" }, says) : undefined] },
    element("span", { class: "number" }, count(lines)),
    amounts.length ? element("ul", {}, amounts.slice(0, STEP).map(money), others || amounts.length > STEP ? element("li", {}, "and in other tokens") : undefined) : "none stated")));
}

function codes(all) {
  const sorted = Object.entries(all).sort(([, one], [, other]) => other.lines - one.lines);
  return sorted.slice(0, STEP).map(([code, money]) => [undefined, element("code", {}, cut(visible(code), 80)), undefined, money]);
}

function money({ network, asset, lines, amount }) {
  const known = networkName(network);
  return element("li", {},
    element("span", { class: "number" }, amount === null ? "more than can be told" : visible(amount)), " atomic units of ",
    element("span", { class: "value" }, cut(visible(asset), 80)), ` on ${known ? `${known}, ` : ""}`, element("span", { class: "value" }, cut(visible(network), 80)), `, ${counted(lines, "line")}`);
}

/** A table of which the first rows are shown; `all`: how many there were, of which these are the first. */
function list(items, all, rowOf, head, label) {
  const made = table(label, head, []);
  const body = made.querySelector("tbody");
  const told = element("p", { class: "hint", role: "status" });
  let shown = 0;
  const more = element("button", { type: "button", class: "button", onclick: () => add() }, "Show more");
  const add = () => {
    const next = items.slice(shown, shown + STEP);
    body.append(...next.map((item) => rowOf(item, head)));
    shown += next.length;
    told.textContent = shown < all ? `${count(shown)} of ${count(all)}${shown === items.length ? ". The report for programs, --format jsonl, has them all." : ""}` : "";
    if (shown === items.length) more.remove();
  };
  add();
  return [made, told, shown < items.length ? more : undefined];
}

const placeOf = ({ input, line, id }) => [
  element("span", { class: "file" }, value(visible(input), "the file's name", 80)), `, line ${count(line)}`,
  id === undefined ? undefined : element("span", { class: "why" }, value(visible(id), "the line's id", 80)),
];

function failureOf({ verdict, codes, field, ...place }, head) {
  const [state, title] = Object.hasOwn(VERDICTS, verdict) ? VERDICTS[verdict] : ["fail", "Failed"];
  return row(head, { attributes: { "data-state": state }, content: [symbol(state), title] }, placeOf(place),
    [element("ul", {}, codes.map((code) => element("li", {}, element("code", {}, cut(visible(code), 80))))), field === undefined ? undefined : element("span", { class: "why" }, `at ${cut(visible(field), 80)}`)]);
}

function findingOf({ code, severity, why, count: all, lines, amount, fields }, head) {
  const state = severity === "alert" ? "fail" : "not_checked";
  const rest = all - lines.length;
  return row(head, { attributes: { "data-state": state }, content: [symbol(state), element("code", {}, visible(code))] },
    element("ul", {}, lines.map((line) => element("li", {}, placeOf(line))), rest > 0 ? element("li", {}, `and ${counted(rest, "more line")}`) : undefined),
    [cut(visible(why), 400), fields?.length ? element("span", { class: "why" }, cut(visible(fields.join(", ")), 200)) : undefined, amount === undefined ? undefined : element("span", { class: "why" }, element("span", { class: "number" }, visible(amount)), " atomic units")]);
}

function inputOf({ name, sha256, bytes, lines }, head) {
  return row(head, { attributes: {}, content: element("span", { class: "file" }, value(visible(name), "the file's name", 120)) },
    element("span", { class: "value" }, visible(sha256)), `${counted(bytes, "byte")}, ${counted(lines, "line")}`);
}

function facts({ tool, now, options }) {
  const told = [["Tool", tool], ["Time that counted as now", now === undefined ? undefined : `${new Date(1000 * now).toISOString()} (${now})`], ...options];
  return element("dl", {}, told.filter(([, text]) => text !== undefined).map(([name, text]) => element("div", {}, element("dt", {}, visible(name)), element("dd", { class: "value" }, value(visible(text), name, 200)))));
}

customElements.define("cf-audit", Audit);
