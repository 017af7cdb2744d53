// The points at which a buyer can be killed. Everything it does to the world is wrapped and counted: commits, the person's approval,
// reads of the chain, the signer, requests, pieces of the answer. At point `killAt`, a number or a name, the process says so and
// stands still until it is killed; at `stopAt` it says so and is stopped by a signal until it gets SIGCONT.

import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { hashTypedData } from "counterfoil/core";
import { addressOfKey, signDigest } from "counterfoil/raw";

/** One line to whoever started this process, written before anything else happens. */
export const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`);
const still = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** @param {{ killAt?: number | string, stopAt?: string, signed: string }} o `signed`: the file that lists what was ever signed */
export function watch({ killAt, stopAt, signed }) {
  const send = globalThis.fetch;
  const points = [];
  const counts = {};

  function point(label) {
    points.push(label);
    if (points.length === killAt || label === killAt) {
      say({ event: "here", point: points.length, label });
      still();
    } else if (label === stopAt) {
      say({ event: "here", point: points.length, label });
      process.kill(process.pid, "SIGSTOP");
      still(100); // the other threads take a moment to stop
    }
  }

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

  /** The same answer in small pieces, each of them a point: real networks cut where they like. */
  function inPieces(answer) {
    const reader = answer.body.getReader();
    let held = new Uint8Array();
    const body = new ReadableStream({
      async pull(controller) {
        const piece = await around("body", async () => {
          if (held.length === 0) held = (await reader.read()).value ?? held;
          const next = held.slice(0, 100);
          held = held.slice(100);
          return next;
        });
        // What the buyer does with it comes after the point.
        if (piece.length > 0) controller.enqueue(piece);
        else controller.close();
      },
      cancel: (why) => reader.cancel(why),
    }, { highWaterMark: 0 });
    const { status, statusText, headers } = answer;
    return Object.defineProperty(new Response(body, { status, statusText, headers }), "url", { value: answer.url });
  }

  return {
    points,
    point,
    around,
    journal: (store) => ({ ...store, commit: (ops, fence) => around("commit", () => store.commit(ops, fence)) }),
    /** The same, with a point of its own once a delivery is written down: how many commits lie before it depends on the chain. */
    journalTelling: (store) => ({
      ...store,
      async commit(ops, fence) {
        const result = await around("commit", () => store.commit(ops, fence));
        if (result.ok && ops.some(({ put }) => put && new TextDecoder().decode(put).includes('"status":"delivered"'))) point("delivery written");
        return result;
      },
    }),
    /** Not wrapped, and in a file of its own: what was ever signed is known whatever happened to the journal. */
    signer(privateKey) {
      const key = Buffer.from(privateKey.slice(2), "hex");
      function sign({ domain, types, primaryType, message }) {
        const plain = Object.fromEntries(Object.entries(message).map(([name, value]) => [name, typeof value === "bigint" ? String(value) : value]));
        const digest = hashTypedData({ domain, types, primaryType, message: plain });
        const log = openSync(signed, "a");
        writeSync(log, `${JSON.stringify({ digest, nonce: plain.nonce, validBefore: Number(plain.validBefore), at: Date.now() / 1000, pid: process.pid })}\n`);
        fsyncSync(log);
        closeSync(log);
        return signDigest(digest, key);
      }
      return { address: addressOfKey(key), signTypedData: (typedData) => around("sign", () => sign(typedData)) };
    },
    fetch(input, init) {
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
    },
    rpc: (url) => (method, params) =>
      around(`read_chain ${method}`, async () => {
        const headers = { "content-type": "application/json" };
        const answer = await send(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) });
        const { result, error } = await answer.json();
        if (error) throw new Error(error.message);
        return result;
      }),
  };
}
