// A key that was handed over is gone from the module's memory when the call returns, whether it signed or threw.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

// The package gives nobody its memory; the test takes it where the engine hands it out.
const memories = [];
const { Instance } = WebAssembly;
WebAssembly.Instance = class extends Instance {
  constructor(module, imports) {
    super(module, imports);
    if (this.exports.memory) memories.push(this.exports.memory);
  }
};

const { authorizationNonce, hashTypedData, paymentId, signAuthorization } = await import("counterfoil/core");
const { addressOfKey, defaultSecret, publicKey, recover, signDigest } = await import("counterfoil/raw");

const hash = (text) => createHash("sha256").update(text).digest();
const authorization = {
  from: "0x760326E8C94f38A9F0537b1FA45141cA995564C4",
  to: "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe",
  value: "10000",
  validAfter: "1760000000",
  validBefore: "1760000600",
  nonce: "0xe8e711e7932aad8774169b5a1450abaedbb118ec76120ed65e904c9d9c324486",
};
const domain = { name: "USD Coin", version: "2", chainId: 8453, verifyingContract: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" };
const slot = { intentId: authorization.nonce, payer: authorization.from, network: "eip155:8453", asset: domain.verifyingContract, generation: 0 };

/** Where 8 bytes of the key stand in memory, in its own order, turned round as limbs are, or as digits. */
function traces(key) {
  const found = [];
  const forms = { straight: Buffer.from(key), reversed: Buffer.from(key).reverse() };
  for (const { buffer } of memories) {
    const memory = Buffer.from(buffer);
    for (const [form, bytes] of Object.entries(forms)) {
      for (let at = 0; at + 8 <= bytes.length; at += 4) {
        const piece = bytes.subarray(at, at + 8);
        for (const [spelling, wanted] of [["bytes", piece], ["hex", piece.toString("hex")], ["HEX", piece.toString("hex").toUpperCase()]]) {
          const where = memory.indexOf(wanted);
          if (where >= 0) found.push(`${form} ${spelling} ${at} at ${where}`);
        }
      }
    }
  }
  return found;
}

test("the memory is the one that the calls use", () => {
  const marker = hash("a marker that nobody wipes").toString("hex");
  assert.throws(() => hashTypedData({ marker, types: 1 }));
  assert.equal(memories.length, 1);
  assert.ok(Buffer.from(memories[0].buffer).includes(marker.slice(0, 32)), "a search that finds nothing proves nothing");
});

for (const [name, use] of [
  ["signAuthorization", (key) => signAuthorization(authorization, domain, key)],
  ["signDigest", (key) => signDigest(`0x${hash("digest").toString("hex")}`, key)],
  ["addressOfKey", (key) => addressOfKey(key)],
  ["publicKey", (key) => publicKey(key)],
  ["defaultSecret", (key) => defaultSecret(key)],
  ["authorizationNonce", (key) => authorizationNonce({ ...slot, secret: key })],
  ["paymentId", (key) => paymentId({ intentId: slot.intentId, quoteHash: authorization.nonce, generation: 0, secret: key })],
  ["a call that throws", (key) => assert.throws(() => signDigest("0x", key))],
  ["a key that is too long", (key) => assert.throws(() => addressOfKey(Uint8Array.of(...key, 10)))],
]) {
  test(`no trace of the key after ${name}`, () => {
    for (let round = 0; round < 4; round++) {
      const key = new Uint8Array(hash(`${name} ${round}`));
      const before = Uint8Array.from(key);
      use(key);
      assert.deepEqual(traces(key), []);
      assert.deepEqual(key, before, "the caller's own array is the caller's");
    }
  });
}

test("no trace of the number that a signature hides, which gives the key away as well", () => {
  const corpus = readFileSync(new URL("../corpora/rfc6979/secp256k1-sha256.json", import.meta.url), "utf8");
  for (const { privateKey, sha256, k } of JSON.parse(corpus).vectors) {
    signDigest(`0x${sha256}`, new Uint8Array(Buffer.from(privateKey, "hex")));
    assert.deepEqual(traces(Buffer.from(k, "hex")), []);
  }
});

test("the caller's array may be wiped at once", () => {
  const key = new Uint8Array(hash("wiped"));
  const digest = `0x${hash("digest").toString("hex")}`;
  const address = addressOfKey(key);
  const signature = signDigest(digest, key);
  key.fill(0);
  assert.equal(recover(digest, signature), address);
});
