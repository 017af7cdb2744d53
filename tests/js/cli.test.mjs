// The command line of the packed package, as a shell would run it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createPayer } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { addressOfKey } from "counterfoil/raw";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const command = join(home, "..", ".bin", "counterfoil");
const path = (name) => fileURLToPath(new URL(`../../www/sample/${name}`, import.meta.url));
const [bundle, evidence, response] = ["bundle.json", "evidence.json", "response.bin"].map(path);
const record = JSON.parse(readFileSync(bundle));
const read = JSON.parse(readFileSync(evidence));

const folder = mkdtempSync(join(tmpdir(), "counterfoil-cli-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = (name, content, mode = 0o600) => {
  const at = join(folder, name);
  writeFileSync(at, content, { mode });
  return at;
};

/** `{status, out, err}` of one run; `input` is its standard input. */
function run(args, { input, env } = {}) {
  return new Promise((done) => {
    const child = execFile(command, args, { env: { ...process.env, ...env }, timeout: 30_000 }, (error, out, err) => {
      done({ status: error ? error.code : 0, out, err });
    });
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
  });
}

/** A server on loopback for the length of the tests. */
async function serve(handler) {
  const server = createServer(handler);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

/** A node that answers what `methods` says. */
function node(methods, seen = []) {
  return serve(async (request, answer) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { id, method, params } = JSON.parse(text);
    seen.push(method);
    const result = methods[method]?.(...params);
    answer.end(JSON.stringify(result === undefined ? { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } } : { jsonrpc: "2.0", id, result }));
  });
}

const recorded = {
  eth_chainId: () => read.chainId,
  eth_getBlockByNumber: () => read.block,
  eth_call: () => read.authorizationState,
  eth_getLogs: () => read.logs,
  eth_getTransactionReceipt: () => read.receipt,
};

// ---------------------------------------------------------------- verify

test("verified: the report on standard output, nothing on standard error, status 0", async () => {
  const { status, out, err } = await run(["verify", bundle, "--evidence", evidence, "--response", response]);
  assert.equal(status, 0);
  assert.equal(err, "");
  assert.match(out, /^Verified: every required check passed\.\n/);
  assert.match(out, /0\.01 USDC \(10000 atomic units\)/);
  assert.match(out, /This does not prove/);
  assert.ok(!/\u001b/.test(out), "no colour where nobody looks");
});

test("incomplete: status 2, and what is missing", async () => {
  const { status, out } = await run(["verify", bundle]);
  assert.equal(status, 2);
  assert.match(out, /^Incomplete/);
  assert.match(out, /not checked {2}The chain was read \(chain\.source\)\n\s+Required\./);
});

test("failed: status 1, with both sides", async () => {
  const { status, out } = await run(["verify", bundle, "--evidence", evidence, "--response", file("other.bin", "another answer")]);
  assert.equal(status, 1);
  assert.match(out, /^Failed/);
  assert.match(out, new RegExp(`FAIL {9}The answer is the recorded one .*\\n.*\\n\\s+expected {2}${record.intents[0].delivery.sha256}\\n\\s+actual {4}0x[0-9a-f]{64}`));
});

test("--json is the core's report, whole", async () => {
  const { status, out, err } = await run(["verify", bundle, "--evidence", evidence, "--json"]);
  assert.equal(status, 0);
  assert.equal(err, "");
  const report = JSON.parse(out);
  assert.equal(report.verdict, "verified");
  assert.ok(report.checks.every(({ id, state, title, why }) => id && state && title && why));
  assert.equal(report.facts.payer, record.payer);
});

test("standard input, and a header's value", async () => {
  const whole = await run(["verify", "-", "--evidence", evidence, "--json"], { input: readFileSync(bundle) });
  assert.equal(JSON.parse(whole.out).verdict, "verified");
  const { status, out } = await run(["verify", "-", "--json"], { input: `${record.intents[0].attempts[0].settlement}\n` });
  assert.equal(status, 2);
  assert.equal(JSON.parse(out).facts.kind, "settlement");
});

