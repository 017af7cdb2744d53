// counterfoil resume: what a journal left open. Without a key it reads the journal and the chain and touches neither; with
// one it settles what is open, as a payer does after every start.

import { open, readFile } from "node:fs/promises";
import { createPayer, resolve } from "counterfoil";
import { fileJournal, readEvidence } from "counterfoil/node";
import { call } from "counterfoil/raw";
import { visible } from "../display.mjs";
import { journalFile } from "./journals.mjs";
import { pair, paint, print, printJson, say, usageError } from "./output.mjs";
import { forNetwork, parseRpcs } from "./rpcs.mjs";

export const options = {
  rpc: { type: "string", multiple: true },
  "key-file": { type: "string" },
  json: { type: "boolean" },
};

const SETTLED = 0;
const FOR_A_PERSON = 1;
const UNDECIDED = 2;
const DECIDED = new Set(["paid", "dead", "cancelled"]);
const KEY = /^(?:0x)?[0-9a-f]{64}$/i;

/** Reports on the journal at `path`. Gives the exit status. */
export async function run(path, given) {
  const rpcs = parseRpcs(given.rpc ?? []);
  if (rpcs.some(({ network }) => network === undefined)) throw usageError("resume wants --rpc <network>=<url>");
  const file = await journalFile(path);
  const open = given["key-file"] === undefined ? await listing(file, rpcs) : await settling(file, rpcs, given["key-file"]);
  if (given.json) printJson({ open });
  else show(open);
  if (open.some(({ money, next }) => next === "ask_human" || money === "proven_twice")) return FOR_A_PERSON;
  return open.every(({ decided }) => decided) ? SETTLED : UNDECIDED;
}

async function listing(file, rpcs) {
  const { entries, torn } = call("journalOpen", {}, new Uint8Array(await readFile(file)));
  if (torn) say("The journal's last line is torn, as after a crash; what stands before it is whole.");
  const open = [];
  for (const { key, text } of entries) {
    if (!key.startsWith("intent/") || text === undefined) continue;
    if (!call("intentIsSettled", { record: text })) open.push(await one(JSON.parse(text), rpcs));
  }
  return open.sort((a, b) => a.createdAt - b.createdAt);
}

/** One open intent: what the chain says about each of its nonces, and of these what counts. */
async function one(record, rpcs) {
  const { intentId, id, status, request, createdAt, attempts } = record;
  const about = { intentId, ...(id && { id }), status, method: request.method, url: request.url, createdAt };
  const slots = [...grouped(attempts.filter(({ signature }) => signature !== undefined)).values()];
  if (!slots.length) return { ...about, outcome: "unsigned", money: "none", next: "requote", decided: true, reasons: [] };
  const verdicts = await Promise.all(slots.map((slot) => judge(slot, rpcs)));
  // A burnt or dead nonce is over; whatever isn't is what counts.
  return { ...about, ...(verdicts.find(({ outcome }) => outcome !== "dead" && outcome !== "cancelled") ?? verdicts.at(-1)) };
}

/** Attempts by nonce: those of one compete for it, and at most one of them can ever be paid. */
function grouped(attempts) {
  const slots = new Map();
  for (const attempt of attempts) {
    const nonce = nonceOf(attempt);
    slots.set(nonce, [...(slots.get(nonce) ?? []), attempt]);
  }
  return slots;
}

function nonceOf({ authorization, permit2Authorization, tempoPayment }) {
  return (authorization ?? permit2Authorization)?.nonce ?? tempoPayment.transfers[0].memo;
}

async function judge(slot, rpcs) {
  const { attemptId, authorization, domain, tempoPayment } = slot.at(-1);
  if (tempoPayment) {
    // Its evidence is judged as a payer does it, who is run by giving the key.
    const { payer, currency, chainId, transfers: [{ to }] } = tempoPayment;
    const amount = tempoPayment.transfers.reduce((sum, one) => sum + BigInt(one.amount), 0n).toString();
    return { attemptId, payer, payTo: to, amount, network: `eip155:${chainId}`, asset: currency, ...byRecord(slot) };
  }
  const [network, asset] = [`eip155:${domain.chainId}`, domain.verifyingContract];
  const { from: payer, to: payTo, value: amount, nonce } = authorization;
  const about = { attemptId, payer, payTo, amount, network, asset };
  const sources = forNetwork(rpcs, network);
  if (!sources.length) return { ...about, ...byRecord(slot) };
  const evidence = await readEvidence(sources, { network, asset, payer, nonce });
  const { verdict, ...rest } = resolve(slot.map((attempt) => attempt.authorization), { network, asset }, evidence);
  return { ...about, outcome: verdict, decided: DECIDED.has(verdict), ...rest };
}

/** Without a node: what the payer's own earlier reads have proven, and else that one has to read. */
function byRecord(slot) {
  for (const { state, transaction } of slot) {
    const proven = call("attemptProven", { state });
    if (proven) return { ...proven, decided: true, ...(transaction && { transaction }), reasons: ["by_record"] };
  }
  return { outcome: "unknown", decided: false, money: "possible", next: "read_chain", reasons: ["not_read"] };
}

async function settling(file, rpcs, keyFile) {
  const privateKey = await keyOf(keyFile);
  const networks = [...new Set(rpcs.map(({ network }) => network))];
  // A cap of nothing: what is open may be settled, nothing new may be bought.
  const payer = createPayer({
    signer: { privateKey },
    journal: fileJournal(file),
    rpc: Object.fromEntries(networks.map((network) => [network, forNetwork(rpcs, network)])),
    policy: { perCall: "0" },
  });
  privateKey.fill(0);
  try {
    const resolutions = await payer.resume();
    return resolutions.map(({ response, ...resolution }) => ({ ...resolution, decided: resolution.next === "stop" || resolution.money !== "possible" }));
  } finally {
    await payer.close();
  }
}

export async function keyOf(file) {
  const handle = await open(file);
  try {
    const { mode } = await handle.stat();
    if (process.platform !== "win32" && mode & 0o077) say("The key file can be read by others: chmod 600 it.");
    const text = (await handle.readFile("latin1")).trim();
    if (!KEY.test(text)) throw usageError("the key file wants 32 bytes in hex");
    return new Uint8Array(Buffer.from(text.slice(-64), "hex"));
  } finally {
    await handle.close();
  }
}

const COLOURS = { none: "good", proven: "good", possible: "open", proven_twice: "bad" };

function show(open) {
  if (!open.length) return print(paint("good", "Nothing is open."));
  print(`${open.length} open:`);
  for (const { intentId, id, method, url, amount, network, asset, payTo, outcome, money, next, decidableAt, transaction, reasons } of open) {
    print();
    print(`  ${paint("strong", visible(id ?? (intentId || "this journal")))}`);
    if (url) print(pair("request", `${method} ${url}`));
    if (amount) print(pair("payment", `${amount} atomic units of ${asset} on ${network} to ${payTo}`));
    print(pair("outcome", outcome));
    print(`  ${"money".padEnd(14)} ${paint(COLOURS[money] ?? "open", visible(money))}`);
    print(pair("next", next));
    if (decidableAt) print(pair("decidable at", new Date(decidableAt * 1000).toISOString()));
    if (transaction) print(pair("transaction", transaction));
    if (reasons?.length) print(pair("because", reasons.join(", ")));
  }
}
