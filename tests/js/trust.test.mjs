// A payer that trusts no source: what was paid and what is dead it takes only from proofs under blocks that its caller vouches for. On a real
// chain, with an endpoint that lies.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { keccak256 } from "ethers";
import { createPayer } from "counterfoil";
import { startChain } from "../../demo/chain.mjs";
import { startSeller } from "../../demo/seller.mjs";
import { NETWORK, OFFER, USDC, clockwork, counted, openJournal, priced, shop, thrown } from "./payer-stage.mjs";

const sellers = [];
let chain, layouts, purchases = 0;
before(async () => {
  chain = await startChain();
  layouts = [{ codeHash: keccak256(await chain.rpc("eth_getCode", [USDC, "latest"])) }];
});
after(() => {
  for (const seller of sellers) seller.stop();
  chain?.stop();
});

const another = () => ({ id: `trusting-${String((purchases += 1)).padStart(16, "0")}` });
const now = () => Math.floor(Date.now() / 1000);

/** What somebody who runs a node of their own says of a block. */
const own = () => {
  const asked = [];
  const vouch = async (hash, network) => {
    asked.push(network);
    return (await chain.rpc("eth_getBlockByHash", [hash, false])) !== null;
  };
  return Object.assign(vouch, { asked });
};

async function market(options) {
  const payTo = `0x${createHash("sha256").update(`trust ${sellers.length}`).digest("hex").slice(0, 40)}`;
  const seller = await startSeller({ chain, payTo, ...options });
  sellers.push(seller);
  return seller;
}

function buyer({ signer = counted(), journal = openJournal(), rpc = chain.url, ...rest } = {}) {
  return { signer, journal, payer: createPayer({ signer, journal, policy: { perCall: "20000" }, rpc: rpc ? { [NETWORK]: rpc } : undefined, layouts, ...rest }) };
}

/** The real node, with some answers replaced. */
const lying = (answers) => async (method, params) => {
  const real = await chain.rpc(method, params);
  return answers[method] ? answers[method](real, params) : real;
};

test("paid is proven: the purchase ends as paid, with the proofs beside it", async () => {
  const seller = await market({ fault: "cut_after_settlement" });
  const vouch = own();
  const { payer, journal } = buyer({ trustedBlocks: vouch });
  const error = await thrown(payer.fetch(seller.url, { intent: another() }));
  assert.deepEqual([error.code, error.money], ["paid_not_delivered", "proven"]);
  const [{ attempts: [attempt] }] = await journal.intents();
  assert.ok(attempt.verdict.reasons.includes("proved"), JSON.stringify(attempt.verdict));
  assert.ok(attempt.evidence[0].receiptProof);
  assert.deepEqual(new Set(vouch.asked), new Set([NETWORK]));
});

for (const [name, trustedBlocks] of [["nobody vouches for", []], ["the caller does not know", () => false], ["the caller can't say", () => { throw new Error("down"); }]]) {
  test(`paid in a block that ${name} is no end: unknown, and nothing is signed again`, async () => {
    const seller = await market({ fault: "cut_after_settlement" });
    const { payer, signer, journal } = buyer({ trustedBlocks });
    const error = await thrown(payer.fetch(seller.url, { intent: another(), signal: AbortSignal.timeout(20_000) }));
    assert.deepEqual([error.code, error.money, error.next], ["evidence_unreadable", "possible", "read_chain"]);
    assert.equal(signer.calls, 1);
    const [{ attempts: [attempt] }] = await journal.intents();
    assert.deepEqual([attempt.state, attempt.verdict.verdict], ["sent", "unreadable"]);
    assert.deepEqual((await journal.held()).map(({ state }) => state), ["reserved"]);
  });
}