test("expectations: met, not met, malformed", async () => {
  const expecting = (...args) => run(["verify", bundle, "--evidence", evidence, "--json", ...args]);
  const { to, value } = record.intents[0].attempts[0].authorization;
  const met = await expecting("--expect-payer", record.payer, "--expect-pay-to", to, "--expect-amount", value, "--expect-resource", record.intents[0].request.url, "--expect-kind", "bundle");
  assert.equal(met.status, 0);
  assert.equal(JSON.parse(met.out).checks.filter(({ id, state }) => id.startsWith("expect.") && state === "pass").length, 5);
  for (const [option, wrong] of [["--expect-payer", to], ["--expect-pay-to", record.payer], ["--expect-amount", "10001"], ["--expect-resource", "http://127.0.0.1/"], ["--expect-kind", "settlement"]]) {
    assert.equal((await expecting(option, wrong)).status, 1, option);
  }
  const malformed = await expecting("--expect-payer", "0x12");
  assert.equal(malformed.status, 2);
  assert.equal(JSON.parse(malformed.out).error.code, "address_invalid");
});

test("--rpc reads the chain now, for the network it is named for", async () => {
  const seen = [];
  const url = await node(recorded, seen);
  for (const rpc of [url, `eip155:84532=${url}`]) {
    const { status, out, err } = await run(["verify", bundle, "--rpc", rpc]);
    assert.equal(status, 0, err);
    assert.match(out, /^Verified/);
  }
  assert.ok(seen.includes("eth_getLogs"));
  seen.length = 0;
  assert.equal((await run(["verify", bundle, "--rpc", `eip155:8453=${url}`])).status, 2);
  assert.deepEqual(seen, [], "another network's node is not asked");
});

test("--rpc: a node that is away, that lies, or that disagrees proves nothing", async () => {
  const good = await node(recorded);
  const unused = await node({ ...recorded, eth_call: () => `0x${"0".repeat(64)}`, eth_getLogs: () => [] });
  const foreign = await node({ ...recorded, eth_chainId: () => "0x1" });
  for (const urls of [["http://127.0.0.1:9"], [foreign], [unused], [good, unused], [good, "http://127.0.0.1:9"]]) {
    const { status } = await run(["verify", bundle, ...urls.flatMap((url) => ["--rpc", url])]);
    assert.ok(status === 1 || status === 2, `${urls}: ${status}`);
  }
});

test("wrong usage and what can't be read: status 2, words on standard error only", async () => {
  // Of holes: nothing of it is on the disk.
  const huge = file("huge.bin", "");
  truncateSync(huge, 3 * 2 ** 30);
  const cases = {
    "a response of 3 GiB": ["verify", bundle, "--response", huge],
    "no command": [], "another command": ["audit"], "no file": ["verify"], "two files": ["verify", bundle, bundle], "an unknown option": ["verify", bundle, "--force"],
    "an option without its value": ["verify", bundle, "--response"], "no such file": ["verify", join(folder, "nothing")], "a folder": ["verify", folder],
    "no such response": ["verify", bundle, "--response", join(folder, "nothing")], "evidence that is no JSON": ["verify", bundle, "--evidence", response.replace("response.bin", "README.md")],
    "no URL": ["verify", bundle, "--rpc", "ftp://example.com"], "another tag": ["verify", bundle, "--rpc", "http://127.0.0.1:9", "--tag", "pending"],
    "names of Object.prototype": ["constructor"], "no journal": ["resume", join(folder, "nothing")], "a node for no network": ["resume", bundle, "--rpc", "http://127.0.0.1:9"],
  };
  for (const [name, args] of Object.entries(cases)) {
    const { status, out, err } = await run(args);
    assert.equal(status, 2, name);
    assert.equal(out, "", name);
    assert.match(err, /^counterfoil: /, name);
    assert.ok(!/\n\s+at /.test(err), `${name}: a stack`);
  }
  assert.ok(!existsSync(join(folder, "nothing")), "a mistyped name makes no journal");
});

test("a document that can't be judged: the code, also as JSON", async () => {
  const twice = file("twice.json", '{"success":true,"success":false}');
  const plain = await run(["verify", twice]);
  assert.deepEqual([plain.status, plain.out], [2, ""]);
  assert.match(plain.err, /duplicate_key/);
  const { status, out } = await run(["verify", twice, "--json"]);
  assert.equal(status, 2);
  assert.deepEqual(Object.keys(JSON.parse(out).error), ["code", "field", "next", "money", "message"].filter((name) => name in JSON.parse(out).error));
  assert.equal(JSON.parse(out).error.code, "duplicate_key");
});

test("help and version", async () => {
  const { version } = JSON.parse(readFileSync(join(home, "package.json")));
  assert.deepEqual(await run(["--version"]), { status: 0, out: `${version}\n`, err: "" });
  for (const args of [["help"], ["--help"], ["verify", "--help"]]) {
    const { status, out } = await run(args);
    assert.equal(status, 0);
    assert.match(out, /counterfoil verify <file>/);
  }
});

