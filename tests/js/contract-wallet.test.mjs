// A payer that is a contract, on a real chain: the contract is asked before anything is sent, and the token takes what it vouches for.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { AbiCoder, concat } from "ethers";
import { createPayer, verifyReceipt } from "counterfoil";
import { challengeNonce, isOwnChallenge, parseCredential } from "counterfoil/core";
import { readEvidence } from "counterfoil/node";
import { encodeFunctionData, parseAbi } from "../../demo/node_modules/viem/_esm/index.js";
import { KEYS, startChain } from "../../demo/chain.mjs";
import { REALM, SECRET, serve } from "./mpp-service.mjs";
import { NETWORK, USDC, openJournal, priced, shop, sold, thrown } from "./payer-stage.mjs";

const fromPeer = createRequire(new URL("./mppx/package.json", import.meta.url));
const { Mppx } = await import(fromPeer.resolve("mppx/server"));
const { charge } = await import(fromPeer.resolve("mppx/evm/server"));

const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
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

// ---------------------------------------------------------------- the Payment scheme

/** A service that issues the official server's challenges. `judged` by it, or settled at once by whoever takes a contract's word. */
async function service(t, judged) {
  const payTo = `0x${String((purchases += 1)).padStart(40, "5")}`;
  const seller = { credentials: [], asked: 0, payTo };
  const settle = async ({ payload: a }) => {
    const data = encodeFunctionData({ abi: ABI, functionName: "transferWithAuthorization", args: [a.from, a.to, BigInt(a.value), BigInt(a.validAfter), BigInt(a.validBefore), a.nonce, a.signature] });
    const hash = await chain.wallet(KEYS.facilitator).sendTransaction({ to: USDC, data, gas: 300_000n });
    const { status } = await chain.pub.waitForTransactionReceipt({ hash });
    if (status !== "success") throw new Error("reverted");
    return { reference: hash };
  };
  const method = charge({ currency: USDC, chainId: 84532, decimals: 6, recipient: payTo, authorization: { name: "USDC", version: "2" }, settle });
  const official = Mppx.create({ methods: [method], secretKey: SECRET, realm: REALM }).charge({ amount: "0.01" });
  const own = async (request) => {
    const credential = request.headers.get("authorization");
    if (!credential) return official(request);
    const { challenge, payload } = parseCredential(credential);
    assert.ok(isOwnChallenge(challenge, new TextEncoder().encode(SECRET)));
    assert.equal(payload.nonce, challengeNonce(challenge));
    const { reference } = await settle({ payload });
    const receipt = Buffer.from(JSON.stringify({ method: "evm", reference, status: "success", timestamp: new Date().toISOString() })).toString("base64url");
    return { status: 200, withReceipt: (response) => new Response(response.body, { headers: { "payment-receipt": receipt } }) };
  };
  // It offers x402 as well, which the payer prefers on the same rail; here it speaks the Payment scheme alone.
  const headersOf = ({ "payment-required": x402, ...headers }) => headers;
  const { url, stop } = await serve(seller, judged ? official : own, { clock: () => Math.floor(Date.now() / 1000), headersOf });
  t.after(stop);
  const word = `0x${payTo.slice(2).padStart(64, "0")}`;
  const transfers = async () => (await chain.rpc("eth_getLogs", [{ address: USDC, topics: [TRANSFER, null, word], fromBlock: "0x0", toBlock: "latest" }])).length;
  return Object.assign(seller, { url, transfers });
}

const assets = [{ network: NETWORK, asset: USDC }];

test("a challenge is paid by a contract: its word goes in the credential, and reports call it not checked", async (t) => {
  const seller = await service(t, false);
  const { payer, journal } = wallet(yes, { policy: { perCall: "20000", assets } });
  const response = await payer.fetch(seller.url, { intent: another() });
  const receipt = response.headers.get("payment-receipt");
  assert.equal(await response.text(), "the report");
  const { source, challenge, payload } = parseCredential(seller.credentials[0]);
  assert.deepEqual([source.toLowerCase(), payload.signature, await seller.transfers()], [`did:pkh:eip155:84532:${yes}`, SIGNATURE, 1]);
  const [{ intentId, rail, contractWallet }] = await journal.intents();
  assert.deepEqual([rail.protocol, contractWallet], ["mpp", true]);

  await chain.finalized();
  const evidence = await readEvidence(chain.url, { network: NETWORK, asset: USDC, payer: yes, nonce: payload.nonce });
  const states = ({ verdict, checks }, id) => [verdict, checks.find((check) => check.id === id).state, checks.filter(({ state }) => state === "fail")];
  assert.deepEqual(states(verifyReceipt(await payer.export(intentId), { evidence }), "signature"), ["incomplete", "not_checked", []]);
  const { signature, type, ...authorization } = payload;
  const domain = { name: "USDC", version: "2", chainId: 84532, verifyingContract: USDC };
  const report = verifyReceipt(receipt, { challenge, authorization, domain, evidence });
  // The chain shows the payment: for the service's receipt no signature is needed.
  assert.deepEqual([report.verdict, report.checks.filter(({ state }) => state === "fail"), report.facts.standing], ["verified", [], "bound_to_challenge"]);
});

test("a contract that does not vouch pays no challenge", async (t) => {
  const seller = await service(t, false);
  const { payer, journal } = wallet(no, { policy: { perCall: "20000", assets } });
  const error = await thrown(payer.fetch(seller.url, { intent: another() }));
  assert.deepEqual([error.code, error.money, await journal.held(), seller.credentials], ["signer_mismatch", "none", [], []]);
});

test("the official server takes plain keys alone: what it refuses stays unknown, and another challenge is not signed", async (t) => {
  const seller = await service(t, true);
  const { payer, journal, signer } = wallet(yes, { policy: { perCall: "20000", assets } });
  const intent = another();
  for (let n = 0; n < 2; n++) {
    const error = await thrown(payer.fetch(seller.url, { intent, signal: AbortSignal.timeout(3000) }));
    assert.ok(error.name === "TimeoutError" || error.money === "possible", JSON.stringify([error.name, error.code, error.money]));
  }
  assert.deepEqual([signer.calls, new Set(seller.credentials).size, await seller.transfers()], [1, 1, 0]);
  assert.deepEqual((await journal.held()).map(({ state }) => state), ["reserved"]);
});
