// counterfoil verify: the report on one document, with the material named on the command line.

import { readFile } from "node:fs/promises";
import { readEvidence } from "counterfoil/node";
import { evidenceTargets } from "counterfoil/raw";
import { verifyReceipt } from "counterfoil/verify";
import { inUnits, networkName, visible } from "../display.mjs";
import { decoded } from "./decode.mjs";
import { jsonOf, profileOf, trustOf } from "./given.mjs";
import { pair, paint, print, printJson, say, usageError } from "./output.mjs";
import { forNetwork, parseRpcs } from "./rpcs.mjs";

export const options = {
  response: { type: "string" },
  "response-encoding": { type: "string" },
  material: { type: "string" },
  trust: { type: "string" },
  "did-document": { type: "string", multiple: true },
  profile: { type: "string" },
  evidence: { type: "string", multiple: true },
  rpc: { type: "string", multiple: true },
  tag: { type: "string" },
  "expect-payer": { type: "string" },
  "expect-pay-to": { type: "string" },
  "expect-amount": { type: "string" },
  "expect-resource": { type: "string" },
  "expect-kind": { type: "string" },
  json: { type: "boolean" },
};

const TAGS = ["finalized", "safe", "latest"];
const EXPECTATIONS = { payer: "expect-payer", payTo: "expect-pay-to", amount: "expect-amount", resource: "expect-resource", kind: "expect-kind" };
const EXIT = { verified: 0, failed: 1, incomplete: 2 };

/** Checks the document in `file`. Gives the exit status. */
export async function run(file, given) {
  const receipt = await bytesOf(file);
  const named = given.material === undefined ? {} : await jsonOf(given.material, "--material");
  const evidence = [...[named.evidence ?? []].flat(), ...(await Promise.all((given.evidence ?? []).map(evidenceOf))).flat(), ...(await readNow(receipt, named, given))];
  const expect = Object.fromEntries(Object.entries(EXPECTATIONS).flatMap(([name, option]) => (given[option] === undefined ? [] : [[name, given[option]]])));
  const report = verifyReceipt(receipt, {
    ...named,
    ...(await answerOf(given)),
    profile: (await profileOf(given)) ?? named.profile,
    trust: await trustOf(named.trust, given),
    evidence: evidence.length ? evidence : undefined,
    expect: { ...named.expect, ...expect },
    now: named.now ?? Math.floor(Date.now() / 1000),
  });
  if (given.json) printJson(report);
  else show(report);
  return EXIT[report.verdict];
}

/** The answer's bytes, and what is under their content coding. */
async function answerOf(given) {
  if (given.response === undefined) return {};
  const body = await bytesOf(given.response);
  const bodyEncoding = given["response-encoding"];
  return bodyEncoding === undefined ? { body } : { body, bodyEncoding, decodedBody: decoded(body, bodyEncoding) };
}

async function bytesOf(file) {
  if (file !== "-") return new Uint8Array(await readFile(file));
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}

async function evidenceOf(file) {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) throw usageError("the chain evidence is no JSON");
    throw error;
  }
}

/** Evidence for every payment that a bundle, a claim or the material names, read from the nodes that the command line names. */
async function readNow(receipt, { authorization, domain, profile }, given) {
  if (!given.rpc) return [];
  const tag = given.tag ?? "finalized";
  if (!TAGS.includes(tag)) throw usageError(`--tag is one of ${TAGS.join(", ")}`);
  const described = profile !== undefined || given.profile !== undefined;
  const stated = described ? [] : evidenceTargets(new TextDecoder().decode(receipt));
  const signed = authorization && domain ? [{ network: `eip155:${domain.chainId}`, asset: domain.verifyingContract, payer: authorization.from, nonce: authorization.nonce }] : [];
  const targets = stated.length ? stated : signed;
  const rpcs = parseRpcs(given.rpc);
  const networks = new Set(targets.map(({ network }) => network));
  if (rpcs.some(({ network }) => network === undefined) && networks.size > 1) {
    throw usageError("the bundle names several networks: say --rpc <network>=<url> for each");
  }
  if (!targets.length) say("Only a bundle, a claim or a material file with authorization and domain says what to read from the chain: --rpc was not used.");
  const read = targets.map(async ({ attemptId, transaction, ...target }) => {
    const { network } = target;
    const sources = forNetwork(rpcs, network);
    if (!sources.length) return [];
    const found = await readEvidence(sources, { ...target, tag });
    if (found.some(({ error }) => error)) say(`A node of ${network} could not be read.`);
    return found;
  });
  return (await Promise.all(read)).flat();
}

const WORDS = {
  verified: ["good", "Verified: every required check passed."],
  failed: ["bad", "Failed: at least one check failed. Do not rely on this document."],
  incomplete: ["open", "Incomplete: nothing failed, but required checks could not be made."],
};
const STATES = { pass: ["good", "pass"], fail: ["bad", "FAIL"], not_checked: ["open", "not checked"] };

function show(report) {
  const [colour, words] = WORDS[report.verdict];
  print(paint(colour, words));
  print();
  for (const check of report.checks) line(check);
  for (const facts of report.facts.items ?? [report.facts]) {
    print();
    print(paint("strong", "The document says"));
    for (const [name, value] of factsOf(facts)) print(pair(name, value));
  }
  print();
  print(paint("strong", "This does not prove"));
  for (const text of report.doesNotProve) print(`  - ${visible(text)}`);
}

function line({ id, state, title, why, expected, actual, required }) {
  const [colour, word] = STATES[state];
  const needed = state === "not_checked" && required;
  print(`  ${paint(state === "not_checked" && !required ? "soft" : colour, word.padEnd(11))}  ${visible(title)} ${paint("soft", `(${visible(id)})`)}`);
  const indent = " ".repeat(15);
  if (state !== "pass") print(`${indent}${needed ? "Required. " : ""}${visible(why)}`);
  if (state === "fail" && expected !== undefined) print(`${indent}expected  ${visible(expected)}`);
  if (state === "fail" && actual !== undefined) print(`${indent}actual    ${visible(actual)}`);
}

function factsOf({ items, token, amount, network, ...rest }) {
  const units = inUnits(amount, token?.decimals);
  const known = networkName(network);
  return [
    ...(amount === undefined ? [] : [["amount", units === undefined ? `${amount} atomic units` : `${units} ${token.name} (${amount} atomic units)`]]),
    ...(network === undefined ? [] : [["network", known ? `${network} (${known})` : network]]),
    ...Object.entries(rest).map(([name, value]) => [visible(name), typeof value === "object" ? JSON.stringify(value) : String(value)]),
  ];
}