test("nothing in a document reaches the terminal as a control, colour or direction", async () => {
  const evil = "\u001b[2J\u001b]0;owned\u0007\u009b31m\r\u202e\u200bVerified\nVerified\u2028";
  const hostile = file("hostile.json", JSON.stringify({ responseSha256: "ab".repeat(32), resource: `https://api.example.com/${evil}`, [evil]: evil }));
  for (const args of [["verify", hostile], ["verify", hostile, "--json"], ["verify", join(folder, `${evil.replace(/[/\0]/g, "")}.json`)]]) {
    const { out, err } = await run(args);
    assert.ok(!/(?!\n)[\p{C}\p{Zl}\p{Zp}]/u.test(out + err), JSON.stringify(out + err));
    assert.ok(!/^Verified/m.test(out));
  }
  assert.match((await run(["verify", hostile])).out, /\\u\{1b\}/);
});

// ---------------------------------------------------------------- resume

const key = new Uint8Array(32).fill(0x33); // no value anywhere
const keyFile = () => file("key", `0x${Buffer.from(key).toString("hex")}\n`);
const network = "eip155:84532";
const asset = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const payTo = "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe";
const word = (hex) => `0x${hex.slice(2).toLowerCase().padStart(64, "0")}`;
const sold = "the report";
let paid; // the payment that the seller got last, and of a split one the fee's part
let fee;
let sells = false;

const offer = { scheme: "exact", network, amount: "10000", asset, payTo, maxTimeoutSeconds: 300, extra: { name: "USDC", version: "2" } };
const FEE_TO = "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF";
const OFFERS = {
  "/split": { extra: { ...offer.extra, fee_split: { v: 1, fee_to: FEE_TO, fee_amount: "300", merchant_amount: "9700" } } },
  "/permit": { extra: { ...offer.extra, assetTransferMethod: "permit2" } },
};
const seller = await serve((request, answer) => {
  const payment = request.headers["payment-signature"];
  if (!payment) {
    const required = { x402Version: 2, resource: { url: `${seller}${request.url}` }, accepts: [{ ...offer, ...OFFERS[request.url] }] };
    return answer.writeHead(402, { "PAYMENT-REQUIRED": Buffer.from(JSON.stringify(required)).toString("base64") }).end("{}");
  }
  const { payload } = JSON.parse(Buffer.from(payment, "base64"));
  paid = payload.authorization ?? payload.permit2Authorization;
  fee = payload.feeAuthorization?.authorization;
  if (!sells) return request.socket.destroy(); // taken, and never answered
  const settlement = { success: true, transaction: word("0x7a"), network, payer: paid.from };
  answer.writeHead(200, { "PAYMENT-RESPONSE": Buffer.from(JSON.stringify(settlement)).toString("base64") }).end(sold);
});

/** A journal with one purchase whose answer was lost. */
async function interrupted(name, what = "report", options = {}) {
  sells = false;
  const at = join(folder, name);
  const payer = createPayer({ signer: { privateKey: key }, journal: fileJournal(at), policy: { perCall: "20000", assets: [{ network, asset }] }, ...options });
  await assert.rejects(payer.fetch(`${seller}/${what}`, { intent: { id: `an-intent-of-${name}` } }), { money: "possible" });
  await payer.close();
  return at;
}

/** What a node says of `payment`, whose nonces are all `used` or none, or those that are given; its clock is so many seconds behind the end of the window. */
function chainOf({ used, after: late = 1000, payment = paid, parts = [payment, fee] }) {
  const isUsed = (nonce) => (Array.isArray(used) ? used.includes(nonce) : used);
  const part = (nonce) => parts.find((one) => one?.nonce === nonce);
  const block = { number: "0x64", hash: word("0xb10c"), timestamp: `0x${(Number(payment.validBefore ?? payment.deadline) + late).toString(16)}`, stateRoot: word("0x5") };
  const hash = (one) => word(`0x7${parts.indexOf(one)}`);
  const logs = (one) => {
    const at = { blockNumber: block.number, blockHash: block.hash, transactionHash: hash(one), transactionIndex: "0x0", removed: false, address: asset };
    return [
      { ...at, topics: ["0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5", word(one.from), one.nonce], data: "0x", logIndex: "0x0" },
      { ...at, topics: ["0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", word(one.from), word(one.to)], data: word(`0x${Number(one.value).toString(16)}`), logIndex: "0x1" },
    ];
  };
  return node({
    eth_chainId: () => "0x14a34", eth_getBlockByNumber: () => block,
    eth_call: ({ data }) => word(isUsed(`0x${data.slice(-64)}`) ? "0x1" : "0x0"),
    eth_getLogs: ({ topics: [, , nonce] }) => (isUsed(nonce) ? logs(part(nonce)).slice(0, 1) : []),
    eth_getTransactionReceipt: (transactionHash) => ({ transactionHash, blockNumber: block.number, blockHash: block.hash, status: "0x1", logs: logs(parts.find((one) => one && hash(one) === transactionHash)) }),
  });
}

