// Independent data for the values, through the packed package: RFC 8785, NIST's SHA-256, base64, EIP-55, units; and the
// JavaScript engine itself, whose number and string texts are the ones that RFC 8785 demands.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { canonicalSha256, canonicalize, sha256 } from "counterfoil/core";
import { base64Decode, base64Encode, canonicalizePlain, checksumAddress, parseAmount, parseUnits } from "counterfoil/raw";

const read = (name) => readFileSync(new URL(`../corpora/${name}`, import.meta.url), "utf8");
const corpus = (name) => JSON.parse(read(name));
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));

/** Doubles of every size from a fixed sequence (xorshift64). */
function* doubles(count) {
  const view = new DataView(new ArrayBuffer(8));
  for (let state = 0x9e3779b97f4a7c15n; count > 0; count--) {
    state ^= BigInt.asUintN(64, state << 13n);
    state ^= state >> 7n;
    state ^= BigInt.asUintN(64, state << 17n);
    view.setBigUint64(0, state);
    const double = view.getFloat64(0);
    if (Number.isFinite(double)) yield double;
  }
}

/** A number's shortest text without exponent. */
function expanded(number) {
  const [, digits, fraction = "", exponent = "0"] = /^(\d+)(?:\.(\d+))?(?:e\+(\d+))?$/.exec(String(number));
  return BigInt(digits + fraction.padEnd(Number(exponent), "0"));
}

test("RFC 8785 documents", () => {
  for (const name of ["arrays", "french", "structures", "unicode", "values", "weird"]) {
    const output = read(`jcs/output/${name}.json`);
    for (const text of [read(`jcs/input/${name}.json`), output]) {
      assert.equal(canonicalize(text), output, name);
      assert.equal(canonicalizePlain(text), output, name);
      assert.equal(canonicalSha256(text), `0x${createHash("sha256").update(output).digest("hex")}`, name);
    }
  }
});

test("RFC 8785 numbers", () => {
  const lines = read("jcs/es6numbers-first1000.txt").trimEnd().split("\n");
  for (const line of lines) {
    const [bits, want] = line.split(",");
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, BigInt(`0x${bits}`));
    for (const literal of [view.getFloat64(0).toExponential(), want]) {
      assert.equal(canonicalizePlain(literal), want, literal);
    }
    assert.equal(canonicalize(want), want);
  }
  assert.equal(lines.length, 1000);
});

test("numbers as the engine prints them", () => {
  const list = [...doubles(20_000)];
  const text = `[${list.map((double) => double.toExponential(16)).join()}]`;
  assert.equal(canonicalizePlain(text), JSON.stringify(list));
});

test("whole numbers are kept or refused, never changed", () => {
  let [kept, refused] = [0, 0];
  for (const double of doubles(2_000)) {
    const whole = BigInt(Math.floor(Math.abs(double) % 2 ** 60)) + 1n;
    for (const value of [whole, whole * 1000n, 2n ** 53n + (whole % 1000n)]) {
      const exact = expanded(Number(value)) === value;
      const digits = String(value);
      for (const literal of [digits, `${digits}.0`, `${digits}e0`, `${digits}00e-2`, `${digits.slice(0, -1)}.${digits.at(-1)}E1`]) {
        if (literal.startsWith(".")) continue;
        if (exact) assert.equal(canonicalize(literal), String(Number(value)));
        else assert.throws(() => canonicalize(literal), { code: "number_out_of_range" }, literal);
      }
      exact ? kept++ : refused++;
    }
  }
  assert.ok(kept > 1000 && refused > 1000, `${kept} kept, ${refused} refused`);
});

test("strings as the engine prints them", () => {
  const units = Array.from({ length: 0x10000 }, (_, unit) => unit).filter((unit) => unit < 0xd800 || unit > 0xdfff);
  const list = units.map((unit) => String.fromCharCode(unit)).concat("\u{10000}", "\u{10ffff}", "😀");
  assert.equal(canonicalize(JSON.stringify(list)), JSON.stringify(list));
  const names = JSON.stringify(Object.fromEntries(list.map((name) => [`n${name}`, 0])));
  const sorted = list.map((name) => `n${name}`).sort().map((name) => `${JSON.stringify(name)}:0`);
  assert.equal(canonicalize(names), `{${sorted.join()}}`);
});

