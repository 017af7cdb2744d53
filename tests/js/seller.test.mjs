// The selling side's decisions as JavaScript calls them: what goes in reaches the core, what comes out is plain.

import assert from "node:assert/strict";
import { test } from "node:test";
import { admit, advanceOrder } from "counterfoil/core";

const hash = (byte) => `0x${byte.repeat(32)}`;
const now = 1_790_000_000;
const request = {
  paymentId: "pay_7d5d747be160e280504c099d984bcfe0", payer: "0x760326E8C94f38A9F0537b1FA45141cA995564C4",
  fingerprint: hash("e1"), quoteHash: hash("e2"), payloadHash: hash("e5"),
};
const refused = (run, code, field) => assert.throws(run, (error) => error.name === "CounterfoilError" && error.code === code && error.field === field);

test("a request that nothing is kept of is processed, under the lease asked for", () => {
  for (const record of [null, undefined]) {
    assert.deepEqual(admit(record, request, now), { decision: "process", record: { ...request, state: "in_flight", openedAt: now, leaseUntil: now + 60 } });
    assert.equal(admit(record, request, now, { lease: 7 }).record.leaseUntil, now + 7);
  }
});

test("the same request again waits, and is told where to ask", () => {
  const { record } = admit(null, request, now);
  const { decision, problem } = admit(record, request, now + 58, { poll: "/orders/1" });
  assert.deepEqual([decision, problem.status, problem.code, problem.retryAfter, problem.poll], ["in_flight", 409, "payment_in_flight", 2, "/orders/1"]);
  assert.deepEqual(admit(record, request, now + 60), { decision: "reconcile", record });
});

test("another request under the id is a conflict that alerts", () => {
  const { record } = admit(null, request, now);
  const answer = admit(record, { ...request, quoteHash: hash("f2") }, now + 1_000_000);
  assert.deepEqual([answer.decision, answer.alert, answer.differs, answer.problem.next], ["conflict", true, ["quoteHash"], "stop"]);
});

test("numbers that JSON does not carry are no lease and no time", () => {
  for (const lease of [NaN, Infinity, -1, 0, 1.5, "60", null]) refused(() => admit(null, request, now, { lease }), "lease_invalid", "lease");
  for (const time of [NaN, undefined]) refused(() => admit(null, request, time), "missing_field", "now");
  refused(() => admit(null, request, now, 60), "invalid_type", "o");
  refused(() => admit(null, request, now, { poll: "//elsewhere.example" }), "poll_invalid", "poll");
});

test("an order moves by events, and refuses with what is safe to do", () => {
  const order = { id: "order-1", quoteHash: hash("e2"), state: "quoted", quoteUntil: now + 900, stockHeld: true };
  const pay = { type: "pay", paymentId: request.paymentId, quoteHash: hash("e2") };
  const paying = advanceOrder(order, pay, now);
  assert.deepEqual(paying, { order: { ...order, state: "paying", paymentId: request.paymentId }, effects: ["broadcast"] });
  assert.throws(() => advanceOrder(paying.order, pay, now), (error) => error.code === "quote_already_paying" && error.next === "wait" && error.money === "possible");
});
