// Records the prepared journals that the page offers as samples, www/sample/lineage: real purchases on the local chain, with its public test keys.
//   node tests/page/record.mjs
// The broken ones are recorded ones with one thing changed, as somebody would who wants to hide something.

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createPayer } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { KEYS, NETWORK, startChain } from "../../demo/chain.mjs";
import { startSeller } from "../../demo/seller.mjs";

const { privateKeyToAccount } = createRequire(new URL("../../demo/package.json", import.meta.url))("viem/accounts");
const out = fileURLToPath(new URL("../../www/sample/lineage/", import.meta.url));
const home = mkdtempSync(join(tmpdir(), "counterfoil-record-"));
mkdirSync(out, { recursive: true });
const chain = await startChain();
const sellers = [];
const key = () => new Uint8Array(Buffer.from(KEYS.payer.slice(2), "hex"));
/** The person who may approve; the key is public, and guards nothing. */
export const PERSON_KEY = `0x${"51".repeat(32)}`;
const person = privateKeyToAccount(PERSON_KEY);

async function seller(name, options) {
  const payTo = `0x${createHash("sha256").update(`sample ${name}`).digest("hex").slice(0, 40)}`;
  const one = await startSeller({ chain, payTo, ...options });
  sellers.push(one);
  return one.url;
}

/** A payer on a journal file of that name. Several may share one. */
const journals = new Map();
function payer(file, actor, { rpc = chain.url, policy = { perCall: "50000" }, ...rest } = {}) {
  if (!journals.has(file)) journals.set(file, fileJournal(join(home, file)));
  return createPayer({ signer: { privateKey: key() }, journal: journals.get(file), rpc: rpc ? { [NETWORK]: rpc } : undefined, policy, actor, ...rest });
}

const buys = async (who, url, intent) => (await who.fetch(url, { intent })).text();
const tries = (who, url, intent) => buys(who, url, intent).catch(({ code }) => code);

async function keep(...files) {
  for (const file of files) {
    await journals.get(file).close();
    writeFileSync(join(out, file), readFileSync(join(home, file)));
  }
}

const weather = await seller("weather", {});
const rooms = await seller("rooms", { price: "$0.02" });

// All well: a planner, two buyers below it, everything delivered.
{
  const file = "all-well.jsonl";
  const planner = payer(file, "planner");
  const trip = await planner.intend({ id: "trip-to-oslo-2026-0001", purpose: "Trip to Oslo", budget: "200000" });
  const scout = payer(file, "scout", { root: trip });
  const booker = payer(file, "booker", { root: trip });
  const report = await scout.intend({ id: "weather-reports-000001", purpose: "Weather along the way", parent: trip, budget: "50000" });
  for (const [place, name] of [["oslo", "Weather in Oslo"], ["bergen", "Weather in Bergen"]]) {
    await buys(scout, `${weather}?place=${place}`, { id: `weather-${place}-0000000001`, purpose: name, parent: report });
  }
  const prices = await booker.intend({ id: "room-prices-0000000001", purpose: "Room prices", parent: trip, budget: "100000" });
  await buys(booker, `${rooms}?town=oslo`, { id: "rooms-in-oslo-00000001", purpose: "Room prices in Oslo", parent: prices });
  await buys(booker, `${rooms}?town=bergen`, { id: "rooms-in-bergen-000001", purpose: "Room prices in Bergen", parent: prices });
  await chain.finalized();
  await planner.resume();
  await keep(file);
}

// Charged twice: two workers with the same errand, each with a journal and a secret of its own.
{
  const intent = { id: "weather-oslo-may-0001", purpose: "Weather in Oslo in May" };
  for (const [file, actor, secret] of [["charged-twice-buyer-a.jsonl", "buyer-a", 1], ["charged-twice-buyer-b.jsonl", "buyer-b", 2]]) {
    const who = payer(file, actor, { secret: new Uint8Array(32).fill(secret) });
    await buys(who, `${weather}?place=oslo&month=may`, intent);
    await chain.finalized();
    await who.resume();
    await keep(file);
  }
}

// Paid without delivery: the connection breaks after the money moved, and the seller keeps no answers.
{
  const file = "paid-without-delivery.jsonl";
  const url = await seller("careless", { fault: "cut_after_settlement", price: "$0.02" });
  const who = payer(file, "researcher");
  const study = await who.intend({ id: "market-study-2026-0001", purpose: "Market study", budget: "100000" });
  await buys(who, `${weather}?place=lofoten`, { id: "weather-lofoten-00001", purpose: "Weather on Lofoten", parent: study });
  await tries(who, `${url}?report=fish`, { id: "fish-prices-00000001", purpose: "Fish prices, the long report", parent: study });
  await chain.finalized();
  await who.resume().catch(() => {});
  await keep(file);
}

// Unknown, in flight: the seller took the payment and never answered; nobody has read the chain since.
{
  const file = "unknown-in-flight.jsonl";
  const url = await seller("silent", { fault: "sit_on_it", price: "$0.03" });
  const who = payer(file, "night-worker", { rpc: null });
  const night = await who.intend({ id: "night-run-2026-000001", purpose: "Night run", budget: "60000" });
  await buys(who, `${weather}?place=tromso`, { id: "weather-tromso-000001", purpose: "Weather in Tromsø", parent: night });
  await tries(who, `${url}?map=north`, { id: "map-of-the-north-0001", purpose: "Map of the north", parent: night });
  await keep(file);
}

// Needs approval: above what the agent may spend on one call by itself.
{
  const file = "needs-approval.jsonl";
  const url = await seller("maps", { price: "$0.25" });
  const who = payer(file, "buyer", { policy: { perCall: "50000", approvers: [person.address] } });
  const atlas = await who.intend({ id: "atlas-project-2026-01", purpose: "Atlas project", budget: "1000000" });
  await buys(who, `${weather}?place=narvik`, { id: "weather-narvik-000001", purpose: "Weather in Narvik", parent: atlas });
  await tries(who, `${url}?atlas=complete`, { id: "complete-atlas-000001", purpose: "The complete atlas", parent: atlas });
  await keep(file);
}

// What somebody changed afterwards.
{
  const lines = readFileSync(join(out, "paid-without-delivery.jsonl"), "utf8").split("\n");
  const middle = lines.findIndex((line, at) => at > lines.length / 2 && line.includes("Fish prices"));
  writeFileSync(join(out, "broken-rewritten.jsonl"), lines.map((line, at) => (at === middle ? line.replaceAll("Fish prices", "Fresh water") : line)).join("\n"));
  writeFileSync(join(out, "broken-cut.jsonl"), lines.filter((_, at) => at < 2 || at > 4).join("\n"));
}

await Promise.all(sellers.map((one) => one.stop()));
chain.stop();
rmSync(home, { recursive: true, force: true });
process.exit(0);
