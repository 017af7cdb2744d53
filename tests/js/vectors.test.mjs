// Every vector through the packed package: the same files and the same dispatch that the Rust tests run.

import assert from "node:assert/strict";
import { test } from "node:test";
import { callText, checkJws } from "counterfoil/raw";
import { readVectors } from "./vectors.mjs";

const vectors = readVectors();

test(`${vectors.length} vectors`, () => assert.notEqual(vectors.length, 0));

for (const vector of vectors) {
  test(vector.file, () => {
    // The one call that two modules share.
  const run = () => (vector.call === "checkJws" ? checkJws(vector.input) : callText(vector.call, vector.input, vector.bytes, vector.secret));
    if ("error" in vector) {
      const { code, field } = typeof vector.error === "string" ? { code: vector.error } : vector.error;
      assert.throws(run, (error) => {
        assert.equal(error.name, "CounterfoilError");
        assert.equal(error.code, code);
        if (field !== undefined) assert.equal(error.field ?? "", field);
        return true;
      });
    } else {
      assert.deepStrictEqual(run(), vector.expected);
    }
  });
}
