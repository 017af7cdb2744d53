// The gateway in front of the official middleware and facilitator, on a real chain.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { startChain } from "../../demo/chain.mjs";
import { challenge, funded, pay, randomId, send, sqlite, startShop, transfers } from "./shop.mjs";

let chain;
before(async () => { chain = await startChain(); });
after(() => chain.stop());

const sha256 = (bytes) => `0x${createHash("sha256").update(Buffer.from(bytes)).digest("hex")}`;
const report = (req, res) => res.json({ report: "clear", at: Math.random() });

test("a paid request is answered once and repeated from the store, byte for byte", async (t) => {
  const shop = await startShop(t, { chain, store: await sqlite(t), routes: { "GET /report": report } });
  const buyer = await funded(chain);
  const url = `${shop.url}/report`;
  const payment = await pay(buyer, await challenge(url), { id: randomId() });
  const first = await send(url, payment);
  assert.equal(first.status, 200);
  assert.ok(first.headers.get("payment-response"));
  const body = await first.arrayBuffer();
  const receipt = await (await fetch(shop.url + `/counterfoil/receipts/${first.headers.get("receipt-id")}`)).json();
  assert.equal(receipt.payer, buyer.address);
  assert.equal(receipt.amount, "10000");
  assert.equal(receipt.response.sha256, sha256(body));
  assert.doesNotMatch(JSON.stringify(receipt), new RegExp(payment.payment.extensions["payment-identifier"].info.id));

  const again = await send(url, payment);
  assert.equal(again.status, 200);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal(again.headers.get("payment-response"), first.headers.get("payment-response"));
  assert.deepEqual(Buffer.from(await again.arrayBuffer()), Buffer.from(body));
  assert.equal(shop.counted.runs, 1);
  assert.equal(await transfers(chain, buyer.address), 1);
});
