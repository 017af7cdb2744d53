// What the chain is asked: where payments stand, and whether a wallet contract signed (ERC-1271).

import { CounterfoilError } from "../errors.mjs";
import { ask, readEvidence } from "../rpc.mjs";

/** The evidence of every payment that a decision wants read. */
export function readAll(host, { reads, tag }) {
  const one = async ({ network, asset, payer, nonce }) => ({
    nonce,
    evidence: await host.trust.meet(network, await readEvidence(host.rpcs(network), { asset, payer, nonce, tag, proofs: host.trust.proofs })),
  });
  return Promise.all(reads.map(one));
}

/** What every source answers, which must be the same; an account without code answers `0x`. */
export async function askContract(rpcs, { to, data }) {
  if (rpcs.length === 0) throw new CounterfoilError("contract_signature", { field: "payload.signature" });
  let answers;
  try {
    answers = await Promise.all(rpcs.map((rpc) => ask(rpc, "eth_call", [{ to, data }, "latest"])));
  } catch (cause) {
    throw new CounterfoilError("evidence_unreadable", { cause });
  }
  if (answers.some((answer) => answer !== answers[0])) throw new CounterfoilError("evidence_unreadable");
  return answers[0];
}
