// Speed of the packed package against its peers, in one process and one run, and sizes.
//   node run.mjs [--quick] [--json] [--only QUESTION]
// --quick    a few calls each: shows that everybody gives the same answers, says nothing about speed
// --json     one object a line
// --only     questions whose name begins so, without the sizes
// It fails when answers differ or a ratio is missing, never because something was slow.
import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { agreed, measure } from "./measure.mjs";
import { jsonLines, markdown } from "./report.mjs";
import { sizes } from "./sizes.mjs";
import { unpackInto } from "../../xtask/packed.mjs";

const { values: o } = parseArgs({ options: { quick: { type: "boolean" }, json: { type: "boolean" }, only: { type: "string", default: "" } } });
const effort = o.quick ? { rounds: 3, milliseconds: 2 } : { rounds: 25, milliseconds: 50 };

const folder = fileURLToPath(new URL("node_modules/counterfoil", import.meta.url));
const tarball = unpackInto(folder);
if (!tarball) throw new Error("no package to measure; `cargo xtask bench` builds it");
// After the package is in place.
const { questions } = await import("./contenders.mjs");
const asked = questions.filter(({ id }) => id.startsWith(o.only));
if (!asked.length) throw new Error(`no such question; there are: ${questions.map(({ id }) => id).join(", ")}`);

for (const question of questions) await agreed(question);

const about = {
  date: new Date().toISOString().slice(0, 10),
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  load: loadavg()[0].toFixed(1),
  node: process.versions.node,
  rounds: effort.rounds,
  versions: versions(),
};
const speeds = [];
for (const question of asked) {
  const results = await measure(question, effort);
  const peers = Object.keys(question.peers).length;
  const ratios = results.filter(({ ratio }) => Number.isFinite(ratio?.median) && ratio.median > 0);
  if (ratios.length !== peers) throw new Error(`${question.id}: ${ratios.length} ratios for ${peers} peers`);
  speeds.push({ id: question.id, title: question.title, results });
}
const facts = { about, speeds, sizes: o.only ? [] : await sizes({ folder, tarball }) };
process.stdout.write(o.json ? jsonLines(facts) : markdown(facts));

function versions() {
  const at = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
  const names = ["counterfoil", "viem", "ethers", "@noble/curves", "@noble/hashes", "canonicalize", "@x402/fetch", "@x402/evm", "esbuild"];
  return names.map((name) => `${name} ${at(name)}`).join(", ");
}
