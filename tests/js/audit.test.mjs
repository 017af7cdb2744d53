// counterfoil audit, as a shell would run it: what it reads, what it prints, and how it ends.

import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { auditAcross, auditLines, auditNames, auditSummary, auditVerdicts, verifyReceipt } from "counterfoil/verify";
import { call } from "counterfoil/raw";
import { peakOf, TELLS_PEAK } from "../audit/peak.mjs";

const require = createRequire(import.meta.url);
const home = dirname(require.resolve("counterfoil/package.json"));
const command = join(home, "src/cli/main.mjs");
const folder = mkdtempSync(join(tmpdir(), "counterfoil-audit-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const at = (...parts) => join(folder, ...parts);
const file = (name, content) => {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), content);
  return name;
};
const sha = (bytes) => createHash("sha256").update(bytes).digest("hex");

function start(args, { env, stdio } = {}) {
  return spawn(process.execPath, [command, "audit", ...args], { cwd: folder, env: { ...process.env, NO_COLOR: "", ...env }, stdio });
}

/** `{status, out, err}` of one run. */
function run(args, { input, env } = {}) {
  return new Promise((done) => {
    const child = execFile(process.execPath, [command, "audit", ...args], { cwd: folder, env: { ...process.env, ...env }, maxBuffer: 1 << 28, timeout: 120_000 }, (error, out, err) => {
      done({ status: error ? error.code : 0, out, err });
    });
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
  });
}

const json = async (args, options) => {
  const { status, out, err } = await run([...args, "--format", "json", "--quiet"], options);
  assert.ok(out, err);
  return { status, ...JSON.parse(out) };
};

// A purchase whose every required check passes, as a chain and a payer made it: the sample of the page.
const sample = (name) => fileURLToPath(new URL(`../../www/sample/${name}`, import.meta.url));
const bundle = readFileSync(sample("bundle.json"), "utf8");
const evidence = JSON.parse(readFileSync(sample("evidence.json"), "utf8"));
const answer = readFileSync(sample("response.bin"));
const good = { id: "good", receipt: JSON.parse(bundle), evidence, response: { base64: answer.toString("base64") } };
file("trust.json", JSON.stringify({ evidence: true }));
const trust = ["--trust", "trust.json"];

/** A seller's receipt for an answer, which alone is undecided. */
const seller = (body, more) => ({ responseSha256: sha(body), transaction: `0x${sha(`transaction of ${body}`)}`, ...more });

// ---------------------------------------------------------------- verdicts

test("all verified: status 0, and what the line says is not taken for trust", async () => {
  file("good.jsonl", `${JSON.stringify(good)}\n`);
  const verified = await json(["good.jsonl", ...trust]);
  assert.deepEqual([verified.status, verified.verdicts[0].verdict, verified.verdicts[0].id, verified.complete], [0, "verified", "good", true]);
  const keys = verified.verdicts[0].keys;
  const { facts } = verifyReceipt(bundle, { evidence, body: answer });
  assert.deepEqual([keys.payer, keys.transaction, keys.response, keys.intent, keys.amount, keys.shown], [facts.payer, facts.transaction, facts.bodySha256, facts.intentId, facts.amount, true]);
  assert.equal(keys.nonce, evidence.logs[0].topics[2]);
  const alone = await json(["good.jsonl"]);
  assert.deepEqual([alone.status, alone.verdicts[0].verdict], [2, "incomplete"]);
  assert.ok(alone.verdicts[0].codes.includes("chain.source"));
  file("vouching.jsonl", `${JSON.stringify({ ...good, trust: { evidence: true, blockHashes: [evidence.block.hash] } })}\n`);
  assert.equal((await json(["vouching.jsonl"])).verdicts[0].verdict, "incomplete");
});

test("answers and receipts of every length, hashed together, are hashed as Node hashes each", () => {
  const cases = Array.from({ length: 400 }, (_, length) => {
    const body = String.fromCharCode(97 + (length % 26)).repeat(length % 300);
    const wrong = length % 7 === 3;
    return { body, wrong, receipt: seller(wrong ? `${body}.` : body, { resource: `https://api.example.com/${"r".repeat(length % 150)}` }) };
  });
  const lines = cases.map(({ body, receipt }) => JSON.stringify({ receipt, response: { text: body } }));
  const judged = new TextDecoder().decode(auditLines(Buffer.from(lines.join("\n"))).verdicts).trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.equal(judged.length, cases.length);
  for (const [at, { body, wrong, receipt }] of cases.entries()) {
    const { verdict, codes, keys } = judged[at];
    assert.deepEqual([verdict, codes.includes("delivery.hash")], [wrong ? "failed" : "incomplete", wrong], `${at}: ${codes}`);
    assert.equal(keys.receipt, `0x${sha(JSON.stringify(receipt, Object.keys(receipt).sort()))}`, `${at}: ${body}`);
  }
});

