// A journal that was lost: what the payer paid before is read from its own logs, and counts.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { createPayer, verifyReceipt } from "counterfoil";
import { KEYS, startChain } from "../../demo/chain.mjs";
import { REPORT, startSeller } from "../../demo/seller.mjs";
import { NETWORK, PAYER, USDC, counted, openJournal, thrown } from "./payer-stage.mjs";

let chain, seller;
before(async () => {
  chain = await startChain();
  seller = await startSeller({ chain, payTo: `0x${createHash("sha256").update("recover").digest("hex").slice(0, 40)}` });
});
after(() => {
  seller?.stop();
  chain?.stop();
});

const id = (n) => ({ id: `lost-${String(n).padStart(16, "0")}` });
const secret = new Uint8Array(32).fill(7);
const what = { network: NETWORK, asset: USDC, fromBlock: 0, pauseMs: 0 };

function buyer({ journal = openJournal(), signer = counted(), rpc = { [NETWORK]: chain.url }, policy = { perCall: "20000" }, ...rest } = {}) {
  return { journal, signer, payer: createPayer({ signer, journal, secret, rpc, policy, ...rest }) };
}
const final = () => chain.finalized();
const keys = async (journal) => {
  const found = [];
  for await (const { key } of journal.scan("")) found.push(key);
  return found;
};
/** The real node, with some answers replaced. */
const lying = (answers) => async (method, params) => {
  const real = await chain.rpc(method, params);
  return answers[method] ? answers[method](real, params) : real;
};

test("an empty journal says that it knows nothing, until it does", async () => {
  const { payer, journal } = buyer();
  assert.deepEqual(await payer.resume(), [{ intentId: "", attemptId: "", outcome: "unknown_history", money: "possible", next: "read_chain" }]);
  assert.deepEqual(await keys(journal), []);
  const told = await payer.recover(what);
  assert.deepEqual([told.used, told.cancelled, told.spent], [0, 0, "0"]);
  assert.deepEqual(await payer.resume(), []);
  const blind = buyer({ rpc: undefined });
  assert.equal((await blind.payer.resume())[0].outcome, "unknown_history");
});

test("what was paid and cancelled before is found in small pages, counts, is exported, and is matched by its id", async () => {
  const first = buyer();
  for (const n of [1, 2]) assert.equal(await (await first.payer.fetch(seller.url, { intent: id(n) })).text(), REPORT);
  // A third one is burnt by its payer.
  const nonce = `0x${"5a".repeat(32)}`;
  const types = { CancelAuthorization: [{ name: "authorizer", type: "address" }, { name: "nonce", type: "bytes32" }] };
  const domain = { name: "USDC", version: "2", chainId: 84532, verifyingContract: USDC };
  const signature = await chain.wallet(KEYS.payer).signTypedData({ domain, types, primaryType: "CancelAuthorization", message: { authorizer: PAYER, nonce } });
  const { encodeFunctionData, parseAbi } = await import("../../demo/node_modules/viem/_esm/index.js");
  const data = encodeFunctionData({ abi: parseAbi(["function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)"]), functionName: "cancelAuthorization", args: [PAYER, nonce, signature] });
  const hash = await chain.wallet(KEYS.facilitator).sendTransaction({ to: USDC, data, gas: 200_000n });
  await chain.pub.waitForTransactionReceipt({ hash });
  await final();

  const spans = [];
  const rpc = { [NETWORK]: lying({ eth_getLogs: (logs, [{ fromBlock, toBlock }]) => {
    const span = Number(toBlock) - Number(fromBlock) + 1;
    spans.push(span);
    if (span > 5) throw new Error("too many blocks");
    return logs;
  } }) };
  const lost = buyer({ rpc, policy: { perCall: "20000", perWallet: [{ amount: "29999", window: 3600 }] } });
  const told = await lost.payer.recover({ ...what, width: 8 });
  assert.deepEqual([told.used, told.cancelled, told.spent, told.from], [2, 1, "20000", 0]);
  assert.deepEqual([spans[0], Math.max(...spans.slice(1))], [8, 4], "halved once, where it was refused");
  const held = await lost.journal.held();
  assert.deepEqual(held.map(({ amount, state }) => [amount, state]), [["10000", "settled"], ["10000", "settled"]]);
  for (const { at } of held) assert.ok(Math.abs(at - Date.now() / 1000) < 600, "at the time of its block");
  // The same once more adds nothing.
  const again = await lost.payer.recover(what);
  assert.deepEqual([again.used, again.cancelled, (await lost.journal.held()).length], [0, 0, 2]);

  const bundle = JSON.parse(await lost.payer.export());
  assert.deepEqual(bundle.recovered.map(({ event, amount }) => [event, amount]).sort(), [["cancelled", "0"], ["used", "10000"], ["used", "10000"]]);
  assert.equal(bundle.recovered.find(({ event }) => event === "cancelled").transaction, hash);
  assert.equal(verifyReceipt(JSON.stringify(bundle)).verdict, "incomplete");

  // The cap counts it: what was left of it is not enough for a third purchase.
  const full = await thrown(lost.payer.fetch(seller.url, { intent: id(3) }));
  assert.equal(full.code, "over_wallet_cap");
  // An id of before is known as paid, with an endpoint and without one, and nothing is signed for it.
  const wide = { policy: { perCall: "20000" }, journal: lost.journal };
  const blind = buyer({ ...wide, rpc: undefined });
  const unread = await thrown(blind.payer.fetch(seller.url, { intent: id(1) }));
  assert.deepEqual([unread.code, unread.money, unread.next, blind.signer.calls], ["authorization_used", "proven", "claim", 0]);
  const forgetful = buyer({ ...wide, rpc: { [NETWORK]: lying({ eth_call: () => `0x${"00".repeat(32)}`, eth_getLogs: () => [] }) } });
  const told2 = await thrown(forgetful.payer.fetch(seller.url, { intent: id(2) }));
  assert.deepEqual([told2.code, forgetful.signer.calls], ["authorization_used", 0]);
  const claim = JSON.parse(await blind.payer.claim(unread.intentId));
  assert.deepEqual([claim.statement.why, claim.payer], ["history_lost", PAYER]);
  assert.equal((await lost.journal.held()).length, 2, "counted once");
});

