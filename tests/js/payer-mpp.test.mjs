// Purchases by the Payment HTTP scheme on a real chain: the official server issues the challenges and judges the credentials, Circle's
// token settles them. How often money moved is counted by what the token logged.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { createPayer, verifyReceipt } from "counterfoil";
import { challengeNonce, isOwnChallenge, parseChallenges, parseCredential } from "counterfoil/core";
import { readEvidence } from "counterfoil/node";
import { KEYS, startChain } from "../../demo/chain.mjs";
import { REALM, SECRET, serve } from "./mpp-service.mjs";
import { NETWORK, PAYER, USDC, counted, openJournal, thrown } from "./payer-stage.mjs";

const fromPeer = createRequire(new URL("./mppx/package.json", import.meta.url));
const { Mppx } = await import(fromPeer.resolve("mppx/server"));
const { charge } = await import(fromPeer.resolve("mppx/evm/server"));

const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const word = (hex) => `0x${hex.slice(2).toLowerCase().padStart(64, "0")}`;
const types = ["address", "address", "uint256", "uint256", "uint256", "bytes32", "bytes"];
const abi = [{ type: "function", name: "transferWithAuthorization", stateMutability: "nonpayable", inputs: types.map((type, i) => ({ type, name: `a${i}` })), outputs: [] }];
const stops = [];
let chain;
/** How far the chain was moved on: the clocks of payer and service go with it. */
let ahead = 0;
const clock = () => Math.floor(Date.now() / 1000) + ahead;

before(async () => {
  chain = await startChain();
});
after(() => {
  for (const stop of stops) stop();
  chain?.stop();
});

/** Puts a signed authorization on the chain, as a service or whoever else holds it can. */
async function settle({ from, to, value, validAfter, validBefore, nonce, signature }) {
  const args = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, signature];
  const hash = await chain.wallet(KEYS.facilitator).writeContract({ address: USDC, abi, functionName: "transferWithAuthorization", args, gas: 300_000n });
  const { status } = await chain.pub.waitForTransactionReceipt({ hash });
  return { hash, status };
}

/** A service on loopback, with a fault of `serve`. */
async function market(fault) {
  const payTo = `0x${createHash("sha256").update(`mpp ${stops.length}`).digest("hex").slice(0, 40)}`;
  const seller = { credentials: [], asked: 0, fault };
  const method = charge({
    currency: USDC, chainId: 84532, decimals: 6, recipient: payTo, authorization: { name: "USDC", version: "2" },
    async settle({ payload }) {
      const { hash, status } = await settle(payload);
      if (status !== "success") throw new Error("reverted");
      return { reference: hash };
    },
  });
  const mppx = Mppx.create({ methods: [method], secretKey: SECRET, realm: REALM });
  const handle = mppx.charge({ amount: "0.01", externalId: "order-1" });
  // It offers x402 as well, which the payer prefers on the same rail; here it speaks the Payment scheme alone.
  const headersOf = ({ "payment-required": x402, ...headers }) => {
    if (x402) seller.offersBoth = true;
    return seller.both ? { ...headers, "payment-required": x402 } : headers;
  };
  const { url, stop } = await serve(seller, handle, { clock, headersOf });
  stops.push(stop);
  const logs = () => chain.rpc("eth_getLogs", [{ address: USDC, topics: [TRANSFER, null, word(payTo)], fromBlock: "0x0", toBlock: "latest" }]);
  return Object.assign(seller, { url, logs, transfers: async () => (await logs()).length });
}

let purchases = 0;
const another = () => ({ id: `challenged-${String((purchases += 1)).padStart(16, "0")}` });

function buyer({ signer = counted(), journal = openJournal(), ...rest } = {}) {
  const policy = { perCall: "20000", assets: [{ network: NETWORK, asset: USDC }], ...rest.policy };
  return { signer, journal, payer: createPayer({ signer, journal, clock, rpc: { [NETWORK]: chain.url }, ...rest, policy }) };
}

