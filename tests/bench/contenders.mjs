// The questions and who answers them. Within one question everybody starts from the same form and ends in the same form,
// so that no contender is charged for a conversion that another one leaves out.
import { createHash } from "node:crypto";
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import jcs from "canonicalize";
import * as core from "counterfoil/core";
import * as ethers from "ethers";
import * as viem from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { authorization as authorizationOf, bytes, documents, domain, key, keyHex, types } from "./fixture.mjs";
import * as noble from "./noble.mjs";
import { questions as signatures } from "./signatures.mjs";

const account = privateKeyToAccount(keyHex);
const wallet = new ethers.Wallet(keyHex);
const authorization = authorizationOf(account.address);
const typedData = { domain, types, primaryType: "TransferWithAuthorization", message: authorization };
const signature = await account.signTypedData(typedData);

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
    "@noble, encoding by hand": () => ethers.getAddress(noble.recover(authorization, domain, signature)),
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

export const questions = [signing, recovering, ...signatures, ...hashing, ...canonicalizing];
