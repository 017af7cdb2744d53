// Which place a file is put in, in whichever order files come: without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { recognise, sort } from "../../www/recognise.mjs";

const bytes = (value) => new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));
const hash = `0x${"5a".repeat(32)}`;
const payer = `0x${"11".repeat(20)}`;

const RECEIPTS = {
  "a gateway's, by payer and transaction": { payer, transaction: hash, amount: "10000" },
  "the same in other words": { payer, tx_hash: hash },
  "a gateway's, by its digest": { responseSha256: hash },
  "the older form of a gateway": { payment: { transaction: hash }, response: { temperature: 4 } },
  "a Payment-Receipt": { status: "success", method: "tempo", timestamp: "2026-01-01T00:00:00Z", reference: hash },
  "a seller's receipt of ours": { type: "counterfoil/seller-receipt", v: 1, response: { sha256: hash } },
  "a claim": { type: "counterfoil/claim", v: 1 },
  "a settlement": { success: true, network: "eip155:8453", transaction: hash },
  "a signed receipt": { format: "jws", signature: "a.b.c" },
};
const ANSWERS = {
  "an object": { temperature: 4 }, "a list": [{ payer, transaction: hash }], "a text": "hello there", "an object with a payer": { payer }, "a status": { status: "success", method: "GET" },
  "an older answer": { payment: null, response: null }, "a transaction of somebody": { transaction: hash },
};

test("a receipt and its answer have their places in either order", () => {
  for (const [name, receipt] of Object.entries(RECEIPTS)) {
    assert.equal(recognise(bytes(receipt)), "statement", name);
    for (const [other, answer] of Object.entries(ANSWERS)) {
      const files = [{ name: "receipt", bytes: bytes(receipt) }, { name: "response", bytes: bytes(answer) }];
      for (const order of [files, files.toReversed()]) {
        const places = sort(order, false);
        assert.deepEqual([places.receipt.name, places.response.name], ["receipt", "response"], `${name}, ${other}`);
      }
    }
  }
});

test("what is no receipt is none", () => {
  for (const [name, answer] of Object.entries(ANSWERS)) assert.equal(recognise(bytes(answer)), "text", name);
  assert.equal(recognise(new Uint8Array([0xff, 0xfe])), "bytes");
});
