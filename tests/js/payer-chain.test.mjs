// Purchases on a real chain, from the official seller: how often money moved is counted by what the token logged.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { Wallet } from "ethers";
import { createPayer, verifyReceipt } from "counterfoil";
import { readEvidence } from "counterfoil/node";
import { startChain } from "../../demo/chain.mjs";
import { REPORT, startSeller } from "../../demo/seller.mjs";
import { KEY, NETWORK, PAYER, USDC, clockwork, counted, openJournal, thrown } from "./payer-stage.mjs";

const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/** An id of its own for each purchase: on one chain the same payer's same id is the same nonce, whatever the journal. */
let purchases = 0;
const another = () => ({ id: `purchase-${String((purchases += 1)).padStart(16, "0")}` });
const word = (hex) => `0x${hex.slice(2).toLowerCase().padStart(64, "0")}`;
const sellers = [];
let chain;

before(async () => {
  chain = await startChain();
});
after(async () => {
  await Promise.all(sellers.map((seller) => seller.stop()));
  chain?.stop();
});

/** A seller with an account of its own; `transfers` counts what came in. */
async function market(options) {
  const payTo = `0x${createHash("sha256").update(`payer ${sellers.length}`).digest("hex").slice(0, 40)}`;
  const seller = await startSeller({ chain, payTo, ...options });
  sellers.push(seller);
  const logs = () => chain.rpc("eth_getLogs", [{ address: USDC, topics: [TRANSFER, word(PAYER), word(payTo)], fromBlock: "0x0", toBlock: "latest" }]);
  return Object.assign(seller, { logs, transfers: async () => (await logs()).length });
}

function buyer({ signer = counted(), journal = openJournal(), rpc = chain.url, policy = { perCall: "20000" }, ...rest } = {}) {
  return { signer, journal, payer: createPayer({ signer, journal, policy, rpc: rpc ? { [NETWORK]: rpc } : undefined, ...rest }) };
}

async function sold(seller) {
  while (seller.payments.length === 0) await new Promise((done) => setTimeout(done, 10));
}

const down = async () => {
  throw new Error("down");
};

/** The real node, with some answers replaced. */
const lying = (answers) => async (method, params) => {
  const real = await chain.rpc(method, params);
  return answers[method] ? answers[method](real, params) : real;
};

test("two at once are one transfer and two equal answers; two in a row are two; a wallet of ethers pays", async () => {
  const intent = another();
  const seller = await market();
  const { payer, signer } = buyer();
  const both = await Promise.all([payer.fetch(seller.url), payer.fetch(seller.url)]);
  assert.deepEqual(await Promise.all(both.map((answer) => answer.text())), [REPORT, REPORT]);
  assert.deepEqual([await seller.transfers(), signer.calls, seller.payments.length], [1, 1, 1]);
  const about = payer.describe(both[0]);
  assert.equal(about.transaction, (await seller.logs())[0].transactionHash);
  assert.deepEqual(payer.describe(both[1]), about);
  await (await payer.fetch(seller.url)).text();
  assert.equal(await seller.transfers(), 2);
  const ethers = buyer({ signer: new Wallet(KEY), secret: new Uint8Array(32).fill(7) });
  assert.equal(await (await ethers.payer.fetch(seller.url, { intent })).text(), REPORT);
  assert.equal(await seller.transfers(), 3);
});

test("the exported bundle verifies with evidence read by somebody else, and with nothing less", async () => {
  const intent = another();
  const seller = await market();
  const { payer, journal } = buyer();
  const body = new Uint8Array(await (await payer.fetch(seller.url, { intent })).arrayBuffer());
  const [{ intentId }] = await journal.intents();
  const bundle = await payer.export(intentId);
  await chain.finalized();
  const { nonce } = seller.payments[0].payload.authorization;
  const [evidence] = await readEvidence(chain.url, { network: NETWORK, asset: USDC, payer: PAYER, nonce });
  assert.equal(verifyReceipt(bundle, { body, evidence }).verdict, "verified");
  assert.equal(verifyReceipt(bundle, { body }).verdict, "incomplete");
  const other = body.slice();
  other[0] ^= 1;
  assert.equal(verifyReceipt(bundle, { body: other, evidence }).verdict, "failed");
  assert.deepEqual(JSON.parse(await payer.export(`0x${"00".repeat(32)}`)).intents, []);
});

test("a lost answer: had again from a seller who keeps it, by a payer of another process too", async () => {
  const intent = another();
  const seller = await market({ fault: "cut_after_settlement", keepsAnswers: true });
  const journal = openJournal();
  const signer = counted();
  // The first process is gone by the time the connection breaks.
  const stop = new AbortController();
  const first = thrown(buyer({ journal, signer }).payer.fetch(seller.url, { intent, signal: stop.signal }));
  await Promise.race([first, sold(seller)]);
  stop.abort();
  assert.equal((await first).name, "AbortError");
  const again = await buyer({ journal, signer }).payer.fetch(seller.url, { intent });
  assert.equal(await again.text(), REPORT);
  assert.deepEqual([await seller.transfers(), signer.calls], [1, 1]);
});

