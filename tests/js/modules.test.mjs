// The modules of the package: what each answers, that all give the same answers, and which of them is used.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { readVectors } from "./vectors.mjs";

const require = createRequire(import.meta.url);
const home = join(require.resolve("counterfoil/package.json"), "..");
const encoder = new TextEncoder();

/** An instance of its own: `call(vector)` gives the answer as the boundary has it. */
async function instance(name, glue) {
  const functions = await import(`${pathToFileURL(join(home, "wasm", `${glue}.mjs`))}?${name}`);
  functions.initSync({ module: readFileSync(join(home, "wasm", `${name}_bg.wasm`)) });
  return ({ call, input, bytes, secret }) => JSON.parse(functions.call(call, encoder.encode(input), bytes, secret));
}

const whole = await instance("counterfoil", "counterfoil");
const verifiers = { verify: await instance("verify", "verify"), verify_simd: await instance("verify_simd", "verify") };
const vectors = readVectors();
const isUnknown = ({ error }) => error?.code === "unknown_call";

/** What `counterfoil/verify` and the page stand on, and what an auditor calls. */
const READING = [
  "approvalDocument", "auditAcross", "auditLines", "auditNames", "auditSummary", "auditVerdicts", "authorizationDigest", "bundleEvidenceTargets", "canonicalSha256", "canonicalize", "claimDigest", "claimPaymentIdHash", "findConflicts", "forgetKeys", "hashTypedData", "lineage", "lineageProv", "proofSlots",
  "recoverPayer", "refundClosed", "resolve", "sha256", "verifyLineage", "verifyReceipt", "verifySignatures", "verifySignaturesPacked",
];
/** What a verifier must not be able to do. */
const PAYING = ["clientStart", "clientStep", "saleStep", "signAuthorization", "signTypedData", "rawSignDigest", "buildPayment", "journalAppend", "policyChoose", "receiptProofFrom"];

for (const [name, verifier] of Object.entries(verifiers)) {
  test(`${name} answers what is read and verified, and nothing that pays or signs`, () => {
    for (const call of READING) assert.ok(!isUnknown(verifier({ call, input: "{}" })), call);
    for (const call of PAYING) {
      assert.ok(isUnknown(verifier({ call, input: "{}" })), call);
      assert.ok(!isUnknown(whole({ call, input: "{}" })), call);
    }
  });

  test(`${name} gives the answers of the whole core to every vector it knows`, () => {
    const known = new Set();
    for (const vector of vectors) {
      const answer = verifier(vector);
      if (isUnknown(answer) && !vector.error) continue;
      if (!isUnknown(answer)) known.add(vector.call);
      assert.deepStrictEqual(isUnknown(answer) ? whole(vector) : answer, whole(vector), vector.file);
    }
    for (const call of ["verifyReceipt", "findConflicts", "resolve", "verifySignatures", "canonicalize"]) assert.ok(known.has(call), call);
  });
}

test("jws alone knows P-256 and Ed25519, and nothing else", async () => {
  const jws = await instance("jws", "jws");
  const answers = vectors.filter(({ call, expected }) => call === "checkJws" && typeof expected === "boolean").map((vector) => [JSON.parse(vector.input).alg, vector.expected, jws(vector).ok, whole(vector).ok]);
  for (const [alg, expected, apart, here] of answers) assert.deepEqual([apart, here], alg === "ES256K" ? [null, expected] : [expected, null], alg);
  assert.deepEqual([...new Set(answers.map(([alg]) => alg))].sort(), ["ES256", "ES256K", "EdDSA"]);
  for (const call of [...READING, ...PAYING]) assert.ok(isUnknown(jws({ call, input: "{}" })), call);
});

/** What a fresh process prints. */
const printed = (code) => execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: new URL(".", import.meta.url), encoding: "utf8" }).trim();
/** Which texts of modules were read. */
const READ = 'import { createRequire } from "node:module"; const read = () => Object.keys(createRequire(import.meta.url).cache).map((file) => file.match(/\\w+_bg(?=\\.cjs$)/)?.[0]).filter(Boolean).sort().join();';

test("whoever only verifies starts the verifier alone, and whoever pays or signs the whole core alone", () => {
  const seen = (imports, use) => printed(`${READ} ${imports} try { ${use} } catch (error) { if (!error.code) throw error; } console.log(read());`);
  assert.match(seen('import { verifyReceipt } from "counterfoil/verify";', 'verifyReceipt("{}");'), /^verify(_simd)?_bg$/);
  assert.match(seen('import { sha256 } from "counterfoil";', "sha256(Uint8Array.of(1));"), /^verify(_simd)?_bg$/);
  assert.equal(seen('import { signAuthorization, verifyReceipt } from "counterfoil";', 'try { signAuthorization({}, {}, new Uint8Array(32)); } catch {} verifyReceipt("{}");'), "counterfoil_bg");
  assert.equal(seen('import * as all from "counterfoil";', ""), "");
  const { cases } = JSON.parse(readFileSync(new URL("../receipts/signed.json", import.meta.url), "utf8"));
  const verified = (alg) => {
    const { receipt, material } = cases.find(({ id }) => id === `official-jws-${alg}-key-0-receipt`);
    return seen('import { verifyReceipt } from "counterfoil/verify";', `verifyReceipt(${JSON.stringify(receipt)}, ${JSON.stringify(material)});`);
  };
  assert.match(verified("EdDSA"), /^jws_bg,verify(_simd)?_bg$/);
  assert.match(verified("ES256K"), /^verify(_simd)?_bg$/);
});
