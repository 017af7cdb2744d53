// Reads from the chain what is known about one payment, as raw JSON-RPC answers, and interprets nothing. Uses
// nothing but fetch, so that whoever checks a receipt need not take the payer's word for it.
//   node evidence.mjs --rpc http://… --token 0x… --payer 0x… --nonce 0x… [--tag finalized]
// The event topics and the selector below are those of EIP-3009.
const USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"; // AuthorizationUsed(address,bytes32)
const CANCELED = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"; // AuthorizationCanceled(address,bytes32)
const STATE = "0xe94a0102"; // authorizationState(address,bytes32)

const o = {};
for (let i = 2; i < process.argv.length; i += 2) o[process.argv[i].slice(2)] = process.argv[i + 1];
const word = (hex) => hex.slice(2).toLowerCase().padStart(64, "0");

async function rpc(method, params) {
  const answer = await fetch(o.rpc, {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = await answer.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

const tag = o.tag ?? "finalized";
const chainId = await rpc("eth_chainId", []);
const { number, hash, timestamp, stateRoot } = await rpc("eth_getBlockByNumber", [tag, false]);
const authorizationState = await rpc("eth_call", [{ to: o.token, data: STATE + word(o.payer) + word(o.nonce) }, number]);
const logsRange = { from: "0x0", to: number };
const topics = [[USED, CANCELED], `0x${word(o.payer)}`, `0x${word(o.nonce)}`];
const logs = await rpc("eth_getLogs", [{ address: o.token, topics, fromBlock: logsRange.from, toBlock: logsRange.to }]);
const receipt = logs.length ? await rpc("eth_getTransactionReceipt", [logs[0].transactionHash]) : null;
console.log(JSON.stringify({ chainId, block: { number, hash, timestamp, tag, stateRoot }, authorizationState, logs, logsRange, receipt }, null, 2));
