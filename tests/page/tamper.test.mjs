// Every leaf of the recorded bundle, changed one at a time: the page must not call any of it verified, but for those
// on which nothing rests.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { becomes, put, start, verdict } from "./browser.mjs";

const sample = (name) => readFileSync(new URL(`../../www/sample/${name}`, import.meta.url));
const bundle = JSON.parse(sample("bundle.json"));

/** Leaves whose change does not show, each with the reason; tests/receipt.rs keeps the same list for a bundle of its own. */
const UNCOVERED = [
  [/^exportedAt$/, "the payer's clock; no verdict rests on it"],
  [/\.(createdAt|updatedAt|seenAt|plannedAt|signedAt|readAt|at)$/, "the payer's clock"],
  [/\.sends\.\d+$/, "the payer's clock"],
  [/^intents\.\d+\.(purpose|scope)$/, "display text; an explicit id decides alone"],
  [/\.observations\.\d+\.(code|money|transport)$/, "a diagnosis that repeats the outcome in more words"],
  [/\.verdict\.(money|next|index|reasons\.\d+)$/, "follows from the verdict, or says why in words"],
  [/\.delivery\.headers\./, "HTTP metadata that nobody signed or hashed"],
  [/\.delivery\.taken$/, "whether the payer's own program has read the answer"],
  [/\.required\.error$/, "the seller's words beside the offer"],
  // The payer's own reads are no evidence; they must only lead to the recorded verdict.
  [/\.evidence\.\d+\.block\.(timestamp|number|hash|stateRoot)$/, "any later block says the same"],
  [/\.evidence\.\d+\.receipt\.(from|to)$/, "the relayer, never the payer"],
  [/\.evidence\..*\.(blockTimestamp|transactionIndex|blobGasPrice|contractAddress|cumulativeGasUsed|effectiveGasPrice|gasUsed|logsBloom|type)$/, "what a node tells besides"],
];

function* leaves(value, path = []) {
  if (typeof value !== "object" || value === null) yield path;
  else for (const key of Object.keys(value)) yield* leaves(value[key], [...path, key]);
}

/** Another value of the same kind, as close as can be. */
function other(value) {
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  if (value === null) return "0x";
  if (value === "") return "x";
  const at = Math.floor(value.length / 2);
  const char = value[at];
  const next = /[0-8]/.test(char) ? String(Number(char) + 1) : char === "9" ? "8" : /[a-eA-E]/.test(char) ? String.fromCharCode(char.charCodeAt(0) + 1) : "b";
  return value.slice(0, at) + (next === char ? "c" : next) + value.slice(at + 1);
}

function changed(path) {
  const copy = structuredClone(bundle);
  const holder = path.slice(0, -1).reduce((at, key) => at[key], copy);
  holder[path.at(-1)] = other(holder[path.at(-1)]);
  return JSON.stringify(copy);
}

let site;
before(async () => { site = await start(); });
after(() => site.stop());

test("no changed leaf is verified", async () => {
  const { page, trouble } = await site.open();
  await put(page, { response: sample("response.bin"), evidence: sample("evidence.json"), receipt: JSON.stringify(bundle) });
  await becomes(() => verdict(page), "Verified");
  const unnoticed = [];
  let count = 0;
  for (const path of leaves(bundle)) {
    await put(page, { receipt: changed(path) });
    count += 1;
    const name = path.join(".");
    const found = await verdict(page);
    assert.ok(["Verified", "Failed", "Incomplete", "No verdict"].includes(found), found);
    if (found === "Verified" && !UNCOVERED.some(([pattern]) => pattern.test(name))) unnoticed.push(name);
  }
  assert.ok(count > 80, `${count} leaves`);
  assert.deepEqual(unnoticed, []);
  assert.deepEqual(trouble, []);
});
