// counterfoil lineage: who bought what for whom, what it cost, and what a person has to do first. Reads files and nothing else.

import { readFile } from "node:fs/promises";
import { lineage, lineageProv } from "counterfoil/verify";
import { networkName, visible, visibleAscii } from "../display.mjs";
import { journalFile } from "./journals.mjs";
import { paint, print, printJson, usageError } from "./output.mjs";

export const options = {
  root: { type: "string" },
  threshold: { type: "string" },
  json: { type: "boolean" },
  dot: { type: "boolean" },
  prov: { type: "boolean" },
};
export const many = true;

const NOTHING_TO_DO = 0;
const FOR_A_PERSON = 1;
const UNDECIDED = 2;

/** State, icon and colour: never the colour alone. */
const STATES = {
  needs_approval: ["✋", "needs approval", "open"],
  prepared: ["○", "prepared", "soft"],
  sent: ["◐", "sent", "open"],
  unknown: ["?", "unknown", "open"],
  settled: ["●", "settled", "good"],
  failed: ["✕", "failed", "soft"],
  refunded: ["↩", "refunded", "good"],
  given: ["→", "handed over", "soft"],
  taken: ["→", "taken over", "soft"],
};
const COUNTERS = { needsApproval: "needs approval", unknown: "unknown", conflict: "conflict", duplicateCharge: "duplicate charge", notDelivered: "not delivered", refundOwed: "refund owed" };

/** Shows the lineage in `files`. Gives the exit status. */
export async function run(files, given) {
  if (files.length === 0) throw usageError("lineage wants a journal or a bundle");
  const texts = await Promise.all(files.map(textOf));
  const view = lineage(texts, { root: given.root, threshold: given.threshold, nodes: Boolean(given.json), reports: true });
  const { reports } = view;
  if (given.json) printJson(view);
  else if (given.dot) dot(view);
  else if (given.prov) printJson(lineageProv(texts, { root: given.root }));
  else show(view, reports, files);
  const failed = reports.some(({ verdict }) => verdict === "failed");
  const urgent = view.actions.some(({ severity, next }) => severity === "alert" || next === "ask_human");
  if (failed || urgent) return FOR_A_PERSON;
  return view.counters.unknown > 0 ? UNDECIDED : NOTHING_TO_DO;
}

async function textOf(path) {
  return new Uint8Array(await readFile(await journalFile(path)));
}

const width = () => Math.max(60, Math.min(process.stdout.columns || 80, 120));

/** The text in so many columns; what is left out shows as an ellipsis. */
function fit(text, columns) {
  const shown = [...visible(text)];
  return shown.length <= columns ? shown.join("").padEnd(columns) : `${shown.slice(0, Math.max(0, columns - 1)).join("")}…`;
}

const short = (id) => (id.length > 14 ? `${id.slice(0, 10)}…` : id);

function show({ root, rows, totals, counters, actions, flags }, reports, files) {
  const top = rows.find(({ intentId }) => intentId === root);
  if (top) print(paint("strong", fit(top.label ?? top.intentId, width()).trimEnd()));
  for (const { network, asset, settled, reserved, refundOwed, refunded } of totals) {
    print(fit(`  ${networkName(network) ?? network}`, width()).trimEnd());
    print(`    token ${visible(asset)}`);
    print(`    settled ${settled} + in flight or unknown ${reserved} atomic units`);
    if (refundOwed !== "0" || refunded !== "0") print(paint("bad", `    refund owed ${refundOwed}, refunded ${refunded}`));
  }
  // What can't be relied on may have left anything out.
  const whole = reports.every(({ verdict }) => verdict !== "failed");
  if (!totals.length) print(whole ? "  Nothing was spent." : "  What was spent is unknown.");
  const counted = Object.entries(COUNTERS).map(([name, word]) => paint(counters[name] ? "bad" : "soft", `${word} ${counters[name]}`));
  // Three to a line, for 80 columns.
  for (let at = 0; at < counted.length; at += 3) print(`  ${counted.slice(at, at + 3).join("   ")}`);
  chains(reports, files);
  todo(actions, whole);
  print();
  tree(rows);
  const told = flags.filter(({ code }) => !actions.some((action) => action.code === code));
  for (const { code, why } of told) print(paint("soft", fit(`  ${code}: ${why}`, width()).trimEnd()));
}