test("verdicts are those of verifyReceipt, for every case that it has", () => {
  const casesOf = (name) => {
    const { base, cases } = JSON.parse(readFileSync(new URL(`../receipts/${name}.json`, import.meta.url), "utf8"));
    // A line says nothing of what is under a content coding.
    return cases.filter(({ decodedBody }) => decodedBody === undefined).map((one) => ({ ...one, material: one.base ? { ...base, ...one.material } : one.material }));
  };
  const vectors = fileURLToPath(new URL("../vectors/receipt", import.meta.url));
  const refused = readdirSync(vectors).map((name) => JSON.parse(readFileSync(join(vectors, name), "utf8"))).filter(({ call: called, input }) => called === "verifyReceipt" && input);
  const all = [...casesOf("cases"), ...casesOf("claims"), ...casesOf("claims-of-every-rail"), ...casesOf("signed"), ...refused.map(({ id, input, bytes }) => ({ id, ...input, body: bytes }))];
  const seen = {};
  for (const { id, receipt, material = {}, body: hex } of all) {
    const body = hex === undefined ? undefined : Buffer.from(hex.slice(2), "hex");
    const { trust: trusted, now, profile, ...own } = material;
    const given = { trust: { ...trusted, evidence: true }, now, profile };
    const line = { receipt, ...own, ...(body ? { response: { base64: body.toString("base64") } } : own.bodySha256 && { response: own.bodySha256 }) };
    // Trust that can't be read is no line's fault: the call itself says so.
    const ask = (text) => {
      try {
        return JSON.parse(Buffer.from(auditLines(Buffer.from(text), { given }).verdicts));
      } catch (error) {
        assert.match(error.field, /^given\./, id);
        return { verdict: "error", codes: [error.code] };
      }
    };
    const told = ask(JSON.stringify(line));
    let wanted = { verdict: "error" };
    try {
      const { verdict, checks } = verifyReceipt(receipt, { ...material, body });
      const state = { failed: "fail", incomplete: "not_checked" }[verdict];
      wanted = { verdict, codes: checks.filter((check) => check.state === state && (state === "fail" || check.required)).map((check) => check.id) };
    } catch (error) {
      wanted.codes = [error.code];
    }
    assert.deepEqual([told.verdict, told.codes], [wanted.verdict, wanted.codes.slice(0, 32)], id);
    seen[told.verdict] = (seen[told.verdict] ?? 0) + 1;
    if (!/^\s*\{/.test(receipt) || wanted.verdict === "error") continue;
    // As an object inside the line, instead of a text.
    const inside = JSON.stringify({ ...line, receipt: 0 }).replace('"receipt":0', `"receipt":${receipt.replace(/[\r\n]/g, " ")}`);
    const again = ask(inside);
    assert.deepEqual([again.verdict, again.codes], [told.verdict, told.codes], id);
  }
  assert.ok(["verified", "failed", "incomplete", "error"].every((verdict) => seen[verdict] > 3), JSON.stringify(seen));
});

test("many signatures of one seller are those of one by one, whoever signed some of them", () => {
  const { base, cases } = JSON.parse(readFileSync(new URL("../receipts/signed.json", import.meta.url), "utf8"));
  const signed = cases.filter(({ id, base: on }) => on && /^(receipt|offer|a[0-9]+|official)-/.test(id)).filter(({ material }) => !material.profile);
  const sets = Map.groupBy ? Map.groupBy(signed, ({ material }) => JSON.stringify([material.trust, material.now])) : grouped(signed);
  let together = 0;
  for (const [key, set] of sets) {
    const [trusted, now] = JSON.parse(key);
    const given = { trust: { ...trusted, evidence: true }, now };
    const lines = set.flatMap((one) => [one, one, one]).map(({ receipt, material: { trust: _, now: __, ...own } }) => JSON.stringify({ receipt, ...base, ...own }));
    const verdictsOf = (some) => Buffer.from(auditLines(Buffer.from(some.join("\n")), { given }).verdicts).toString().trimEnd().split("\n").map((line) => ({ ...JSON.parse(line), line: 0 }));
    assert.deepEqual(verdictsOf(lines), lines.flatMap((line) => verdictsOf([line])), key);
    if (set.length > 10) together += set.length;
  }
  assert.ok(together > 40, `${together}`);
});

function grouped(cases) {
  const sets = new Map();
  for (const one of cases) {
    const key = JSON.stringify([one.material.trust, one.material.now]);
    sets.set(key, [...(sets.get(key) ?? []), one]);
  }
  return sets;
}

test("an answer is asked for once by its names, and its canonical text only where that decides", () => {
  const text = '{ "b": 1, "a": 2 }';
  const canonical = `0x${sha('{"a":2,"b":1}')}`;
  const lines = [seller(text), { receipt: seller('{"a":2,"b":1}'), response: "named" }, { receipt: JSON.parse(bundle), response: "kept" }, "", { receipt: seller("x"), response: { text: "x" } }, "{"];
  const asked = [];
  const find = (names, unless) => {
    asked.push([names, unless]);
    return names && { sha256: `0x${sha(text)}`, length: text.length, ...(unless !== `0x${sha(text)}` && unless !== null && { canonical }) };
  };
  const bytes = Buffer.from(lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  const told = auditLines(bytes, { find, first: 5 });
  assert.deepEqual(asked.map(([names]) => names), auditNames(bytes).map((names, at) => (at === 3 ? null : names)));
  assert.deepEqual(asked.map(([, unless]) => unless), [`0x${sha(text)}`, canonical, null, null, `0x${sha("x")}`, null]);
  const found = asked.map(([names]) => names && { sha256: `0x${sha(text)}`, length: text.length, canonical });
  assert.deepEqual(told, auditLines(bytes, { found, first: 5 }), "as if all had been handed in");
  const verdicts = Buffer.from(told.verdicts).toString().trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(verdicts.map(({ line, codes }) => [line, codes.includes("delivery.hash")]), [[5, false], [6, false], [7, true], [9, false], [10, false]]);
  // What was kept is one call's own.
  assert.throws(() => auditLines(bytes, { find: () => auditLines(bytes, { find: () => null }) && null }), { code: "missing_field", field: "held" });
  assert.throws(() => auditLines(undefined, { find }), { code: "missing_field" });
  assert.deepEqual(auditLines(bytes, { find, first: 5 }), told);
});

test("the short way across the boundary says what the call says", () => {
  const lines = [good, seller("a"), "not json", { receipt: seller("b"), response: { text: "c" } }].map((line) => JSON.stringify(line));
  const { verdicts, summary } = auditLines(Buffer.from(lines.join("\n")), { input: "some", first: 7 });
  const slow = call("auditLines", { input: "some", first: 7, lines });
  assert.deepEqual(Buffer.from(verdicts).toString().trimEnd().split("\n").map((line) => JSON.parse(line)), slow.verdicts);
  assert.deepEqual(summary, slow.summary);
  const again = auditVerdicts(verdicts.subarray(0, -1));
  assert.deepEqual([Buffer.from(again.verdicts), again.summary], [Buffer.from(verdicts), summary]);
  assert.throws(() => auditLines("text"), { code: "invalid_type" });
  assert.throws(() => auditLines(new Uint8Array(0), { given: { trust: { blockHashes: ["0x"] } } }), { code: "hex_invalid" });
  assert.throws(() => auditVerdicts(Buffer.from("{}")), { code: "missing_field" });
  assert.throws(() => auditAcross([{ kind: 6, verdicts: [] }]), { code: "number_out_of_range" });
  assert.throws(() => auditSummary([{ ...summary, v: 2 }]), { code: "unsupported_version" });
});

test("a broken line in the middle is one verdict, and the lines around it have theirs", async () => {
  const lines = [JSON.stringify(good), '{"receipt": ', "", "\u0000\u0001", Buffer.from([0x7b, 0xff, 0xfe]), JSON.stringify({ ...good, id: "last" })];
  file("broken.jsonl", Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from("\n")])));
  const { verdicts, status } = await json(["broken.jsonl", ...trust]);
  assert.equal(status, 1, "one bundle stands in two lines");
  assert.deepEqual(verdicts.map(({ line, verdict }) => [line, verdict]), [[1, "verified"], [2, "error"], [4, "error"], [5, "error"], [6, "verified"]]);
});

