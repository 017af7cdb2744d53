// The report in each format, as pieces of text. `audited` is `{verdicts, findings, summary, counts, complete, why}`: the first two can be walked more than once.
// Whatever stands in them was written by somebody else: each format escapes it in its own way.

import { createRequire } from "node:module";
import { networkName, visible, visibleCell } from "../../display.mjs";
import { asciiJson as ascii, paint } from "../output.mjs";
import { count, linesOf } from "./progress.mjs";

/** The most lines that a format for people's tools lists; the totals are always whole. */
const MOST = 25_000;
const FEW = 20;

export const writers = { text, json, jsonl, csv, junit, sarif };

const { version } = createRequire(import.meta.url)("counterfoil/package.json");

/** What an audit ends with, by which it can be repeated. */
export function closing({ summary, counts, complete, why, part }) {
  return { summary, findings: counts, complete, ...(why && { why }), ...(part && { part }), tool: `counterfoil ${version}` };
}

// ---------------------------------------------------------------- for programs

function* json(audited) {
  yield '{"verdicts":[';
  let comma = "";
  for (const verdict of audited.verdicts()) {
    yield `${comma}\n${ascii(verdict)}`;
    comma = ",";
  }
  yield '\n],"across":[';
  comma = "";
  for (const finding of audited.findings()) {
    yield `${comma}\n${ascii(finding)}`;
    comma = ",";
  }
  yield `\n],${ascii(closing(audited)).slice(1)}\n`;
}

/** Lines of verdicts stand before it. */
function* jsonl(audited) {
  for (const finding of audited.findings()) yield `${ascii({ finding })}\n`;
  yield `${ascii(closing(audited))}\n`;
}

const KEYS = ["receipt", "intent", "paymentId", "network", "asset", "payer", "payTo", "amount", "nonce", "transaction", "response", "resource"];

function* csv(audited) {
  yield `${["input", "line", "id", "verdict", "codes", "field", "kind", ...KEYS].join(",")}\r\n`;
  for (const { input, line, id, verdict, codes, field, kind, keys } of audited.verdicts()) {
    const cells = [input, line, id, verdict, codes.join(" "), field, kind, ...KEYS.map((name) => keys[name])];
    yield `${cells.map(cell).join(",")}\r\n`;
  }
}

