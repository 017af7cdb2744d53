// The cases of tests/receipts/cases.json through the package: the same verdicts and checks as in Rust.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { verifyReceipt } from "counterfoil/verify";

const read = (name) => JSON.parse(readFileSync(new URL(`../receipts/${name}.json`, import.meta.url), "utf8"));
const bytes = (hex) => (hex === undefined ? undefined : Uint8Array.from(Buffer.from(hex.slice(2), "hex")));
const cases = ["cases", "claims", "claims-of-every-rail", "signed"].flatMap((name) => {
  const { base, cases } = read(name);
  return cases.map((one) => ({ ...one, material: { ...(one.base ? base : {}), ...one.material } }));
});
const sound = cases.filter(({ error }) => !error);
const withBytes = ({ material, body, decodedBody }) => ({ ...material, body: bytes(body), decodedBody: bytes(decodedBody) });

test("every case has the verdict and the checks expected of it", () => {
  assert.ok(cases.length > 500);
  for (const one of sound) {
    const { id, receipt, verdict, states, facts = {}, absent = [], why = {} } = one;
    const report = verifyReceipt(receipt, withBytes(one));
    assert.equal(report.verdict, verdict, id);
    const found = Object.fromEntries(report.checks.map((check) => [check.id, check]));
    for (const [check, state] of Object.entries(states)) assert.equal(found[check]?.state, state, `${id}: ${check}`);
    for (const [check, words] of Object.entries(why)) assert.equal(found[check].why, words, `${id}: ${check}`);
    for (const [fact, value] of Object.entries(facts)) assert.deepEqual(report.facts[fact], value, `${id}: ${fact}`);
    for (const fact of absent) assert.ok(!(fact in report.facts), `${id}: ${fact}`);
  }
});

test("what is malformed throws, with its code and field", () => {
  const refused = cases.filter(({ error }) => error);
  assert.ok(refused.length > 80);
  for (const one of refused) {
    assert.throws(() => verifyReceipt(one.receipt, withBytes(one)), ({ code, field = "" }) => {
      assert.deepEqual({ code, field }, one.error, one.id);
      return true;
    });
  }
});

test("every check has a title and a reason, and its id once", () => {
  for (const { id, receipt, material } of sound) {
    const { checks, doesNotProve } = verifyReceipt(receipt, material);
    assert.ok(checks.every((check) => check.title && check.why && typeof check.required === "boolean"), id);
    assert.equal(new Set(checks.map((check) => check.id)).size, checks.length, id);
    assert.ok(doesNotProve.length > 0, id);
  }
});

test("a receipt may come as bytes", () => {
  const { receipt, material, verdict } = cases.find((one) => one.id === "settlement-proven");
  assert.equal(verifyReceipt(new TextEncoder().encode(receipt), material).verdict, verdict);
});