/** A payment whose window has passed on the chain when it is sent: its payer's clock is slow. */
async function expired(t, options) {
  const seller = await shop(t, async (_, res, payment) => {
    if (payment) res.destroy();
    else priced(res, { accepts: [OFFER], headers: { date: "" } });
  });
  const clock = clockwork(now() - 100);
  const made = buyer({ ...options, clock });
  await thrown(made.payer.fetch(seller.url, { intent: another() }));
  await chain.finalizedAt(clock.now + 61);
  return { ...made, seller };
}

/** Given up in the moment in which the payment has been answered. */
function sent(seller) {
  const gone = new AbortController();
  const timer = setInterval(() => seller.struck > 0 && gone.abort(), 20);
  gone.signal.addEventListener("abort", () => clearInterval(timer));
  return gone.signal;
}

test("dead is proven, and not believed", async (t) => {
  const believed = await expired(t, { trustedBlocks: own() });
  await believed.payer.resume();
  const [proven] = await believed.journal.intents();
  assert.equal(proven.attempts.at(-1).state, "dead");
  assert.ok(proven.attempts.at(-1).verdict.reasons.includes("proved"), JSON.stringify(proven.attempts.at(-1).verdict));

  // A payment that landed, and an endpoint that says it did not.
  const seller = await market({ fault: "cut_after_settlement" });
  const clock = clockwork();
  const intent = another();
  const first = buyer({ rpc: null, clock });
  await thrown(first.payer.fetch(seller.url, { intent, signal: sent(seller) }));
  clock.now += 601;
  const unused = lying({
    eth_call: () => `0x${"00".repeat(32)}`,
    eth_getLogs: () => [],
    eth_getBlockByNumber: (block) => ({ ...block, timestamp: `0x${(Number(block.timestamp) + 700).toString(16)}` }),
  });
  const trusting = buyer({ signer: first.signer, journal: openJournal(), rpc: unused, clock });
  const copy = async (to) => {
    for await (const { key, value } of first.journal.scan("")) await to.commit([{ key, expect: "absent", put: value }]);
  };
  await copy(trusting.journal);
  await trusting.payer.resume();
  assert.equal((await trusting.journal.intents())[0].attempts[0].state, "dead", "who trusts it believes it");
  const wary = buyer({ signer: first.signer, journal: openJournal(), rpc: unused, clock, trustedBlocks: own() });
  await copy(wary.journal);
  const [{ outcome }] = await wary.payer.resume();
  assert.deepEqual([outcome, (await wary.journal.intents())[0].attempts[0].state], ["unknown", "sent"]);
  const again = await thrown(wary.payer.fetch(seller.url, { intent }));
  assert.deepEqual([again.code, first.signer.calls], ["evidence_unreadable", 1]);
});

test("several endpoints are read at one block, by its hash", async () => {
  const seller = await market({ fault: "cut_after_settlement" });
  const calls = [[], []];
  const rpc = calls.map((seen) => async (method, params) => {
    if (method === "eth_call") seen.push(params[1]);
    return chain.rpc(method, params);
  });
  const { payer } = buyer({ rpc });
  assert.equal((await thrown(payer.fetch(seller.url, { intent: another() }))).code, "paid_not_delivered");
  const [one, two] = calls.map((seen) => seen.map(({ blockHash, requireCanonical }) => [blockHash, requireCanonical]));
  assert.ok(one.length > 1);
  assert.deepEqual(one, two);
  for (const [blockHash, requireCanonical] of one) assert.deepEqual([/^0x[0-9a-f]{64}$/.test(blockHash), requireCanonical], [true, true]);
});

test("what is no list of hashes is refused at once", () => {
  for (const [trustedBlocks, code, field] of [["0x00", "invalid_type", "trustedBlocks"], [null, "invalid_type", "trustedBlocks"], [["0x12"], "hex_invalid", "config.trustedBlocks[0]"], [[1], "invalid_type", "config.trustedBlocks[0]"]]) {
    assert.throws(() => buyer({ trustedBlocks }), { name: "CounterfoilError", code, field });
  }
  assert.throws(() => buyer({ trustedBlocks: [], layouts: [{}] }), { code: "missing_field", field: "config.layouts[0].codeHash" });
});
