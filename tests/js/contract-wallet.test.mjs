// A payer that is a contract, on a real chain: the contract is asked before anything is sent, and the token takes what it vouches for.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AbiCoder, concat } from "ethers";
import { createPayer, verifyReceipt } from "counterfoil";
import { encodeFunctionData, parseAbi } from "../../demo/node_modules/viem/_esm/index.js";
import { KEYS, startChain } from "../../demo/chain.mjs";
import { NETWORK, USDC, openJournal, priced, shop, sold, thrown } from "./payer-stage.mjs";

const [yes, no, nobody] = ["0x00000000000000000000000000000000000c0De1", "0x00000000000000000000000000000000000C0DE2", "0x00000000000000000000000000000000000c0DE3"].map((one) => one.toLowerCase());
const SIGNATURE = `0x${"cd".repeat(130)}`;
const WRAPPED = concat([AbiCoder.defaultAbiCoder().encode(["address", "bytes", "bytes"], [yes, "0x1234", SIGNATURE]), `0x${"6492".repeat(16)}`]);
const ABI = parseAbi(["function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)"]);
let chain, purchases = 0;

before(async () => {
  chain = await startChain();
  // Return the selector of isValidSignature, left-aligned; and return zero.
  await chain.rpc("anvil_setCode", [yes, "0x631626ba7e60e01b60005260206000f3"]);
  await chain.rpc("anvil_setCode", [no, "0x6000600052602060 00f3".replace(" ", "")]);
  await chain.mint(yes, 1_000_000n);
});
after(() => chain?.stop());

function wallet(address, { signature = SIGNATURE, rpc = chain.url, ...rest } = {}) {
  const journal = openJournal();
  const signer = { address, calls: 0, signTypedData: async () => ((signer.calls += 1), signature) };
  const payer = createPayer({ signer, journal, secret: new Uint8Array(32).fill(7), contractWallet: true, policy: { perCall: "20000" }, rpc: rpc ? { [NETWORK]: rpc } : undefined, ...rest });
  return { payer, journal, signer };
}
const another = () => ({ id: `wallet-${String((purchases += 1)).padStart(16, "0")}` });

test("what the contract vouches for is sent as it is, and the token takes it", async (t) => {
  const seller = await shop(t, async (_, res, payment) => {
    if (!payment) return priced(res);
    const { signature, authorization: a } = payment.payload;
    const data = encodeFunctionData({ abi: ABI, functionName: "transferWithAuthorization", args: [a.from, a.to, BigInt(a.value), BigInt(a.validAfter), BigInt(a.validBefore), a.nonce, signature] });
    const hash = await chain.wallet(KEYS.facilitator).sendTransaction({ to: USDC, data, gas: 300_000n });
    assert.equal((await chain.pub.waitForTransactionReceipt({ hash })).status, "success");
    sold(res, payment);
  });
  const { payer, journal } = wallet(yes);
  assert.equal(await (await payer.fetch(seller.url, { intent: another() })).text(), "the report");
  assert.equal(seller.payments[0].payload.signature, SIGNATURE);
  const [{ contractWallet }] = await journal.intents();
  assert.equal(contractWallet, true);
  const { verdict, checks } = verifyReceipt(await payer.export());
  assert.deepEqual([verdict, checks.find(({ id }) => id === "signature").state], ["incomplete", "not_checked"]);
  assert.deepEqual(checks.filter(({ state }) => state === "fail"), []);
});

test("what it does not vouch for is not sent, and nothing is held for it", async (t) => {
  const seller = await shop(t);
  const down = async (method, params) => {
    if (method === "eth_call" && params[0].data.startsWith("0x1626ba7e")) throw new Error("down");
    return chain.rpc(method, params);
  };
  const other = async (method, params) => (method === "eth_call" && params[0].data.startsWith("0x1626ba7e") ? `0x${"00".repeat(32)}` : chain.rpc(method, params));
  const rows = [
    [no, {}, "signer_mismatch"],
    [no, { signature: WRAPPED }, "signer_mismatch"],
    [nobody, {}, "signer_mismatch"],
    [yes, { rpc: down }, "evidence_unreadable"],
    [yes, { rpc: [chain.url, other] }, "evidence_unreadable"],
    [yes, { signature: "0x" }, "signature_invalid"],
  ];
  for (const [address, options, code] of rows) {
    const { payer, journal } = wallet(address, options);
    const error = await thrown(payer.fetch(seller.url, { intent: another() }));
    assert.deepEqual([error.code, error.money], [code, "none"], `${address} ${JSON.stringify(Object.keys(options))}`);
    assert.deepEqual([(await journal.intents())[0].attempts, await journal.held()], [[], []]);
  }
  assert.equal(seller.paid.length, 0);
});

test("one that is not deployed yet wraps its signature; without an endpoint nothing is checked; a plain payer stays strict", async (t) => {
  const seller = await shop(t);
  for (const [address, options] of [[nobody, { signature: WRAPPED }], [yes, { signature: WRAPPED }], [nobody, { rpc: null }]]) {
    const { payer } = wallet(address, options);
    assert.equal(await (await payer.fetch(seller.url, { intent: another() })).text(), "the report");
  }
  assert.deepEqual(seller.payments.map(({ payload }) => payload.signature), [WRAPPED, WRAPPED, SIGNATURE]);
  for (const [signature, code] of [[SIGNATURE, "signature_invalid"], [WRAPPED, "contract_signature"]]) {
    const { payer } = wallet(yes, { signature, contractWallet: undefined });
    assert.equal((await thrown(payer.fetch(seller.url, { intent: another() }))).code, code);
  }
  assert.throws(() => wallet(yes, { contractWallet: "yes" }), { code: "invalid_type", field: "config.contractWallet" });
});

test("given up while the contract is asked: nothing is sent", async (t) => {
  const seller = await shop(t);
  const gone = new AbortController();
  const slow = async (method, params) => {
    if (method !== "eth_call" || !params[0].data.startsWith("0x1626ba7e")) return chain.rpc(method, params);
    gone.abort();
    return new Promise(() => {});
  };
  const { payer, journal } = wallet(yes, { rpc: slow });
  await thrown(payer.fetch(seller.url, { intent: another(), signal: gone.signal }));
  assert.deepEqual([(await journal.intents())[0].attempts, seller.paid.length], [[], 0]);
});
