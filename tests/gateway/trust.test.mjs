// A gateway that trusts no source: a settlement without a known end is called paid only by a proof under a block that somebody vouches for.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createGateway } from "counterfoil/gateway";
import { keccak256 } from "ethers";
import { USDC, startChain } from "../../demo/chain.mjs";
import { answerLost, problemOf, scene } from "./scene.mjs";
import { sqlite, transfers } from "./shop.mjs";

let chain, layouts;
before(async () => {
  chain = await startChain();
  layouts = [{ codeHash: keccak256(await chain.rpc("eth_getCode", [USDC, "latest"])) }];
});
after(() => chain.stop());

test("paid on the word of an endpoint alone stays in flight; proven it is answered, and charged once", async (t) => {
  const vouched = new Set();
  const trustedBlocks = async (hash) => vouched.has("all") && (await chain.rpc("eth_getBlockByHash", [hash, false])) !== null;
  const { buy, buyer, counted, skip } = await scene(t, chain, { settle: answerLost(), options: { trustedBlocks, layouts } });
  const { answer, id } = await buy();
  assert.equal((await problemOf(answer)).code, "payment_in_flight");
  skip(3600);
  const waiting = await problemOf((await buy({ id })).answer);
  assert.deepEqual([waiting.status, waiting.code, waiting.money], [409, "payment_in_flight", "possible"]);
  vouched.add("all");
  skip(3600);
  assert.equal((await buy({ id })).answer.status, 200);
  assert.equal(counted.settled, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});

test("what is no list of hashes is refused at once", async (t) => {
  const store = await sqlite(t);
  const make = (options) => createGateway({ store, secret: new Uint8Array(32).fill(7), rpc: {}, ...options });
  assert.ok(make({ trustedBlocks: [] }));
  for (const [options, code, field] of [[{ trustedBlocks: "0x00" }, "invalid_type", "trustedBlocks"], [{ trustedBlocks: ["0x12"] }, "hex_invalid", "config.trustedBlocks[0]"], [{ trustedBlocks: [], layouts: [{}] }, "missing_field", "config.layouts[0].codeHash"]]) {
    assert.throws(() => make(options), { name: "CounterfoilError", code, field });
  }
});