test("what a journal knows itself is not counted twice", async () => {
  const { payer, journal } = buyer();
  await (await payer.fetch(seller.url, { intent: id(4) })).text();
  await final();
  const told = await payer.recover(what);
  assert.equal(told.used, 2, "those of before");
  const nonces = (await journal.intents()).flatMap(({ attempts }) => attempts.map(({ authorization: { nonce } }) => nonce));
  assert.ok((await keys(journal)).every((key) => !key.startsWith("recovered/") || !nonces.some((nonce) => key.endsWith(nonce))));
  assert.equal((await journal.held()).length, 3);
});

test("refused: sources that differ, lie or do not answer, and what is no range", async () => {
  const dropped = lying({ eth_getLogs: (logs) => logs.slice(1) });
  const foreign = lying({ eth_chainId: () => "0x1" });
  const unfinal = lying({ eth_getBlockByNumber: (block) => ({ ...block, number: "0x1" }) });
  const reverted = lying({ eth_getTransactionReceipt: (receipt) => ({ ...receipt, status: "0x0" }) });
  const moved = lying({ eth_getBlockByHash: (block) => ({ ...block, number: "0x1" }) });
  const other = lying({ eth_getLogs: (logs) => logs.map((log) => ({ ...log, topics: [log.topics[0], log.topics[1].replace(/.$/, "0"), log.topics[2]] })) });
  for (const rpc of [[chain.url, dropped], foreign, reverted, moved, other, async () => { throw new Error("down"); }, [chain.url, async () => { throw new Error("down"); }]]) {
    const { payer, journal } = buyer({ rpc: { [NETWORK]: rpc } });
    assert.equal((await thrown(payer.recover(what))).code, "evidence_unreadable");
    assert.deepEqual(await keys(journal), []);
  }
  const { payer } = buyer({ rpc: { [NETWORK]: unfinal } });
  assert.equal((await payer.recover(what)).to, 1, "no further than what is final");
  for (const [change, code, field] of [
    [{ network: undefined }, "missing_field", "network"], [{ asset: undefined }, "missing_field", "asset"], [{ fromBlock: undefined }, "missing_field", "fromBlock"],
    [{ fromBlock: "0x0" }, "invalid_type", "fromBlock"], [{ fromBlock: -1 }, "invalid_type", "fromBlock"], [{ fromBlock: 5, toBlock: 4 }, "invalid_type", "toBlock"],
    [{ width: 0 }, "invalid_type", "width"], [{ pauseMs: -1 }, "invalid_type", "pauseMs"], [{ network: "eip155:1" }, "missing_field", "rpc"], [{ asset: "0x00" }, "address_invalid", "asset"],
  ]) {
    const error = await thrown(buyer().payer.recover({ ...what, ...change }));
    assert.deepEqual([error.code, error.field], [code, field]);
  }
});