test("a line that is too long is one verdict", async () => {
  file("long.jsonl", `${JSON.stringify(good)}\n{"a":"${"x".repeat(40 << 20)}"}\n${JSON.stringify(seller("z"))}\n`);
  const { verdicts } = await json(["long.jsonl", ...trust]);
  assert.deepEqual(verdicts.map(({ line, codes }) => [line, codes[0]]), [[1, undefined], [2, "too_large"], [3, "chain.source"]]);
});

test("a line without end is one verdict too, and is not kept", async () => {
  // Nothing of it is on the disk: a file of holes.
  for (const [name, begin, size] of [["endless.jsonl", "", 700], ["endless.json", "[0,", 200]]) {
    file(name, begin);
    truncateSync(at(name), size << 20);
    const { out, megabytes } = await measured([name, "--jobs", "1"]);
    rmSync(at(name));
    assert.ok(JSON.parse(out).verdicts.some(({ codes }) => codes[0] === "too_large"), name);
    assert.ok(megabytes < 400, `${name}: ${megabytes} MB for a line of ${size} MB`);
  }
});

/** A report as JSON, and the most memory that it took. */
async function measured(args) {
  const { out, err } = await run([...args, "--format", "json", "--quiet"], { env: { NODE_OPTIONS: TELLS_PEAK.join("=") } });
  assert.match(err, /^\npeak \d+\n$/);
  return { out, megabytes: Math.round(peakOf(err)) };
}

// ---------------------------------------------------------------- answers

test("answers are found in the folder, in a list, by the id or the transaction, and nowhere else", async () => {
  const receipts = ["one", "two", "three", "four", "five"].map((body) => seller(body));
  file("answers/one.bin", "one");
  file("answers/deep/two.bin", "two");
  file(`answers/${receipts[2].transaction}`, "three");
  file("answers/order-4", "not four");
  file("answers/blanks.json", '{ "b": 1,\n "a": 2 }\n');
  file("secret.bin", "five");
  symlinkSync(at("secret.bin"), at("answers/link.bin"));
  execFileSync("mkfifo", [at("answers/pipe")]);
  file("answers.jsonl", [
    { receipt: receipts[0], response: "one.bin" }, { receipt: receipts[1], response: { path: "deep/two.bin" } }, receipts[2], { id: "order-4", receipt: receipts[3] },
    { receipt: receipts[4], response: "../secret.bin" }, { receipt: receipts[4], response: "link.bin" }, { receipt: receipts[4], response: "pipe" },
    { receipt: receipts[4], response: at("secret.bin") }, { receipt: receipts[4], response: "gone.bin" }, { receipt: receipts[4], response: "one.bin\0" },
    { receipt: seller('{"a":2,"b":1}'), response: "blanks.json" }, { receipt: seller('{"a":2,"b":2}'), response: "blanks.json" },
  ].map((line) => JSON.stringify(line)).join("\n"));
  const checked = ({ verdicts }) => verdicts.map(({ codes }) => ["delivery.hash", "response_unreadable"].filter((code) => codes.includes(code)).join(" "));
  const unreadable = "delivery.hash response_unreadable";
  assert.deepEqual(checked(await json(["answers.jsonl", "--responses", "answers"])), ["", "", "", "delivery.hash", ...Array(6).fill(unreadable), "", "delivery.hash"]);
  const list = execFileSync("sha256sum", ["one.bin", "deep/two.bin"], { cwd: at("answers"), encoding: "utf8" });
  file("answers.sha256", `${list}${sha("three")} *${receipts[2].transaction}\n`);
  assert.deepEqual(checked(await json(["answers.jsonl", "--responses", "answers.sha256"])).slice(0, 5), ["", "", "", "delivery.hash", unreadable]);
  for (const name of ["two\nlines", "back\\slash", "a\\nb"]) file(`named/${name}`, "one");
  file("named.sha256", execFileSync("sha256sum", readdirSync(at("named")), { cwd: at("named"), encoding: "utf8" }));
  file("named.jsonl", readdirSync(at("named")).map((response) => JSON.stringify({ receipt: receipts[0], response })).join("\n"));
  assert.deepEqual(checked(await json(["named.jsonl", "--responses", "named.sha256"])), ["", "", ""]);
  assert.deepEqual(checked(await json(["answers.jsonl"])), Array(12).fill("delivery.hash"), "nothing is read that was not allowed");
  assert.deepEqual(auditNames(Buffer.from(JSON.stringify({ receipt: receipts[0], response: `sha256:${sha("one")}` }))), [null]);
});

test("a digest of the canonical text is found under any spelling of the JSON, and not called wrong where that was not looked at", async () => {
  const megabyte = "[" + " ".repeat(1 << 20) + "]";
  const answers = {
    "line-feed.json": ['{"a":2,"b":1}', '\n{ "b": 1, "a": 2 }', "right"], "scalar.json": ["12", " 12.0\n", "right"], "text.json": ['"a"', ' "\\u0061"', "right"],
    "other.json": ["12", "13", "wrong"], "prose.txt": ["12", "twelve", "wrong"], "empty.bin": ["12", "", "wrong"], "latin.bin": ['"\u00e9"', Buffer.from([0x22, 0xe9, 0x22]), "wrong"],
    "mark.json": ["12", "\ufeff12", "wrong"], "exact.txt": ["twelve", "twelve", "right"],
    "just.json": ["[]", megabyte.replace("  ", ""), "right"], "long.json": ["[]", megabyte, "unknown"], "long.txt": ["x".repeat(1 << 21), "x".repeat(1 << 21), "right"],
  };
  const lines = Object.entries(answers).map(([name, [canonical, body]]) => (file(`canonical/${name}`, body), JSON.stringify({ receipt: seller(canonical), response: name })));
  file("canonical.jsonl", lines.join("\n"));
  const told = async (place) => (await json(["canonical.jsonl", "--responses", place])).verdicts.map(({ verdict, codes }) => (!codes.includes("delivery.hash") ? "right" : verdict === "failed" ? "wrong" : "unknown"));
  assert.deepEqual(await told("canonical"), Object.values(answers).map(([, , wanted]) => wanted));
  file("canonical.sha256", execFileSync("sha256sum", Object.keys(answers), { cwd: at("canonical"), encoding: "utf8" }));
  const exact = ["exact.txt", "long.txt"];
  assert.deepEqual(await told("canonical.sha256"), Object.keys(answers).map((name) => (exact.includes(name) ? "right" : "unknown")));
});

