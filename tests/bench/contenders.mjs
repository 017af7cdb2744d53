// The questions and who answers them. Within one question everybody starts from the same form and ends in the same form,
// so that no contender is charged for a conversion that another one leaves out.
import { createHash } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import jcs from "canonicalize";
import * as core from "counterfoil/core";
import * as ethers from "ethers";
import * as viem from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { authorization as authorizationOf, bytes, documents, domain, key, keyHex, types } from "./fixture.mjs";

const account = privateKeyToAccount(keyHex);
const wallet = new ethers.Wallet(keyHex);
const authorization = authorizationOf(account.address);
const typedData = { domain, types, primaryType: "TransferWithAuthorization", message: authorization };
const signature = await account.signTypedData(typedData);

/** EIP-712 written out for this one type: what a program pays that takes the curve and the hash and writes the rest itself. */
const noble = (() => {
  const word = (value) => hexToBytes(BigInt(value).toString(16).padStart(64, "0"));
  const hash = (...parts) => keccak_256(concatBytes(...parts));
  const typeHash = (text) => keccak_256(utf8ToBytes(text));
  const members = types.TransferWithAuthorization.map(({ name, type }) => `${type} ${name}`);
  const transfer = typeHash(`TransferWithAuthorization(${members})`);
  const domainType = typeHash("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
  const digest = (a, d) => {
    const separator = hash(domainType, typeHash(d.name), typeHash(d.version), word(d.chainId), word(d.verifyingContract));
    const message = hash(transfer, ...[a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce].map(word));
    return hash(Uint8Array.of(0x19, 0x01), separator, message);
  };
  const raw = { prehash: false };
  return {
    sign(a, d, secret) {
      const made = secp256k1.sign(digest(a, d), secret, { ...raw, format: "recovered" });
      return `0x${bytesToHex(made.subarray(1))}${(27 + made[0]).toString(16)}`;
    },
    recover(a, d, hex) {
      const made = hexToBytes(hex.slice(2));
      const found = secp256k1.recoverPublicKey(concatBytes(Uint8Array.of(made[64] - 27), made.subarray(0, 64)), digest(a, d), raw);
      const point = secp256k1.Point.fromBytes(found).toBytes(false);
      return ethers.getAddress(`0x${bytesToHex(keccak_256(point.subarray(1)).subarray(12))}`);
    },
  };
})();

const signing = {
  id: "sign",
  title: "Sign an EIP-3009 authorization: typed data in, signature as hex out",
  product: () => core.signAuthorization(authorization, domain, key),
  peers: {
    viem: () => account.signTypedData(typedData),
    ethers: () => wallet.signTypedData(domain, types, authorization),
    "@noble, encoding by hand": () => noble.sign(authorization, domain, key),
  },
};

const recovering = {
  id: "recover",
  title: "Recover the payer: typed data and signature in, address out",
  product: () => core.recoverPayer(authorization, domain, signature),
  peers: {
    viem: () => viem.recoverTypedDataAddress({ ...typedData, signature }),
    ethers: () => ethers.verifyTypedData(domain, types, authorization, signature),
    "@noble, encoding by hand": () => noble.recover(authorization, domain, signature),
  },
};

const hashing = Object.entries({ "1 KB": 1 << 10, "64 KB": 1 << 16, "1 MB": 1 << 20 }).map(([size, length]) => {
  const data = bytes(length);
  return {
    id: `sha256 ${size}`,
    title: `SHA-256 of ${size}: bytes in, hex out`,
    product: () => core.sha256(data),
    peers: {
      viem: () => viem.sha256(data),
      "ethers (node:crypto inside)": () => ethers.sha256(data),
      "@noble/hashes": () => `0x${bytesToHex(nobleSha256(data))}`,
      "node:crypto": () => `0x${createHash("sha256").update(data).digest("hex")}`,
    },
  };
});

const canonicalizing = Object.entries(documents).flatMap(([name, text]) => {
  const value = JSON.parse(text);
  const size = `${(Buffer.byteLength(text) / 1024).toFixed(1)} KB`;
  return [
    {
      id: `canonicalize ${name} text`,
      title: `RFC 8785 of ${size}: JSON text in, text out`,
      product: () => core.canonicalize(text),
      peers: { "JSON.parse + canonicalize": () => jcs(JSON.parse(text)) },
    },
    {
      id: `canonical digest ${name} text`,
      title: `SHA-256 of the RFC 8785 text of ${size}: JSON text in, hex out`,
      product: () => core.canonicalSha256(text),
      peers: {
        "JSON.parse + canonicalize + node:crypto": () => `0x${createHash("sha256").update(jcs(JSON.parse(text))).digest("hex")}`,
        "JSON.parse + canonicalize + @noble/hashes": () => `0x${bytesToHex(nobleSha256(utf8ToBytes(jcs(JSON.parse(text)))))}`,
      },
    },
    {
      id: `canonicalize ${name} object`,
      title: `RFC 8785 of ${size}: object in, text out`,
      product: () => core.canonicalize(JSON.stringify(value)),
      peers: { canonicalize: () => jcs(value) },
    },
  ];
});

export const questions = [signing, recovering, ...hashing, ...canonicalizing];