/** What is wrong with a document comes before what it says. */
function chains(reports, files) {
  reports.forEach(({ checks }, index) => {
    for (const { title, why } of checks.filter(({ state }) => state === "fail")) {
      print();
      print(paint("bad", `Do not rely on ${visible(files[index])}.`));
      print(`  Not so: ${visible(title)}`);
      wrapped(why, "  ");
    }
  });
}

function todo(actions, whole) {
  if (!actions.length && !whole) {
    print(paint("open", "\nUnknown whether there is something for you to do:"));
    return print("  not all of these documents can be relied on.");
  }
  if (!actions.length) return print(paint("good", "\nNothing for you to do."));
  print();
  print(paint("strong", "For a person"));
  for (const { code, severity, why, next, amount, network, payTo, reasons, intents } of actions) {
    print(`  ${paint(severity === "alert" ? "bad" : "open", `${severity === "alert" ? "!" : "·"} ${visible(code)}`)}`);
    wrapped(why, "    ");
    const stake = amount === undefined ? "" : `, ${amount} atomic units on ${networkName(network) ?? visible(network)}`;
    wrapped(`next: ${next}${stake}${payTo === undefined ? "" : `, to ${payTo}`}`, "    ");
    if (reasons?.length) wrapped(`because: ${reasons.join(", ")}`, "    ");
    wrapped(`intent ${intents.map(short).join(", ")}`, "    ");
  }
}

function wrapped(text, indent) {
  const lines = [""];
  for (const word of visible(text).split(" ")) {
    if (lines.at(-1).length + word.length + 1 > width() - indent.length) lines.push("");
    lines.push(`${lines.pop()} ${word}`.trim());
  }
  for (const line of lines) print(indent + line);
}

function tree(rows) {
  const [state, who, money] = [17, 12, 11];
  const what = width() - state - who - 2 * money - 3;
  print(paint("soft", `${"  state".padEnd(state)}${"what".padEnd(what)} ${"who".padEnd(who)} ${"cost".padStart(money)} ${"so far".padStart(money)}`));
  for (const row of rows) {
    const [icon, word, colour] = STATES[row.state] ?? ["·", row.state, "soft"];
    const name = row.kind === "attempt" ? `to ${short(row.payTo)}${row.by ? `, ${row.by}` : ""}` : row.kind === "hand_over" ? row.agent : (row.label ?? short(row.intentId));
    const agent = row.kind === "hand_over" ? "" : row.agent.startsWith("0x") ? short(row.agent) : row.agent;
    const cost = row.kind === "intent" ? (row.budget === undefined ? "" : `of ${row.budget}`) : (row.cost ?? "");
    // The hand takes two columns.
    const mark = `${icon} ${word}`.padEnd(state - (icon === "✋" ? 1 : 0));
    print(`${paint(colour, mark)}${fit("  ".repeat(row.depth) + name, what)} ${fit(agent, who)} ${cost.padStart(money)} ${(row.runningTotal ?? "").padStart(money)}`.trimEnd());
    if (row.flags.length) print(paint("bad", fit(`${" ".repeat(state)}${"  ".repeat(row.depth)}⚑ ${row.flags.map((flag) => flagOf(flag, row)).join(", ")}`, width()).trimEnd()));
  }
}

/** Of several transfers for one purchase the first one is the payment. */
function flagOf(flag, { kind, owedBack }) {
  if (flag !== "duplicate_charge" || kind !== "attempt") return flag;
  return `${flag}: ${owedBack === undefined ? "first, the payment" : owedBack ? "second, owed back" : "second, came back"}`;
}

/** The intents as a graph for Graphviz. */
function dot({ rows }) {
  const quoted = (text) => `"${visibleAscii(visible(text)).replace(/[\\"]/g, "\\$&")}"`;
  print("digraph lineage {");
  print('  node [shape=box, fontname="sans-serif"];');
  for (const { kind, intentId, label, agent, state, parent, spent } of rows) {
    if (kind !== "intent") continue;
    const cost = spent.map(({ settled, reserved }) => `${settled} + ${reserved}`).join("; ");
    print(`  ${quoted(intentId)} [label=${quoted(`${label ?? short(intentId)} | ${agent} | ${state} | ${cost || "0"}`)}];`);
    if (parent !== undefined) print(`  ${quoted(parent)} -> ${quoted(intentId)};`);
  }
  print("}");
}