test("an answer of any size is hashed as it is read", async () => {
  const [chunk, hash] = [Buffer.alloc(1 << 20, "counterfoil"), createHash("sha256")];
  file("large/answer.bin", "");
  for (let written = 0; written < 400; written++) {
    appendFileSync(at("large", "answer.bin"), chunk);
    hash.update(chunk);
  }
  file("large.jsonl", JSON.stringify({ receipt: { responseSha256: hash.digest("hex"), transaction: `0x${sha("large")}` }, response: "answer.bin" }));
  const { out, megabytes } = await measured(["large.jsonl", "--responses", "large", "--jobs", "1"]);
  rmSync(at("large", "answer.bin"));
  const [{ codes }] = JSON.parse(out).verdicts;
  assert.ok(!codes.includes("delivery.hash"), codes.join());
  assert.ok(megabytes < 300, `${megabytes} MB for an answer of 400 MB`);
});

// ---------------------------------------------------------------- inputs

test("JSON, CSV and Parquet say what lines of JSON say", async () => {
  const lines = [{ id: "a", receipt: seller("a"), response: { text: "a" } }, { id: "b", receipt: seller("b"), response: { text: "not b" } }, { id: "c", receipt: { ...seller("c"), resource: "https://example.com/a,\"b\"\nc" } }];
  file("set.jsonl", lines.map((line) => JSON.stringify(line)).join("\n"));
  file("set.json", JSON.stringify(lines, null, 2));
  const cell = (value) => `"${(typeof value === "string" ? value : JSON.stringify(value)).replaceAll('"', '""')}"`;
  file("set.csv", `id,receipt,response\r\n${lines.map(({ id, receipt, response }) => `${id},${cell(receipt)},${response ? cell(response) : ""}`).join("\r\n")}\r\n`);
  const { parquetWriteBuffer } = await import("hyparquet-writer");
  const text = (name) => lines.map((line) => (line[name] === undefined ? null : JSON.stringify(line[name])));
  file("set.parquet", Buffer.from(parquetWriteBuffer({ columnData: [{ name: "id", data: ["a", "b", "c"] }, { name: "receipt", data: text("receipt") }, { name: "response", data: text("response"), nullable: true }] })));
  const told = async (name) => (await json([name])).verdicts.map(({ id, verdict, codes, keys }) => ({ id, verdict, codes, keys }));
  const wanted = await told("set.jsonl");
  assert.deepEqual(wanted.map(({ verdict }) => verdict), ["incomplete", "failed", "incomplete"]);
  for (const name of ["set.json", "set.csv", "set.parquet"]) assert.deepEqual(await told(name), wanted, name);
  const numbers = async (name) => (await json([name])).verdicts.map(({ line }) => line);
  assert.deepEqual([await numbers("set.jsonl"), await numbers("set.json"), await numbers("set.csv"), await numbers("set.parquet")], [[1, 2, 3], [2, 12, 22], [2, 3, 4], [1, 2, 3]]);
  const whole = file("one.json", JSON.stringify(lines[1], null, 2));
  assert.equal((await json([whole])).verdicts[0].verdict, "failed");
  // Without a column `receipt` a row is the receipt.
  file("flat.csv", `transaction,responseSha256\n0x${sha("t")},${sha("flat")}\n`);
  assert.equal((await json(["flat.csv"])).verdicts[0].keys.transaction, `0x${sha("t")}`);
});

test("malformed inputs are verdicts, and what a cell holds stays a cell", async () => {
  file("torn.json", `[${JSON.stringify(seller("a"))}, {"responseSha256": "`);
  assert.deepEqual((await json(["torn.json"])).verdicts.map(({ verdict }) => verdict), ["incomplete", "error"]);
  const one = JSON.stringify(seller("a"));
  const [whole, bad] = ["incomplete", "error"];
  const texts = { [`[${one},\n`]: [whole, bad], [`[${one},\n${JSON.stringify(seller("b"))}`]: [whole, whole, bad], [`[${one}`]: [whole, bad], [`[${one},,]`]: [whole, bad, bad], [`[${one},]`]: [whole, bad], [`[,${one}]`]: [bad, whole], "[": [bad], "": [bad], " \n": [bad], [`[${one}] ]`]: [whole, bad] };
  for (const [text, verdicts] of Object.entries(texts)) {
    file("part.json", text);
    const told = await json(["part.json"]);
    assert.deepEqual(told.verdicts.map(({ verdict }) => verdict), verdicts, text);
    assert.deepEqual([told.status, told.verdicts.find(({ verdict }) => verdict === bad).codes], [2, [text.endsWith(" ]") ? "receipt_invalid" : "json_invalid"]], text);
  }
  file("none.json", " [ ]\n");
  assert.deepEqual((await json(["none.json"])).verdicts, []);
  file("behind.json", `[${JSON.stringify(seller("a"))}] and more`);
  assert.deepEqual((await json(["behind.json"])).verdicts.map(({ verdict }) => verdict), ["incomplete", "error"]);
  file("feed.json", `[{"responseSha256": "${sha("a")}", "resource": "https://a.example/\nb"}]`);
  assert.deepEqual((await json(["feed.json"])).verdicts[0].codes, ["json_invalid"]);
  file("cells.csv", `id,receipt,response\n1,"{""responseSha256"":""${sha("a")}""},""evidence"":{}",x\n2,"{""responseSha256"":""${sha("a")}""}"\n3,"open`);
  assert.deepEqual((await json(["cells.csv"])).verdicts.map(({ line, verdict }) => [line, verdict]), [[2, "error"], [3, "error"], [4, "error"]]);
  file("bad.parquet", "PAR1 and nothing more PAR1");
  const { status, verdicts } = await json(["bad.parquet", "set.jsonl"]);
  assert.deepEqual([status, verdicts[0].codes, verdicts.length], [1, ["input_unreadable"], 4]);
});

