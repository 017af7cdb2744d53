// A local chain with the rules of Tempo: anvil runs its transactions, its token standard and its fees, as of its fork T3. There an expiring
// nonce is 0 and ends within 30 seconds.

import { createRequire } from "node:module";
import { startNode, tick } from "../../demo/chain.mjs";

export const fromPeer = createRequire(new URL("./mppx/package.json", import.meta.url));
const peer = (name) => import(fromPeer.resolve(name));
const { createClient, http } = await peer("viem");
const { tempoModerato } = await peer("viem/chains");
const { prepareTransactionRequest, signTransaction } = await peer("viem/actions");
export const { privateKeyToAccount } = await peer("viem/accounts");
export const { tempo, Mppx } = await peer("mppx/server");

export const NETWORK = "eip155:42431";
/** A token that every account of the node holds from its first block, and may pay fees with. */
export const TOKEN = "0x20C0000000000000000000000000000000000001";
const TRANSFER_WITH_MEMO = "0x57bc7354aa85aed339e000bccffabbc529466af35f0772c8f8ee1145927de7f0";
const word = (hex) => `0x${hex.slice(2).toLowerCase().padStart(64, "0")}`;

/** A client of viem; `fetch` carries its requests. */
export function clientOf(url, fetch = globalThis.fetch) {
  const chain = { ...tempoModerato, rpcUrls: { default: { http: [url] } } };
  return createClient({ chain, transport: http(url, { fetchFn: (...args) => fetch(...args) }) });
}

/** Starts it with a first block in the past, so that what is searched for begins behind it. */
export async function startTempo() {
  const begin = Math.floor(Date.now() / 1000) - 900;
  const { url, stop } = await startNode(["--network", "tempo", "--hardfork", "T3", "--chain-id", "42431", "--timestamp", String(begin)]);
  const client = clientOf(url);
  const rpc = (method, params = []) => client.request({ method, params });
  /** Every transfer with a memo to this account. */
  const paid = (payTo) => rpc("eth_getLogs", [{ address: TOKEN, topics: [TRANSFER_WITH_MEMO, null, word(payTo)], fromBlock: "0x0", toBlock: "latest" }]);
  return { url, stop, client, rpc, paid, ...(await tick(rpc)) };
}

/** A signer of transactions by viem, as the README shows it; `calls` counts, `change` may spoil what is signed. */
export function tempoSigner(client, account, change = (prepared) => prepared) {
  const signTempo = async ({ feePayer, maxFee, ...wanted }) => {
    signTempo.calls += 1;
    signTempo.asked.push({ feePayer, maxFee, ...wanted });
    const { feeToken, ...prepared } = await prepareTransactionRequest(client, { account, ...wanted });
    // What the node reckons is too little for a batch.
    const gas = (prepared.gas * 6n) / 5n;
    return signTransaction(client, change({ ...prepared, account, gas, ...(feePayer ? { feePayer: true } : { feeToken }) }));
  };
  return Object.assign(signTempo, { calls: 0, asked: [] });
}
