// An answer that was given for a payment read below finality: the block is replaced, the seller is told and knows what is owed, and the same
// bytes settle it after all. The chain is put back to a snapshot, which is what a reorganisation comes to.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startChain } from "../../demo/chain.mjs";
import { all, answerLost, problemOf, scene } from "./scene.mjs";
import { transfers } from "./shop.mjs";

let chain;
before(async () => { chain = await startChain(); });
after(() => chain.stop());

/** Delivered on what the latest block showed; `vanish` takes that block away. */
async function delivered(t) {
  const made = await scene(t, chain, { settle: answerLost() });
  const snapshot = await chain.rpc("evm_snapshot", []);
  const { answer, id, payment } = await made.buy();
  assert.equal((await problemOf(answer)).code, "payment_in_flight");
  made.skip(3600);
  assert.equal((await made.buy({ id })).answer.status, 200);
  assert.deepEqual([made.counted.settled, await transfers(chain, made.buyer.address)], [1, 1]);
  const vanish = async () => {
    assert.equal(await chain.rpc("evm_revert", [snapshot]), true);
    // Far past the place where it stood, and final there.
    await chain.rpc("anvil_mine", ["0x40"]);
    assert.equal(await transfers(chain, made.buyer.address), 0);
  };
  const look = async () => {
    made.skip(120);
    await made.gateway.sweep();
    return all(made.gateway.paymentsOwed());
  };
  return { ...made, id, payment, vanish, look, codes: () => made.counted.alerts.map(({ code }) => code) };
}

test("it stays: nobody is told, nothing is owed", async (t) => {
  const { look, codes } = await delivered(t);
  await chain.rpc("anvil_mine", ["0x10"]);
  assert.deepEqual([await look(), await look(), codes()], [[], [], []]);
});

test("its block is replaced: told once, owed until the same bytes have landed for good", async (t) => {
  const { vanish, look, codes, buyer, shop } = await delivered(t);
  await vanish();
  for (let n = 0; n < 2; n++) {
    const [owed, ...more] = await look();
    assert.deepEqual([owed.state, owed.payer, owed.amount, more, codes()], ["open", buyer.address, "10000", [], ["payment_vanished"]]);
  }
  const [{ payment }] = await all(shop.gateway.paymentsOwed());
  const bytes = JSON.parse(Buffer.from(payment.value, "base64").toString());
  assert.equal((await shop.facilitator.settle(bytes, bytes.accepted)).success, true);
  await chain.rpc("anvil_mine", ["0x10"]);
  const [closed] = await look();
  assert.deepEqual([closed.state, closed.payment, codes()], ["closed", undefined, ["payment_vanished"]]);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("its block is replaced and its window is over: owed for good", async (t) => {
  const { vanish, look, codes, skip, buyer } = await delivered(t);
  await vanish();
  await chain.advance(2 * 86_400);
  await chain.rpc("anvil_mine", ["0x10"]);
  const [owed] = await look();
  assert.deepEqual([owed.state, owed.payment === undefined, codes()], ["open", true, ["payment_vanished"]]);
  skip(10);
  assert.deepEqual([(await look()).map(({ state }) => state), codes()], [["open"], ["payment_vanished"]]);
  assert.equal(await transfers(chain, buyer.address), 0);
});
