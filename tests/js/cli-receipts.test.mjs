// `counterfoil verify` on signed receipts and described forms: whom to trust, what was paid and what was delivered come from files.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const command = join(home, "..", ".bin", "counterfoil");
const { base, cases } = JSON.parse(readFileSync(new URL("../receipts/signed.json", import.meta.url), "utf8"));
const caseOf = (id) => cases.find((one) => one.id === id);

const folder = mkdtempSync(join(tmpdir(), "counterfoil-cli-receipts-"));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const file = (content) => {
  const at = join(folder, `${files++}`);
  writeFileSync(at, typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content));
  return at;
};

function run(...args) {
  return new Promise((done) => execFile(command, ["verify", ...args, "--json"], { timeout: 30_000 }, (error, out, err) => {
    const report = out && JSON.parse(out);
    done({ status: error ? error.code : 0, report, err, states: Object.fromEntries((report.checks ?? []).map(({ id, state }) => [id, state])) });
  }));
}
/** The case's receipt, its time, and the payment that all of them are of. */
const arrange = (id) => {
  const { receipt, material } = caseOf(id);
  return { receipt: file(receipt), payment: file({ ...base, now: material.now }), material };
};

test("a signed receipt with the key that --trust names is verified", async () => {
  const { receipt, payment, material } = arrange("receipt-jws-EdDSA-proven");
  const { status, states } = await run(receipt, "--material", payment, "--trust", file(material.trust));
  assert.equal(status, 0);
  assert.deepEqual([states.signature, states["signer.authorized"], states["chain.transfer"]], ["pass", "pass", "pass"]);
});

test("without --trust it is not, and with another's key it fails", async () => {
  const { receipt, payment } = arrange("receipt-jws-EdDSA-proven");
  assert.equal((await run(receipt, "--material", payment)).status, 2);
  const other = caseOf("receipt-jws-ES256-proven").material.trust;
  const { status, states } = await run(receipt, "--material", payment, "--trust", file(other));
  assert.deepEqual([status, states.signature], [1, "fail"]);
});

test("the document of the seller's host is handed in by --did-document", async () => {
  const { receipt, payment, material } = arrange("did-web-of-the-resources-host");
  const [document] = material.trust.didDocuments;
  assert.equal((await run(receipt, "--material", payment)).status, 2);
  assert.equal((await run(receipt, "--material", payment, "--did-document", file(document))).status, 0);
});

test("a described form is read by --profile", async () => {
  const { receipt, payment, material } = arrange("form-jws");
  const response = file(Buffer.from(caseOf("form-jws").body.slice(2), "hex"));
  const args = [receipt, "--material", payment, "--trust", file(material.trust), "--response", response];
  const { status, report } = await run(...args, "--profile", file(material.profile));
  assert.deepEqual([status, report.facts.bodyReading], [0, "exact"]);
  const broken = await run(...args, "--profile", file({ ...material.profile, v: 2 }));
  assert.deepEqual([broken.status, broken.report.error.code, broken.report.error.field], [2, "unsupported_version", "material.profile.v"]);
});

test("a content coding is taken off, each kind, and the reading is told", async () => {
  const { receipt, body } = caseOf("reading-exact");
  const bytes = Buffer.from(body.slice(2), "hex");
  const payment = file(base);
  const codings = { gzip: gzipSync(bytes), deflate: deflateSync(bytes), br: brotliCompressSync(bytes), "gzip, br": brotliCompressSync(gzipSync(bytes)) };
  for (const [name, coded] of [...Object.entries(codings), ["deflate", deflateRawSync(bytes)]]) {
    const { status, report } = await run(file(receipt), "--material", payment, "--response", file(coded), "--response-encoding", name);
    assert.deepEqual([status, report.facts?.bodyReading], [0, "decoded"], name);
  }
  // One that is still coded, and not said to be, is another answer.
  assert.equal((await run(file(receipt), "--material", payment, "--response", file(codings.gzip))).status, 1);
});

test("a bomb, a wrong coding and an unknown one are refused in words", async () => {
  const { receipt } = caseOf("reading-exact");
  const bomb = gzipSync(Buffer.alloc((256 << 20) + 1));
  for (const [coded, name, words] of [[bomb, "gzip", /larger than 268435456 bytes/], [Buffer.from("plain"), "gzip", /not in the content coding/], [Buffer.from("x"), "zstd", /is one of/], [Buffer.from("x"), "toString", /is one of/]]) {
    const { status, err, report } = await run(file(receipt), "--response", file(coded), "--response-encoding", name);
    assert.deepEqual([status, report], [2, ""]);
    assert.match(err, words);
  }
});

test("files that are no JSON object are refused in words", async () => {
  for (const option of ["--trust", "--did-document", "--profile", "--material"]) {
    for (const content of ["prose", "[]", "null"]) {
      const { status, err } = await run(file(caseOf("receipt-proven").receipt), option, file(content));
      assert.equal(status, 2, option);
      assert.match(err, new RegExp(`${option} wants a file with a JSON object`));
    }
  }
});
