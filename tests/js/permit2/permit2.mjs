// Permit2 as it stands on every network: what CREATE2 made of its creation code at one address, with the chain's id and its domain in it.

import { readFileSync } from "node:fs";

import { TypedDataEncoder } from "ethers";

export const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
/** The deployer that stands on every network, and the salt that its authors gave it. */
export const DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C";
export const SALT = "0x0000000000000000000000000000000000000000d3af2663da51c10215000000";

const CONSTRUCTOR = [
  "60c0346100bb574660a052602081017f8cad95687ba82c2ce50e74f7b754645e5117c3a5bec8151c0726d5857980a86681527f9ac997416e8ff9d2ff",
  "6bebeb7149f65cdae5e32e2b90440b566bb3044041d36a60408301524660608301523060808301526080825260a082019180831060018060401b0384",
  "11176100a557826040525190206080526123c090816100c1823960805181611b47015260a05181611b210152f35b634e487b7160e01b600052604160",
  "045260246000fd5b600080fdfe",
].join("");
/** Where the code has the chain's id and the domain. */
const [CHAIN_AT, DOMAIN_AT] = [0x1b21, 0x1b47];

const code = readFileSync(new URL("./permit2.hex", import.meta.url), "utf8").trim();
const hex64 = (number) => BigInt(number).toString(16).padStart(64, "0");

function put(text, at, word) {
  return `${text.slice(0, 2 + 2 * at)}${word}${text.slice(66 + 2 * at)}`;
}

/** What stands at Permit2's address on this chain. */
export function permit2On(chainId) {
  const domain = TypedDataEncoder.hashDomain({ name: "Permit2", chainId, verifyingContract: PERMIT2 });
  return put(put(code, CHAIN_AT, hex64(chainId)), DOMAIN_AT, domain.slice(2));
}

/** What it was created by. */
export function permit2Creation() {
  const plain = put(put(code, CHAIN_AT, hex64(0)), DOMAIN_AT, hex64(0));
  return `0x${CONSTRUCTOR}${plain.slice(2)}`;
}
