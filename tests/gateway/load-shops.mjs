// Shops in processes of their own over one database, buyers for them, and what the chain shows of it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import http from "node:http";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { USDC } from "../../demo/chain.mjs";
import { payTo } from "./shop.mjs";

const require = createRequire(new URL("../../demo/package.json", import.meta.url));
const { keccak256 } = await import(require.resolve("viem"));
const { generatePrivateKey, privateKeyToAccount } = await import(require.resolve("viem/accounts"));

const word = (value) => value.toString(16).padStart(64, "0");
const padded = (address) => address.slice(2).toLowerCase().padStart(64, "0");
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
// Where the token keeps its balances.
const BALANCES = 9n;

/** Accounts that own so much of the token, without a transaction for each. */
export function buyers(chain, count, amount = 1_000_000n) {
  return Promise.all(Array.from({ length: count }, async () => {
    const account = privateKeyToAccount(generatePrivateKey());
    const slot = keccak256(`0x${padded(account.address)}${word(BALANCES)}`);
    await chain.rpc("anvil_setStorageAt", [USDC, slot, `0x${word(amount)}`]);
    return { account, address: account.address };
  }));
}

/** Every transfer to the shop after that block: who paid, and in which transaction. */
export async function received(chain, since) {
  const topics = [TRANSFER, null, `0x${padded(payTo)}`];
  const logs = await chain.rpc("eth_getLogs", [{ address: USDC, fromBlock: `0x${(since + 1).toString(16)}`, toBlock: "latest", topics }]);
  return logs.map(({ topics, transactionHash }) => ({ payer: `0x${topics[1].slice(26)}`, transaction: transactionHash }));
}

/** A shop with a facilitator's wallet of its own, so that two never take one transaction number. */
export async function startWorker(chain, place, lease) {
  const key = generatePrivateKey();
  await chain.rpc("anvil_setBalance", [privateKeyToAccount(key).address, "0xde0b6b3a7640000"]);
  const job = JSON.stringify({ place, chain: chain.url, key, lease });
  const child = spawn(process.execPath, [fileURLToPath(new URL("./load-worker.mjs", import.meta.url)), job], { stdio: ["ignore", "pipe", "inherit"] });
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  let said = "";
  const ended = new Promise((done) => child.once("close", (code, signal) => { process.off("exit", end); done({ code, signal }); }));
  const url = await new Promise((done, failed) => {
    child.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      const [, at] = /^at (\S+)\n/m.exec(said) ?? [];
      if (at) done(at);
    });
    ended.then(() => failed(new Error("the shop ended before it was open")));
  });
  return {
    url,
    async control(name, query = {}) {
      const answer = await fetch(`${url}/control/${name}?${new URLSearchParams(query)}`);
      const told = await answer.json();
      assert.equal(answer.status, 200, JSON.stringify(told));
      return told;
    },
    /** It died by its own SIGKILL, and there. */
    async killedAt(name) {
      assert.deepEqual({ ...(await ended), said: said.split("\n").at(-2) }, { code: null, signal: "SIGKILL", said: `killed at ${name}` });
    },
    async stop() {
      end();
      await ended;
    },
  };
}

/** A request to one of them, as a balancer in front of all would pass it on: under the one name that the shop has outside. */
export function ask(url, payment) {
  const headers = { host: "shop.example", ...(payment && { "payment-signature": payment.header }) };
  return new Promise((done, failed) => {
    // A connection each: one kept open may be closed by the shop just as it is used again.
    const request = http.get(url, { headers, agent: false }, (answer) => {
      const chunks = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("error", failed);
      answer.on("end", () => done(new Response(Buffer.concat(chunks), { status: answer.statusCode, headers: answer.headers })));
    });
    request.on("error", failed);
  });
}

/** What they counted, taken together. */
export async function counts(shops) {
  const all = await Promise.all(shops.map((shop) => shop.control("counts")));
  const sum = (name) => all.reduce((sum, one) => sum + one[name], 0);
  return { runs: sum("runs"), settled: sum("settled"), alerts: sum("alerts"), fulfilled: sum("fulfilled") };
}

/** An answer, read: what it says, and that it is one of a gateway. */
export async function read(answer) {
  const { status } = answer;
  const body = Buffer.from(await answer.arrayBuffer());
  if (status === 200) {
    assert.ok(answer.headers.get("receipt-id"));
    return { status, body: body.toString("hex"), replayed: answer.headers.get("idempotency-replayed") === "true", receipt: answer.headers.get("receipt-id"), paid: answer.headers.get("payment-response") };
  }
  assert.match(answer.headers.get("content-type") ?? "", /^application\/problem\+json/, `${status} ${body}`);
  return { status, problem: JSON.parse(body), retryAfter: answer.headers.get("retry-after") };
}

/** In flight: 409, when to ask again, and where this very id is asked for. */
export function inFlight({ status, problem, retryAfter }, id) {
  assert.equal(status, 409, JSON.stringify(problem));
  assert.equal(problem.code, "payment_in_flight");
  assert.equal(retryAfter, String(problem.retryAfter));
  assert.ok(problem.retryAfter >= 1 && problem.retryAfter <= 5);
  assert.equal(problem.poll, `/counterfoil/payments/${id}`);
}

/** Asks until there is an answer; everything before is in flight. How often, and how long it took. */
export async function untilAnswered(ask, id, patience = 60_000) {
  const begin = performance.now();
  for (let asked = 1; ; asked++) {
    const told = await read(await ask());
    const seconds = (performance.now() - begin) / 1000;
    if (told.status === 200) return { ...told, asked, seconds };
    inFlight(told, id);
    assert.ok(seconds * 1000 < patience, `no answer after ${seconds} s: ${JSON.stringify(told)}`);
    await new Promise((done) => setTimeout(done, 200 + Math.random() * 200));
  }
}

/** `work` for each item, so many at a time. */
export async function several(items, width, work) {
  const rest = [...items.entries()];
  const one = async () => {
    for (let next = rest.shift(); next; next = rest.shift()) await work(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: width }, one));
}
