// Checks the files of the last run with the verifier of counterfoil, and again with one bit of the answer changed.
//   node check.mjs    prints {"verdict":"verified","passed":n,"failed":[…],"tampered":"failed"}
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { verifyReceipt } from "counterfoil/verify";

const read = (name) => readFileSync(join(dirname(fileURLToPath(import.meta.url)), "out", name));
const bundle = read("bundle.json").toString("utf8");
const body = new Uint8Array(read("response.bin"));
const evidence = JSON.parse(read("evidence.json"));
const now = Math.floor(Date.now() / 1000);

const report = verifyReceipt(bundle, { body, evidence, now });
body[0] ^= 1;
console.log(JSON.stringify({
  verdict: report.verdict,
  passed: report.checks.filter(({ state }) => state === "pass").length,
  failed: report.checks.filter(({ state, required }) => state === "fail" || (required && state !== "pass")).map(({ id, why }) => `${id}: ${why}`),
  tampered: verifyReceipt(bundle, { body, evidence, now }).verdict,
}));
