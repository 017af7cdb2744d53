// Stands in for node:test and node:assert/strict where a suite of tests is bundled into a page: what is registered is kept, to be run from
// outside, one by one.

export const tests = [];

export function test(title, body) {
  tests.push({ title, body });
}

const show = (value) => JSON.stringify(value) ?? String(value);
const tag = (value) => Object.prototype.toString.call(value);

function same(a, b) {
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return Object.is(a, b);
  // By tag and not by prototype: what comes from a frame is as good.
  const names = Object.keys(a);
  return tag(a) === tag(b) && names.length === Object.keys(b).length && names.every((name) => name in b && same(a[name], b[name]));
}

function must(holds, message, ...values) {
  if (!holds) throw new Error([message ?? "not as expected", ...values.map(show)].join(": "));
}

const assert = {
  ok: (value, message) => must(value, message),
  equal: (actual, expected, message) => must(Object.is(actual, expected), message, actual, expected),
  notEqual: (actual, other, message) => must(!Object.is(actual, other), message, actual),
  deepEqual: (actual, expected, message) => must(same(actual, expected), message, actual, expected),
  async rejects(promise, expected, message) {
    const error = await promise.then((value) => must(false, message ?? "not rejected", value), (error) => error);
    for (const [name, value] of Object.entries(expected)) must(same(error[name], value), message ?? error.message, name, error[name], value);
  },
};
export default assert;
