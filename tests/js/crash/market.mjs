// Where purchases are killed: a chain with the real token, sellers, and the checks after each purchase.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { addressOfKey } from "counterfoil/raw";
import { fileJournal } from "counterfoil/node";
import { KEYS, startChain, USDC } from "../../../demo/chain.mjs";
import { FAULTS } from "../../../demo/faults.mjs";
import { REPORT, startSeller } from "../../../demo/seller.mjs";
import { runKilled } from "./killed.mjs";

const AGENT = fileURLToPath(new URL("./agent.mjs", import.meta.url));
export const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
/** What each seller sells. */
export const GOODS = { body: REPORT, sha256: createHash("sha256").update(REPORT).digest("hex") };
export const payer = addressOfKey(Buffer.from(KEYS.payer.slice(2), "hex"));
export const word = (hex) => `0x${hex.slice(2).toLowerCase().padStart(64, "0")}`;

/** Of each URL with `cut` in it the first answer that was paid for is lost, after the money moved. */
FAULTS.cut_first_of_each = ({ strike }) => {
  const cut = new Set();
  return {
    after: (answer, res) => {
      const { url } = res.req;
      if (answer.status !== 200 || !url.includes("cut") || cut.has(url)) return false;
      cut.add(url);
      strike();
      res.socket.destroy();
      return true;
    },
  };
};

export async function openMarket() {
  const chain = await startChain();
  const home = mkdtempSync(join(tmpdir(), "counterfoil-crash-"));
  const sellers = [];
  let places = 0;
  let accounts = 0;
  return {
    chain,
    /** A seller with an account of its own. */
    async seller(options) {
      const payTo = `0x${createHash("sha256").update(`crash ${(accounts += 1)}`).digest("hex").slice(0, 40)}`;
      const seller = await startSeller({ chain, payTo, fault: "cut_first_of_each", ...options });
      sellers.push(seller);
      return Object.assign(seller, { payTo });
    },
    /** A fresh folder with a journal, a list of what was signed, and an intent. */
    purchase(url, name) {
      const folder = join(home, String((places += 1)));
      const intent = `purchase-${String(places).padStart(8, "0")}`;
      const separator = url.includes("?") ? "&" : "?";
      const journal = join(folder, "journal.jsonl");
      return { name, intent, journal, rpc: chain.url, url: `${url}${separator}run=${places}`, signed: `${folder}.signed` };
    },
    /** How often money moved to that account, by what the token logged. */
    transfersTo: async (payTo) => {
      const topics = [TRANSFER, word(payer), word(payTo)];
      return (await chain.rpc("eth_getLogs", [{ address: USDC, topics, fromBlock: "0x0", toBlock: "latest" }])).length;
    },
    used: (nonce) => chain.rpc("eth_getLogs", [{ address: USDC, topics: [USED, word(payer), nonce], fromBlock: "0x0", toBlock: "latest" }]),
    async close() {
      await Promise.all(sellers.map((seller) => seller.stop()));
      chain.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Runs the agent; at its point it is killed by a signal that can't be caught. */
export async function run(purchase, options = {}) {
  const { name, ...given } = { ...purchase, ...options };
  return runKilled(AGENT, given, name);
}

export const signedIn = ({ signed }) => (existsSync(signed) ? readFileSync(signed, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : []);

/** What must hold of a purchase that has ended, however it was interrupted. Gives `delivered` or `claim`; `code` is a claim's error. */
export async function books(market, purchase, { end }, code = "paid_not_delivered") {
  const about = `${purchase.name}: ${JSON.stringify({ error: end.error, resumed: end.resumed })}`;
  // The journal opens in another process, and holds what the payer exported.
  const journal = fileJournal(purchase.journal);
  const records = [];
  for await (const { value } of journal.scan("intent/")) records.push(JSON.parse(new TextDecoder().decode(value)));
  await journal.close();
  assert.deepEqual(records, end.intents, about);
  assert.equal(records.length, 1, about);
  const [record] = records;

  // What was ever signed competes for one nonce; a second digest only once the one before could not land any more.
  const signed = signedIn(purchase);
  assert.equal(new Set(signed.map(({ nonce }) => nonce)).size, 1, about);
  for (const [i, later] of signed.entries()) {
    for (const earlier of signed.slice(0, i)) {
      assert.ok(later.digest === earlier.digest || later.at >= earlier.validBefore, `${about}: a second digest was signed while the first could land`);
    }
  }
  const used = await market.used(signed[0].nonce);
  assert.equal(used.length, 1, `${about}: ${used.length} transfers`);

  if (end.answer) {
    assert.equal(end.answer, GOODS.sha256, about);
    assert.equal(record.status, "delivered", about);
    assert.equal(record.delivery.sha256, `0x${GOODS.sha256}`, about);
    return "delivered";
  }
  assert.equal(end.error.code, code, about);
  assert.equal(end.error.money, "proven", about);
  assert.equal(end.error.next, "claim", about);
  assert.equal(record.status, "paid_not_delivered", about);
  assert.equal(record.claim.transaction, used[0].transactionHash, about);
  return "claim";
}

/** Does `act` for each item, several at once. */
export async function several(items, act, width = 4) {
  const waiting = [...items];
  const failures = [];
  await Promise.all(Array.from({ length: width }, async () => {
    while (waiting.length > 0) await act(waiting.shift()).catch((error) => failures.push(error));
  }));
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
}
