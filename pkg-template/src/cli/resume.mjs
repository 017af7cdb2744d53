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
const DECIDED = new Set(["paid", "paid_wrong_terms", "dead"]);
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
  // What another worker signed and handed over without its bytes can land as well.
  const payments = grouped(attempts.filter(({ signature, givenBy }) => signature !== undefined || givenBy !== undefined));
  if (!payments.length) return { ...about, outcome: "unsigned", money: "none", next: "requote", decided: true, reasons: [] };
  const verdicts = await Promise.all(payments.map((payment) => judge(payment, rpcs)));
  const paid = verdicts.filter(hasMoved);
  if (paid.length > 1) return { ...about, ...paid[0], money: "proven_twice", next: "ask_human", parts: verdicts };
  // A burnt or dead nonce is over; whatever isn't is what counts.
  return { ...about, ...(verdicts.find((verdict) => !isOver(verdict)) ?? verdicts.at(-1)) };
}

const hasMoved = ({ decided, money }) => decided && money !== "none";
const isOver = ({ decided, money }) => decided && money === "none";

/** Attempts whose first nonces are one compete for it, and so do those of their parts: together they are one payment. Each comes as its slots. */
function grouped(attempts) {
  const payments = new Map();
  for (const attempt of attempts) {
    const slots = [attempt, ...(attempt.parts ?? [])].map((part) => slotOf(part, attempt));
    const { nonce } = slots[0];
    payments.set(nonce, [...(payments.get(nonce) ?? []), slots]);
  }
  return [...payments.values()];
}

/** One authorization of an attempt, on whichever rail. */
function slotOf({ authorization, permit2Authorization: permit, domain, tempoPayment, verdict }, attempt) {
  const about = { attemptId: attempt.attemptId, attempt, recorded: verdict };
  if (tempoPayment) {
    const { payer, currency, chainId, transfers } = tempoPayment;
    const amount = transfers.reduce((sum, one) => sum + BigInt(one.amount), 0n).toString();
    return { ...about, nonce: transfers[0].memo, terms: { payer, payTo: transfers[0].to, amount, network: `eip155:${chainId}`, asset: currency } };
  }
  const network = `eip155:${domain.chainId}`;
  if (permit) return { ...about, signed: permit, method: "permit2", nonce: permit.nonce, terms: { payer: permit.from, payTo: permit.witness.to, amount: permit.permitted.amount, network, asset: permit.permitted.token } };
  const { from: payer, to: payTo, value: amount, nonce } = authorization;
  return { ...about, signed: authorization, method: "eip3009", nonce, terms: { payer, payTo, amount, network, asset: domain.verifyingContract } };
}

/** What became of one payment: its nonces are judged each for itself, and its parts together. */
async function judge(attempts, rpcs) {
  const rivals = new Map();
  for (const slot of attempts.flat()) rivals.set(slot.nonce, [...(rivals.get(slot.nonce) ?? []), slot]);
  const judged = await Promise.all([...rivals.values()].map((slots) => judgeNonce(slots, rpcs)));
  const last = attempts.at(-1).map(({ nonce }) => nonce);
  // A nonce that only an earlier attempt had counts unless it is over.
  const parts = [...rivals.keys()].flatMap((nonce, at) => (last.includes(nonce) || !isOver(judged[at]) ? judged[at] : []));
  return parts.length === 1 ? parts[0] : together(parts);
}

/** The parts of a split payment as one: whatever is not known of one is not known of all. */
function together(parts) {
  const moved = parts.filter(hasMoved);
  const counts = moved.length && parts.every(({ decided }) => decided) ? moved : parts;
  const amount = counts.reduce((sum, one) => sum + BigInt(one.amount), 0n).toString();
  const open = parts.find(({ decided }) => !decided);
  const wrong = parts.find(({ outcome }) => outcome === "paid_wrong_terms");
  const partly = moved.length && moved.length < parts.length ? call("attemptProven", { state: "partly_paid" }) : undefined;
  const verdict = wrong ?? (open ? { ...open, ...(moved.length && { money: "proven" }) } : { ...(moved[0] ?? parts.find(({ outcome }) => outcome === "cancelled") ?? parts[0]), ...partly });
  return { ...verdict, amount, parts };
}

/** One nonce: those that were signed for it compete, and at most one of them can ever be paid. */
async function judgeNonce(slots, rpcs) {
  const { method, nonce, terms: { network, asset, payer } } = slots[0];
  const sources = forNetwork(rpcs, network);
  // The evidence on Tempo is judged as a payer does it, who is run by giving the key.
  if (!method || !sources.length) return { ...of(slots.at(-1)), ...byRecord(slots) };
  const evidence = await readEvidence(sources, { network, asset, payer, nonce, method });
  const { verdict, index, ...rest } = resolve(slots.map(({ signed }) => signed), { network, asset }, evidence);
  return { ...of(slots[index ?? slots.length - 1]), outcome: verdict, decided: DECIDED.has(verdict) || (verdict === "cancelled" && rest.next === "safe_to_resign"), ...rest };
}

const of = ({ attemptId, terms }) => ({ attemptId, ...terms });

/** Without a node: what the payer's own earlier reads have proven, and else that one has to read. */
function byRecord(slots) {
  for (const { attempt: { state, transaction }, recorded } of slots) {
    const proven = call("attemptProven", { state });
    // Of a part of what was paid in part its own read says it.
    if (proven && state === "partly_paid" && recorded) return { outcome: recorded.verdict, decided: true, money: recorded.money, next: recorded.next, ...(recorded.transaction && { transaction: recorded.transaction }), reasons: ["by_record"] };
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
  for (const { intentId, id, method, url, amount, network, asset, payTo, parts, outcome, money, next, decidableAt, transaction, reasons } of open) {
    print();
    print(`  ${paint("strong", visible(id ?? (intentId || "this journal")))}`);
    if (url) print(pair("request", `${method} ${url}`));
    if (amount) print(pair("payment", `${amount} atomic units of ${asset} on ${network}${parts ? "" : ` to ${payTo}`}`));
    for (const part of parts ?? []) print(pair("of which", `${part.amount} to ${part.payTo}: ${part.outcome}`));
    print(pair("outcome", outcome));
    print(`  ${"money".padEnd(14)} ${paint(COLOURS[money] ?? "open", visible(money))}`);
    print(pair("next", next));
    if (decidableAt) print(pair("decidable at", new Date(decidableAt * 1000).toISOString()));
    if (transaction) print(pair("transaction", transaction));
    if (reasons?.length) print(pair("because", reasons.join(", ")));
  }
}