test("folders, patterns and standard input; files in the order of their names, each once", async () => {
  for (const name of ["b.jsonl", "a.jsonl", "sub/c.ndjson", "sub/d.txt", "sub/.hidden.json"]) file(`tree/${name}`, JSON.stringify(seller(name)));
  const names = async (...args) => [...new Set((await json(args)).verdicts.map(({ input }) => input))];
  assert.deepEqual(await names("tree"), ["tree/a.jsonl", "tree/b.jsonl", "tree/sub/.hidden.json", "tree/sub/c.ndjson"]);
  assert.deepEqual(await names("tree/*.jsonl", "tree/a.jsonl"), ["tree/a.jsonl", "tree/b.jsonl"]);
  assert.deepEqual(await names("tree/**/*.ndjson"), ["tree/sub/c.ndjson"]);
  assert.deepEqual(await names("tree/sub/d.txt"), ["tree/sub/d.txt"]);
  symlinkSync(at("nowhere"), at("tree/sub/e.jsonl"));
  const dangling = await json(["tree/sub"]);
  assert.deepEqual([dangling.status, dangling.verdicts.at(-1).input, dangling.verdicts.at(-1).codes], [2, "tree/sub/e.jsonl", ["input_unreadable"]]);
  rmSync(at("tree/sub/e.jsonl"));
  const { verdicts } = await json(["-"], { input: `${JSON.stringify(seller("x"))}\n` });
  assert.deepEqual([verdicts[0].input, verdicts[0].line], ["-", 1]);
  assert.equal(dangling.complete, false);
  assert.match(dangling.why, /tree\/sub\/e\.jsonl could not be read/);
  // Links to folders are followed, and a circle of them ends.
  symlinkSync(at("tree"), at("tree/sub/up"));
  symlinkSync(at("tree/sub/round"), at("tree/sub/round"));
  file("elsewhere/f.jsonl", JSON.stringify(seller("f")));
  symlinkSync(at("elsewhere"), at("tree/linked"));
  assert.deepEqual(await names("tree"), ["tree/a.jsonl", "tree/b.jsonl", "tree/linked/f.jsonl", "tree/sub/.hidden.json", "tree/sub/c.ndjson"]);
  symlinkSync(at("tree/round.jsonl"), at("tree/round.jsonl"));
  assert.deepEqual((await json(["tree"])).verdicts.find(({ input }) => input === "tree/round.jsonl").codes, ["input_unreadable"]);
  rmSync(at("tree/round.jsonl"));
  for (const pattern of ["./tree/*.jsonl", "tree//*.jsonl", "./tree/./*.jsonl", "tree/sub/../*.jsonl"]) assert.deepEqual(await names(pattern), ["tree/a.jsonl", "tree/b.jsonl"], pattern);
  file("here.jsonl", JSON.stringify(seller("here")));
  assert.ok((await names("./*.jsonl")).includes("here.jsonl"));
  for (const args of [["gone.jsonl"], ["tree/*.gone"], ["gone/*.jsonl"], []]) assert.equal((await run(args)).status, 2, args.join());
  assert.equal((await run(["-"])).status, 2, "nothing was audited");
});

test("the form of every document, and DID documents, come from the command line", async () => {
  const { base, cases } = JSON.parse(readFileSync(new URL("../receipts/signed.json", import.meta.url), "utf8"));
  const of = (id) => cases.find((one) => one.id === id);
  const line = ({ receipt, body, material: { trust: _, now: __, profile: ___, ...own } }) => JSON.stringify({ receipt, ...base, ...own, ...(body && { response: { base64: Buffer.from(body.slice(2), "hex").toString("base64") } }) });
  const form = of("form-eip712");
  file("form.json", JSON.stringify(form.material.profile));
  file("form-trust.json", JSON.stringify({ ...form.material.trust, evidence: true }));
  file("forms.jsonl", [form, of("form-eip712-tampered"), of("receipt-proven")].map(line).join("\n"));
  const now = ["--now", String(form.material.now)];
  const read = await json(["forms.jsonl", "--profile", "form.json", "--trust", "form-trust.json", ...now]);
  assert.deepEqual(read.verdicts.map(({ verdict }) => verdict), ["verified", of("form-eip712-tampered").verdict, "error"], JSON.stringify(read.verdicts.map(({ codes }) => codes)));
  // A line brings no form of its own.
  file("own-form.jsonl", JSON.stringify({ ...JSON.parse(line(form)), profile: form.material.profile }));
  assert.equal((await json(["own-form.jsonl", "--trust", "form-trust.json", ...now])).verdicts[0].verdict, "error");
  assert.equal((await run(["forms.jsonl", "--profile", "set.csv"])).status, 2);
  file("no-form.json", JSON.stringify({ type: "counterfoil/profile" }));
  assert.match((await run(["forms.jsonl", "--profile", "no-form.json"])).err, /missing_field/);
  const web = of("did-web-of-the-resources-host");
  const [document] = web.material.trust.didDocuments;
  file("did.json", JSON.stringify(document));
  file("web.jsonl", line(web));
  const known = (...more) => json(["web.jsonl", ...trust, "--now", String(web.material.now), ...more]);
  assert.deepEqual([(await known("--did-document", "did.json")).verdicts[0].verdict, (await known()).verdicts[0].verdict], ["verified", "incomplete"]);
});

test("a pipe is read as it comes", async () => {
  execFileSync("mkfifo", [at("lines.pipe")]);
  const writing = spawn("sh", ["-c", "i=0; while [ $i -lt 150 ]; do head -c 1048575 /dev/zero | tr '\\0' a; echo; i=$((i+1)); done > lines.pipe"], { cwd: folder });
  const ended = once(writing, "exit");
  const { out, megabytes } = await measured(["lines.pipe", "--jobs", "1"]);
  await ended;
  const { summary } = JSON.parse(out);
  assert.deepEqual([summary.lines, summary.inputs[0].bytes], [150, 150 << 20]);
  assert.ok(megabytes < 400, `${megabytes} MB for 150 MB in a pipe`);
  for (const more of [["--resume", "pipe-state"], ["--part", "1/2"], ["--in", "parquet"]]) assert.equal((await run(["lines.pipe", ...more])).status, 2, more[0]);
});

test("a row that is too long is one verdict, and the rows behind it have theirs", async () => {
  const row = (name) => `${name},0x${sha(name)}`;
  for (const cell of [`"${"x,\n".repeat(6 << 20)}"`, `${"x".repeat(17 << 20)},a"b`]) {
    file("wide.csv", `id,responseSha256\n${row("a")}\nb,${cell}\n${["c", "d"].map(row).join("\n")}\n`);
    const { verdicts } = await json(["wide.csv"]);
    assert.deepEqual(verdicts.map(({ verdict, keys }) => [verdict, keys.response]), ["a", undefined, "c", "d"].map((name) => (name ? ["incomplete", `0x${sha(name)}`] : ["error", undefined])));
  }
  rmSync(at("wide.csv"));
});

