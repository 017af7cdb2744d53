// Call keys, the tripwire and conflicts through the package's own functions: what JavaScript can hand over that JSON cannot.

import assert from "node:assert/strict";
import { test } from "node:test";
import { callKey, findMissedFields } from "counterfoil/core";
import { findConflicts } from "counterfoil/verify";

const bundle = JSON.stringify({ type: "counterfoil/bundle", v: 1, payer: "0x760326E8C94f38A9F0537b1FA45141cA995564C4", intents: [] });
const code = (expected, field) => (error) => error.name === "CounterfoilError" && error.code === expected && error.field === field;

test("a call's key is one for equal calls, and null for a read", () => {
  const call = { tool: "search", args: { q: "shoes", limit: 10 }, scope: "run-1" };
  const { key, argsHash } = callKey(call);
  assert.match(key, /^[A-Za-z0-9_-]{16,128}$/);
  assert.match(argsHash, /^0x[0-9a-f]{64}$/);
  assert.equal(callKey({ scope: "run-1", args: { limit: 10.0, q: "shoes" }, tool: "search" }).key, key);
  assert.equal(callKey({ ...call, rule: { effect: "read" } }), null);
});

test("arguments that are no JSON have no key", () => {
  const cyclic = {};
  cyclic.self = cyclic;
  assert.throws(() => callKey({ tool: "t", args: cyclic, scope: "s" }), (error) => error.code === "cyclic_input");
  assert.throws(() => callKey({ tool: "t", args: undefined, scope: "s" }), code("missing_field", "args"));
  assert.throws(() => callKey(null), code("invalid_type", "call"));
});

test("a getter is read once", () => {
  let reads = 0;
  const args = { get q() { return `read ${++reads}`; } };
  assert.equal(callKey({ tool: "t", args, scope: "s" }).key, callKey({ tool: "t", args: { q: "read 1" }, scope: "s" }).key);
  assert.equal(reads, 1);
});

test("the tripwire takes its window in seconds", () => {
  const calls = [0, 100, 200].map((at) => ({ tool: "t", args: { nonce: at }, scope: "s", at: 1_795_965_000 + at }));
  assert.deepEqual(findMissedFields(calls).map(({ fields }) => fields), [["/nonce"]]);
  assert.deepEqual(findMissedFields(calls, { window: 199 }), []);
});

test("bundles come as text or as bytes, and the one at fault is named", () => {
  assert.deepEqual(findConflicts([bundle, new TextEncoder().encode(bundle)]), []);
  assert.throws(() => findConflicts(bundle), code("invalid_type", "bundles"));
  assert.throws(() => findConflicts([bundle, JSON.parse(bundle)]), code("invalid_type", "bundles[1]"));
  assert.throws(() => findConflicts([bundle, new Uint8Array([0xff])]), code("json_invalid", "bundles[1]"));
  assert.throws(() => findConflicts([bundle, bundle, "{"]), code("json_invalid", "bundles[2]"));
  assert.throws(() => findConflicts([bundle, , bundle]), code("invalid_type", "bundles[1]"));
  assert.deepEqual(findConflicts([bundle], { refunds: [] }), []);
  assert.throws(() => findConflicts([bundle], null), code("invalid_type", "options"));
  assert.throws(() => findConflicts([bundle], { refunds: {} }), code("invalid_type", "refunds"));
  assert.throws(() => findConflicts([bundle], { refunds: [{ evidence: [] }] }), code("missing_field", "refunds[0].refund"));
});
