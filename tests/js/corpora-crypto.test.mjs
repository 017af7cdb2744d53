// Independent data for the cryptography, through the packed package: Wycheproof's ECDSA signatures on secp256k1, published
// RFC 6979 nonces, and the EIP-712 documents of ethers.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { hashTypedData } from "counterfoil/core";
import { addressOfKey, publicKey, recover, signDigest, verify } from "counterfoil/raw";

const corpus = (name) => JSON.parse(readFileSync(new URL(`../corpora/${name}`, import.meta.url), "utf8"));
const bytes = (hex) => new Uint8Array(Buffer.from(hex.replace(/^0x/, ""), "hex"));
const sha256 = (data) => `0x${createHash("sha256").update(data).digest("hex")}`;

for (const [file, encoding, lowS, valid, invalid] of [
  ["ecdsa_secp256k1_sha256_bitcoin_test.min.json", "der", true, 162, 301],
  ["ecdsa_secp256k1_sha256_test.min.json", "der", false, 168, 308],
  ["ecdsa_secp256k1_sha256_p1363_test.json", "p1363", false, 167, 85],
]) {
  test(`wycheproof ${file}`, () => {
    const seen = { valid: 0, invalid: 0 };
    for (const { publicKey: key, tests } of corpus(`wycheproof/${file}`).testGroups) {
      for (const { tcId, msg, sig, result } of tests) {
        const signature = `0x${sig}`;
        const answer = verify({ publicKey: `0x${key.uncompressed}`, digest: sha256(bytes(msg)), signature, encoding, lowS });
        assert.equal(answer, result === "valid", `${file} ${tcId}`);
        seen[result]++;
      }
    }
    assert.deepEqual(seen, { valid, invalid });
  });
}

test("RFC 6979 nonces", () => {
  const { vectors } = corpus("rfc6979/secp256k1-sha256.json");
  for (const { privateKey, message, sha256: digest, r, s_low, yParity } of vectors) {
    const key = bytes(privateKey);
    const signature = `0x${r}${s_low}${yParity === 0 ? "1b" : "1c"}`;
    assert.equal(sha256(message), `0x${digest}`);
    assert.equal(signDigest(`0x${digest}`, key), signature, message);
    assert.equal(recover(`0x${digest}`, signature), addressOfKey(key), message);
    const rs = { digest: `0x${digest}`, signature: signature.slice(0, -2), encoding: "p1363", lowS: true };
    assert.equal(verify({ publicKey: publicKey(key), ...rs }), true, message);
  }
  assert.equal(vectors.length, 6);
});

test("ethers EIP-712 documents", () => {
  const documents = corpus("eip712/ethers-eip712-subset.json");
  for (const { name, domain, types, primaryType, data, digest } of documents) {
    assert.equal(hashTypedData({ domain, types, primaryType, message: data }), digest, name);
  }
  assert.equal(documents.length, 185);
});
