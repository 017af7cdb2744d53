// Money that is owed back stays owed until a final transfer of the same token shows that it went back, on a real chain.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { KEYS, NETWORK, USDC, startChain } from "../../demo/chain.mjs";
import { SECRET, challenge, funded, pay, randomId, send, sqlite, startShop } from "./shop.mjs";
import { createGateway } from "counterfoil/gateway";

const { encodeFunctionData, parseAbi } = createRequire(new URL("../../demo/package.json", import.meta.url))("viem");
const abi = parseAbi(["function transfer(address to, uint256 value)"]);

/** A shop that owes a buyer money for so many purchases: each refused payment landed beside the one that paid. */
async function owing(t, purchases = 1) {
  const chain = await startChain();
  t.after(() => chain.stop());
  let ahead = 0;
  const clock = () => Math.floor(Date.now() / 1000) + ahead;
  const refused = new Map();
  const verify = (run, payment, requirements) => {
    const id = payment.extensions["payment-identifier"].info.id;
    if (refused.has(id)) return run();
    refused.set(id, { payment, requirements });
    return { isValid: false, invalidReason: "insufficient_funds", payer: payment.payload.authorization.from };
  };
  const routes = { "GET /report": (req, res) => res.json({ report: "clear" }) };
  const store = await sqlite(t);
  const shop = await startShop(t, { chain, store, routes, verify, options: { clock } });
  const url = `${shop.url}/report`;
  const buyer = await funded(chain);
  await chain.mint(chain.wallet(KEYS.owner).account.address, 1_000_000n);
  /** The shop's own account pays; the hash of the transaction, mined. */
  const transfer = async (to, value) => {
    const data = encodeFunctionData({ abi, functionName: "transfer", args: [to, value] });
    const hash = await chain.wallet(KEYS.owner).sendTransaction({ to: USDC, data, gas: 200_000n });
    await chain.pub.waitForTransactionReceipt({ hash });
    return hash;
  };
  const earlier = await transfer(buyer.address, 10_000n);
  for (let n = 0; n < purchases; n++) {
    const id = randomId();
    assert.equal((await send(url, await pay(buyer, await challenge(url), { id }))).status, 402);
    assert.equal((await send(url, await pay(buyer, await challenge(url), { id }))).status, 200);
    const { payment, requirements } = refused.get(id);
    await shop.facilitator.settle(payment, requirements);
  }
  ahead += 400;
  await chain.advance(400);
  await chain.finalizedAt(clock() - 100);
  await shop.gateway.sweep();
  const refunds = await owed(shop.gateway);
  assert.equal(refunds.length, purchases);
  /** Past this every transaction so far is final. */
  const final = () => chain.finalized();
  return { ...shop, chain, store, buyer, refunds, clock, final, transfer, earlier };
}

const owed = async (gateway) => {
  const all = [];
  for await (const one of gateway.refundsOwed()) all.push(one);
  return all;
};

test("a refund is closed by a final transfer back, and by nothing that is less", async (t) => {
  const { gateway, buyer, refunds: [refund], final, transfer, earlier } = await owing(t);
  const stays = async (transaction, reason) => {
    const told = await gateway.refunded({ refund, transaction });
    assert.deepEqual([told.closed, told.reason, told.refund.state], [false, reason, "open"]);
  };
  await stays(refund.transaction, "same_transaction");
  await stays(earlier, "transfer_earlier");
  await stays(`0x${"ab".repeat(32)}`, "receipt_missing");
  const short = await transfer(buyer.address, 9_999n);
  const elsewhere = await transfer("0x2222222222222222222222222222222222222222", 10_000n);
  const reverted = await transfer(buyer.address, 10n ** 18n);
  await final();
  await stays(short, "amount_short");
  await stays(elsewhere, "transfer_missing");
  await stays(reverted, "receipt_reverted");

  const back = await transfer(buyer.address, 10_000n);
  await stays(back, "not_final");
  await final();
  const told = await gateway.refunded({ refund, transaction: back });
  assert.deepEqual([told.closed, told.refund.state, told.refund.refundedIn], [true, "closed", back]);
  assert.deepEqual(await owed(gateway), [told.refund]);
  // Whoever asks again hears the same, whatever transaction is named now.
  assert.deepEqual(await gateway.refunded({ refund, transaction: short }), told);
});