test("no report is written over what is read for it", async () => {
  const before = readFileSync(at("set.jsonl"), "utf8");
  symlinkSync(at("set.jsonl"), at("set.link"));
  for (const more of [["--out", "set.jsonl"], ["--report", "./set.jsonl"], ["--out", "set.link"], ["--trust", "trust.json", "--report", "trust.json"], ["--out", "both", "--report", "both"]]) {
    const { status, err } = await run(["set.jsonl", ...more]);
    assert.equal(status, 2, more.join(" "));
    assert.match(err, /is read, or written already/);
  }
  assert.deepEqual([readFileSync(at("set.jsonl"), "utf8"), readFileSync(at("trust.json"), "utf8"), existsSync(at("both"))], [before, JSON.stringify({ evidence: true }), false]);
});

test("usage: what is not understood is said, and nothing is printed as data", async () => {
  const wrong = [["--format", "xml"], ["--in", "xls"], ["--jobs", "0"], ["--part", "4/3"], ["--max-failures", "x"], ["--trust", "set.csv"], ["--trust", "gone"], ["--responses", "set.csv"], ["--responses", "gone"], ["--frob"]];
  for (const args of wrong) {
    const { status, out, err } = await run(["set.jsonl", ...args]);
    assert.deepEqual([status, out], [2, ""], args.join(" "));
    assert.match(err, /^counterfoil: /);
  }
  file("untrust.json", JSON.stringify({ blockHashes: ["0x12"] }));
  assert.match((await run(["set.jsonl", "--trust", "untrust.json"])).err, /hex_invalid/);
  assert.equal((await run(["-", "--resume", "state"])).status, 2);
  // What nobody can work with decides nothing, and no stack is shown for it.
  file("deep.json", `{"signers":${"[".repeat(20_000)}${"]".repeat(20_000)}}`);
  for (const option of ["--trust", "--profile"]) {
    const { status, out, err } = await run(["set.jsonl", option, "deep.json"]);
    assert.deepEqual([status, out], [2, ""], option);
    assert.doesNotMatch(err, /\n\s+at /);
  }
  const cyclic = {};
  cyclic.trust = cyclic;
  assert.throws(() => auditLines(new Uint8Array(0), { given: cyclic }), { code: "cyclic_input" });
});

// ---------------------------------------------------------------- reports

