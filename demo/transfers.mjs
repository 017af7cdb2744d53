// Counts, on the chain and nowhere else, how often money moved from a payer to a seller. Uses nothing but fetch.
//   node transfers.mjs --rpc http://… --token 0x… --from 0x<payer> --to 0x<seller> [--first 0] [--last latest]
// Prints {"transfers":n,"total":"atomic units","transactions":[…]}.
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"; // Transfer(address,address,uint256)

const o = {};
for (let i = 2; i < process.argv.length; i += 2) o[process.argv[i].slice(2)] = process.argv[i + 1];
const word = (address) => `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
const tag = (block) => (/^\d+$/.test(block) ? `0x${Number(block).toString(16)}` : block);

const filter = {
  address: o.token, topics: [TRANSFER, word(o.from), word(o.to)],
  fromBlock: tag(o.first ?? "0"), toBlock: tag(o.last ?? "latest"),
};
const answer = await fetch(o.rpc, {
  method: "POST", headers: { "content-type": "application/json" },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getLogs", params: [filter] }),
});
const { result, error } = await answer.json();
if (!Array.isArray(result)) {
  console.error("the chain did not answer:", JSON.stringify(error));
  process.exit(1);
}
const total = result.reduce((sum, log) => sum + BigInt(log.data), 0n);
console.log(JSON.stringify({ transfers: result.length, total: String(total), transactions: result.map((log) => log.transactionHash) }));
