// Many signatures at once, on the packed package: the verdicts are those of recovering the signers one by one, whoever was met before.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { addressOfKey, recover, signDigest } from "counterfoil/raw";
import { forgetKeys, verifySignatures } from "counterfoil/verify";

const sha256 = (text) => createHash("sha256").update(text).digest();
const hex = (bytes) => `0x${Buffer.from(bytes).toString("hex")}`;
const signers = Array.from({ length: 3 }, (_, n) => {
  const key = new Uint8Array(sha256(`signer ${n}, a public key for tests`));
  return { key, address: addressOfKey(key) };
});

/** Every seventh one is wrong, each in another way. */
function claims(count, round) {
  return Array.from({ length: count }, (_, n) => {
    const { key, address } = signers[n % 3];
    const digest = sha256(`round ${round}, digest ${n}`);
    const signature = Buffer.from(signDigest(hex(digest), key).slice(2), "hex");
    let signer = address;
    if (n % 7 === 0) {
      const how = (n / 7) % 5;
      if (how === 0) signature[64] = 55 - signature[64];
      if (how === 1) digest[n % 32] ^= 1;
      if (how === 2) signature[n % 64] ^= 0x10;
      if (how === 3) signer = signers[(n + 1) % 3].address;
      if (how === 4) signature.fill(0, 32, 64);
    }
    return { digest: hex(digest), signature: hex(signature), signer };
  });
}

function oneByOne({ digest, signature, signer }) {
  try {
    return recover(digest, signature) === signer;
  } catch {
    return false;
  }
}

const pack = (items) => new Uint8Array(Buffer.concat(items.flatMap((item) => [item.digest, item.signature, item.signer].map((text) => Buffer.from(text.slice(2), "hex")))));

test("a list, packed or not, says what one by one says: with no key known, with keys, with tables, and after all was forgotten", () => {
  forgetKeys();
  for (const [round, count] of [1, 20, 90, 300, 5, 300].entries()) {
    const items = claims(count, round);
    const wanted = items.map(oneByOne);
    assert.deepEqual(verifySignatures(items), wanted);
    assert.deepEqual([...verifySignatures(pack(items))], wanted.map(Number));
    const turned = [...items].reverse();
    assert.deepEqual(verifySignatures(turned), [...wanted].reverse());
    if (round === 4) forgetKeys();
    if (count > 5) assert.ok(wanted.includes(true) && wanted.includes(false));
  }
});