const evil = "\u001b[2J\u001b]0;owned\u0007\u009b31m\r\u202e=HYPERLINK(\"http://a\")<script>&'\u2028";
file("evil.jsonl", `${JSON.stringify({ id: evil, receipt: { ...seller("e"), resource: `https://e.example/${evil}` }, response: { text: "other" } })}\n${JSON.stringify({ id: "=1+1", receipt: seller("f"), intent: "@SUM(1)", paymentId: "-2+3" })}\n`);

test("nothing in a line reaches a terminal, a spreadsheet or a page as anything but text", async () => {
  for (const format of ["text", "json", "jsonl", "csv", "junit", "sarif"]) {
    const { out, err } = await run(["evil.jsonl", "--format", format]);
    assert.ok(!/(?![\n\r])[\p{C}\p{Zl}\p{Zp}]/u.test(out.replaceAll("\r\n", "\n")), `${format}: ${JSON.stringify(out)}`);
    assert.ok(!/(?!\n)[\p{C}\p{Zl}\p{Zp}]/u.test(err), format);
  }
  const csv = (await run(["evil.jsonl", "--format", "csv", "--quiet"])).out.split("\r\n");
  assert.match(csv[2], /^evil\.jsonl,2,"'=1\+1",incomplete,/);
  assert.match(csv[2], /"'@SUM\(1\)","'-2\+3"/);
  file("cells.jsonl", ["x;=1+1", "x; @a", "＝1"].map((id) => JSON.stringify({ id, receipt: seller(id) })).join("\n"));
  assert.deepEqual((await run(["cells.jsonl", "--format", "csv", "--quiet"])).out.split("\r\n").slice(1, 4).map((row) => row.split(",")[2]), ['"x;\'=1+1"', '"x;\' @a"', '"\'＝1"']);
  const junit = (await run(["evil.jsonl", "--format", "junit", "--quiet"])).out;
  assert.ok(!junit.includes("<script>") && junit.includes("&#60;script&#62;"));
  assert.match(junit, /<testsuite name="lines" tests="2" failures="1" errors="0" skipped="1">/);
});

test("what is only for information is no failure of JUnit", async () => {
  file("shared.jsonl", ["one", "two"].map((name) => JSON.stringify({ receipt: { ...seller("both"), transaction: `0x${sha(name)}` }, response: { text: "both" } })).join("\n"));
  const { out, status, err } = await run(["shared.jsonl", "--format", "junit", "--allow-incomplete", "--quiet"]);
  assert.deepEqual([status, err], [0, ""]);
  assert.match(out, /<testsuite name="across lines" tests="1" failures="0">\n<testcase [^>]*><system-out>response_shared: /);
  assert.ok(!out.includes("<failure"));
});

test("SARIF has what its readers ask for", async () => {
  const { out, status } = await run(["evil.jsonl", "broken.jsonl", "--format", "sarif", "--quiet"]);
  assert.equal(status, 1);
  const { version, runs: [{ tool: { driver }, results }] } = JSON.parse(out);
  assert.deepEqual([version, driver.name], ["2.1.0", "counterfoil"]);
  const [first] = results.filter(({ ruleId }) => ruleId === "delivery.hash");
  assert.deepEqual([first.level, first.locations[0].physicalLocation], ["error", { artifactLocation: { uri: "evil.jsonl" }, region: { startLine: 1 } }]);
  for (const { ruleId } of results) assert.ok(driver.rules.some(({ id }) => id === ruleId), ruleId);
});

test("words to standard error, data to standard output or --out; --quiet says nothing", async () => {
  const plain = await run(["set.jsonl", "--format", "jsonl"]);
  assert.match(plain.err, /^3 lines\n {2}verified/);
  file("one.jsonl", JSON.stringify(seller("one")));
  assert.match((await run(["one.jsonl"])).out, /^1 line\n {2}verified/m);
  const quiet = await run(["set.jsonl", "--format", "jsonl", "--quiet"]);
  assert.deepEqual([quiet.err, quiet.out], ["", plain.out]);
  const out = await run(["set.jsonl", "--format", "jsonl", "--out", "report.jsonl", "--quiet"]);
  assert.deepEqual([out.out, readFileSync(at("report.jsonl"), "utf8")], ["", plain.out]);
  const text = await run(["set.jsonl"]);
  assert.match(text.out, /^failed {2}set\.jsonl:2 \(b\) {2}delivery\.hash\n/);
  assert.equal((await run(["set.jsonl", "--out", "no/such/folder"])).status, 2);
  const summary = JSON.parse(plain.out.trimEnd().split("\n").at(-1)).summary;
  assert.deepEqual(summary.inputs, [{ name: "set.jsonl", sha256: `0x${sha(readFileSync(at("set.jsonl")))}`, bytes: readFileSync(at("set.jsonl")).length, lines: 3 }]);
});

test("--max-failures stops, and says that it is not all; --allow-incomplete lets the undecided pass", async () => {
  file("many.jsonl", Array.from({ length: 20_000 }, (_, place) => JSON.stringify({ receipt: seller(`${place}`), response: { text: "other" } })).join("\n"));
  const { status, summary, complete, why } = await json(["many.jsonl", "--max-failures", "5"]);
  assert.deepEqual([status, complete], [1, false]);
  assert.match(why, /max-failures/);
  assert.ok(summary.lines < 20_000);
  file("undecided.jsonl", JSON.stringify(seller("u")));
  assert.deepEqual([(await run(["undecided.jsonl"])).status, (await run(["undecided.jsonl", "--allow-incomplete"])).status], [2, 0]);
});

test("merged, a report that is cut, empty, unreadable, given twice or only in part is not complete, and says so", async () => {
  const lines = Array.from({ length: 6 }, (_, place) => JSON.stringify({ id: `${place}`, receipt: seller(`merged ${place}`) }));
  file("first.jsonl", lines.slice(0, 3).join("\n"));
  file("second.jsonl", lines.slice(3).join("\n"));
  for (const name of ["first", "second"]) await run([`${name}.jsonl`, "--format", "jsonl", "--out", `${name}.report`, "--quiet"]);
  const merged = (...names) => json(["--merge", ...names, "--allow-incomplete"]);
  const both = await merged("first.report", "second.report");
  assert.deepEqual([both.status, both.complete, both.summary.lines], [0, true, 6]);
  const report = readFileSync(at("first.report"), "utf8").trimEnd().split("\n");
  const closing = JSON.parse(report.at(-1));
  const closed = (other) => [...report.slice(0, -1), JSON.stringify({ ...closing, ...other })].join("\n");
  file("cut", report.slice(0, -1).join("\n"));
  file("torn", report.join("\n").slice(0, -30));
  file("fewer", report.slice(1).join("\n"));
  file("more", [report[0], ...report].join("\n"));
  file("behind", [...report, report[0]].join("\n"));
  file("empty", "");
  file("shallow", closed({ summary: {} }));
  file("no-inputs", closed({ summary: { ...closing.summary, inputs: undefined } }));
  file("open", closed({ complete: undefined }));
  file("no-part", closed({ part: "3/2" }));
  for (const part of ["1/3", "2/3", "3/3"]) file(part.replace("/", "of"), closed({ part }));
  mkdirSync(at("merged"), { recursive: true });
  symlinkSync(at("nowhere"), at("merged", "away.jsonl"));
  for (const names of [["cut"], ["torn"], ["fewer"], ["more"], ["behind"], ["empty"], ["shallow"], ["no-inputs"], ["open"], ["no-part"], ["first.report", "empty"], ["first.report", "1of3"], ["1of3", "2of3"], ["second.report", "merged"]]) {
    const { status, complete, why } = await merged(...names);
    assert.ok(status !== 0 && complete === false && why, names.join());
  }
  assert.match((await merged("second.report", "merged")).why, /could not be read/);
  file("again", closed({}));
  for (const names of [["first.report", "again"], ["1of3", "2of3", "3of3", "first.report", "again"]]) assert.match((await merged(...names)).why, /more than once/);
  assert.equal((await merged("1of3", "2of3", "3of3")).complete, true);
  file("other-third", closed({ part: "3/3", summary: { ...closing.summary, inputs: [{ ...closing.summary.inputs[0], name: "another" }] } }));
  assert.match((await merged("1of3", "2of3", "other-third")).why, /of 3 parts 2 were given/);
  file("nameless", report.join("\n").replaceAll(/"verdict":"incomplete","codes":\[[^\]]*\]/g, '"verdict":"failed","codes":[]'));
  const { out, err } = await run(["--merge", "nameless", "--format", "sarif", "--quiet"]);
  assert.equal(JSON.parse(out).runs[0].results[0].ruleId, "failed", err);
  for (const more of [["--responses", "answers"], trust, ["--part", "1/2"], ["--resume", "merge-state"]]) assert.match((await run(["--merge", "first.report", ...more])).err, new RegExp(`${more[0]} does nothing`));
});

// ---------------------------------------------------------------- worker mode

test("--worker: a line in, a verdict out, in order and at once; a bad line is a verdict; it ends with 0", async () => {
  const child = start(["--worker", ...trust], { stdio: ["pipe", "pipe", "inherit"] });
  const answers = child.stdout.setEncoding("utf8")[Symbol.asyncIterator]();
  const ask = async (line) => {
    child.stdin.write(`${line}\n`);
    return JSON.parse((await answers.next()).value);
  };
  assert.deepEqual([(await ask(JSON.stringify(good))).verdict, (await ask("garbage{")).verdict, (await ask("")).verdict], ["verified", "error", "error"]);
  assert.equal((await ask(JSON.stringify({ ...good, id: "4" }))).line, 4);
  child.stdin.end(`${JSON.stringify(good)}\n${"no line feed"}`);
  let rest = "";
  for (let next; !(next = await answers.next()).done; ) rest += next.value;
  assert.deepEqual(rest.trimEnd().split("\n").map((line) => JSON.parse(line).line), [5, 6]);
  const [status] = child.exitCode === null ? await once(child, "exit") : [child.exitCode];
  assert.equal(status, 0);
  assert.equal((await run(["--worker", "set.jsonl"])).status, 2);
  for (const more of [["--out", "worker.out"], ["--format", "csv"], ["--report", "worker.html"], ["--part", "1/2"], ["--resume", "worker"], ["--merge"], ["--in", "csv"], ["--max-failures", "1"]]) {
    const { status, err } = await run(["--worker", ...more], { input: JSON.stringify(good) });
    assert.equal(status, 2, more.join(" "));
    assert.match(err, new RegExp(`${more[0]} does nothing`));
  }
  assert.ok(!existsSync(at("worker.out")) && !existsSync(at("worker.html")));
});

