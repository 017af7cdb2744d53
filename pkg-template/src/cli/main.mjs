#!/usr/bin/env node
// npx counterfoil: checks a receipt or very many, or says what a journal left open. Data goes to standard output, words to standard error.
// Ends with 0 (verified), 1 (failed), 2 (undecided, unusable input, wrong usage) or 130 (interrupted).

import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { CounterfoilError } from "counterfoil";
import * as approve from "./approve.mjs";
import * as audit from "./audit.mjs";
import * as explain from "./explain.mjs";
import * as inspect from "./inspect.mjs";
import * as lineage from "./lineage.mjs";
import { print, printJson, say } from "./output.mjs";
import * as resume from "./resume.mjs";
import * as verify from "./verify.mjs";

const COMMANDS = { verify, audit, resume, lineage, inspect, approve, explain };
const UNUSABLE = 2;

const HELP = `counterfoil: pay x402 APIs at most once, provably, and check it afterwards

  counterfoil verify <file>     checks a bundle, a receipt, a signed offer or a PAYMENT-RESPONSE value; - reads standard input
    --response <file>           the answer that was paid for, exactly as it arrived
    --response-encoding <name>  its Content-Encoding, where the file still carries it: gzip, deflate or br
    --trust <file>              whom to trust (JSON): signers, keys (or a JWKS), didDocuments, controllers, blockHashes
    --did-document <file>       the did:web document of the seller, as you fetched it; may be given again
    --profile <file>            the form of a receipt that is not known here
    --material <file>           what else you have (JSON): authorization, domain, signature, requirements
    --evidence <file>           what a node says about the payment (JSON); may be given again
    --rpc [<network>=]<url>     reads that evidence from a node now; may be given again, several must agree
    --tag <tag>                 the block that --rpc reads at: finalized (default), safe or latest
    --expect-payer <address>    --expect-pay-to <address>    --expect-amount <atomic units>
    --expect-resource <url>     --expect-kind <bundle|settlement|receipt|offer>
    --json                      the whole report as JSON

  counterfoil audit <input...>  a verdict on each line of files, folders or 'patterns', or of standard input (-), and what only shows across lines
    --in <jsonl|json|csv|parquet>   what the inputs are, where their suffix does not say it
    --responses <folder|list>   where the answers are that lines name: files, or a list as sha256sum writes it
    --trust <file>              {"evidence": true}: the chain evidence in the lines is from nodes you trust; else as for verify
    --did-document <file>       --profile <file>    as for verify; with a profile every document is of that form
    --format <text|json|jsonl|csv|junit|sarif>    --out <file>
    --report <file.html>        the inspector page with the result in it: one file, which opens anywhere
    --jobs <n>                  threads; what comes out does not depend on it
    --part <i/n>                every n-th parcel of the lines, for several machines
    --merge                     the inputs are reports (jsonl), of all parts or of several audits
    --resume <folder>           keeps its state there, and goes on from it
    --max-failures <n>          --allow-incomplete    --quiet    --no-color    --now <seconds>
  counterfoil audit --worker    one verdict for each line of standard input, as they come; ends with 0; --trust, --responses and the like as above

  counterfoil resume <journal>  what the journal left open, and what is safe to do; changes and sends nothing
    --rpc <network>=<url>       reads the chain for what is open; may be given again, several must agree
    --key-file <file>           the payer's private key in hex: settles what is open, also by sending the same payment again
    --json

  counterfoil lineage <journal or bundle>...   who bought what for whom, its cost, and what a person has to do
    --root <intent>             only this intent and what is below it
    --threshold <amount>        above this a person is asked for one payment: several just below it are told
    --json | --dot | --prov     the whole view as JSON, the intents for Graphviz, or the graph as PROV-JSON

  counterfoil inspect <journal or bundle>...   the same in a browser, as the journal grows: serves a page on this machine until Ctrl-C
    --port <number>             a free one when absent

  counterfoil approve <journal> what waits for a person's approval
    --key-file <file>           an approver's private key in hex: signs the answer and writes it down
    --refuse                    the answer is no: the call ends
    --intent <intent>           which request, where several wait
    --for <intent>              covers this intent above it and all below, instead of the one call
    --amount <atomic units>     the most that it covers together; the price when absent
    --expires-in <seconds>      3600 when absent
    --json

  counterfoil explain <code>    what an error means, and the one thing that is safe to do

  counterfoil help | --version

What is read with --rpc is taken as true: name a node that you trust. Nothing else is ever contacted by verify.
Exit status: 0 verified, or nothing left open; 1 failed, or a person has to decide; 2 undecided or unusable; 130 interrupted.`;

process.stdout.on("error", (error) => {
  if (error.code !== "EPIPE") throw error;
});
// Whatever goes wrong decides nothing: only a verdict ends with 1.
process.on("uncaughtException", (error) => process.exit(refuse(error)));
process.exitCode = await main(process.argv.slice(2));

async function main([name, ...args]) {
  if (name === "--version" || name === "-v") {
    print(createRequire(import.meta.url)("counterfoil/package.json").version);
    return 0;
  }
  if (name === "help" || name === "--help" || name === "-h") {
    print(HELP);
    return 0;
  }
  if (name === undefined || !Object.hasOwn(COMMANDS, name)) return usage(name === undefined ? "a command is missing" : "there is no such command");
  if (args.includes("--help") || args.includes("-h")) {
    print(HELP);
    return 0;
  }
  let parsed;
  try {
    parsed = parseArgs({ args, allowPositionals: true, options: COMMANDS[name].options });
  } catch (error) {
    return usage(error.message);
  }
  const { many, run } = COMMANDS[name];
  if (!many && parsed.positionals.length !== 1) return usage(`${name} wants one ${name === "explain" ? "code" : "file"}`);
  try {
    return await run(many ? parsed.positionals : parsed.positionals[0], parsed.values);
  } catch (error) {
    return refuse(error, parsed.values.json);
  }
}

function usage(why) {
  say(`counterfoil: ${why}\nTry: counterfoil help`);
  return UNUSABLE;
}

function refuse(error, json) {
  // Errors of the file system and of Node carry a code too; anything else is a defect and keeps its stack.
  const known = error instanceof CounterfoilError || error?.name === "Usage" || typeof error?.code === "string";
  if (!known) {
    say(`counterfoil: this should not have happened\n${error?.stack ?? error}`);
    return UNUSABLE;
  }
  if (json && error instanceof CounterfoilError) {
    const { code, field, next, money, message } = error;
    printJson({ error: { code, field, next, money, message } });
  }
  say(`counterfoil: ${error.message}${error.next ? `\nNext: ${error.next}` : ""}`);
  return UNUSABLE;
}
