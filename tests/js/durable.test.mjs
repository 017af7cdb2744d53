// A killed process loses nothing that it wrote, a machine without power does: what counts is what was on the disk when the
// payment left. The file handle is watched, and the last bytes a sync has covered are compared with what is sent.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createPayer } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { addressOfKey, signDigest } from "counterfoil/raw";
import { hashTypedData } from "counterfoil/core";

const home = mkdtempSync(join(tmpdir(), "counterfoil-durable-"));
after(() => rmSync(home, { recursive: true, force: true }));
let places = 0;

const KEY = new Uint8Array(32).fill(0x41);
const PRICE = {
  x402Version: 2,
  resource: { url: "https://seller.example/report" },
  accepts: [{
    scheme: "exact", network: "eip155:84532", amount: "10000", asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", maxTimeoutSeconds: 60, extra: { name: "USDC", version: "2" },
  }],
};
const encoded = (value) => Buffer.from(JSON.stringify(value)).toString("base64");

/** One purchase from a seller that always delivers. `look` sees what is about to be signed and sent, and may fail a sync. */
async function buy({ path, onSync = async (sync) => sync(), look = () => {} }) {
  const prototype = Object.getPrototypeOf(await open(home).then(async (handle) => (await handle.close(), handle)));
  const { datasync, sync } = prototype;
  const send = globalThis.fetch;
  let durable = "";
  const watched = (real) =>
    async function () {
      // What was written before the sync begins is durable after it; what comes in between may be, or not.
      const { size } = statSync(path);
      await onSync(() => real.call(this));
      durable = readFileSync(path).subarray(0, size).toString();
    };
  prototype.datasync = watched(datasync);
  prototype.sync = async function () {
    return (await this.stat()).isDirectory() ? sync.call(this) : watched(sync).call(this);
  };
  globalThis.fetch = async (_, init) => {
    const payment = new Headers(init?.headers).get("payment-signature");
    look({ [payment ? "paid" : "unpaid"]: true, payment, durable });
    if (!payment) return new Response("{}", { status: 402, headers: { "payment-required": encoded(PRICE) } });
    const settlement = encoded({ success: true, transaction: `0x${"12".repeat(32)}`, network: "eip155:84532" });
    return new Response("goods", { headers: { "payment-response": settlement } });
  };
  const signer = {
    address: addressOfKey(KEY),
    signTypedData: (typedData) => {
      const text = JSON.stringify(typedData, (_, value) => (typeof value === "bigint" ? String(value) : value));
      look({ signs: true, nonce: typedData.message.nonce, durable });
      return signDigest(hashTypedData(JSON.parse(text)), KEY);
    },
  };
  const payer = createPayer({ signer, journal: fileJournal(path), policy: { perCall: "10000" } });
  try {
    const answer = await payer.fetch("https://seller.example/report", { intent: { id: "durable-00000000001" } });
    const goods = await answer.text();
    return { goods, durable };
  } finally {
    await payer.close().catch(() => {});
    Object.assign(prototype, { datasync, sync });
    globalThis.fetch = send;
  }
}

const place = () => join(home, `place-${++places}`, "journal.jsonl");

test("what is signed and what is sent stand in synced bytes, and so does the delivery when the answer has ended", async () => {
  const seen = [];
  const look = ({ signs, paid, nonce, payment, durable }) => {
    if (signs) seen.push(["sign", durable.includes(nonce)]);
    if (paid) seen.push(["send", durable.includes(payment)]);
  };
  const path = place();
  const { goods, durable } = await buy({ path, look });
  assert.equal(goods, "goods");
  assert.deepEqual(seen, [["sign", true], ["send", true]]);
  assert.ok(durable.includes('"status":"delivered"'));
  assert.equal(durable, readFileSync(path, "utf8"));
});

test("while a sync has not ended nothing is signed and nothing is sent", async () => {
  for (const held of [1, 2]) {
    const events = [];
    let syncs = 0;
    let open;
    const gate = new Promise((done) => (open = done));
    // The first sync of the file is that of its opening.
    const onSync = async (sync) => {
      if (syncs++ === held) {
        events.push("held");
        await gate;
        events.push("open");
      }
      await sync();
    };
    const look = ({ signs, paid }) => void (signs ? events.push("sign") : paid && events.push("send"));
    const done = buy({ path: place(), onSync, look });
    setTimeout(open, 150);
    await done;
    assert.deepEqual(events, held === 1 ? ["held", "open", "sign", "send"] : ["sign", "held", "open", "send"]);
  }
});

test("a sync that fails: nothing leaves, and the call says that no money moved", async () => {
  for (const broken of [1, 2]) {
    const events = [];
    let syncs = 0;
    const onSync = async (sync) => {
      if (syncs++ >= broken) throw Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
      await sync();
    };
    const look = ({ signs, paid }) => void (signs ? events.push("sign") : paid && events.push("send"));
    await assert.rejects(buy({ path: place(), onSync, look }), { name: "CounterfoilError", code: "journal_unavailable", money: "none" });
    assert.deepEqual(events, broken === 1 ? [] : ["sign"]);
  }
});