test("the official server takes the credential, and its receipt, the chain and the bundle agree", async () => {
  const seller = await market();
  const { payer, journal, signer } = buyer();
  const response = await payer.fetch(seller.url, { intent: another() });
  const receipt = response.headers.get("payment-receipt");
  assert.equal(await response.text(), "the report");
  assert.deepEqual([seller.asked, seller.credentials.length, signer.calls, await seller.transfers()], [1, 1, 1, 1]);
  const { challenge, source, payload } = parseCredential(seller.credentials[0]);
  assert.equal(source, `did:pkh:eip155:84532:${PAYER}`);
  assert.equal(payload.nonce, challengeNonce(challenge));
  assert.ok(isOwnChallenge(challenge, new TextEncoder().encode(SECRET)));
  assert.equal(isOwnChallenge({ ...challenge, realm: "other" }, new TextEncoder().encode(SECRET)), false);

  await chain.finalized();
  const evidence = await readEvidence(chain.url, { network: NETWORK, asset: USDC, payer: PAYER, nonce: payload.nonce, tag: "finalized" });
  const { signature, type, ...authorization } = payload;
  const domain = { name: "USDC", version: "2", chainId: 84532, verifyingContract: USDC };
  const material = { challenge, authorization, domain, signature, evidence };
  const report = verifyReceipt(receipt, material);
  assert.deepEqual([report.verdict, report.facts.standing], ["verified", "bound_to_challenge"]);
  assert.equal(verifyReceipt(receipt).verdict, "incomplete");
  assert.equal(verifyReceipt(receipt, { ...material, challenge: { ...challenge, id: "other" } }).verdict, "failed");
  const [{ intentId, rail }] = await journal.intents();
  assert.equal(rail.protocol, "mpp");
  const bundle = await payer.export(intentId);
  assert.equal(verifyReceipt(bundle, { evidence }).verdict, "verified");
});

test("the answer is lost after settling: no second transfer, by this call or the next", async () => {
  const seller = await market("cut");
  const intent = another();
  const { payer, signer } = buyer();
  for (let n = 0; n < 2; n++) {
    const error = await thrown(payer.fetch(seller.url, { intent }));
    assert.deepEqual([error.code, error.money], ["paid_not_delivered", "proven"]);
  }
  assert.deepEqual([new Set(seller.credentials).size, signer.calls, await seller.transfers()], [1, 1, 1]);
});

test("challenged again after paying: the fresh challenge is never signed", async () => {
  const seller = await market("challenge");
  const intent = another();
  const { payer, signer, journal } = buyer();
  const error = await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([error.code, error.money], ["paid_not_delivered", "proven"]);
  await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([new Set(seller.credentials).size, signer.calls, await seller.transfers()], [1, 1, 1]);
  const [{ claim, intentId }] = await journal.intents();
  assert.equal(claim.transaction, (await seller.logs())[0].transactionHash);
  const file = await payer.claim(intentId);
  await chain.finalized();
  const { protocol, nonce } = JSON.parse(file);
  assert.equal(nonce, challengeNonce(parseCredential(seller.credentials[0]).challenge));
  const evidence = await readEvidence(chain.url, { asset: USDC, payer: PAYER, nonce });
  assert.deepEqual([protocol, verifyReceipt(file).verdict, verifyReceipt(file, { evidence }).verdict], ["mpp", "incomplete", "verified"]);
});

test("kept and challenged again: nothing new is signed before the proof of death, and then one transfer", async () => {
  const seller = await market("sit");
  const intent = another();
  const { payer, signer } = buyer({ policy: { maxWindow: 30 } });
  const error = await thrown(payer.fetch(seller.url, { intent, signal: AbortSignal.timeout(4000) }));
  assert.ok(error.code === "outcome_unknown" || error.name === "TimeoutError", error.name);
  assert.equal(signer.calls, 1);
  const [first] = seller.credentials;
  const { payload } = parseCredential(first);
  await chain.advance((ahead = 40));
  await chain.finalizedAt(Number(payload.validBefore));
  seller.fault = undefined;
  assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the report");
  assert.equal(signer.calls, 2);
  assert.notEqual(parseCredential(seller.credentials.at(-1)).payload.nonce, payload.nonce);
  // What the service kept is worth nothing any more.
  assert.equal((await settle(payload)).status, "reverted");
  assert.equal(await seller.transfers(), 1);
});

test("a request with an Authorization of its own is not touched", async () => {
  const seller = await market();
  const { payer, signer } = buyer();
  const error = await thrown(payer.fetch(seller.url, { intent: another(), headers: { authorization: "Bearer mine" } }));
  assert.equal(error.code, "no_supported_payment_option");
  assert.deepEqual([signer.calls, seller.credentials, await seller.transfers()], [0, ["Bearer mine"], 0]);
});

test("offered by both protocols: x402, whose nonce the payer picks", async () => {
  const seller = await market();
  seller.both = true;
  const { payer, journal } = buyer();
  await thrown(payer.fetch(seller.url, { intent: another(), signal: AbortSignal.timeout(3000) }));
  assert.ok(seller.offersBoth);
  assert.deepEqual([seller.credentials, (await journal.intents())[0].rail.protocol], [[], undefined]);
});

test("what the official server writes is what is read", async () => {
  const { headers } = await fetch((await market()).url);
  const { challenges: [challenge], refused } = parseChallenges(headers.get("www-authenticate"));
  assert.deepEqual([refused, challenge.method, challenge.intent, challenge.realm], [[], "evm", "charge", REALM]);
});
