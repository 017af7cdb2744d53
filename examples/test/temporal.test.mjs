// The Temporal example: its types against Temporal's own and this package's, and its activity in Temporal's own context under a loop that does
// what a server does: it begins the next attempt when a worker died or the failure may be retried. There is no server here.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { asyncLocalStorage, CancelledFailure } from "@temporalio/activity";
import { CounterfoilError } from "counterfoil";
import { errorCodes } from "counterfoil/raw";
import { openMarket, several, signedIn } from "../../tests/js/crash/market.mjs";
import { postgres } from "../../tests/gateway/postgres-server.mjs";
import { everything, goods, paidOnce, run } from "./processes.mjs";
import { attempt } from "./temporal-context.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const server = await postgres();
const { host, port, user, password, database: name } = await server.database();
const database = `postgres://${user}:${password}@${host}:${port}/${name}`;
const market = await openMarket();
after(() => market.close());

// Checks the types of all examples, and makes what the tests run.
before(async () => {
  await promisify(execFile)(process.execPath, [at("../../node_modules/typescript/bin/tsc"), "-p", at("..")]).catch(({ stdout }) => assert.fail(stdout));
});

/** A workflow's one activity. */
function activity(seller, how = "") {
  const { intent, rpc, url, signed } = market.purchase(`${seller.url}?${how}`, how);
  return { database, rpc, url, signed, info: { workflowId: intent, activityId: "1" } };
}

/** Attempts until there is a result or a failure that ends the activity; the nth is killed at the nth point. */
async function execute(purchase, kills = [], most = 4) {
  const attempts = [];
  for (let n = 1; n <= most; n += 1) {
    const told = await run("temporal-worker.mjs", { ...purchase, info: { ...purchase.info, attempt: n }, killAt: kills[n - 1] });
    attempts.push(told);
    if (told.end?.result || told.end?.failure?.nonRetryable) return attempts;
  }
  return attempts;
}

describe("the activity in processes of its own", { concurrency: true }, () => {
  test("a worker is killed inside the activity: the next attempt has the answer, paid once", async () => {
    const seller = await market.seller({ keepsAnswers: true });
    const whole = activity(seller, "cut");
    const [dry] = await execute(whole);
    const { points } = dry.end;
      const chosen = everything ? points : ["sign 1 after", "send paid 1 after", "delivery written"];
    const bought = async (purchase, { end }, about) => {
      const { carried, ...result } = end.result;
      const intentId = `temporal/default/${purchase.info.workflowId}/1`;
      assert.deepEqual(result, { intentId, ...goods }, about);
      const bytes = (value) => Buffer.byteLength(JSON.stringify(value));
      assert.deepEqual(carried, { input: bytes({ intentId, url: purchase.url }), result: bytes(result) }, about);
      assert.deepEqual(end.beats[0], { intentId }, about);
      await paidOnce(market, purchase, about);
    };
    await bought(whole, dry, "not killed");
    await several(chosen, async (label) => {
      const purchase = activity(seller, "cut");
      const attempts = await execute(purchase, [label]);
      assert.deepEqual(attempts.map(({ killedAt }) => killedAt), [label, undefined]);
      await bought(purchase, attempts[1], label);
    }, 8);
    assert.equal(await market.transfersTo(seller.payTo), chosen.length + 1);
  });

  test("an answer that is lost for good ends the activity, with what is known about the money", async () => {
    const seller = await market.seller({ keepsAnswers: false });
    const purchase = activity(seller, "cut");
    const attempts = await execute(purchase, ["send paid 1 after"]);
    assert.equal(attempts.length, 2);
    const { type, nonRetryable, details } = attempts[1].end.failure;
    assert.deepEqual([type, nonRetryable], ["paid_not_delivered", true]);
    assert.deepEqual([details[0].money, details[0].next], ["proven", "claim"]);
    await paidOnce(market, purchase, "lost for good");
  });

  test("a payment without an end yet is tried again, when the error says so; one that policy refuses is not", async () => {
    const seller = await market.seller({ keepsAnswers: true, fault: "sit_on_it" });
    const purchase = activity(seller);
    const [open] = await execute(purchase, [], 1);
    const { type, nonRetryable, details, nextRetryDelay } = open.end.failure;
    assert.deepEqual([type, nonRetryable, details[0].next], ["outcome_unknown", false, "wait"]);
    assert.equal(nextRetryDelay, details[0].retryAfter * 1000);
    seller.lift();
    const [later] = await execute(purchase);
    assert.equal(later.end.result.body, goods.body);
    await paidOnce(market, purchase, "later");

    const dear = { ...activity(seller), perCall: "1" };
    const refused = await execute(dear);
    assert.equal(refused.length, 1);
    assert.equal(refused[0].end.failure.details[0].money, "none");
    assert.deepEqual(signedIn(dear), []);
  });
});

/** The activity in this process, with a payer whose `fetch` is given. */
async function buy(fetch, { signal, purchase, beats = [] } = {}) {
  const { createActivities } = await import("../out/temporal/activities.js");
  const context = attempt({ workflowId: "workflow-1", activityId: "7", attempt: 1 }, { heartbeat: (details) => beats.push(details), signal });
  return asyncLocalStorage.run(context, () => createActivities({ fetch }).buy("https://seller.example/", purchase));
}

test("every code of the registry is tried again exactly where its next step is the same call", async () => {
  const again = [];
  for (const { code, next, money } of errorCodes()) {
    const error = await buy(() => Promise.reject(new CounterfoilError(code))).then(() => assert.fail(code), (error) => error);
    assert.equal(error.type, code);
    assert.deepEqual([error.details[0].next, error.details[0].money], [next, money], code);
    if (!error.nonRetryable) again.push(next);
  }
  assert.deepEqual([...new Set(again)].sort(), ["read_chain", "read_order", "resend_same", "wait"]);
  assert.equal(again.length, errorCodes().filter(({ next }) => ["read_chain", "read_order", "resend_same", "wait"].includes(next)).length);
});

test("the intent id is the same in every attempt, and another for another purchase", async () => {
  const ids = [];
  const fetch = async (_, { intent }) => (ids.push(intent.id), new Response("x"));
  const beats = [];
  await buy(fetch, { beats });
  await buy(fetch, { beats });
  await buy(fetch, { purchase: "report-2026-11" });
  assert.deepEqual(ids, ["temporal/default/workflow-1/7", "temporal/default/workflow-1/7", "temporal/default/workflow-1/report-2026-11"]);
  assert.deepEqual(beats, [{ intentId: ids[0] }, { intentId: ids[0] }]);
});

test("a cancelled activity stops at once, as Temporal's own failure", async () => {
  const stop = new AbortController();
  const fetch = (_, { signal }) => new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    stop.abort(new CancelledFailure("CANCELLED"));
  });
  await assert.rejects(buy(fetch, { signal: stop.signal }), CancelledFailure);
});
