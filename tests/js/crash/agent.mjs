// A buyer that can be killed at one exact point. Everything it does to the world is wrapped and counted: commits, the
// person's approval, reads of the chain, the signer, requests, pieces of the answer. At point `killAt`, a number or a name, it says so
// and stands still until it is killed; without one it tells all its points at the end.
//   node agent.mjs '{"url","intent","journal","rpc","payer","signed", "killAt"?, "maxWindow"?, "tries"?}'

import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { createPayer } from "counterfoil";
import { hashTypedData } from "counterfoil/core";
import { fileJournal } from "counterfoil/node";
import { addressOfKey, signDigest } from "counterfoil/raw";

const NETWORK = "eip155:84532";
const o = JSON.parse(process.argv[2]);
const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const points = [];
function point(label) {
  points.push(label);
  if (points.length !== o.killAt && label !== o.killAt) return;
  say({ event: "here", point: points.length, label });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

const counts = {};
/** Numbers the occasions of one kind: `commit 1`, `commit 2`, … */
const numbered = (kind) => `${kind} ${(counts[kind] = (counts[kind] ?? 0) + 1)}`;
async function around(kind, act) {
  const name = numbered(kind);
  point(`${name} before`);
  try {
    return await act(name);
  } finally {
    point(`${name} after`);
  }
}

const file = fileJournal(o.journal);
const journal = { ...file, commit: (ops, fence) => around("commit", () => file.commit(ops, fence)) };

// Not wrapped, and in a file of its own: what was ever signed is known whatever happened to the journal.
const key = Buffer.from(process.env.AGENT_KEY.slice(2), "hex");
function sign({ domain, types, primaryType, message }) {
  const plain = Object.fromEntries(Object.entries(message).map(([name, value]) => [name, typeof value === "bigint" ? String(value) : value]));
  const digest = hashTypedData({ domain, types, primaryType, message: plain });
  const log = openSync(o.signed, "a");
  writeSync(log, `${JSON.stringify({ digest, nonce: plain.nonce, validBefore: Number(plain.validBefore), at: Date.now() / 1000, pid: process.pid })}\n`);
  fsyncSync(log);
  closeSync(log);
  return signDigest(digest, key);
}
const signer = { address: addressOfKey(key), signTypedData: (typedData) => around("sign", () => sign(typedData)) };

const send = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const paid = new Headers(init?.headers).has("payment-signature");
  if (!paid) return around("send unpaid", () => send(input, init));
  return around("send paid", async (name) => {
    const answer = send(input, init);
    answer.catch(() => {});
    // By now the request has left, and the seller is most often still waiting for a block.
    await pause(80);
    point(`${name} in flight`);
    return inPieces(await answer);
  });
};

/** The same answer in small pieces, each of them a point: real networks cut where they like. */
function inPieces(answer) {
  const reader = answer.body.getReader();
  let held = new Uint8Array();
  const body = new ReadableStream({
    pull: (controller) =>
      around("body", async () => {
        if (held.length === 0) held = (await reader.read()).value ?? held;
        if (held.length === 0) return controller.close();
        controller.enqueue(held.slice(0, 100));
        held = held.slice(100);
      }),
    cancel: (why) => reader.cancel(why),
  }, { highWaterMark: 0 });
  const { status, statusText, headers } = answer;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), "url", { value: answer.url });
}

async function rpc(method, params) {
  return around(`read_chain ${method}`, async () => {
    const headers = { "content-type": "application/json" };
    const answer = await send(o.rpc, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) });
    const { result, error } = await answer.json();
    if (error) throw new Error(error.message);
    return result;
  });
}

const payer = createPayer({
  signer,
  secret: createHash("sha256").update("crash test").digest(),
  journal,
  rpc: { [NETWORK]: rpc },
  policy: { perCall: "5000", maxWindow: o.maxWindow ?? 300, approve: () => around("ask", () => true) },
});
const resumed = await payer.resume();
let answer;
let error;
for (let n = 0; n < (o.tries ?? 4) && !answer; n += 1) {
  if (n > 0) await pause(1000);
  try {
    const response = await payer.fetch(o.url, { intent: { id: o.intent } });
    const body = Buffer.from(await response.arrayBuffer());
    if (response.ok) answer = createHash("sha256").update(body).digest("hex");
    else error = { code: `status ${response.status}` };
  } catch (thrown) {
    error = { code: thrown.code, money: thrown.money, next: thrown.next, message: String(thrown) };
  }
}
const { intents } = JSON.parse(await payer.export());
await payer.close();
say({ event: "end", answer, error: answer ? undefined : error, resumed: resumed.map(({ outcome }) => outcome), intents, points });
process.exit(0);
