// Whose word counts about the chain: that of the sources, or only what is proven under the header of a block that the caller
// vouches for. Whether a proof holds is for the core; here the caller is asked about the blocks that came up.

import { CounterfoilError } from "./errors.mjs";

/** Hashes that a function vouched for, the newest kept. */
const KEPT = 256;

/**
 * @param {{ trustedBlocks?: string[] | ((hash: string, network: string) => boolean | Promise<boolean>), layouts?: object[] }} options
 * @returns {{ proofs: false | object, config: () => object, meet: (network: string, evidence: object[]) => Promise<object[]> }}
 */
export function trustOf({ trustedBlocks, layouts }) {
  if (trustedBlocks === undefined) return { proofs: false, config: () => ({}), meet: async (_, evidence) => evidence };
  const vouches = typeof trustedBlocks === "function" ? trustedBlocks : undefined;
  if (!vouches && !Array.isArray(trustedBlocks)) throw new CounterfoilError("invalid_type", { field: "trustedBlocks" });
  const known = new Set(vouches ? [] : trustedBlocks);
  return {
    proofs: { layouts },
    config: () => ({ trustedBlocks: [...known], layouts }),
    async meet(network, evidence) {
      const hashes = new Set(evidence.flatMap(({ block, receiptProof, chargeProof, usedWithin }) => [block?.hash, ...[receiptProof, chargeProof, usedWithin?.by].map((proof) => proof?.header?.hash)]).filter((hash) => typeof hash === "string"));
      for (const hash of vouches ? hashes : []) {
        if (!known.has(hash) && (await trusted(vouches, hash, network))) known.add(hash);
      }
      while (vouches && known.size > KEPT) known.delete(known.values().next().value);
      return evidence;
    },
  };
}

/** A function that fails vouches for nothing. */
async function trusted(vouches, hash, network) {
  try {
    return (await vouches(hash, network)) === true;
  } catch {
    return false;
  }
}
