// The cases of tests/receipts/cases.json through the package: the same verdicts and checks as in Rust.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { verifyReceipt } from "counterfoil/verify";

const casesOf = (name) => JSON.parse(readFileSync(new URL(`../receipts/${name}.json`, import.meta.url), "utf8")).cases;
const cases = [...casesOf("cases"), ...casesOf("claims"), ...casesOf("claims-of-every-rail")];
const bytes = (hex) => Uint8Array.from(Buffer.from(hex.slice(2), "hex"));

test("every case has the verdict and the checks expected of it", () => {
  assert.ok(cases.length > 80);
  for (const { id, receipt, material, body, verdict, states, facts = {} } of cases) {
    const report = verifyReceipt(receipt, body === undefined ? material : { ...material, body: bytes(body) });
    assert.equal(report.verdict, verdict, id);
    const found = Object.fromEntries(report.checks.map((check) => [check.id, check.state]));
    for (const [check, state] of Object.entries(states)) assert.equal(found[check], state, `${id}: ${check}`);
    for (const [fact, value] of Object.entries(facts)) assert.deepEqual(report.facts[fact], value, `${id}: ${fact}`);
  }
});

test("every check has a title and a reason, and its id once", () => {
  for (const { id, receipt, material } of cases) {
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