test("one transfer back closes one record, whoever asks and how often at once", async (t) => {
  const { gateway, store, buyer, refunds: [first, second], chain, clock, final, transfer } = await owing(t, 2);
  const back = await transfer(buyer.address, 20_000n);
  await final();
  const other = createGateway({ store, secret: SECRET, rpc: { [NETWORK]: chain.url }, clock });
  const told = await Promise.all([[gateway, first], [other, second], [other, first], [gateway, second]].map(([one, refund]) => one.refunded({ refund, transaction: back })));
  const closed = (await owed(gateway)).filter(({ state }) => state === "closed");
  assert.equal(closed.length, 1);
  assert.deepEqual(new Set(told.filter((one) => !one.closed).map(({ reason }) => reason)), new Set(["transfer_spent"]));
  const open = closed[0].sale === first.sale ? second : first;
  const again = await transfer(buyer.address, 10_000n);
  await final();
  assert.equal((await gateway.refunded({ refund: open, transaction: again })).closed, true);
  assert.ok((await owed(gateway)).every(({ state }) => state === "closed"));
});

test("a record that is not there, and sources that can't be read or disagree, close nothing", async (t) => {
  const { store, buyer, refunds: [refund], chain, clock, final, transfer } = await owing(t);
  const back = await transfer(buyer.address, 10_000n);
  await final();
  const forged = async (method, params) => {
    const real = await chain.rpc(method, params);
    return method === "eth_getTransactionReceipt" ? { ...real, logs: [] } : real;
  };
  const down = async () => {
    throw new Error("down");
  };
  for (const [rpcs, reason] of [[[chain.url, down], "chain_id_malformed"], [[chain.url, forged], "receipt_disagrees"], [[], "evidence_missing"]]) {
    const gateway = createGateway({ store, secret: SECRET, rpc: { [NETWORK]: rpcs }, clock });
    const told = await gateway.refunded({ refund, transaction: back });
    assert.deepEqual([told.closed, told.reason], [false, reason]);
  }
  const gateway = createGateway({ store, secret: SECRET, rpc: { [NETWORK]: chain.url }, clock });
  await assert.rejects(gateway.refunded({ refund: { ...refund, sale: "another" }, transaction: back }), { code: "record_invalid" });
  await assert.rejects(gateway.refunded({ transaction: back }), { code: "invalid_type" });
  const told = await gateway.refunded({ refund, transaction: back });
  assert.deepEqual([told.closed, told.reason], [true, undefined]);
});

test("a gateway that trusts no source closes nothing on its word: both receipts are proven, under blocks that somebody vouches for", async (t) => {
  const { store, buyer, refunds: [refund], chain, clock, final, transfer } = await owing(t);
  const back = await transfer(buyer.address, 10_000n);
  await final();
  const own = async (hash) => (await chain.rpc("eth_getBlockByHash", [hash, false])) !== null;
  const [here, there] = await Promise.all([back, refund.transaction].map(async (hash) => (await chain.pub.getTransactionReceipt({ hash })).blockHash));
  const altered = (answers) => async (method, params) => (answers[method] ?? ((real) => real))(await chain.rpc(method, params), params);
  const unproving = altered({ eth_getBlockReceipts: () => [] });
  // It says that more went back than the block holds.
  const inventing = altered({
    eth_getTransactionReceipt: (real, [hash]) => (hash === back ? { ...real, logs: real.logs.map((log) => ({ ...log, data: `0x${(20_000).toString(16).padStart(64, "0")}` })) } : real),
  });
  const cases = [
    [chain.url, [], "included_in_given_header"], [chain.url, () => false, "included_in_given_header"], [chain.url, [here], "included_in_given_header"],
    [chain.url, [there], "included_in_given_header"], [unproving, own, "not_proved"], [inventing, own, "receipt_proof_disagrees"],
  ];
  for (const [rpc, trustedBlocks, reason] of cases) {
    const gateway = createGateway({ store, secret: SECRET, rpc: { [NETWORK]: rpc }, clock, trustedBlocks });
    const told = await gateway.refunded({ refund, transaction: back });
    assert.deepEqual([told.closed, told.reason, told.refund.state], [false, reason, "open"]);
  }
  const gateway = createGateway({ store, secret: SECRET, rpc: { [NETWORK]: chain.url }, clock, trustedBlocks: [here, there] });
  const told = await gateway.refunded({ refund, transaction: back });
  assert.deepEqual([told.closed, told.refund.state, told.refund.refundedIn], [true, "closed", back]);
});
