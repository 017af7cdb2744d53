// Random lists of signatures inside WebAssembly: the verifier with vectors and the one without say the same, and what noble says one by one. Lists are such that
// every way is taken: signers met once, a few times and often, keys not known, known and with tables, and numbers at their limits.
//   COUNTERFOIL_SEED=7 node --test tests/js/signatures-random.test.mjs
import assert from "node:assert/strict";
import { createHash, randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
// The one that ethers stands on.
const { secp256k1 } = createRequire(require.resolve("ethers"))("@noble/curves/secp256k1");
const { keccak256 } = require("ethers");
const home = join(require.resolve("counterfoil/package.json"), "..");
const { n: ORDER, p: PRIME } = secp256k1.CURVE;

/** Seconds on a quiet machine: 10, and 100 with COUNTERFOIL_ALL. */
const CLAIMS = process.env.COUNTERFOIL_ALL ? 30_000 : 3_000;
const seed = Number(process.env.COUNTERFOIL_SEED ?? randomInt(1 << 30));

let count = 0;
const bytes = () => createHash("sha256").update(`${seed} ${count++}`).digest();
const below = (most) => bytes().readUInt32BE() % most;
const oneOf = (list) => list[below(list.length)];
const number = (buffer) => BigInt(`0x${buffer.toString("hex")}`);
const buffer = (value) => Buffer.from(value.toString(16).padStart(64, "0"), "hex");
const modulo = (value) => ((value % ORDER) + ORDER) % ORDER;

/** Limb edges, values near p, n and their halves, and few bits. */
const EDGES = [0n, 1n, 2n, ORDER - 1n, ORDER, ORDER + 1n, PRIME - 1n, PRIME, PRIME - ORDER, ORDER >> 1n, (ORDER >> 1n) + 1n, (1n << 256n) - 1n, ...Array.from({ length: 8 }, (_, place) => (1n << BigInt(29 * (place + 1))) - 1n)];
const digest = () => (below(4) === 0 ? buffer(oneOf(EDGES)) : bytes());

function signer() {
  const key = below(5) === 0 ? buffer(BigInt(1 + below(3))) : bytes();
  return { key, address: Buffer.from(keccak256(secp256k1.getPublicKey(key, false).subarray(1)).slice(26), "hex") };
}

/** `{digest, signature, address}`, one in four wrong or odd in some way. */
function claim({ key, address }, others) {
  let signed = digest();
  const { r, s, recovery } = secp256k1.sign(signed, key);
  let parts = { r, s, v: 27 * below(2) + recovery };
  switch (below(28)) {
    case 0: parts.v ^= 1; break;
    case 1: parts = { r, s: ORDER - s, v: parts.v ^ 1 }; break;
    case 2: parts.r = oneOf(EDGES); break;
    case 3: parts.s = oneOf(EDGES); break;
    case 4: signed = digest(); break;
    case 5: address = oneOf(others).address; break;
    case 6: parts.v = oneOf([2, 3, 26, 29, 255]); break;
    // The issuer's own doing: the sum of both products is infinity.
    case 7: signed = buffer(modulo(-r * number(key))); break;
    default:
  }
  return { digest: signed, signature: Buffer.concat([buffer(parts.r), buffer(parts.s), Buffer.from([parts.v])]), address };
}

function noble({ digest, signature, address }) {
  const [r, s, v] = [number(signature.subarray(0, 32)), number(signature.subarray(32, 64)), signature[64]];
  if (![0, 1, 27, 28].includes(v) || s > ORDER >> 1n) return 0;
  try {
    const key = new secp256k1.Signature(r, s).addRecoveryBit(v % 27).recoverPublicKey(digest);
    return Number(keccak256(key.toRawBytes(false).subarray(1)).slice(26) === address.toString("hex"));
  } catch {
    return 0;
  }
}

async function instance(name) {
  const glue = await import(`${pathToFileURL(join(home, "wasm", "verify.mjs"))}?random-${name}`);
  glue.initSync({ module: readFileSync(join(home, "wasm", `${name}_bg.wasm`)) });
  return (call, packed) => JSON.parse(glue.call(call, new TextEncoder().encode("{}"), packed)).ok;
}

test(`lists of signatures, seed ${seed}`, async () => {
  const all = [await instance("verify"), await instance("verify_simd")];
  let signers = Array.from({ length: 24 }, signer);
  const seen = [0, 0];
  for (let done = 0; done < CLAIMS; ) {
    if (below(3) === 0) signers = signers.map((one) => (below(2) ? one : signer()));
    const some = signers.slice(0, oneOf([1, 3, 12, 24]));
    const claims = Array.from({ length: oneOf([1, 7, 40, 150, 300]) }, () => claim(oneOf(some), signers));
    const wanted = claims.map(noble);
    const packed = Buffer.concat(claims.flatMap(({ digest, signature, address }) => [digest, signature, address]));
    const forgotten = below(4) === 0;
    for (const call of all) {
      if (forgotten) call("forgetKeys");
      const verdicts = [...Buffer.from(call("verifySignaturesPacked", packed).slice(2), "hex")];
      const wrong = verdicts.findIndex((verdict, at) => verdict !== wanted[at]);
      assert.ok(wrong < 0, `seed ${seed}: claim ${done + wrong}, ${packed.subarray(117 * wrong, 117 * wrong + 117).toString("hex")}`);
      assert.equal(verdicts.length, wanted.length);
    }
    wanted.forEach((verdict) => (seen[verdict] += 1));
    done += claims.length;
  }
  assert.ok(seen[0] > CLAIMS / 20 && seen[1] > CLAIMS / 2, `${seen}`);
});
