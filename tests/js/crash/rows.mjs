// The rows of tests/crash/rows.json, which README shows, and what each of their words asserts of a purchase that was killed.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../../../", import.meta.url);
const table = JSON.parse(readFileSync(new URL("tests/crash/rows.json", root), "utf8"));

/** The rows that a test file is to prove: `rowsOf(import.meta.url)`. */
export function rowsOf(url) {
  const found = table.rows.filter(({ test }) => fileURLToPath(new URL(test, root)) === fileURLToPath(url));
  assert.ok(found.length > 0, `no row names ${url}`);
  return found;
}

/** The row of each point of a purchase, by where it stands among the others. Each point has one, and each row of a range has points. */
export function placed(rows, points) {
  const ranges = rows.filter(({ from }) => from).map((row) => ({ row, first: points.indexOf(row.from), last: row.to ? points.indexOf(row.to) : points.length - 1 }));
  for (const { row, first, last } of ranges) assert.ok(first >= 0 && last >= first, `${row.id}: no points from ${row.from} to ${row.to ?? "the last"}`);
  return points.map((label, i) => {
    const own = ranges.filter(({ first, last }) => first <= i && i <= last);
    assert.equal(own.length, 1, `${label} belongs to ${own.length} rows`);
    return own[0].row;
  });
}

/** The one intent and the wallet's one entry of a store, where there are any. */
export async function bookOf(journal) {
  const all = [];
  for await (const { key, value } of journal.scan("")) all.push({ key, record: JSON.parse(new TextDecoder().decode(value)) });
  const intents = all.filter(({ key }) => key.startsWith("intent/"));
  const entries = all.filter(({ key }) => key.startsWith("wallet/")).flatMap(({ record }) => record.entries);
  assert.ok(intents.length <= 1);
  return { records: all.length, intent: intents[0]?.record, attempt: intents[0]?.record.attempts[0], entries };
}

const HOLDS = {
  nothing: ({ records }) => assert.equal(records, 0),
  planned({ intent, attempt, entries }) {
    assert.equal(intent.status, "open");
    assert.equal(attempt.state, "planned");
    assert.ok(attempt.authorization.nonce);
    assert.equal(attempt.header, undefined);
    assert.deepEqual(entries.map(({ state, amount }) => [state, amount]), [["reserved", attempt.authorization.value]]);
  },
  signed({ intent, attempt, entries }) {
    assert.equal(intent.status, "open");
    assert.equal(attempt.state, "sent");
    assert.ok(attempt.header.value);
    assert.equal(attempt.settlement, undefined);
    assert.deepEqual(entries.map(({ state }) => state), ["reserved"]);
  },
  settled({ intent, attempt }) {
    assert.equal(intent.status, "open");
    assert.ok(attempt.header.value);
    assert.ok(attempt.settlement);
    assert.equal(intent.delivery, undefined);
  },
  delivered({ intent }, { goods }) {
    assert.equal(intent.status, "delivered");
    assert.equal(intent.delivery.sha256, `0x${goods.sha256}`);
    assert.equal(Buffer.from(intent.delivery.body, "base64").toString(), goods.body);
  },
};

const sends = ({ points }) => points.filter((label) => /^send paid \d+ before$/.test(label)).length;
const signs = ({ points }) => points.filter((label) => /^sign \d+ before$/.test(label)).length;
/** Nothing is signed any more, and what was found in the journal is what is sent, after a look at the chain. */
function sameBytes({ book, after, second }) {
  assert.equal(signs(second), 0);
  assert.equal(after.attempt.header.value, book.attempt.header.value);
  const read = second.points.findIndex((label) => label.startsWith("read_chain"));
  const sent = second.points.findIndex((label) => label.startsWith("send paid"));
  assert.ok(read >= 0 && (sent < 0 || read < sent), "the chain is read first");
}

/** The first had the lease, and the second took its own when that was over: both by the database's clock. */
function lapsed({ lease, second }) {
  assert.ok(lease.held, "the first has the lease");
  assert.ok(second.tookAt >= lease.until, `taken at ${second.tookAt}, held until ${lease.until}`);
}

/** The seller had the payment from the first process, and the second learns from the chain that it was paid before it asks again. */
function paidBefore(kill) {
  sameBytes(kill);
  // It may not have got further than this computer, or not onto the chain.
  if (kill.label === "send paid 1 in flight") return;
  assert.equal(kill.arrived, 1);
  assert.equal(kill.after.attempt.state, "paid");
}

const THEN = {
  begun_anew({ before, second }) {
    assert.equal(before.length, 0);
    assert.deepEqual([signs(second), sends(second)], [1, 1]);
  },
  signed_again({ book, after, signed, second }) {
    assert.equal(signs(second), 1);
    assert.deepEqual(after.attempt.authorization, book.attempt.authorization);
    assert.deepEqual(new Set(signed.map(({ nonce }) => nonce)), new Set([book.attempt.authorization.nonce]));
    assert.equal(new Set(signed.map(({ digest }) => digest)).size, 1);
    assert.equal(signed[0].validBefore, Number(book.attempt.authorization.validBefore));
  },
  sent_again(kill) {
    sameBytes(kill);
    assert.deepEqual([kill.arrived, sends(kill.second)], [0, 1]);
  },
  asked_again: paidBefore,
  asked_on: paidBefore,
  handed_out({ second }) {
    assert.deepEqual([signs(second), sends(second)], [0, 0]);
  },
  derived({ after, second, before }) {
    assert.deepEqual([signs(second), sends(second)], [0, 0]);
    assert.equal(after.intent.status, "paid_not_delivered");
    assert.equal(before.length, 1);
  },
  taken_over(kill) {
    lapsed(kill);
    sameBytes(kill);
  },
  refused(kill) {
    const { book, after, signed, first, second } = kill;
    lapsed(kill);
    assert.equal(sends(first), 0);
    assert.equal(signs(second), 1);
    assert.equal(new Set(signed.map(({ digest }) => digest)).size, 1);
    assert.deepEqual(after.attempt.authorization, book.attempt.authorization);
  },
  fenced(kill) {
    lapsed(kill);
    sameBytes(kill);
    assert.ok(sends(kill.first) > 0);
    assert.equal(signs(kill.first), 1);
  },
};

const ENDS = {
  delivered: (outcome) => assert.equal(outcome, "delivered"),
  claim: (outcome) => assert.equal(outcome, "claim"),
  delivered_or_claim: (outcome, { keeps }) => assert.equal(outcome, keeps ? "delivered" : "claim"),
};

// A word without a meaning here, or one that no row uses, is a mistake in the table.
for (const [name, meanings] of Object.entries({ holds: HOLDS, then: THEN, ends: ENDS })) {
  assert.deepEqual(Object.keys(table[name]).sort(), Object.keys(meanings).sort(), name);
  assert.deepEqual(Object.keys(table[name]).sort(), [...new Set(table.rows.map((row) => row[name]))].sort(), name);
}

/**
 * Asserts of one kill what its row says: what the journal held in that moment (`book`), what happened afterwards (`after`, `second`), how it ended.
 * `before` and `signed`: what was signed until the kill, and at the end. `first`, `second`: what the two processes told. `arrived`: how many
 * payments of the first reached the seller.
 */
export function assertRow(row, kill) {
  try {
    HOLDS[row.holds](kill.book, kill);
    THEN[row.then](kill);
    ENDS[row.ends](kill.outcome, kill);
  } catch (error) {
    error.message = `${row.id}, killed at ${kill.label}: ${error.message}`;
    throw error;
  }
}
