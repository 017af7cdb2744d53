// Merkle-Patricia proofs of the independent corpus, through the packed package.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { trieProof, trieVerify } from "counterfoil/raw";
import { keccak256 } from "ethers";

const corpus = (name) => JSON.parse(readFileSync(new URL(`../corpora/mpt/${name}.json`, import.meta.url), "utf8"));
const receipts = corpus("receipt-proofs");

test("every proof of a receipt, and of absence", () => {
  let proofs = 0;
  for (const { receiptsRoot: root, proofs: list, absent } of receipts.sets) {
    for (const { key, proof, receiptRlp } of list) {
      assert.equal(trieVerify({ root, key, proof }), receiptRlp);
      proofs++;
    }
    assert.equal(trieVerify({ root, ...absent }), null);
  }
  assert.equal(proofs, 32);
});

test("every proof that is to be refused", () => {
  assert.equal(receipts.mustReject.length, 8);
  for (const { why, receiptsRoot: root, key, proof } of receipts.mustReject) {
    assert.throws(() => trieVerify({ root, key, proof }), ({ code }) => /^proof_/.test(code), why);
  }
});

test("roots of the trie tests, and the one receipt of a mainnet block", () => {
  const hex = (text) => (text.startsWith("0x") ? text : `0x${Buffer.from(text).toString("hex")}`);
  let built = 0;
  for (const [file, hash] of [["trietest", hex], ["trieanyorder", hex], ["hex_encoded_securetrie_test", (text) => keccak256(hex(text))]]) {
    for (const [name, { in: pairs, root }] of Object.entries(corpus(file))) {
      const held = new Map();
      for (const [key, value] of Array.isArray(pairs) ? pairs : Object.entries(pairs)) {
        if (value === null) held.delete(hash(key));
        else held.set(hash(key), hex(value));
      }
      const keys = [...held.keys()];
      // Where one key is the start of another, the value would stand in a branch: no trie of a block has that.
      if (keys.some((a) => keys.some((b) => a !== b && b.startsWith(a)))) continue;
      const entries = [...held].map(([key, value]) => ({ key, value }));
      assert.equal(trieProof({ entries, key: "0x7b7b" }).root, root, `${file} ${name}`);
      for (const { key, value } of entries) assert.equal(trieVerify({ root, key, proof: trieProof({ entries, key }).proof }), value);
      built++;
    }
  }
  assert.equal(built, 7);
  const { header, receiptRlp } = corpus("mainnet-46147");
  assert.equal(trieProof({ entries: [{ key: "0x80", value: receiptRlp }], key: "0x80" }).root, header.receiptsRoot);
});
