// Evidence with proofs, and every alteration of it refused for its own reason.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { resolve } from "counterfoil/core";

const { bases, cases } = JSON.parse(readFileSync(new URL("../proofs/cases.json", import.meta.url)), (_, value) => (value?.times ? Array(value.times).fill(value.repeat) : value));

for (const { why, of, set, verdict, reasons } of cases) {
  test(`${of}: ${why}`, () => {
    const base = structuredClone(bases[of]);
    for (const [path, value] of Object.entries(set)) {
      const names = path.split(".");
      const last = names.pop();
      names.reduce((at, name) => at[name], base)[last] = value;
    }
    const found = resolve(base.authorization, base.ctx, base.evidence);
    assert.deepEqual([found.verdict, found.reasons], [verdict, reasons]);
    assert.equal(found.provedIn !== undefined, reasons.includes("proved"));
  });
}

test("there are 30 alterations and more", () => assert.ok(cases.filter(({ verdict }) => verdict === "unreadable").length > 30));
