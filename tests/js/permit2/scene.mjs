// Permits on a local chain: Permit2 deployed as it is everywhere, settled through the stand-in of x402's contract, or invalidated.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import { signPermit2 } from "counterfoil/core";
import { encodeFunctionData, parseAbi } from "../../../demo/node_modules/viem/_esm/index.js";
import { KEYS, NETWORK, USDC } from "../../../demo/chain.mjs";
import { DEPLOYER, PERMIT2, SALT, permit2Creation } from "./permit2.mjs";

export const PAYER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const SELLER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const SPENDER = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
const ABI = parseAbi([
  "function approve(address spender, uint256 amount)",
  "function invalidateUnorderedNonces(uint256 word, uint256 mask)",
  "function settle(((address token, uint256 amount) permitted, uint256 nonce, uint256 deadline) permit, address owner, (address to, uint256 validAfter) witness, bytes signature)",
]);

async function send(chain, key, to, functionName, args) {
  const hash = await chain.wallet(key).sendTransaction({ to, data: encodeFunctionData({ abi: ABI, functionName, args }), gas: 400_000n });
  const receipt = await chain.pub.waitForTransactionReceipt({ hash });
  if (receipt.status !== "success") throw new Error(`${functionName} was reverted`);
  return receipt;
}

/** Permit2 by its deployer, and the contract that settles. */
export async function deploy(chain) {
  const hash = await chain.wallet(KEYS.owner).sendTransaction({ to: DEPLOYER, data: `${SALT}${permit2Creation().slice(2)}`, gas: 5_000_000n });
  await chain.pub.waitForTransactionReceipt({ hash });
  await chain.rpc("anvil_setCode", [SPENDER, readFileSync(new URL("./exact-spender.hex", import.meta.url), "utf8").trim()]);
}

export const approve = (chain) => send(chain, KEYS.payer, USDC, "approve", [PERMIT2, 2n ** 256n - 1n]);

/** A permit under the nonce of that name, good for so many seconds. */
export async function permitted(chain, name, seconds = 600, amount = "10000") {
  const { timestamp } = await chain.block("latest");
  return {
    from: PAYER, permitted: { token: USDC, amount }, spender: SPENDER,
    nonce: BigInt(`0x${createHash("sha256").update(name).digest("hex")}`).toString(),
    deadline: String(timestamp + seconds), witness: { to: SELLER, validAfter: "0" },
  };
}

export function settle(chain, one, by = KEYS.facilitator) {
  const { permitted, nonce, deadline, witness } = one;
  const signature = signPermit2(one, NETWORK, new Uint8Array(Buffer.from(KEYS.payer.slice(2), "hex")));
  const permit = { permitted: { token: permitted.token, amount: BigInt(permitted.amount) }, nonce: BigInt(nonce), deadline: BigInt(deadline) };
  return send(chain, by, SPENDER, "settle", [permit, one.from, { to: witness.to, validAfter: BigInt(witness.validAfter) }, signature]);
}

export function invalidate(chain, { nonce }) {
  return send(chain, KEYS.payer, PERMIT2, "invalidateUnorderedNonces", [BigInt(nonce) >> 8n, 1n << (BigInt(nonce) & 255n)]);
}

/** What the acts send, each of another account, in one block; their receipts. */
export async function together(chain, ...acts) {
  await chain.hold();
  const sent = acts.map((act) => act());
  while (Number((await chain.rpc("txpool_status", [])).pending) < acts.length) await new Promise((done) => setTimeout(done, 20));
  await chain.release();
  return Promise.all(sent);
}
