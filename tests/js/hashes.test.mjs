// Canonical JSON and SHA-256 where the host has no SHA-256 that answers at once, as in a browser: the core's own, and WebCrypto for large bodies.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const sources = (name) => pathToFileURL(join(home, "src", name));
/** Around the sizes at which another implementation takes over: 256 bytes and 27 KiB. */
const lengths = [0, 1, 55, 56, 63, 64, 65, 255, 256, 257, 27647, 27648, 27649, 100_000];
const body = (length) => Uint8Array.from({ length }, (_, index) => (index * 167 + 13) & 255);
const expected = lengths.map((length) => `0x${createHash("sha256").update(body(length)).digest("hex")}`);
const json = `{ "b" : "${"x".repeat(300)}", "a" : [1.0, "\\u00e9"] }`;
const canonical = `{"a":[1,"é"],"b":"${"x".repeat(300)}"}`;

const program = (subtle) => `
process.getBuiltinModule = undefined;
const asked = [];
const subtle = ${subtle} ? globalThis.crypto.subtle : undefined;
Object.defineProperty(globalThis, "crypto", { value: { subtle: subtle && { digest(name, data) { asked.push(data.length); return subtle.digest(name, data); } } } });
const { sha256, canonicalSha256 } = await import("${sources("inline.mjs")}");
const { digest } = await import("${sources("hashes.mjs")}");
const body = ${body};
const whole = [], pieces = [];
for (const length of ${JSON.stringify(lengths)}) {
  const data = body(length);
  whole.push(sha256(data));
  const hash = digest();
  for (let at = 0; at < length; at += 1000) hash.update(data.subarray(at, at + 1000));
  pieces.push(await hash.hex());
}
console.log(JSON.stringify({ whole, pieces, asked, canonical: canonicalSha256(${JSON.stringify(json)}) }));
`;

for (const subtle of [true, false]) {
  test(`hashes without Node's own, ${subtle ? "with" : "without"} WebCrypto`, async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program(subtle)]);
    const told = JSON.parse(stdout);
    assert.deepEqual(told.whole, expected);
    assert.deepEqual(told.pieces, expected);
    assert.deepEqual(told.asked, subtle ? lengths.filter((length) => length >= 27 << 10) : []);
    assert.equal(told.canonical, `0x${createHash("sha256").update(canonical).digest("hex")}`);
  });
}

test("hashes by Node's own", async () => {
  const { canonicalSha256, sha256 } = await import("counterfoil/core");
  assert.deepEqual(lengths.map((length) => sha256(body(length))), expected);
  assert.equal(canonicalSha256(json), `0x${createHash("sha256").update(canonical).digest("hex")}`);
  assert.throws(() => canonicalSha256(json.slice(1)), { code: "json_invalid", field: "json" });
  assert.throws(() => canonicalSha256(json.replace("x", "\ud800")), { code: "lone_surrogate" });
  assert.throws(() => canonicalSha256(undefined), { code: "missing_field", field: "json" });
  assert.throws(() => canonicalSha256({ length: 1000 }), { code: "invalid_type", field: "json" });
});

test("Node's own is asked from 256 bytes on", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", `
    const crypto = process.getBuiltinModule("node:crypto");
    const asked = [];
    const hash = (name, data) => { asked.push(data.length); return crypto.createHash(name).update(data).digest("hex"); };
    process.getBuiltinModule = () => ({ hash });
    const { sha256, canonicalSha256 } = await import("${sources("inline.mjs")}");
    const body = ${body};
    const whole = ${JSON.stringify(lengths)}.map((length) => sha256(body(length)));
    console.log(JSON.stringify({ whole, asked, canonical: canonicalSha256(${JSON.stringify(json)}) }));
  `]);
  const told = JSON.parse(stdout);
  assert.deepEqual(told.whole, expected);
  assert.deepEqual(told.asked, [...lengths.filter((length) => length >= 256), Buffer.byteLength(canonical)]);
  assert.equal(told.canonical, `0x${createHash("sha256").update(canonical).digest("hex")}`);
});
