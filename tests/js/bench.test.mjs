// The benchmark's own arithmetic: who agrees, how a speed and a ratio come about. It measures nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { agreed, measure, summary } from "../bench/measure.mjs";
import { jsonLines, markdown } from "../bench/report.mjs";
import { placed } from "../bench/results.mjs";

const question = (product, peers) => ({ id: "q", title: "Question", product, peers });

test("everybody agrees, at once or with a promise", async () => {
  assert.equal(await agreed(question(() => "0x01", { a: () => "0x01", b: async () => "0x01" })), "0x01");
});

for (const [name, peers, pattern] of [
  ["another answer", { a: () => "0x01", liar: () => "0x02" }, /q: liar differs/],
  ["another spelling", { shouter: () => "0X01" }, /q: shouter differs/],
  ["another type", { bytes: () => Uint8Array.of(1) }, /q: bytes differs/],
  ["a promise of another answer", { later: async () => "0x" }, /q: later differs/],
  ["no answer", { mute: () => undefined }, /q: mute differs/],
  ["a failure", { broken: () => { throw new Error("broken inside"); } }, /broken inside/],
]) {
  test(`${name} ends the run before anything is timed`, () => assert.rejects(agreed(question(() => "0x01", peers)), pattern));
}

test("no text from counterfoil is no agreement, whoever joins in", async () => {
  await assert.rejects(agreed(question(() => undefined, { a: () => undefined })), /gave no text/);
  await assert.rejects(agreed(question(() => "", { a: () => "" })), /gave no text/);
});

test("median and quartiles", () => {
  assert.deepEqual(summary([5, 1, 4, 2, 3]), { low: 2, median: 3, high: 4 });
  assert.deepEqual(summary([10, 2, 1, 3]), { low: 1.75, median: 2.5, high: 4.75 });
  assert.deepEqual(summary([7]), { low: 7, median: 7, high: 7 });
});

/** A clock that only the contenders move: one takes 1 ms a call, the other 4 ms. */
const staged = () => {
  let time = 0;
  const takes = (milliseconds) => () => { time += milliseconds; return "same"; };
  const later = (milliseconds) => async () => { time += milliseconds; return "same"; };
  return { takes, later, now: () => time };
};

test("speeds are calls a second, a ratio is counterfoil's speed over the peer's", async () => {
  const { takes, later, now } = staged();
  const [ours, slower, quicker] = await measure(question(takes(1), { slower: takes(4), quicker: later(0.5) }), { rounds: 5, milliseconds: 20, now });
  assert.deepEqual(ours, { name: "counterfoil", speed: { low: 1000, median: 1000, high: 1000 } });
  assert.deepEqual(slower, { name: "slower", speed: { low: 250, median: 250, high: 250 }, ratio: { low: 4, median: 4, high: 4 } });
  assert.deepEqual(quicker, { name: "quicker", speed: { low: 2000, median: 2000, high: 2000 }, ratio: { low: 0.5, median: 0.5, high: 0.5 } });
});

test("in every round everybody has a turn", async () => {
  const { takes, now } = staged();
  const order = [];
  const noted = (name, ask) => () => { if (order.at(-1) !== name) order.push(name); return ask(); };
  await measure(question(noted("ours", takes(1)), { a: noted("a", takes(1)), b: noted("b", takes(1)) }), { rounds: 3, milliseconds: 1, now });
  // After the warm-up, which goes through them once.
  assert.deepEqual(order.slice(3), ["ours", "a", "b", "a", "b", "ours", "b", "ours", "a"]);
});

test("both reports hold every ratio, every cold start and every size", () => {
  const speed = { low: 900, median: 1000, high: 1100 };
  const ratio = { low: 0.5, median: 0.75, high: 1.25 };
  const results = [{ name: "counterfoil", speed }, { name: "peer", speed, ratio }];
  const facts = {
    about: { date: "2026-01-01", cpu: "cpu", cores: 2, load: "0.1", node: "20", versions: "peer 1" },
    speeds: [{ id: "q", title: "Question", results }],
    cold: [{ name: "counterfoil", milliseconds: { low: 1, median: 2, high: 3 } }, { name: "peer", milliseconds: { low: 4, median: 5, high: 6 }, ratio }],
    sizes: [{ name: "module", raw: 1234567, gzip: 2, brotli: 1 }],
  };
  const lines = jsonLines(facts).trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ kind }) => kind), ["about", "speed", "speed", "cold", "cold", "size"]);
  assert.equal(lines[2].ratio.median, 0.75);
  const text = markdown(facts);
  assert.match(text, /\| peer \| 1 000 \| 900 – 1 100 \| 0\.750× \| 0\.500× – 1\.25× \|/);
  assert.match(text, /\| peer \| 5\.0 \| 4\.0 – 6\.0 \| 0\.750× \| 0\.500× – 1\.25× \|/);
  assert.match(text, /\| module \| 1 234 567 \| 2 \| 1 \|/);
  // A part alone has no empty tables of the others.
  assert.doesNotMatch(markdown({ about: facts.about, cold: facts.cold }), /Sizes|speed ÷/);
});

test("results of one part replace those of that part alone", () => {
  const first = placed(placed("# Results\n", "ops", "old ops"), "size", "old sizes");
  const text = placed(first, "ops", "new ops");
  assert.match(text, /^# Results\n\n<!-- ops -->\n\n## ops\n\nnew ops\n\n<!-- end of ops -->\n\n<!-- size -->\n\n## size\n\nold sizes\n\n<!-- end of size -->\n$/);
});