test("resume without a node: what is open, and that the chain has to be read", async () => {
  const journal = await interrupted("unread");
  const [bytes, files] = [readFileSync(journal), readdirSync(folder)];
  const { status, out, err } = await run(["resume", journal, "--json"]);
  assert.equal(status, 2, err);
  const [one] = JSON.parse(out).open;
  assert.deepEqual([one.money, one.next, one.id, one.amount, one.payTo, one.payer], ["possible", "read_chain", "an-intent-of-unread", "10000", payTo, addressOfKey(key)]);
  const words = await run(["resume", journal]);
  assert.match(words.out, /^1 open:\n\n {2}an-intent-of-unread\n/);
  assert.deepEqual([readFileSync(journal), readdirSync(folder)], [bytes, files], "nothing was touched");
});

test("resume with a node says what the chain proves, and changes nothing", async () => {
  const journal = await interrupted("read");
  const bytes = readFileSync(journal);
  const cases = [
    [{ used: true }, 0, "paid", "proven", "lookup_receipt"],
    [{ used: false }, 0, "dead", "none", "safe_to_resign"],
    [{ used: false, after: -10 }, 2, "not_yet", "possible", "wait"],
  ];
  for (const [chain, expected, outcome, money, next] of cases) {
    const { status, out, err } = await run(["resume", journal, "--rpc", `${network}=${await chainOf(chain)}`, "--json"]);
    const [one] = JSON.parse(out).open;
    assert.deepEqual([status, one.outcome, one.money, one.next], [expected, outcome, money, next], err);
  }
  const away = await run(["resume", journal, "--rpc", `${network}=http://127.0.0.1:9`, "--json"]);
  assert.deepEqual([away.status, JSON.parse(away.out).open[0].outcome], [2, "unreadable"]);
  const split = [await chainOf({ used: true }), await chainOf({ used: false })].flatMap((url) => ["--rpc", `${network}=${url}`]);
  assert.equal((await run(["resume", journal, ...split])).status, 2, "two that disagree");
  assert.deepEqual(readFileSync(journal), bytes);
});

test("resume judges every part of a split payment, and is not done while one of them is open", async () => {
  const journal = await interrupted("split", "split");
  const [merchant, other] = [paid.nonce, fee.nonce];
  const cases = [
    [{ used: true }, 0, "paid", "proven", "lookup_receipt", "10000"],
    [{ used: [merchant], after: -10 }, 2, "not_yet", "proven", "wait", "10000"],
    [{ used: [other], after: -10 }, 2, "not_yet", "proven", "wait", "10000"],
    [{ used: [merchant] }, 1, "partly_paid", "proven", "ask_human", "9700"],
    [{ used: [other] }, 1, "partly_paid", "proven", "ask_human", "300"],
    [{ used: false }, 0, "dead", "none", "safe_to_resign", "10000"],
    [{ used: false, after: -10 }, 2, "not_yet", "possible", "wait", "10000"],
    [{ used: true, parts: [paid, { ...fee, value: "299" }] }, 1, "paid_wrong_terms", "proven", "ask_human", "10000"],
  ];
  for (const [chain, ...expected] of cases) {
    const { status, out, err } = await run(["resume", journal, "--rpc", `${network}=${await chainOf(chain)}`, "--json"]);
    const [one] = JSON.parse(out).open;
    assert.deepEqual([status, one.outcome, one.money, one.next, one.amount], expected, err);
    assert.deepEqual(one.parts.map(({ amount, payTo: to }) => [amount, to]), [["9700", payTo], ["300", FEE_TO]]);
  }
  const words = await run(["resume", journal, "--rpc", `${network}=${await chainOf({ used: [merchant] })}`]);
  assert.match(words.out, /of which +9700 to 0x5Fc.*: paid\n +of which +300 to .*: dead\n +outcome +partly_paid\n/);
  const unread = await run(["resume", journal, "--json"]);
  assert.deepEqual([unread.status, JSON.parse(unread.out).open[0].next], [2, "read_chain"]);
});

