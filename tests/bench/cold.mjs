// From import to the first verdict on one signature, in a fresh process each time: what a program pays that checks one receipt.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { summary } from "./measure.mjs";
import { bundle } from "./sizes.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const entry = (name) => join(here, "entries", `first-${name}.mjs`);

/** The product first, then its peers, from the installed packages and from one minified file. Milliseconds, and ours divided by theirs. */
export async function coldStarts({ rounds }) {
  // Beside the packages, so that what a bundle leaves out is found.
  const folder = mkdtempSync(join(here, "node_modules", ".cold-"));
  try {
    const bundled = join(folder, "viem.mjs");
    await bundle(entry("viem"), { platform: "node", outfile: bundled });
    const contenders = { counterfoil: entry("counterfoil"), "viem, installed": entry("viem"), "viem, bundled": bundled, "@noble/curves, installed": entry("noble") };
    const names = Object.keys(contenders);
    const times = Object.fromEntries(names.map((name) => [name, []]));
    const answers = new Set();
    for (let round = 0; round < rounds; round++) {
      for (let turn = 0; turn < names.length; turn++) {
        const name = names[(round + turn) % names.length];
        const { milliseconds, answer } = JSON.parse(execFileSync(process.execPath, [join(here, "cold-one.mjs"), contenders[name]], { encoding: "utf8" }));
        answers.add(answer);
        times[name].push(milliseconds);
      }
    }
    if (answers.size !== 1) throw new Error(`cold: ${answers.size} different answers`);
    return names.map((name, place) => ({
      name,
      milliseconds: summary(times[name]),
      ...(place > 0 && { ratio: summary(times[name].map((time, round) => times.counterfoil[round] / time)) }),
    }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
