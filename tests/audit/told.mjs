// What an audit told of a generated set, beside what was planted in it. Read line by line: of a million lines the report is longer than a text may be.

import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** The finding that each planted pair must give. */
const CODES = {
  "one receipt stands in two lines": "receipt_repeated",
  "two receipts claim one transaction": "transaction_claimed_twice",
  "one authorization is in two transactions": "authorization_claimed_twice",
  "one intent was paid twice": "duplicate_charge",
  "one payment id was paid twice": "duplicate_charge",
  "one intent of two payers": "intent_conflict",
  "one payment id stands for two things": "payment_identifier_conflict",
  "two payments got one answer": "response_shared",
};
const order = (pairs) => pairs.map(([code, ...lines]) => `${code} ${lines.sort((one, other) => one - other).join(" ")}`).sort();

/** A report of lines of JSON: how many verdicts it has, each in its place; those that are not `verified`; the findings; its last line. */
export async function told(file) {
  const [others, findings] = [[], []];
  let [count, end] = [0];
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    const value = JSON.parse(text);
    if (value.finding) findings.push(...[value.finding].flat());
    if (!value.verdict) {
      end = value;
      continue;
    }
    assert.equal(value.line, (count += 1));
    if (value.verdict !== "verified") others.push(value);
  }
  return { count, others, findings, end };
}

/** That every planted fault is named with its line, and no other line is. */
export function assertLines({ count, others }, expected) {
  assert.equal(count, expected.count);
  const whats = new Map(expected.lines.map(({ line, what }) => [line, what]));
  const codes = new Map(others.map(({ line, codes }) => [line, codes]));
  const [all, planted] = [others, expected.lines].map((lines) => new Set(lines.map(({ line, verdict }) => `${line} ${verdict}`)));
  const named = (some, other) => [...some].filter((one) => !other.has(one)).map((one) => `${one}: ${whats.get(Number.parseInt(one))} ${JSON.stringify(codes.get(Number.parseInt(one)))}`);
  assert.deepEqual(named(all, planted), [], "told, and not planted");
  assert.deepEqual(named(planted, all), [], "planted, and not told");
  assert.ok(new Set(expected.lines.map(({ what }) => what)).size >= 20);
}

/** That every planted pair is found, and nothing else is. */
export function assertPairs({ findings, end }, expected) {
  const found = findings.map(({ code, lines }) => [code, ...lines.map(({ line }) => line)]);
  assert.deepEqual(order(found), order(expected.across.map(({ what, lines }) => [CODES[what], ...lines])));
  assert.equal(new Set(findings.map(({ code }) => code)).size, new Set(Object.values(CODES)).size);
  assert.equal(end.complete, true);
}
