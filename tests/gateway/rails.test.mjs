// One signed nonce on two rails: the same payer and the same number in two token contracts are two payments, and the cheap one pays for nothing
// that the dear one is for.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { createGateway } from "counterfoil/gateway";
import { startFacilitator } from "../../demo/facilitator.mjs";
import { KEYS, NETWORK, startChain, USDC } from "../../demo/chain.mjs";
import { gate, until } from "./scene.mjs";
import { funded, pay, payTo, randomId, randomNonce, SECRET, sqlite } from "./shop.mjs";

const { parseAbi } = createRequire(new URL("../../demo/package.json", import.meta.url))("viem");
/** Another token with the same code, worth nothing. */
const CHEAP = "0x00000000000000000000000000000000000C4eA9".toLowerCase();
const abi = parseAbi([
  "function initialize(string, string, string, uint8, address, address, address, address)", "function initializeV2(string)", "function initializeV2_1(address)",
  "function initializeV2_2(address[], string)", "function configureMinter(address, uint256)", "function mint(address, uint256)", "function balanceOf(address) view returns (uint256)",
]);

let chain;
before(async () => {
  chain = await startChain();
  await chain.rpc("anvil_setCode", [CHEAP, await chain.pub.getCode({ address: USDC })]);
  const owner = chain.wallet(KEYS.owner);
  const me = owner.account.address;
  const calls = [["initialize", ["USDC", "CHEAP", "USD", 6, me, me, me, me]], ["initializeV2", ["USDC"]], ["initializeV2_1", ["0x000000000000000000000000000000000000dEaD"]], ["initializeV2_2", [[], "CHEAP"]], ["configureMinter", [me, 10n ** 15n]]];
  for (const [functionName, args] of calls) await chain.pub.waitForTransactionReceipt({ hash: await owner.writeContract({ address: CHEAP, abi, functionName, args }) });
});
after(() => chain.stop());

const offer = (asset, amount) => ({ scheme: "exact", network: NETWORK, amount, asset, payTo, maxTimeoutSeconds: 300, extra: { name: "USDC", version: "2" } });
const PRICES = { cheap: offer(CHEAP, "1000"), dear: offer(USDC, "10000") };
const unpacked = (text) => JSON.parse(Buffer.from(text, "base64"));
const packed = (value) => Buffer.from(JSON.stringify(value)).toString("base64");

/** A shop of the two prices: its handler verifies, then does what `work(name, settle)` does. */
async function twoPrices(t, work) {
  const facilitator = startFacilitator(chain);
  const settled = [];
  const gateway = createGateway({ store: await sqlite(t), secret: SECRET, rpc: { [NETWORK]: chain.url } });
  const client = gateway.facilitator({ ...facilitator, settle: (payment, terms) => { settled.push(terms.asset); return facilitator.settle(payment, terms); } });
  const shop = gateway.wrap(async (request) => {
    const name = new URL(request.url).pathname.slice(1);
    const payment = unpacked(request.headers.get("payment-signature"));
    assert.equal((await client.verify(payment, PRICES[name])).isValid, true, name);
    const settlement = await work(name, () => client.settle(payment, PRICES[name]));
    return Response.json({ goods: name }, settlement?.success ? { headers: { "payment-response": packed(settlement) } } : {});
  });
  const buyer = await funded(chain, 10_000n);
  const mint = await chain.wallet(KEYS.owner).writeContract({ address: CHEAP, abi, functionName: "mint", args: [buyer.address, 1000n] });
  await chain.pub.waitForTransactionReceipt({ hash: mint });
  const signed = (name, { id = randomId(), nonce = randomNonce() } = {}) => {
    const price = { accepts: [PRICES[name]], extensions: { "payment-identifier": { info: { required: false } } } };
    return pay(buyer, new Response(null, { headers: { "payment-required": packed(price) } }), { id, nonce });
  };
  const left = (address) => chain.pub.readContract({ address, abi, functionName: "balanceOf", args: [buyer.address] });
  return {
    settled, client, signed,
    buy: async (name, how) => shop(new Request(`http://shop.test/${name}`, { headers: { "payment-signature": (await signed(name, how)).header } })),
    receiptOf: async (answer) => (await shop(new Request(`http://shop.test/counterfoil/receipts/${answer.headers.get("receipt-id")}`))).json(),
    left: async () => [await left(CHEAP), await left(USDC)],
  };
}

test("one nonce on two rails at once: each is booked on its own sale, and each is paid for", async (t) => {
  const gates = { cheap: gate(), dear: gate() };
  const running = [];
  const { buy, settled, receiptOf, left } = await twoPrices(t, async (name, settle) => {
    running.push(name);
    await gates[name].opened;
    return settle();
  });
  const nonce = randomNonce();
  const cheap = buy("cheap", { nonce });
  await until(() => running.length === 1);
  const dear = buy("dear", { nonce });
  await until(() => running.length === 2);
  gates.cheap.open();
  const first = await cheap;
  gates.dear.open();
  const second = await dear;
  assert.deepEqual(settled, [CHEAP, USDC]);
  const [one, other] = [await receiptOf(first), await receiptOf(second)];
  assert.deepEqual([one.amount, one.asset.toLowerCase(), other.amount, other.asset], ["1000", CHEAP, "10000", USDC]);
  assert.notEqual(one.transaction, other.transaction);
  assert.deepEqual([await first.json(), await second.json()], [{ goods: "cheap" }, { goods: "dear" }]);
  assert.deepEqual(await left(), [0n, 0n]);
});

test("a payment whose request is over is not settled past its row; one that no request brought passes", async (t) => {
  let late;
  let ended = false;
  const { buy, settled, client, signed, left } = await twoPrices(t, (name, settle) => {
    if (ended) return settle();
    late = settle;
    return undefined;
  });
  const id = randomId();
  // Answered and not billed: the id is free again.
  assert.equal((await buy("dear", { id })).status, 200);
  ended = true;
  assert.equal((await late()).success, false);
  assert.deepEqual(settled, []);
  assert.ok((await buy("dear", { id })).headers.get("receipt-id"));
  assert.equal((await late()).success, true, "its sale is paid by now");
  assert.deepEqual(settled, [USDC]);
  assert.deepEqual(await left(), [1000n, 0n]);
  const { payment } = await signed("cheap");
  assert.equal((await client.settle(payment, PRICES.cheap)).success, true);
  assert.deepEqual(await left(), [0n, 0n]);
});