test("paid and not to be had: a claim, no second payment; released, the next call is another purchase", async () => {
  const seller = await market({ fault: "cut_after_settlement" });
  const alerts = [];
  const { payer, signer, journal } = buyer({ onAlert: ({ code }) => alerts.push(code) });
  for (let n = 0; n < 2; n++) {
    const error = await thrown(payer.fetch(seller.url));
    assert.deepEqual([error.code, error.money, error.next], ["paid_not_delivered", "proven", "claim"]);
    assert.deepEqual([await seller.transfers(), signer.calls], [1, 1]);
  }
  assert.ok(alerts.includes("paid_not_delivered"));
  const [{ intentId, claim }] = await journal.intents();
  assert.equal(claim.transaction, (await seller.logs())[0].transactionHash);
  await payer.release(intentId, "the seller will refund it");
  assert.equal((await journal.intents())[0].status, "released");
  assert.equal(await (await payer.fetch(seller.url)).text(), REPORT);
  assert.deepEqual([await seller.transfers(), signer.calls], [2, 2]);
});

test("a source that is down or lies: unreadable, and nothing is signed again after the window either", async () => {
  const unused = `0x${"0".repeat(64)}`;
  const denies = lying({ eth_call: () => unused, eth_getLogs: () => [] });
  for (const other of [down, denies]) {
    const intent = another();
    const seller = await market({ fault: "cut_after_settlement" });
    const clock = clockwork();
    const { signer, journal } = buyer({ clock });
    const honest = buyer({ signer, journal, clock, rpc: null });
    // Without a chain to read: the answer was lost, and the seller has nothing more to say.
    await thrown(honest.payer.fetch(seller.url, { intent, signal: AbortSignal.timeout(4000) }));
    assert.equal(await seller.transfers(), 1);
    clock.now += 400;
    const { payer } = buyer({ signer, journal, clock, rpc: [chain.url, other] });
    const error = await thrown(payer.fetch(seller.url, { intent }));
    assert.deepEqual([error.code, error.money], ["evidence_unreadable", "possible"]);
    assert.deepEqual([await seller.transfers(), signer.calls], [1, 1]);
  }
});

test("logs that prove nothing are not taken for a payment", async () => {
  const intent = another();
  const seller = await market({ fault: "sit_on_it" });
  const clock = clockwork();
  const { signer, journal } = buyer({ clock });
  await thrown(buyer({ signer, journal, clock, rpc: null }).payer.fetch(seller.url, { intent, signal: AbortSignal.timeout(2000) }));
  const { nonce } = seller.payments[0].payload.authorization;
  const USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
  const forged = (real, [{ toBlock }]) => [{
    address: USDC, topics: [USED, word(PAYER), nonce], data: "0x", blockNumber: toBlock, blockHash: `0x${"22".repeat(32)}`,
    transactionHash: `0x${"33".repeat(32)}`, transactionIndex: "0x0", logIndex: "0x0", removed: false,
  }];
  const rpc = lying({ eth_call: () => `0x${"1".padStart(64, "0")}`, eth_getLogs: forged });
  const { payer } = buyer({ signer, journal, clock, rpc });
  const error = await thrown(payer.fetch(seller.url, { intent, signal: AbortSignal.timeout(20_000) }));
  assert.notEqual(error.money, "proven");
  assert.notEqual((await journal.intents())[0].status, "paid_not_delivered");
  assert.deepEqual([await seller.transfers(), signer.calls], [0, 1]);
});

test("two purchases at once whose sum passes the wallet's cap: exactly one pays", async () => {
  const seller = await market();
  const { payer, signer } = buyer({ policy: { perCall: "20000", perWallet: [{ amount: "15000", window: 3600 }] } });
  const ends = await Promise.allSettled([1, 2].map((n) => payer.fetch(`${seller.url}?n=${n}`).then((answer) => answer.text())));
  assert.deepEqual(ends.map(({ value, reason }) => reason?.code ?? value).sort(), ["over_wallet_cap", REPORT].sort());
  assert.deepEqual([await seller.transfers(), signer.calls, seller.payments.length], [1, 1, 1]);
});

test("many payers of many journals at once pay once each", async () => {
  const seller = await market();
  const payers = Array.from({ length: 8 }, () => buyer());
  const answers = await Promise.all(payers.map(({ payer }, n) => payer.fetch(seller.url, { intent: { id: `purchase-of-many-${n}` } }).then((answer) => answer.text())));
  assert.deepEqual(new Set(answers), new Set([REPORT]));
  assert.equal(await seller.transfers(), 8);
  assert.equal(payers.reduce((sum, { signer }) => sum + signer.calls, 0), 8);
});

test("a journal that was lost: the chain remembers, and refusing is the safe side", async () => {
  const intent = another();
  const seller = await market();
  await (await buyer().payer.fetch(seller.url, { intent })).text();
  const { payer, signer, journal } = buyer();
  for (let n = 0; n < 2; n++) {
    const error = await thrown(payer.fetch(seller.url, { intent }));
    assert.deepEqual([error.code, error.money, error.next], ["authorization_used", "proven", "claim"]);
  }
  assert.equal((await journal.intents())[0].claim.transaction, (await seller.logs())[0].transactionHash);
  assert.deepEqual([await seller.transfers(), signer.calls, seller.payments.length], [1, 0, 1]);
});
