// The official facilitator in this process, with a wallet that sends one transaction after the other.
import { x402Facilitator } from "@x402/core/facilitator";
import { toFacilitatorEvmSigner } from "@x402/evm";
import { ExactEvmScheme } from "@x402/evm/exact/facilitator";
import { ExactEvmSchemeV1 } from "@x402/evm/exact/v1/facilitator";
import { KEYS, NETWORK } from "./chain.mjs";

/** `patience`: milliseconds that it waits for a transaction to be mined. `v1`: payments of version 1 too. */
export function startFacilitator(chain, { patience = 10_000, key = KEYS.facilitator, v1 = false } = {}) {
  const wallet = chain.wallet(key);
  // One transaction at a time takes its number, so that two payments at once do not get the same one.
  let queue = Promise.resolve();
  const inTurn = (send) => (queue = queue.catch(() => {}).then(send));
  const signer = toFacilitatorEvmSigner({
    address: wallet.account.address,
    readContract: (a) => chain.pub.readContract(a),
    verifyTypedData: (a) => chain.pub.verifyTypedData(a),
    // A stated gas limit: no trial run before sending, which would hide a transfer that fails only when mined.
    writeContract: (a) => inTurn(() => wallet.writeContract({ gas: 250_000n, ...a })),
    sendTransaction: (a) => inTurn(() => wallet.sendTransaction(a)),
    waitForTransactionReceipt: (a) => chain.pub.waitForTransactionReceipt(a),
    getCode: (a) => chain.pub.getCode(a),
  }, { confirmationTimeoutMs: patience });
  const facilitator = new x402Facilitator().register([NETWORK], new ExactEvmScheme(signer));
  if (v1) facilitator.registerV1(["base-sepolia"], new ExactEvmSchemeV1(signer));
  return {
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    settle: (payload, requirements) => facilitator.settle(payload, requirements),
    getSupported: async () => facilitator.getSupported(),
  };
}
