// counterfoil approve: what a journal waits for a person to approve, and the signed answer, a yes or with --refuse a no. Without a key it only shows.

import { readFile } from "node:fs/promises";
import { CounterfoilError, approvalDocument, refusalDocument } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { call } from "counterfoil/raw";
import { networkName, visible } from "../display.mjs";
import { journalFile } from "./journals.mjs";
import { pair, paint, print, printJson, say, usageError } from "./output.mjs";
import { keyOf } from "./resume.mjs";

export const options = {
  "key-file": { type: "string" },
  intent: { type: "string" },
  for: { type: "string" },
  amount: { type: "string" },
  "expires-in": { type: "string" },
  refuse: { type: "boolean" },
  json: { type: "boolean" },
};

const ANSWERED = 0;
const WAITING = 1;
/** How long an answer covers what it says, in seconds, when nothing is said. */
const EXPIRES_IN = 3600;

/** Shows the requests of the journal at `path`, and answers one of them. Gives the exit status. */
export async function run(path, given) {
  const file = await journalFile(path);
  const asked = await requests(file);
  if (given["key-file"] === undefined) {
    if (given.json) printJson({ asked });
    else if (asked.length) asked.forEach(show);
    else print(paint("good", "Nothing waits for an approval."));
    return asked.length ? WAITING : ANSWERED;
  }
  if (given.refuse && ["for", "amount", "expires-in"].some((name) => given[name] !== undefined)) throw usageError("a refusal covers nothing: --refuse stands alone");
  const chosen = asked.filter(({ intentId }) => given.intent === undefined || intentId === given.intent);
  if (chosen.length !== 1) throw usageError(chosen.length ? "several requests wait: say --intent" : "no such request waits");
  const [request] = chosen;
  if (!given.json) show(request);
  const key = await keyOf(given["key-file"]);
  try {
    await answer(file, request, given, key);
  } finally {
    key.fill(0);
  }
  return ANSWERED;
}

async function requests(file) {
  const { entries } = call("journalOpen", {}, new Uint8Array(await readFile(file)));
  const wallets = entries.filter(({ key, text }) => key.startsWith("wallet/") && text !== undefined);
  return wallets.flatMap(({ text }) => JSON.parse(text).asked ?? []);
}

async function answer(file, request, given, key) {
  const at = Math.floor(Date.now() / 1000);
  const make = given.refuse ? refusal(request, at) : approval(request, given, at);
  const { answer } = make(call("signTypedData", { typedData: make().typedData }, undefined, key));
  const signer = call("addressOfKey", {}, undefined, key);
  const journal = fileJournal(file);
  // Whether this signer may answer is for the payer to say, when it meets the answer.
  const config = { payer: request.payer, policy: { perCall: "0", approvers: [signer] } };
  try {
    await writeDown(journal, config, answer, at);
    say(given.refuse ? `Refused by ${signer}: the call ends, and does not ask the same again.` : `Approved by ${signer}: the same call goes on now.`);
  } catch (error) {
    if (error.code !== "journal_locked") throw error;
    say(`The journal is in use: give the document to payer.${given.refuse ? "refuse" : "approve"} there.`);
  } finally {
    await journal.close();
  }
  printJson(answer);
}

function approval(request, given, at) {
  const seconds = given["expires-in"] ?? String(EXPIRES_IN);
  if (!/^[1-9][0-9]{0,8}$/.test(seconds)) throw usageError("--expires-in wants seconds");
  const terms = { at, expiresAt: at + Number(seconds), ...(given.for && { intentId: given.for }), ...(given.amount && { amount: given.amount }) };
  return (signature) => {
    const { typedData, approval } = approvalDocument(request, { ...terms, ...(signature && { signature }) });
    return { typedData, answer: approval };
  };
}

const refusal = (request, at) => (signature) => {
  const { typedData, refusal } = refusalDocument(request, { at, ...(signature && { signature }) });
  return { typedData, answer: refusal };
};

/** The answer in the place of the question, in a journal that nobody else has in hand meanwhile. */
async function writeDown(journal, config, answer, now) {
  const key = `wallet/${config.payer}`;
  const entry = await journal.read(key);
  const wallet = entry && { key, rev: entry.rev, text: new TextDecoder().decode(entry.value) };
  const refuses = answer.type === "counterfoil/refusal";
  const { ops } = refuses ? call("clientRefuse", { config, refusal: answer, wallet }) : call("clientAccept", { config, now, approval: answer, wallet });
  const { ok } = await journal.commit(ops.map(({ put, ...op }) => ({ ...op, put: new TextEncoder().encode(put) })));
  if (!ok) throw new CounterfoilError("journal_conflict");
}

function show({ intentId, purpose, reasons, request, actor, amount, network, asset, payTo, parts, newRecipient, spent, path, ifNo }) {
  print(paint("strong", visible(purpose ?? intentId)));
  if (request) print(pair("what", `${request.method} ${request.url}`));
  print(pair("who asks", actor));
  print(pair("pay", `${amount} atomic units of ${asset}`));
  print(pair("on", networkName(network) ? `${network}, ${networkName(network)}` : network));
  for (const to of parts ?? [{ payTo }]) print(pair("to", `${to.payTo}${to.amount ? `: ${to.amount}` : ""}`));
  if (newRecipient) print(pair("changed", "this recipient was never paid from here before"));
  print(pair("so far", `${spent} held, unknown or settled of this token`));
  print(pair("because", (reasons ?? []).join(", ")));
  // Drift is named by codes of the registry, which say what they mean.
  for (const { meaning } of call("errorCodes", {}).filter(({ code }) => reasons?.includes(code) && code.startsWith("drift_"))) print(pair("", meaning));
  print(pair("intent", intentId));
  for (const above of path.slice(1)) print(pair("below", above));
  print(pair("if you say no", ifNo));
  print();
}
