// The demo: every scenario once with the official client and once with counterfoil, on a local chain with the real
// token code. What was paid is counted on the chain by a script that knows neither.
//   node run.mjs [--only a,b] [--client official|counterfoil] [--json] [--serve] [--verbose]
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { keccak256, slice, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { KEYS, startChain, USDC } from "./chain.mjs";
import { target, unpackInto } from "../xtask/packed.mjs";
import { options } from "./retry.mjs";
import { SCENARIOS } from "./scenarios.mjs";
import { PRICE, REPORT, startSeller } from "./seller.mjs";
import { serve } from "./serve.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "out");
const o = options();
const tell = (text = "") => (o.json ? process.stderr : process.stdout).write(`${text}\n`);
const usdc = (atomic) => `${Number(atomic) / 1e6} USDC`;
const payer = privateKeyToAccount(KEYS.payer).address;
const script = async (name, args) => JSON.parse((await promisify(execFile)(process.execPath, [join(here, name), ...args])).stdout);
const AGENT_SECONDS = 90;

/** An agent in a process of its own. `event(name)` and `ended` read the JSON lines it prints. */
function startAgent(client, args) {
  const file = join(here, client === "official" ? "official-agent.mjs" : "agent.mjs");
  const argv = Object.entries(args).flatMap(([name, value]) => (value === true ? [`--${name}`] : [`--${name}`, String(value)]));
  const child = spawn(process.execPath, [file, ...argv], { env: { ...process.env, AGENT_KEY: KEYS.payer }, stdio: ["ignore", "pipe", "pipe"] });
  const lines = [], waiting = [];
  let text = "", errors = "";
  child.stderr.on("data", (chunk) => { errors += chunk; });
  child.stdout.on("data", (chunk) => {
    const parts = (text += chunk).split("\n");
    text = parts.pop();
    for (const line of parts.filter(Boolean).map(JSON.parse)) {
      lines.push(line);
      for (const w of waiting.filter((w) => w.name === line.event)) w.done(line);
    }
  });
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  const timer = setTimeout(end, AGENT_SECONDS * 1000);
  const closed = new Promise((done) => child.once("close", () => {
    clearTimeout(timer);
    process.removeListener("exit", end);
    done();
  }));
  const event = (name) => Promise.race([
    lines.find((line) => line.event === name) ?? new Promise((done) => waiting.push({ name, done })),
    closed.then(() => { throw new Error(`the ${client} agent ended before "${name}": ${errors.trim().slice(0, 2000)}`); }),
  ]);
  const ended = closed.then(() => lines.find((line) => line.event === "result"));
  return { event, ended, kill: async () => { end(); await closed; }, errors: () => errors };
}

async function play(scenario, client, chain) {
  const folder = await mkdtemp(join(tmpdir(), "counterfoil-demo-"));
  const label = `${scenario.name}/${client}`;
  // Every run has a seller account of its own, so that nothing of one run can be counted in another.
  const payTo = slice(keccak256(toHex(`counterfoil demo ${label}`)), 12);
  const handlers = {};
  const seller = await startSeller({
    chain, payTo, fault: scenario.fault, keepsAnswers: scenario.keeps, maxTimeoutSeconds: scenario.maxTimeoutSeconds,
    on: async (event) => handlers[event]?.(),
  });
  let strikes = 0;
  const start = ({ journal = "journal", ...extra } = {}) => {
    const common = { url: seller.url, ...extra };
    if (client === "official") return startAgent(client, common);
    return startAgent(client, {
      ...common, intent: `counterfoil-demo-${scenario.name.replaceAll("_", "-")}`, journal: join(folder, journal), rpc: chain.url,
      "max-window": scenario.maxTimeoutSeconds ?? 300,
      ...(scenario.name === "cut_after_settlement" ? { export: join(out, "bundle.json"), response: join(out, "response.bin") } : {}),
    });
  };
  const buy = async (extra) => {
    const agent = start(extra);
    const end = await agent.ended;
    if (!end) throw new Error(`${label}: the agent ended without a result: ${agent.errors().trim().slice(0, 2000)}`);
    if (o.verbose) process.stderr.write(`${label}: ${JSON.stringify(end)}\n${agent.errors()}`);
    if (end.delivered && end.sha256 !== createHash("sha256").update(REPORT).digest("hex")) throw new Error(`${label}: another answer was delivered`);
    return end;
  };
  const run = {
    chain, seller, start, buy,
    at: (event, handler) => { handlers[event] = handler; },
    strike: () => { strikes += 1; },
    forget: () => rm(join(folder, "journal"), { recursive: true, force: true }),
  };
  try {
    const first = (await chain.block()).number;
    const end = await (scenario.act ?? (({ buy }) => buy()))(run);
    // Let everything that is still on its way to the chain arrive before counting.
    await new Promise((done) => setTimeout(done, 1500));
    const last = (await chain.block()).number;
    const counted = await script("transfers.mjs", ["--rpc", chain.url, "--token", USDC, "--from", payer, "--to", payTo, "--first", String(first), "--last", String(last)]);
    // Each nonce is one payment that the seller could cash; the same one sent again is not another.
    const nonces = new Set(seller.payments.map(({ payload }) => payload.authorization.nonce)).size;
    const struck = seller.struck + strikes > 0 && (client !== "official" || counted.transfers === scenario.official);
    return {
      line: {
        scenario: scenario.name, client, purchases: 1, transfers: counted.transfers, double_charges: Math.max(0, counted.transfers - 1),
        delivered: end.delivered || end.deliveredBefore ? 1 : 0, outcome: end.outcome, next: end.next,
        paid: counted.total, payments_handed_out: nonces, seller_keeps_answers: Boolean(scenario.keeps), exercised: struck,
        ...(end.code ? { code: end.code } : {}), ...(end.processes ? { processes: end.processes } : {}),
      },
      end,
      expected: client === "official" || (scenario.ends.includes(end.outcome) && counted.transfers === 1 && nonces <= 1),
    };
  } finally {
    await seller.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function sentence(scenario, { line, end }) {
  const parts = [`paid ${usdc(line.paid)} for a report of ${usdc(PRICE)}`];
  if (line.double_charges) parts.push(`CHARGED ${line.transfers} TIMES`);
  if (line.outcome === "delivered") parts.push(line.processes?.length ? `delivered (the two processes: ${line.processes.join(", ")})` : "delivered");
  else if (line.outcome === "paid_not_delivered" && end.deliveredBefore) parts.push("delivered the first time; now refuses to pay again and holds a claim");
  else if (line.outcome === "paid_not_delivered") parts.push("not delivered; knows that it paid and holds a claim on the seller");
  else parts.push(line.transfers ? "not delivered, and the program does not know that it paid" : "not delivered");
  if (line.payments_handed_out > line.transfers) parts.push(`${line.payments_handed_out} different payments were handed out`);
  if (line.client === "official" && scenario.cost) parts.push(scenario.cost);
  if (!line.exercised) parts.push("THE FAULT DID NOT HAPPEN");
  return parts.join(" · ");
}

function table(rows) {
  const columns = ["scenario", "client", "purchases", "transfers", "double_charges", "delivered", "outcome", "next"];
  const cells = [columns, ...rows.map((row) => columns.map((name) => String(row[name] ?? "-")))];
  const widths = columns.map((_, i) => Math.max(...cells.map((row) => row[i].length)));
  const text = cells.map((row) => row.map((cell, i) => cell.padEnd(widths[i])).join("  ").trimEnd());
  return [text[0], widths.map((w) => "-".repeat(w)).join("  "), ...text.slice(1)].join("\n");
}

const started = Date.now();
await mkdir(out, { recursive: true });
const installed = unpackInto(join(here, "node_modules", "counterfoil"));
const clients = o.client ? [o.client] : ["official", "counterfoil"];
if (!installed) {
  tell("The package counterfoil is not there yet: run `cargo xtask pack` first.");
  process.exit(2);
}
const chosen = o.only ? SCENARIOS.filter(({ name }) => o.only.split(",").includes(name)) : SCENARIOS;

tell("A local chain with the code of the real USDC, a seller of weather reports, and an agent that buys one report");
tell(`for ${usdc(PRICE)}. Each time something goes wrong. The agent is an ordinary program: it tries three times.\n`);
const chain = await startChain();
const rows = [], wrong = [];
let example;
for (const [n, scenario] of chosen.entries()) {
  tell(`${n + 1}. ${scenario.story}`);
  for (const client of clients) {
    try {
      const played = await play(scenario, client, chain);
      rows.push(played.line);
      if (o.json) process.stdout.write(`${JSON.stringify(played.line)}\n`);
      tell(`   ${client === "official" ? "official client" : "counterfoil"}`.padEnd(22) + sentence(scenario, played));
      if (!played.line.exercised) wrong.push(`${scenario.name}/${client}: not exercised`);
      if (client === "counterfoil" && played.line.double_charges) wrong.push(`${scenario.name}/${client}: charged ${played.line.transfers} times`);
      else if (!played.expected) wrong.push(`${scenario.name}/${client}: ended as ${played.line.outcome} with ${played.line.transfers} transfers`);
      if (client === "counterfoil" && scenario.name === "cut_after_settlement") example = played.end;
    } catch (error) {
      wrong.push(`${scenario.name}/${client}: ${error.message}`);
      tell(`   ${client.padEnd(18)} ${error.message}`);
    }
  }
}

const sum = (client, field) => rows.filter((row) => row.client === client).reduce((total, row) => total + Number(row[field]), 0);
const totals = (client) => Object.fromEntries(["purchases", "transfers", "double_charges", "delivered", "paid"].map((field) => [field, field === "paid" ? String(sum(client, field)) : sum(client, field)]));
tell();
tell(table(rows));
tell();
for (const client of clients) {
  const t = totals(client);
  tell(`${client}: ${t.purchases} purchases worth ${usdc(Number(PRICE) * t.purchases)}, paid ${usdc(t.paid)}, ${t.double_charges} charged twice, ${t.delivered} delivered.`);
}

if (example) {
  await chain.finalized();
  const evidence = await script("evidence.mjs", ["--rpc", chain.url, "--token", USDC, "--payer", payer, "--nonce", example.sent[0].nonce]);
  await writeFile(join(out, "evidence.json"), `${JSON.stringify(evidence, null, 2)}\n`);
  tell("\nThe first purchase, to check for yourself:");
  for (const [file, what] of [["bundle.json", "what the agent wrote down"], ["response.bin", "the answer it got, byte for byte"], ["evidence.json", "what the chain says, read without counterfoil"]]) {
    tell(`  ${join(out, file)}  ${what}`);
  }
  const check = await script("check.mjs", []);
  tell(`  Checked just now: ${check.verdict} (${check.passed} checks passed); with one bit of the answer changed: ${check.tampered}.`);
  if (check.verdict !== "verified" || check.tampered !== "failed") wrong.push(`the files of the first purchase: ${check.verdict}, changed: ${check.tampered} ${check.failed.join("; ")}`);
  tell(`  Open ${join(target, "www", "index.html")} and drop the three files in, or run this again with --serve.`);
}
for (const line of wrong) tell(`FAILED ${line}`);
if (o.json) {
  const each = Object.fromEntries(clients.map((client) => [client, totals(client)]));
  process.stdout.write(`${JSON.stringify({ scenario: "all", client: "counterfoil", ...totals("counterfoil"), clients: each, failed: wrong, seconds: Math.round((Date.now() - started) / 1000) })}\n`);
}
chain.stop();
process.exitCode = wrong.length ? 1 : 0;
if (o.serve) {
  const address = await serve({ www: join(target, "www"), out });
  tell(`\nThe page and the three files: ${address} (Ctrl-C ends it)`);
} else process.exit();
