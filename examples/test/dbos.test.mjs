// The DBOS example on a real PostgreSQL, which holds the workflows and the journal, and a real chain. The process is killed inside the paid
// step by SIGKILL and started again; what was paid is counted from the token's own logs.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { DBOS } from "@dbos-inc/dbos-sdk";
import pg from "pg";
import { openMarket, several, signedIn } from "../../tests/js/crash/market.mjs";
import { postgres } from "../../tests/gateway/postgres-server.mjs";
import { everything, goods, paidOnce, run } from "./processes.mjs";

const server = await postgres();
const config = await server.database();
const pool = new pg.Pool(config);
pool.on("error", () => {});
const { host, port, user, password, database } = config;
const url = `postgres://${user}:${password}@${host}:${port}/${database}`;
// Two that make the engine's tables at once can get in each other's way.
await DBOS.migrate(url);
const market = await openMarket();
after(async () => {
  await market.close();
  await pool.end();
});

/** A purchase of its own: an order, and the file of what was signed for it. */
function order(seller, how = "") {
  const { intent, rpc, url: where, signed } = market.purchase(`${seller.url}?${how}`, how);
  return { order: intent, database: url, url: where, rpc, signed };
}
const start = (purchase, killAt) => run("dbos-worker.mjs", { ...purchase, killAt });

/** What DBOS has recorded of the paid step, each time it ended. */
async function recorded({ order }) {
  const { rows } = await pool.query("SELECT output, error FROM dbos.operation_outputs WHERE workflow_uuid = $1 AND function_name = 'paid call' ORDER BY function_id", [order]);
  return rows.map(({ output, error }) => {
    assert.equal(error, null);
    return { told: JSON.parse(output).json, bytes: Buffer.byteLength(output) };
  });
}

const bytesOf = (value) => Buffer.byteLength(JSON.stringify(value));

/** Paid once; the workflow gave the report, and the record is that result and nothing beside it. */
async function delivered(purchase, { end }, about) {
  await paidOnce(market, purchase, about);
  const { carried, ...bought } = end.bought;
  const intentId = `dbos/${purchase.order}/report`;
  assert.deepEqual(bought, { intentId, ...goods }, about);
  const record = (await recorded(purchase)).at(-1);
  assert.deepEqual(record.told, end.bought, about);
  assert.deepEqual(carried, { input: bytesOf({ intentId, url: purchase.url }), result: bytesOf(bought) }, about);
  // The engine's wrapping and `carried` itself; neither the payment nor the journal's record is in it.
  assert.ok(record.bytes <= carried.result + 100, about);
  assert.equal(end.logged.at(-1), `${intentId}: carried ${carried.input} + ${carried.result} bytes`, about);
}

describe("the DBOS example", { concurrency: true }, () => {
  test("killed inside the paid step: recovered by the next process, paid once, and the right result", async (t) => {
    const seller = await market.seller({ keepsAnswers: true });
    const whole = order(seller, "cut");
    const dry = await start(whole);
    await delivered(whole, dry, "not killed");
    const { points } = dry.end;
      const named = {
      "before it signs": "sign 1 before",
      "signed, not written down": "sign 1 after",
      "paid, and the answer is lost": "send paid 1 after",
      "while the answer streams": "body 2 before",
      "delivered, and DBOS does not know": "delivery written",
      "DBOS has recorded the step": "step recorded",
    };
    for (const label of Object.values(named)) assert.ok(points.includes(label), `no point ${label}`);
    const chosen = everything ? points.map((label) => [label, label]) : Object.entries(named);
    await several(chosen, async ([about, label]) => {
      const purchase = order(seller, "cut");
      const first = await start(purchase, label);
      assert.equal(first.killedAt, label, about);
      assert.equal((await recorded(purchase)).length, label === "step recorded" ? 1 : 0, about);
      const second = await start(purchase);
      await delivered(purchase, second, about);
      // A recorded step is not made again: nothing is written, read, signed or sent.
      if (label === "step recorded") assert.deepEqual(second.end.points, ["step recorded"]);
      t.diagnostic(`${about}: ${second.end.logged.at(-1)}`);
    }, 8);
    assert.equal(await market.transfersTo(seller.payTo), chosen.length + 1);
  });

  test("a payment whose end is not known yet: the workflow sleeps over a kill until it can be, and one is paid", async () => {
    const seller = await market.seller({ keepsAnswers: true, fault: "sit_on_it" });
    const purchase = order(seller);
    const first = await start({ ...purchase, maxWindow: 8 }, "step recorded");
    assert.equal(first.killedAt, "step recorded");
    const [{ told }] = await recorded(purchase);
    assert.deepEqual([told.code, told.money, told.next, told.again], ["outcome_unknown", "possible", "wait", true]);
    seller.lift();
    const { end } = await start(purchase);
    assert.equal(end.bought.body, goods.body, JSON.stringify(end));
    assert.ok((await recorded(purchase)).length > 1);
    // The first authorization has died with its window; the second is for the same nonce.
    assert.equal(new Set(signedIn(purchase).map(({ nonce }) => nonce)).size, 1);
    assert.equal(await market.transfersTo(seller.payTo), 1);
  });

  test("an answer that is lost for good is the workflow's result, once, and nothing is tried again", async () => {
    const seller = await market.seller({ keepsAnswers: false });
    const purchase = order(seller, "cut");
    const first = await start(purchase, "send paid 1 after");
    assert.equal(first.killedAt, "send paid 1 after");
    const { end } = await start(purchase);
    await paidOnce(market, purchase, "lost for good");
    const { code, money, next, again } = end.bought;
    assert.deepEqual({ code, money, next, again }, { code: "paid_not_delivered", money: "proven", next: "claim", again: false });
    assert.equal((await recorded(purchase)).length, 1);
    assert.equal(await market.transfersTo(seller.payTo), 1);
  });
});