test("resume judges a Permit2 purchase", async () => {
  const journal = await interrupted("permit", "permit");
  const unread = await run(["resume", journal, "--json"]);
  const [open] = JSON.parse(unread.out).open;
  assert.deepEqual([unread.status, open.next, open.amount, open.asset, open.payTo, open.payer], [2, "read_chain", "10000", asset, payTo, addressOfKey(key)]);
  for (const [late, ...expected] of [[1000, 0, "dead", "none"], [-10, 2, "not_yet", "possible"]]) {
    const { status, out, err } = await run(["resume", journal, "--rpc", `${network}=${await chainOf({ used: false, after: late })}`, "--json"]);
    const [one] = JSON.parse(out).open;
    assert.deepEqual([status, one.outcome, one.money], expected, err + out);
  }
});

test("of several that compete for one nonce the terms are those of the one that was paid", async () => {
  const clock = () => clock.now;
  clock.now = Math.floor(Date.now() / 1000);
  const journal = await interrupted("renewed", "report", { clock });
  const first = paid;
  clock.now += 1000;
  const { amount } = offer;
  offer.amount = "9000";
  await interrupted("renewed", "report", { clock, rpc: { [network]: await chainOf({ used: false, after: 600 }) } });
  offer.amount = amount;
  assert.deepEqual([paid.nonce, paid.value], [first.nonce, "9000"]);
  for (const [payment, value] of [[first, "10000"], [paid, "9000"]]) {
    const { out, err } = await run(["resume", journal, "--rpc", `${network}=${await chainOf({ used: true, payment })}`, "--json"]);
    const [one] = JSON.parse(out).open;
    assert.deepEqual([one.outcome, one.amount], ["paid", value], err);
  }
});

test("resume works beside a process that has the journal, and on a torn one", async () => {
  const journal = await interrupted("held");
  const holder = createPayer({ signer: { privateKey: key }, journal: fileJournal(journal), policy: { perCall: "1" } });
  await holder.export();
  assert.equal((await run(["resume", journal])).status, 2);
  assert.match((await run(["resume", journal, "--key-file", keyFile()])).err, /journal_locked/);
  await holder.close();
  const torn = file("torn", Buffer.concat([readFileSync(journal), Buffer.from('{"seq":')]));
  const { status, err } = await run(["resume", torn]);
  assert.equal(status, 2);
  assert.match(err, /torn/);
  const broken = readFileSync(journal);
  broken[broken.length >> 1] ^= 1;
  assert.match((await run(["resume", file("broken", broken)])).err, /journal_corrupt/);
});

test("resume with the key sends the same payment again, and takes the answer", async () => {
  const journal = await interrupted("settled");
  const first = paid;
  sells = true;
  const { status, out, err } = await run(["resume", journal, "--rpc", `${network}=${await chainOf({ used: true })}`, "--key-file", keyFile(), "--json"]);
  assert.equal(status, 0, err);
  const [one] = JSON.parse(out).open;
  assert.deepEqual([one.outcome, one.money], ["delivered", "proven"]);
  assert.deepEqual(paid, first, "the very same authorization");
  assert.deepEqual(JSON.parse((await run(["resume", journal, "--json"])).out), { open: [] });
  assert.match((await run(["resume", journal])).out, /^Nothing is open\./);
});

test("the key is never shown, and its file is looked at", async () => {
  const journal = await interrupted("keyed");
  const hex = Buffer.from(key).toString("hex");
  for (const content of [hex.slice(2), `${hex}00`, "no key", ""]) {
    const { status, out, err } = await run(["resume", journal, "--key-file", file("bad-key", content), "--json"]);
    assert.equal(status, 2);
    assert.ok(!(out + err).includes("33333333"));
  }
  const open = file("open-key", hex, 0o644);
  assert.equal(statSync(open).mode & 0o077, 0o044);
  const { out, err } = await run(["resume", journal, "--key-file", open]);
  assert.match(err, /can be read by others/);
  assert.ok(!(out + err).includes("33333333"));
  const wrong = await run(["resume", journal, "--key-file", file("zero-key", "0".repeat(64))]);
  assert.equal(wrong.status, 2);
  assert.match(wrong.err, /private_key_invalid/);
});
