// What is signed, hashed and canonicalized. The key is SHA-256 of a sentence: public, for tests only.
import { createHash } from "node:crypto";

export const key = new Uint8Array(createHash("sha256").update("counterfoil benchmark, a public key for tests").digest());
export const keyHex = `0x${Buffer.from(key).toString("hex")}`;

/** EIP-3009 on Base's USDC; `from` is filled in by whoever knows the key's address. */
export const domain = { name: "USD Coin", version: "2", chainId: 8453, verifyingContract: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" };
export const authorization = (from) => ({
  from,
  to: "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe",
  value: "10000",
  validAfter: "1760000000",
  validBefore: "1760000600",
  nonce: "0xe8e711e7932aad8774169b5a1450abaedbb118ec76120ed65e904c9d9c324486",
});
export const types = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};

/** Bytes without a pattern that a hash could care about, the same in every run. */
export function bytes(length) {
  const all = new Uint8Array(length);
  for (let i = 0, x = 1; i < length; i++) all[i] = (x = (x * 1103515245 + 12345) & 0x7fffffff) >> 16;
  return all;
}

const offer = (n) => ({
  scheme: "exact",
  network: "eip155:8453",
  amount: String(10000 + n),
  payTo: "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe",
  maxTimeoutSeconds: 60 + n,
  asset: domain.verifyingContract,
  extra: { name: domain.name, version: domain.version, tier: `T${n}`, weights: [0.25, 1e-7, 4.5e21, -n / 8], note: "Größe, 価格, \u20ac\n" },
});
const quote = (offers) => ({
  x402Version: 2,
  resource: { url: "https://api.example.com/weather?city=Z%C3%BCrich", description: "Weather now", mimeType: "application/json" },
  accepts: Array.from({ length: offers }, (_, n) => offer(n)),
  extensions: { "payment-identifier": { info: { required: false }, schema: { type: "object", properties: { id: { type: ["string", "null"] } } } } },
  error: null,
});
/** JSON texts, printed as a server's framework would. */
export const documents = { small: JSON.stringify(quote(2)), large: JSON.stringify(quote(200)) };
