// The lineage as PROV-JSON, read by another implementation: the Python library `prov`, from pip.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createPayer, lineageProv } from "counterfoil";
import { OFFER, PAYER, counted, openJournal, priced, shop, sold, thrown } from "./payer-stage.mjs";

const VERSION = "3.2.3";
const target = fileURLToPath(new URL("../../target/", import.meta.url));

/** A Python that has the library; undefined where there is none and none can be had. */
function reader() {
  const folder = join(target, "prov");
  const python = join(folder, "bin/python");
  const has = () => spawnSync(python, ["-c", `import importlib.metadata as m; assert m.version("prov") == "${VERSION}"`]).status === 0;
  try {
    if (!existsSync(python)) execFileSync("python3", ["-m", "venv", folder]);
    if (!has()) execFileSync(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", `prov==${VERSION}`], { stdio: "inherit" });
    return python;
  } catch {
    return undefined;
  }
}

const read = (python, document) => JSON.parse(execFileSync(python, [fileURLToPath(new URL("prov/read.py", import.meta.url))], { input: JSON.stringify(document) }));

test("a reader of provenance finds who did what with what, and on whose behalf", async (t) => {
  const python = reader();
  if (!python) return t.skip("the reader wants Python and pip to reach its registry");
  const seller = await shop(t, (req, res, payment) => (payment && req.url.includes("lost") ? res.destroy() : payment ? sold(res, payment) : priced(res, { accepts: [{ ...OFFER, amount: "30000" }] })));
  const journal = openJournal();
  const options = { signer: counted(), journal, policy: { perCall: "100000" } };
  const planner = createPayer({ ...options, actor: "planner" });
  const trip = await planner.intend({ id: "trip-000000000000001", purpose: 'Trip to "Oslo" – ✈', budget: "90000" });
  const buyer = createPayer({ ...options, actor: "buyer 1: a/b", root: trip });
  await (await buyer.fetch(seller.url)).text();
  await thrown(buyer.fetch(`${seller.url}?lost`));

  const bundle = await planner.export();
  const document = lineageProv([bundle]);
  const { elements, relations, dangling, again, times, agents } = read(python, document);
  assert.deepEqual(dangling, []);
  assert.ok(again, "it is not the same when it is written again");
  assert.deepEqual(agents, ["actor:buyer%201%3A%20a%2Fb", `actor:${PAYER}`, "actor:planner"].sort());
  const sends = elements["Activity cf:send"];
  const seen = elements["Activity cf:observation"];
  assert.deepEqual(elements, {
    "Entity cf:intent": 3, "Entity cf:quote": 2, "Entity cf:authorization": 2, "Entity cf:receipt": 1,
    "Activity cf:attempt": 2, "Activity cf:send": sends, "Activity cf:observation": seen,
    "Agent cf:payer": 1, "Agent prov:SoftwareAgent": 2,
  });
  assert.ok(sends >= 2 && seen >= 2);
  assert.deepEqual(relations, {
    "Derivation cf:intent cf:intent": 2, "Derivation cf:quote cf:intent": 2,
    "Usage cf:attempt cf:quote": 2, "Generation cf:authorization cf:attempt": 2,
    "Usage cf:send cf:authorization": sends, "Usage cf:observation cf:authorization": seen, "Generation cf:receipt cf:observation": 1,
    "Attribution cf:intent prov:SoftwareAgent": 3, "Attribution cf:quote prov:SoftwareAgent": 2,
    "Attribution cf:authorization prov:SoftwareAgent": 2, "Attribution cf:receipt prov:SoftwareAgent": 1,
    "Association cf:attempt prov:SoftwareAgent": 2, "Association cf:send prov:SoftwareAgent": sends, "Association cf:observation prov:SoftwareAgent": seen,
    // Planner and buyer for the payer, the buyer for the planner.
    "Delegation prov:SoftwareAgent cf:payer": 2, "Delegation prov:SoftwareAgent prov:SoftwareAgent": 1,
  });
  assert.ok(times.every((time) => /^20\d\d-.*\+00:00$/.test(time)), times[0]);
  // One branch alone, and a root that is not there.
  assert.equal(Object.values(lineageProv([bundle], { root: trip }).entity).length, 8);
  assert.throws(() => lineageProv([bundle], { root: "0x00" }), { code: "intent_unknown" });
  await Promise.all([planner.close(), buyer.close()]);
});
