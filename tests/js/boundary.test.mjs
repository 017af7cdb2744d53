// What JavaScript can hand over that JSON can't carry, or that changes under our hands; and the module before it is loaded.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";
import { CounterfoilError, canonicalize, hashTypedData, sha256, signAuthorization, verifyReceipt, verifySignatures } from "counterfoil";
import { call, callText, parseUnits } from "counterfoil/raw";

const refused = (code, field) => (error) => {
  assert.ok(error instanceof CounterfoilError, String(error));
  assert.equal(error.code, code);
  if (field !== undefined) assert.equal(error.field, field);
  return true;
};
const echo = (value) => call("rawCanonicalize", { json: JSON.stringify(value) });

test("an error is made at the place of the call and carries what its code means", () => {
  try {
    parseUnits("1.5", "six");
    assert.fail("no error");
  } catch (error) {
    assert.equal(error.name, "CounterfoilError");
    assert.equal(Object.prototype.toString.call(error), "[object Error]");
    assert.match(error.stack, /boundary\.test\.mjs/);
    assert.deepEqual([error.code, error.field, error.next, error.money], ["invalid_type", "decimals", "fix_input", "none"]);
    assert.match(error.message, /^invalid_type: /);
  }
});

test("cycles are a typed error", () => {
  const ring = {};
  ring.self = ring;
  const list = [];
  list.push({ list });
  assert.throws(() => hashTypedData(ring), refused("cyclic_input"));
  assert.throws(() => hashTypedData(list), refused("cyclic_input"));
});

test("depth is a typed error, as text and as a value", () => {
  let deep = [];
  for (let i = 0; i < 100_000; i++) deep = [deep];
  assert.throws(() => hashTypedData(deep), refused("json_too_deep"));
  assert.throws(() => canonicalize("[".repeat(100_000) + "]".repeat(100_000)), refused("json_too_deep"));
  assert.equal(canonicalize("[]"), "[]"); // and the module still works
});

test("half a surrogate pair is refused wherever it stands", () => {
  for (const half of ["\ud800", "\udfff", "a\ud83d", "\ude00\ud83d"]) {
    assert.throws(() => canonicalize(`"${half}"`), refused("lone_surrogate"), "value");
    assert.throws(() => hashTypedData({ [half]: 1 }), refused("lone_surrogate"), "name");
    assert.throws(() => callText("canonicalize", `{"json":"${half}"}`), refused("lone_surrogate"), "text");
    assert.throws(() => call(half, {}), refused("lone_surrogate"), "call");
  }
  assert.equal(canonicalize('"\ud83d\ude00"'), '"\ud83d\ude00"');
});

test("bigint crosses as decimal text, undefined as absent", () => {
  assert.equal(parseUnits(15n, 0), "15");
  assert.throws(() => parseUnits("1", undefined), refused("missing_field", "decimals"));
  assert.throws(() => canonicalize(undefined), refused("missing_field", "json"));
  assert.throws(() => canonicalize(null), refused("missing_field", "json")); // null is absence, as in every parameter
  assert.throws(() => canonicalize(Symbol("{}")), refused("missing_field", "json"));
});

test("what throws or lies while it is read is a typed error, and is read once", () => {
  let reads = 0;
  const once = { get json() { return ++reads === 1 ? "[1]" : "[2]"; } };
  assert.equal(call("canonicalize", once), "[1]");
  assert.equal(reads, 1);
  const thrower = { get json() { throw new TypeError("no"); } };
  assert.throws(() => call("canonicalize", thrower), refused("invalid_type"));
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  assert.throws(() => call("canonicalize", { json: proxy }), refused("invalid_type"));
});

test("names of Object.prototype are ordinary names", () => {
  const text = '{"__proto__":{"polluted":1},"constructor":2,"toString":3}';
  assert.equal(canonicalize(text), text);
  assert.throws(() => hashTypedData(JSON.parse(text)), CounterfoilError);
  assert.equal({}.polluted, undefined);
});

