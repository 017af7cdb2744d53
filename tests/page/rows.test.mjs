// Which rows are shown: written by hand, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Rows } from "../../www/lineage/rows.mjs";

const intent = (id, depth, more) => ({ kind: "intent", intentId: id, depth, agent: "planner", label: id, state: "settled", at: 10 - depth, spent: [], flags: [], ...more });
const paid = (id, depth, cost, more) => ({ kind: "attempt", intentId: id, attemptId: `${id}/0`, depth, agent: "buyer", state: "settled", at: 5, cost, flags: [], ...more });

const TREE = [
  intent("trip", 0, { budget: "50", flags: ["over_budget"] }),
  intent("rooms", 1, {}),
  { kind: "hand_over", intentId: "rooms", depth: 2, agent: "planner → buyer", state: "taken", at: 3, flags: [] },
  paid("rooms", 2, "30", { at: 9 }),
  intent("maps", 1, { budget: "100" }),
  paid("maps", 2, "20", { at: 2 }),
  paid("maps", 2, "1", { at: 4, state: "unknown", attemptId: "maps/1" }),
  paid("maps", 2, "5", { at: 6, attemptId: "maps/2" }),
  intent("other", 0, {}),
];

test("what is below a closed row is hidden, and a row that is looked for opens what is above it", () => {
  const rows = new Rows(TREE);
  rows.fold(4, false);
  assert.deepEqual(rows.shown, [0, 1, 2, 3, 4, 8]);
  rows.fold(0, false);
  assert.deepEqual(rows.shown, [0, 8]);
  rows.reveal(6);
  assert.deepEqual(rows.shown, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  rows.foldAll(false);
  assert.deepEqual(rows.shown, [0, 8]);
  rows.foldAll(true);
  assert.equal(rows.shown.length, TREE.length);
});

test("what matches is shown with what it hangs on, also below closed rows, and is counted without that", () => {
  const rows = new Rows(TREE);
  rows.fold(0, false);
  rows.update({ state: "unknown" });
  assert.deepEqual([rows.shown, rows.count], [[0, 4, 6], 1]);
  rows.update({ state: "", search: "BUYER rooms" });
  assert.deepEqual([rows.shown, rows.count], [[0, 1, 2, 3], 2]);
  rows.update({ search: "", agent: "buyer", only: (row) => row.cost === "5" });
  assert.deepEqual([rows.shown, rows.count], [[0, 4, 7], 1]);
  rows.update({ agent: "", only: () => false });
  assert.deepEqual([rows.shown, rows.count], [[], 0]);
});

test("by time each payment and hand-over stands once, the older first", () => {
  const rows = new Rows(TREE);
  rows.update({ order: "time" });
  assert.deepEqual(rows.shown, [5, 2, 6, 7, 3, 8]);
});

test("no rows are no error", () => {
  const rows = new Rows([]);
  assert.deepEqual([rows.shown, rows.count], [[], 0]);
});