/** The values of one name in a NIST response file. */
const nist = (file, name) => Array.from(read(file).matchAll(new RegExp(`^${name} = (\\w+)`, "gm")), (match) => match[1]);

test("NIST SHA-256, short messages", () => {
  const file = "nist-sha256/SHA256ShortMsg.rsp";
  const [lengths, messages, digests] = ["Len", "Msg", "MD"].map((name) => nist(file, name));
  digests.forEach((want, i) => assert.equal(sha256(bytes(messages[i]).subarray(0, lengths[i] / 8)), `0x${want}`));
  assert.deepEqual([lengths.length, messages.length, digests.length], [65, 65, 65]);
});

test("NIST SHA-256, Monte Carlo", () => {
  const file = "nist-sha256/SHA256Monte.rsp";
  let [seed] = nist(file, "Seed");
  const checkpoints = nist(file, "MD");
  for (const want of checkpoints) {
    let last = [seed, seed, seed];
    for (let i = 0; i < 1000; i++) last = [last[1], last[2], sha256(bytes(last.join(""))).slice(2)];
    seed = last[2];
    assert.equal(seed, want);
  }
  assert.equal(checkpoints.length, 100);
});

test("base64", () => {
  const { valid, strictReject } = corpus("base64/base64-vectors.json");
  for (const { hex, std, url } of valid) {
    for (const text of [std, url, std.replaceAll("=", ""), url.replaceAll("=", "")]) {
      assert.deepEqual(base64Decode(text), bytes(hex));
    }
    assert.equal(base64Encode(bytes(hex)), std);
  }
  // What a header may be and a strict decoder does not take: no padding, the other alphabet.
  const taken = { Zg: "66", "Zm-_": "666fbf" };
  for (const { text, why } of strictReject) {
    if (Object.hasOwn(taken, text)) assert.deepEqual(base64Decode(text), bytes(taken[text]));
    else assert.throws(() => base64Decode(text), { code: "base64_invalid", field: "text" }, why);
  }
  assert.deepEqual([valid.length, strictReject.length], [11, 14]);
});

test("EIP-55", () => {
  const accounts = corpus("ethers/accounts.json");
  for (const { address, checksumAddress: want } of accounts) {
    for (const text of [address, want, want.toLowerCase(), `0x${want.slice(2).toUpperCase()}`]) {
      assert.equal(checksumAddress(text), want);
    }
    const swapped = want.slice(2).replace(/[a-z]/gi, (c) => (c < "a" ? c.toLowerCase() : c.toUpperCase()));
    if (/[a-f]/.test(swapped) && /[A-F]/.test(swapped)) {
      assert.throws(() => checksumAddress(`0x${swapped}`), { code: "address_checksum", field: "address" });
    }
  }
  assert.equal(accounts.length, 1038);
});

test("units", () => {
  const seen = { taken: 0, refused: 0 };
  for (const { ether, wei } of corpus("ethers/units.json")) {
    // A sign, a leading zero and a bare point are refused here.
    const bare = /^[-.]|^0[^.]/.test(ether);
    if (bare) assert.throws(() => parseUnits(ether, 18), { code: "amount_invalid", field: "value" }, ether);
    else assert.equal(parseUnits(ether, 18), wei);
    seen[bare ? "refused" : "taken"]++;
  }
  assert.deepEqual(seen, { taken: 10, refused: 10 });
});

test("amounts as BigInt reads them", () => {
  for (const double of doubles(500)) {
    const value = BigInt.asUintN(256, BigInt(Math.trunc(double)));
    assert.equal(parseAmount(String(value)), String(value));
  }
  for (const text of ["9".repeat(1 << 20), String(2n ** 256n), String(2n ** 512n)]) {
    assert.throws(() => parseAmount(text), { code: "amount_invalid", field: "value" });
  }
});
