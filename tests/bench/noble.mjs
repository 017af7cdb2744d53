// EIP-712 written out for this one type: what a program pays that takes the curve and the hash and writes the rest itself.
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { types } from "./fixture.mjs";

const word = (value) => hexToBytes(BigInt(value).toString(16).padStart(64, "0"));
const hash = (...parts) => keccak_256(concatBytes(...parts));
const typeHash = (text) => keccak_256(utf8ToBytes(text));
const members = types.TransferWithAuthorization.map(({ name, type }) => `${type} ${name}`);
const transfer = typeHash(`TransferWithAuthorization(${members})`);
const domainType = typeHash("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
const raw = { prehash: false };

/** What is signed. */
export function digest(a, d) {
  const separator = hash(domainType, typeHash(d.name), typeHash(d.version), word(d.chainId), word(d.verifyingContract));
  const message = hash(transfer, ...[a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce].map(word));
  return hash(Uint8Array.of(0x19, 0x01), separator, message);
}

/** 65 bytes as hex. */
export function sign(a, d, secret) {
  const made = secp256k1.sign(digest(a, d), secret, { ...raw, format: "recovered" });
  return `0x${bytesToHex(made.subarray(1))}${(27 + made[0]).toString(16)}`;
}

/** 20 bytes as hex, in lower case. */
export function recover(a, d, hex) {
  const made = hexToBytes(hex.slice(2));
  const found = secp256k1.recoverPublicKey(concatBytes(Uint8Array.of(made[64] - 27), made.subarray(0, 64)), digest(a, d), raw);
  const point = secp256k1.Point.fromBytes(found).toBytes(false);
  return `0x${bytesToHex(keccak_256(point.subarray(1)).subarray(12))}`;
}
