// What the chain is asked: where payments stand, and whether a wallet contract signed (ERC-1271).

import { readEvidence } from "../rpc.mjs";

export { askContract } from "../rpc.mjs";

/** The evidence of every payment that a decision wants read. */
export function readAll(host, { reads, tag }) {
  const one = async ({ slot, network, asset, payer, nonce }) => ({
    slot,
    evidence: await host.trust.meet(network, await readEvidence(host.rpcs(network), { asset, payer, nonce, tag, proofs: host.trust.proofs })),
  });
  return Promise.all(reads.map(one));
}