test("only a Uint8Array is bytes", () => {
  const lookAlikes = ["616263", [97], { length: 1, 0: 97 }, new ArrayBuffer(3), new DataView(new ArrayBuffer(3)), new Uint16Array(3), new Uint8ClampedArray(3), Object.create(Uint8Array.prototype), new Proxy(new Uint8Array(3), {}), 3];
  for (const bytes of lookAlikes) {
    assert.throws(() => sha256(bytes), refused("invalid_type", "bytes"));
    assert.throws(() => signAuthorization({}, {}, bytes), refused("invalid_type", "secret"));
    assert.throws(() => verifyReceipt("{}", { body: bytes }), refused("invalid_type", "bytes"));
  }
  assert.throws(() => sha256(), refused("missing_field", "bytes"));
  const abc = "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-2, B.1
  assert.equal(sha256(Buffer.from("abc")), abc);
  assert.equal(sha256(runInNewContext("Uint8Array.of(97, 98, 99)")), abc);
  assert.equal(sha256(Uint8Array.of(0, 97, 98, 99, 0).subarray(1, 4)), abc);
});

test("bytes that are no UTF-8 are refused as text", () => {
  for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80]]) {
    assert.throws(() => verifyReceipt(Uint8Array.from(bytes)), refused("json_invalid", "receipt"));
  }
  assert.throws(() => verifyReceipt(7), refused("invalid_type", "receipt"));
  assert.throws(() => verifyReceipt("{}", null), refused("invalid_type", "material"));
});

test("nothing to verify is nothing verified", () => {
  assert.deepEqual(verifySignatures([]), []);
  assert.deepEqual(verifySignatures(new Uint8Array()), new Uint8Array());
});

test("a key never shows up in an error", () => {
  const key = Uint8Array.from({ length: 33 }, (_, i) => 0xa0 + i);
  const shown = [Buffer.from(key).toString("hex").slice(0, 16), Buffer.from(key).toString("base64").slice(0, 11), "160,161,162"];
  try {
    signAuthorization({}, {}, key);
    assert.fail("no error");
  } catch (error) {
    const told = [error.message, error.stack, JSON.stringify(error), ...Object.values(error).map(String)].join("\n");
    for (const piece of shown) assert.ok(!told.includes(piece));
  }
});

test("the caller's key and body are left as they were", () => {
  const key = new Uint8Array(32).fill(7);
  call("addressOfKey", {}, undefined, key);
  assert.deepEqual(key, new Uint8Array(32).fill(7));
});

// The sources as a browser gets them: no module inside.
const home = join(createRequire(import.meta.url).resolve("counterfoil/package.json"), "..");
const source = (file) => import(pathToFileURL(join(home, "src", file)));

test("before load everything says so, and load can be tried again", async () => {
  const { canonicalize, load } = await source("index.mjs");
  assert.throws(() => canonicalize("{}"), (error) => error.name === "CounterfoilError" && error.code === "not_loaded" && error.next === "fix_input");
  await assert.rejects(load(Uint8Array.of(0, 1, 2)), { name: "CounterfoilError", code: "not_loaded" });
  await assert.rejects(load("http://127.0.0.1:1/counterfoil_bg.wasm"), { code: "not_loaded" });
  assert.throws(() => canonicalize("{}"), { code: "not_loaded" });
  const module = await WebAssembly.compile(readFileSync(join(home, "wasm/counterfoil_bg.wasm")));
  await Promise.all([load(module), load(module)]);
  await load();
  assert.equal(canonicalize('{ "b":1, "a":2 }'), '{"a":2,"b":1}');
});

test("a module that stopped in the middle is replaced by a fresh one", async () => {
  const { enter } = await source("wasm.mjs");
  const trap = { length: 3, charCodeAt() { throw new WebAssembly.RuntimeError("unreachable"); } };
  assert.throws(() => enter("call", [trap, "{}"]), { name: "CounterfoilError", code: "internal_error", next: "ask_human", money: "possible" });
  const { canonicalize } = await source("core.mjs");
  assert.equal(canonicalize("[ 1 ]"), "[1]");
});

after(() => assert.equal(echo({ a: [1, "ä"] }), '{"a":[1,"ä"]}'));
