// Signatures over digests. Peers are given the public key, which counterfoil is given only where the question says so: else it gets the
// signer's address, and has to have found out the key.
import { createRequire } from "node:module";
import { createHash } from "node:crypto";
import { instantiateSecp256k1 } from "@bitauth/libauth";
import { secp256k1 as noble } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { forgetKeys, verifySignatures } from "counterfoil/verify";
import * as raw from "counterfoil/raw";
import * as ethers from "ethers";
import * as tiny from "tiny-secp256k1";
import * as viem from "viem";
import { key } from "./fixture.mjs";

// The addon itself: the package's own entry falls back to JavaScript without a word.
const native = createRequire(import.meta.url)("secp256k1/bindings.js");
const libauth = await instantiateSecp256k1();

const hex = (bytes) => `0x${Buffer.from(bytes).toString("hex")}`;
const publicKey = noble.getPublicKey(key, true);
const addressOf = (point) => hex(keccak_256(point.subarray(1)).subarray(12));
const address = Buffer.from(addressOf(noble.getPublicKey(key, false)).slice(2), "hex");

function signed(n, by = { key, publicKey, address }) {
  const digest = new Uint8Array(createHash("sha256").update(`signature ${n}`).digest());
  const { signature: scalars, recoveryId } = libauth.signMessageHashRecoverableCompact(by.key, digest);
  const signature = Uint8Array.of(...scalars, 27 + recoveryId);
  return { digest, signature, scalars, publicKey: by.publicKey, packed: Uint8Array.of(...digest, ...signature, ...by.address) };
}

/** Another signer. */
function signer(n) {
  const key = new Uint8Array(createHash("sha256").update(`signer ${n}`).digest());
  const uncompressed = libauth.derivePublicKeyUncompressed(key);
  return { key, publicKey: libauth.compressPublicKey(uncompressed), address: Buffer.from(addressOf(uncompressed).slice(2), "hex") };
}

const one = signed(0);
const [digestHex, signatureHex, scalarsHex, publicKeyHex] = [one.digest, one.signature, one.scalars, publicKey].map(hex);

/** What a program writes that wants to use noble's tables of a key: its `verify` doesn't. */
const precomputed = (() => {
  const { Point } = noble;
  const { Fn, BASE } = Point;
  const point = Point.fromBytes(publicKey);
  point.precompute(8, false);
  return ({ digest, scalars }) => {
    const [z, r, s] = [digest, scalars.subarray(0, 32), scalars.subarray(32)].map((bytes) => BigInt(hex(bytes)));
    const inverse = Fn.inv(s);
    const sum = BASE.multiplyUnsafe(Fn.mul(Fn.create(z), inverse)).add(point.multiplyUnsafe(Fn.mul(r, inverse)));
    return Fn.create(sum.toAffine().x) === r;
  };
})();

const peers = {
  "secp256k1 (native addon)": ({ digest, scalars, publicKey }) => native.ecdsaVerify(scalars, digest, publicKey),
  "@bitauth/libauth": ({ digest, scalars, publicKey }) => libauth.verifySignatureCompact(scalars, publicKey, digest),
  "tiny-secp256k1": ({ digest, scalars }) => tiny.verify(digest, publicKey, scalars),
  "@noble/curves": ({ digest, scalars }) => noble.verify(scalars, digest, publicKey, { prehash: false }),
  "@noble/curves, key precomputed": precomputed,
};
const answering = (ask) => Object.fromEntries(Object.entries(peers).map(([name, verify]) => [name, () => ask(verify)]));

const byKey = {
  id: "verify by key",
  title: "Verify one signature by its public key: key as hex or bytes in",
  product: () => String(raw.verify({ publicKey: publicKeyHex, digest: digestHex, signature: scalarsHex })),
  peers: answering((verify) => String(verify(one))),
};

const known = {
  id: "verify known signer",
  title: "Verify one signature of a signer met before: address in, and the public key for peers",
  product: () => String(verifySignatures(one.packed)[0] === 1),
  peers: answering((verify) => String(verify(one))),
};

const recovering = {
  id: "recover digest",
  title: "Recover the signer: digest and signature as hex in, address out",
  product: () => raw.recover(digestHex, signatureHex).toLowerCase(),
  peers: {
    viem: async () => (await viem.recoverAddress({ hash: digestHex, signature: signatureHex })).toLowerCase(),
    ethers: () => ethers.recoverAddress(digestHex, signatureHex).toLowerCase(),
    "@bitauth/libauth + @noble/hashes": () => addressOf(libauth.recoverPublicKeyUncompressed(one.scalars, one.signature[64] - 27, one.digest)),
    "secp256k1 (native addon) + @noble/hashes": () => addressOf(native.ecdsaRecover(one.scalars, one.signature[64] - 27, one.digest, false)),
  },
};

function audit(id, title, all, names, before = () => {}) {
  const packed = new Uint8Array(Buffer.concat(all.map((item) => item.packed)));
  const counting = (verify) => () => String(all.reduce((sum, item) => sum + Number(verify(item)), 0));
  return {
    id,
    title,
    product() {
      before();
      return String(verifySignatures(packed).reduce((sum, verdict) => sum + verdict, 0));
    },
    // The others take a second for each.
    peers: Object.fromEntries(names.map((name) => [name, counting(peers[name])])),
  };
}

const audits = [64, 1024].map((count) => {
  const all = Array.from({ length: count }, (_, n) => signed(n));
  return audit(`audit ${count}`, `Verify ${count} signatures of one signer: addresses in, and the public key for peers`, all, ["secp256k1 (native addon)", "tiny-secp256k1"]);
});

/** In the order in which signers take turns. Each time every key is one that was not met before. */
const mixed = audit(
  "audit of many signers",
  "Verify 16 signatures of each of 1000 signers, none met before: addresses in, and the public keys for peers",
  ((signers) => Array.from({ length: 16_000 }, (_, n) => signed(n, signers[n % 1000])))(Array.from({ length: 1000 }, (_, n) => signer(n))),
  ["secp256k1 (native addon)"],
  forgetKeys,
);

export const questions = [byKey, known, recovering, ...audits, mixed];
