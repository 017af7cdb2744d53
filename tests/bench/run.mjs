// The packed package against its peers: speed in one process and one run, time from import to the first verdict, and sizes.
//   node run.mjs [ops] [cold] [size] [audit] [page] [--quick] [--json] [--only QUESTION] [--write]
// No name means the first three: `audit` takes minutes and gigabytes, `page` a Chromium.
// --quick    a few calls each: shows that everybody gives the same answers, says nothing about speed
// --json     one object a line
// --only     questions of `ops` whose name begins so
// --write    puts the tables into RESULTS.md as well, each in its place
// It fails when answers differ or a ratio is missing, never because something was slow.
import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { coldStarts } from "./cold.mjs";
import { agreed, measure } from "./measure.mjs";
import { jsonLines, markdown } from "./report.mjs";
import { write } from "./results.mjs";
import { sizes } from "./sizes.mjs";
import { unpackInto } from "../../xtask/packed.mjs";

const parts = { ops, cold, size, audit, page };
const { values: o, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean" }, json: { type: "boolean" }, only: { type: "string", default: "" }, write: { type: "boolean" } },
});
const unknown = positionals.find((name) => !Object.hasOwn(parts, name));
if (unknown) throw new Error(`no part ${unknown}; there are: ${Object.keys(parts).join(", ")}`);
if (o.write && (o.quick || o.only)) throw new Error("results of a part, or of a quick run, are not worth writing down");
const effort = o.quick ? { rounds: 3, milliseconds: 2 } : { rounds: 25, milliseconds: 50 };

const folder = fileURLToPath(new URL("node_modules/counterfoil", import.meta.url));
const tarball = unpackInto(folder);
if (!tarball) throw new Error("no package to measure; `cargo xtask bench` builds it");

for (const name of positionals.length ? positionals : ["ops", "cold", "size"]) {
  const facts = { about: about(), ...(await parts[name]()) };
  process.stdout.write(o.json ? jsonLines(facts) : markdown(facts));
  if (o.write) write(name, markdown(facts));
}

/** Calls a second of one function, against peers that do the same. */
async function ops() {
  // After the package is in place.
  const { questions } = await import("./contenders.mjs");
  const asked = questions.filter(({ id }) => id.startsWith(o.only));
  if (!asked.length) throw new Error(`no such question; there are: ${questions.map(({ id }) => id).join(", ")}`);
  for (const question of asked) await agreed(question);
  const speeds = [];
  for (const question of asked) {
    const results = await measure(question, effort);
    complete(question.id, results, Object.keys(question.peers).length);
    speeds.push({ id: question.id, title: question.title, results });
  }
  return { speeds };
}

/** Milliseconds from import to the first verdict, each in a process of its own. */
async function cold() {
  const results = await coldStarts({ rounds: o.quick ? 1 : 15 });
  complete("cold", results, results.length - 1);
  return { cold: results };
}

async function size() {
  return { sizes: await sizes({ folder, tarball }) };
}

/** What a line of an audit costs, how many of them go through the command, and what memory they take. */
async function audit() {
  const { questions, runs } = await import("./audit.mjs");
  const speeds = [];
  for (const question of questions()) {
    await agreed(question);
    const results = await measure(question, effort);
    complete(question.id, results, Object.keys(question.peers).length);
    speeds.push({ id: question.id, title: question.title, results });
  }
  return { speeds, audits: await runs({ folder, quick: o.quick }) };
}

/** The page in a browser; it has no peer. */
async function page() {
  const { pages } = await import("./page.mjs");
  return { pages: await pages({ folder, quick: o.quick }) };
}

function complete(id, results, peers) {
  const ratios = results.filter(({ ratio }) => Number.isFinite(ratio?.median) && ratio.median > 0);
  if (ratios.length !== peers) throw new Error(`${id}: ${ratios.length} ratios for ${peers} peers`);
}

function about() {
  const at = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url)));
  return {
    date: new Date().toISOString().slice(0, 10),
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    load: loadavg()[0].toFixed(1),
    node: process.versions.node,
    versions: ["counterfoil", ...Object.keys(dependencies)].map((name) => `${name} ${at(name)}`).join(", "),
  };
}