function cell(value) {
  if (value === undefined) return "";
  const safe = visibleCell(value);
  return /[",;\r\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const xml = (value) => visible(value).replace(/[&<>"']/g, (unit) => `&#${unit.charCodeAt(0)};`);

function* junit(audited) {
  const { verified, failed, incomplete, error } = audited.summary.verdicts;
  const found = Object.values(audited.counts).reduce((sum, one) => sum + one, 0);
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="counterfoil audit">\n`;
  yield `<testsuite name="lines" tests="${audited.summary.lines}" failures="${failed.lines}" errors="${error.lines}" skipped="${incomplete.lines}">\n`;
  yield `<properties><property name="verified" value="${verified.lines}"/><property name="complete" value="${audited.complete}"/></properties>\n`;
  for (const { input, line, id, verdict, codes, field } of some(audited.verdicts(), ({ verdict }) => verdict !== "verified")) {
    const kind = { failed: "failure", error: "error", incomplete: "skipped" }[verdict];
    const why = [...codes, ...(field ? [`at ${field}`] : [])].join(", ");
    yield `<testcase classname="${xml(input)}" name="${xml(id === undefined ? `line ${line}` : `line ${line}: ${id}`)}"><${kind} message="${xml(why)}"/></testcase>\n`;
  }
  yield `</testsuite>\n<testsuite name="across lines" tests="${found}" failures="${audited.alerts}">\n`;
  for (const finding of some(audited.findings())) {
    const told = `${xml(finding.code)}: ${xml(finding.why)}`;
    const inside = finding.severity === "alert" ? `<failure message="${xml(finding.code)}">${xml(finding.why)}</failure>` : `<system-out>${told}</system-out>`;
    yield `<testcase classname="${xml(finding.key)}" name="${xml(places(finding))}">${inside}</testcase>\n`;
  }
  yield "</testsuite>\n</testsuites>\n";
}

function* some(all, wanted = () => true) {
  let left = MOST;
  for (const one of all) {
    if (!wanted(one)) continue;
    if (!left--) return;
    yield one;
  }
}

function* sarif(audited) {
  const driver = { name: "counterfoil", version, rules: [...Object.keys(audited.summary.codes), ...Object.keys(audited.counts)].map((id) => ({ id })) };
  yield `{"version":"2.1.0","$schema":"https://json.schemastore.org/sarif-2.1.0.json","runs":[{"tool":{"driver":${ascii(driver)}},"columnKind":"utf16CodeUnits","results":[`;
  let comma = "";
  const result = (rule, level, message, lines) => {
    const locations = lines.map(({ input, line }) => ({ physicalLocation: { artifactLocation: { uri: uri(input) }, region: { startLine: Math.max(1, line) } } }));
    const text = `${comma}\n${ascii({ ruleId: rule, level, message: { text: visible(message) }, locations: locations.slice(0, 1), ...(locations.length > 1 && { relatedLocations: locations.slice(1) }) })}`;
    comma = ",";
    return text;
  };
  for (const verdict of some(audited.verdicts(), ({ verdict }) => verdict === "failed" || verdict === "error")) {
    yield result(plain(verdict.codes[0] ?? verdict.verdict), "error", `${verdict.verdict}: ${verdict.codes.join(", ")}`, [verdict]);
  }
  for (const finding of some(audited.findings())) yield result(finding.code, finding.severity === "alert" ? "error" : "note", finding.why, finding.lines);
  yield `\n]}]}\n`;
}

const plain = (code) => code.slice(code.lastIndexOf("].") + 1).replace(/^\./, "");

function uri(input) {
  return input === "-" ? "stdin" : input.split("/").map(encodeURIComponent).join("/");
}

// ---------------------------------------------------------------- for people

const COLOURS = { verified: "good", failed: "bad", incomplete: "open", error: "bad" };

function* text(audited) {
  const { summary, counts } = audited;
  for (const { input, line, id, verdict, codes, field } of summary.failures) {
    const name = id === undefined ? "" : ` (${visible(id)})`;
    yield `${paint("bad", visible(verdict))}  ${visible(input)}:${line}${name}  ${visible(codes.join(", "))}${field ? ` at ${visible(field)}` : ""}\n`;
  }
  const bad = summary.verdicts.failed.lines + summary.verdicts.error.lines;
  if (bad > summary.failures.length) yield `… and ${count(bad - summary.failures.length)} more\n`;
  let left = FEW;
  for (const finding of audited.findings()) {
    if (!left--) break;
    yield `${paint(finding.severity === "alert" ? "bad" : "open", finding.code)}  ${visible(places(finding))}\n    ${visible(finding.why)}\n`;
  }
  const found = Object.values(counts).reduce((sum, one) => sum + one, 0);
  if (found > FEW) yield `… and ${count(found - FEW)} more across lines\n`;
  if (bad || found) yield "\n";
  yield* totals(audited);
}

export function* totals({ summary, counts, complete, why }) {
  yield `${paint("strong", linesOf(summary.lines))}${complete ? "" : paint("open", `, not all: ${why}`)}\n`;
  for (const [verdict, { lines, amounts, others }] of Object.entries(summary.verdicts)) {
    yield `  ${paint(lines ? COLOURS[verdict] : "soft", `${verdict.padEnd(11)} ${count(lines).padStart(12)}`)}\n`;
    for (const one of amounts.slice(0, FEW)) yield* money(one);
    if (others || amounts.length > FEW) yield "    and in other tokens\n";
  }
  const codes = Object.entries(summary.codes).sort(([, one], [, other]) => other.lines - one.lines);
  for (const [code, { lines }] of codes.slice(0, FEW)) yield `  ${count(lines).padStart(9)}  ${visible(code)}\n`;
  for (const [code, times] of Object.entries(counts)) yield `  ${count(times).padStart(9)}  ${visible(code)} (across lines)\n`;
}

/** In three lines, none of which a terminal has to break. */
function* money({ network, asset, lines, amount }) {
  const known = networkName(network);
  yield `    ${linesOf(lines)}: ${amount === null ? "more than can be told" : `${amount} atomic units`}\n`;
  yield `      of ${visible(asset)}\n      on ${visible(network)}${known ? ` (${known})` : ""}\n`;
}

function places({ count: all, lines }) {
  const named = lines.slice(0, 4).map(({ input, line, id }) => `${input}:${line}${id === undefined ? "" : ` (${id})`}`);
  return `${named.join(", ")}${all > named.length ? ` and ${count(all - named.length)} more` : ""}`;
}