test("--worker looks up the answers that lines name", async () => {
  file("served/kept.bin", "kept");
  const lines = ["kept.bin", "gone.bin"].map((response) => JSON.stringify({ receipt: seller("kept"), response })).join("\n");
  const { out, status } = await run(["--worker", "--responses", "served"], { input: lines });
  assert.deepEqual([status, out.trimEnd().split("\n").map((line) => JSON.parse(line).codes.includes("delivery.hash"))], [0, [false, true]]);
});

// ---------------------------------------------------------------- the index

test("keys that do not fit their buckets are grouped all the same", async () => {
  const { Joins } = await import(join(home, "src/cli/audit/joins.mjs"));
  const joins = new Joins(mkdtempSync(join(folder, "joins-")));
  const wanted = new Map();
  let [state, at] = [1, 2 ** 33];
  for (let round = 0; round < 60; round++) {
    const [keys, places] = [[], [at]];
    for (let place = 0; place < 1000; place++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      const key = createHash("sha256").update(`${state % 40_000}`).digest().subarray(0, 16);
      // Two buckets only, so that each is full many times over.
      [key[0], key[1]] = [state % 6, state % 2];
      const own = Buffer.alloc(4);
      own.writeUInt32LE(place);
      keys.push(own, key);
      wanted.set(key.toString("hex"), [...(wanted.get(key.toString("hex")) ?? []), at]);
      places.push((at += 1 + (state % 700)));
    }
    joins.add(Buffer.concat(keys), places);
  }
  const groups = [...joins.groups()].map(({ kind, count, members }) => ({ kind, count, members: [...members].map(([place]) => place) }));
  joins.close();
  const several = [...wanted].filter(([, places]) => places.length > 1);
  assert.ok(several.length > 1000);
  const order = (one, other) => one[0] - other[0];
  assert.deepEqual(groups.map(({ members }) => members).sort(order), several.map(([, places]) => places).sort(order));
  for (const { count, members } of groups) assert.equal(count, members.length);
});

// ---------------------------------------------------------------- interruptions

const large = file("large-set.jsonl", Array.from({ length: 60_000 }, (_, place) => JSON.stringify({ id: place, receipt: seller(`${place}`), response: { text: place % 1000 ? `${place}` : "other" } })).join("\n"));

test("interrupted: the partial report, status 130", async () => {
  const child = start([large, "--format", "jsonl", "--jobs", "1"], { stdio: ["ignore", "pipe", "ignore"] });
  let out = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text) => {
    if (!out) child.kill("SIGINT");
    out += text;
  });
  const [status] = await once(child, "close");
  assert.equal(status, 130);
  const lines = out.trimEnd().split("\n").map((line) => JSON.parse(line));
  const { summary, complete, why } = lines.at(-1);
  assert.deepEqual([complete, why, summary.lines], [false, "interrupted", lines.filter(({ verdict }) => verdict).length]);
  assert.ok(summary.lines > 0 && summary.lines < 60_000, `${summary.lines}`);
});

test("killed and resumed, the report is that of an audit that was not", async () => {
  const whole = await run([large, "--format", "jsonl", "--quiet"]);
  const args = [large, "--format", "jsonl", "--quiet", "--resume", "state", "--jobs", "1"];
  let kills = 0;
  for (let after = 1; after <= 3; after++) {
    const child = start(args, { stdio: ["ignore", "pipe", "ignore"] });
    let seen = 0;
    child.stdout.on("data", (bytes) => {
      seen += bytes.length;
      if (seen > (after * whole.out.length) / 5) child.kill("SIGKILL");
    });
    const [, signal] = await once(child, "close");
    if (signal) kills++;
  }
  assert.ok(kills > 0);
  assert.ok(existsSync(at("state", "progress.json")));
  const resumed = await run(args);
  assert.equal(resumed.out === whole.out, true);
  assert.equal((await run(args)).out === whole.out, true, "once more, from a state that is whole");
  assert.match((await run(["evil.jsonl", "--resume", "state"])).err, /another audit/);
  assert.match((await run([...args, "--now", "1"])).err, /another audit/);
  const noted = readFileSync(at("state", "progress.json"), "utf8");
  const damaged = [["progress.json", "{"], ["progress.json", "null"], ["progress.json", JSON.stringify({ ...JSON.parse(noted), size: "1" })], ["verdicts.jsonl", ""]];
  for (const [name, text] of damaged) {
    writeFileSync(at("state", name), text);
    const { status, err } = await run(args);
    assert.deepEqual([status, err], [2, "counterfoil: --resume names a state that is damaged; name another folder, or remove this one\n"], name);
    writeFileSync(at("state", "progress.json"), noted);
  }
});

test("a slow reader gets all of it, and nothing piles up for it", async () => {
  const { status, err } = await run([large, "--format", "jsonl", "--quiet", "--out", "/dev/null"]);
  assert.deepEqual([status, err], [1, ""]);
});

test("whoever reads may stop early", async () => {
  const child = start([large, "--format", "jsonl", "--quiet"], { stdio: ["ignore", "pipe", "pipe"] });
  let err = "";
  child.stderr.on("data", (text) => (err += text));
  child.stdout.once("data", () => child.stdout.destroy());
  const [status] = await once(child, "exit");
  assert.deepEqual([status, err], [1, ""]);
});

test("no state is left behind", async () => {
  const temporary = mkdtempSync(join(folder, "tmp-"));
  await run(["set.jsonl"], { env: { TMPDIR: temporary } });
  assert.deepEqual(readdirSync(temporary), []);
});

test("very many files", async () => {
  mkdirSync(at("files"));
  for (let place = 0; place < 3000; place++) writeFileSync(at("files", `${place}.json`), JSON.stringify(seller(`${place}`)));
  const { summary } = await json(["files"]);
  assert.deepEqual([summary.lines, summary.inputs.length], [3000, 3000]);
});
