// A set of receipts as an auditor gets it, of which one in a hundred is bad in one of many ways: node tests/audit/generate.mjs <folder> [lines] [seed]
//
// Nothing here comes from the package: signatures and typed data are viem's, or, where it is installed, libsecp256k1's over typed data by hand, which for
// millions of lines is a matter of hours and is held against viem once; hashes are node:crypto's, logs as Ethereum's JSON-RPC has them. What must be found is
// written down as it is planted, in words of its own: `expected.json` holds `lines: [{line, what, verdict}]` and `across: [{what, lines}]`.

import { createHash } from "node:crypto";
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { once } from "node:events";

const demo = createRequire(new URL("../../demo/package.json", import.meta.url));
const { keccak256, pad, toBytes, toHex } = demo("viem");
const { privateKeyToAccount } = demo("viem/accounts");
const native = addon();

function addon() {
  try {
    return createRequire(new URL("../bench/package.json", import.meta.url))("secp256k1/bindings.js");
  } catch {
    return undefined;
  }
}

const hash = (...parts) => createHash("sha256").update(parts.join("/")).digest();
const hex = (bytes) => `0x${Buffer.from(bytes).toString("hex")}`;
// Keys of no value anywhere.
const account = (name) => {
  const key = hash("counterfoil audit, a test key", name);
  return { ...privateKeyToAccount(hex(key)), key };
};
const payers = Array.from({ length: 9 }, (_, at) => account(`payer ${at}`));
const sellers = Array.from({ length: 4 }, (_, at) => account(`seller ${at}`).address);

/** The tokens as their issuer has deployed them. */
const tokens = [
  { chainId: 8453, asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", name: "USD Coin" },
  { chainId: 84532, asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", name: "USDC" },
];
const types = {
  TransferWithAuthorization: [
    { name: "from", type: "address" }, { name: "to", type: "address" }, { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" }, { name: "validBefore", type: "uint256" }, { name: "nonce", type: "bytes32" },
  ],
};
const word = (value) => (typeof value === "string" && value.startsWith("0x") ? Buffer.from(value.slice(2).padStart(64, "0"), "hex") : Buffer.from(BigInt(value).toString(16).padStart(64, "0"), "hex"));
const keccak = (...parts) => keccak256(Buffer.concat(parts), "bytes");
const typeHash = (name, fields) => keccak(Buffer.from(`${name}(${fields.map((field) => `${field.type} ${field.name}`).join(",")})`));
const DOMAIN = [{ name: "name", type: "string" }, { name: "version", type: "string" }, { name: "chainId", type: "uint256" }, { name: "verifyingContract", type: "address" }];
const separators = new Map();
let compared = false;

/** The signature of an account under an authorization. */
async function sign(signer, domain, message) {
  const byViem = () => signer.signTypedData({ domain, types, primaryType: "TransferWithAuthorization", message: { ...message, value: BigInt(message.value), validAfter: BigInt(message.validAfter), validBefore: BigInt(message.validBefore) } });
  if (!native) return byViem();
  const id = JSON.stringify(domain);
  if (!separators.has(id)) {
    separators.set(id, keccak(typeHash("EIP712Domain", DOMAIN), keccak(Buffer.from(domain.name)), keccak(Buffer.from(domain.version)), word(domain.chainId), word(domain.verifyingContract)));
  }
  const [[name, fields]] = Object.entries(types);
  const struct = keccak((own ??= typeHash(name, fields)), ...fields.map((field) => word(message[field.name])));
  const { signature, recid } = native.ecdsaSign(keccak(Buffer.from("1901", "hex"), separators.get(id), struct), signer.key);
  const text = `${hex(signature)}${(27 + recid).toString(16)}`;
  if (!compared && text !== (await byViem())) throw new Error("typed data by hand is not viem's");
  compared = true;
  return text;
}
let own;

const events = { used: keccak256(toBytes("AuthorizationUsed(address,bytes32)")), transfer: keccak256(toBytes("Transfer(address,address,uint256)")) };
const start = 1_790_000_000;

/** What is drawn for each purchase. */
const DRAWN = ["token", "payer", "seller", "amount", "nonce", "rows", "note", "transaction", "block", "final block", "intent", "payment"];

/** One purchase as it should be: `line` is what is written, the rest what a fault may need. */
async function purchase(seed, number, change = {}) {
  const drawn = createHash("shake256", { outputLength: 32 * DRAWN.length }).update(`${seed}/${number}`).digest();
  const of = (what) => drawn.subarray(32 * DRAWN.indexOf(what), 32 * DRAWN.indexOf(what) + 32);
  const pick = (what, list) => list[of(what).readUInt32LE() % list.length];
  const token = change.token ?? pick("token", tokens);
  const { chainId, asset, name } = token;
  const payer = change.payer ?? pick("payer", payers);
  const network = `eip155:${chainId}`;
  const authorization = {
    from: payer.address, to: pick("seller", sellers), value: String(1000 + (of("amount").readUInt32LE() % 9_000_000)),
    validAfter: String(start - 600), validBefore: String(start + 10 * number + 300), nonce: hex(of("nonce")), ...change.authorization,
  };
  const domain = { name, version: "2", chainId, verifyingContract: asset };
  const signature = await sign(change.signer ?? payer, domain, authorization);
  const body = change.body ?? JSON.stringify({ report: number, rows: of("rows").toString("base64"), note: pick("note", ["naïve", "日本", "=1+1", "plain", "\u202eright to left"]) });
  const transaction = change.transaction ?? hex(of("transaction"));
  const block = { number: toHex(1_000_000 + number), hash: hex(of("block")) };
  const place = { address: asset.toLowerCase(), blockHash: block.hash, blockNumber: block.number, transactionHash: transaction, transactionIndex: "0x1", removed: false };
  const topic = (address) => pad(address.toLowerCase());
  const logs = [
    { ...place, topics: [events.used, topic(authorization.from), authorization.nonce], data: "0x", logIndex: "0x4" },
    { ...place, topics: [events.transfer, topic(authorization.from), topic(authorization.to)], data: pad(toHex(BigInt(authorization.value))), logIndex: "0x5" },
  ];
  const evidence = {
    chainId: toHex(chainId),
    block: { number: toHex(2_000_000 + number), hash: hex(of("final block")), timestamp: toHex(start + 20 * number + 10_000), tag: "finalized" },
    authorizationState: pad("0x1"), logs: [{ ...logs[0], topics: [...logs[0].topics] }],
    receipt: { transactionHash: transaction, blockHash: block.hash, blockNumber: block.number, status: "0x1", logs },
  };
  const receipt = {
    network, asset, payer: authorization.from, payTo: authorization.to, amount: authorization.value, transaction,
    resource: change.resource ?? `https://seller-${sellers.indexOf(authorization.to)}.example/report?n=${number}`, responseSha256: createHash("sha256").update(body).digest("hex"),
  };
  const line = { id: `order-${number}`, receipt, response: { text: body }, authorization, domain, signature, intent: `intent-${hex(of("intent")).slice(2, 34)}`, paymentId: `pay_${hex(of("payment")).slice(2, 34)}`, evidence };
  return { line, body, payer, token };
}

const other = (address) => account(`nobody ${address}`).address;

/** Ways in which one line is bad by itself: what the auditor must be told, and by which verdict. */
const bad = [
  ["the answer has one byte more", "failed", (one) => (one.line.response.text += " ")],
  ["the answer was cut off", "failed", (one) => (one.line.response = { base64: Buffer.from(one.body).subarray(0, -7).toString("base64") })],
  ["the answer's file holds something else", "failed", (one, file) => (one.line.response = file("something else"))],
  ["the receipt names another payer", "failed", (one) => (one.line.receipt.payer = other(one.line.receipt.payer))],
  ["the receipt names another recipient", "failed", (one) => (one.line.receipt.payTo = other(one.line.receipt.payTo))],
  ["the receipt names another amount", "failed", (one) => (one.line.receipt.amount = `${one.line.receipt.amount}0`)],
  ["the receipt names another token", "failed", (one) => (one.line.receipt.asset = other(one.line.receipt.asset))],
  ["the receipt names another network", "failed", (one) => (one.line.receipt.network = "eip155:1")],
  ["the receipt names another transaction", "failed", (one) => (one.line.receipt.transaction = hex(hash(one.line.receipt.transaction)))],
  ["somebody else signed", "failed", async (one, _, again) => (one.line.signature = (await again({ signer: account("a forger") })).line.signature)],
  ["the signature's s is the high one", "failed", (one) => (one.line.signature = high(one.line.signature))],
  ["the amount was raised after it was signed", "failed", (one) => (one.line.authorization.value = one.line.receipt.amount = String(2 * one.line.receipt.amount))],
  ["the domain is another version's", "failed", (one) => (one.line.domain.version = "1")],
  ["the money went to somebody else", "failed", (one) => (one.line.evidence.receipt.logs[1].topics[2] = pad(other(one.line.receipt.payTo).toLowerCase()))],
  ["less money moved", "failed", (one) => (one.line.evidence.receipt.logs[1].data = pad("0x1"))],
  ["the seller says that it did not settle", "failed", (one) => (one.line.receipt.success = false)],
  ["the receipt's digest has 31 bytes", "error", (one) => (one.line.receipt.responseSha256 = one.line.receipt.responseSha256.slice(2))],
  ["the amount is a number", "error", (one) => (one.line.receipt.amount = Number(one.line.receipt.amount))],
  ["the line is torn", "error", (one) => (one.text = JSON.stringify(one.line).slice(0, -40))],
  ["the receipt says one thing twice", "error", (one) => (one.text = JSON.stringify(one.line).replace('"network":', `"amo\\u0075nt":"1","network":`))],
  ["the line is no JSON", "error", (one) => (one.text = "\u001b[2J{ hello")],
  ["the answer's file is missing", "incomplete", (one) => (one.line.response = "missing/answer.bin")],
  ["the answer's path leads out of the folder", "incomplete", (one) => (one.line.response = "../expected.json")],
  ["the chain was not read", "incomplete", (one) => delete one.line.evidence],
  ["the block that was read is not final", "incomplete", (one) => (one.line.evidence.block.tag = "latest")],
  ["a contract of nobody moved the money", "incomplete", (one) => one.line.evidence.receipt.logs.concat(one.line.evidence.logs).forEach((log) => (log.address = other(log.address).toLowerCase()))],
  ["the transaction was reverted", "incomplete", (one) => (one.line.evidence.receipt.status = "0x0")],
  ["the nonce in the log is another purchase's", "incomplete", (one) => [one.line.evidence.logs[0], one.line.evidence.receipt.logs[0]].forEach((log) => (log.topics[1] = hex(hash(log.topics[1]))))],
];

/** The same thing bought again, by a payment of its own. */
function again({ line: { receipt }, payer, token }, authorization) {
  return { payer, token, resource: receipt.resource, authorization: { to: receipt.payTo, value: receipt.amount, ...authorization } };
}

/** Ways in which two lines that are each right say too much together; gives what is changed in the second one. */
const across = [
  ["one receipt stands in two lines", ({ line }) => ({ line: { ...line, id: `${line.id} again` } })],
  ["two receipts claim one transaction", ({ line, token }) => ({ token, transaction: line.receipt.transaction, unread: true })],
  ["one authorization is in two transactions", (one) => ({ ...again(one, { nonce: one.line.authorization.nonce }), unread: true })],
  ["one intent was paid twice", (one) => ({ ...again(one), set: { intent: one.line.intent } })],
  ["one payment id was paid twice", (one) => ({ ...again(one), set: { paymentId: one.line.paymentId, intent: undefined }, first: { intent: undefined } })],
  ["one intent of two payers", ({ line, payer }) => ({ payer: payers[(payers.indexOf(payer) + 1) % payers.length], set: { intent: line.intent } })],
  ["one payment id stands for two things", ({ line }) => ({ set: { paymentId: line.paymentId } })],
  ["two payments got one answer", ({ body }) => ({ body })],
];

function high(signature) {
  const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const s = n - BigInt(`0x${signature.slice(66, 130)}`);
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, "0")}${signature.endsWith("1b") ? "1c" : "1b"}`;
}

/** Writes `lines.jsonl`, `responses/` and `expected.json` into the folder, and gives what `expected.json` holds. */
export async function generate(folder, count, seed = "1") {
  mkdirSync(join(folder, "responses"), { recursive: true });
  const out = createWriteStream(join(folder, "lines.jsonl"));
  const expected = { count, lines: [], across: [] };
  // Spread over the whole set: the second of two lies far from the first.
  const step = 100;
  const pending = new Map();
  let [kind, pair, written] = [0, 0, []];
  for (let number = 1; number <= count; number++) {
    const planned = pending.get(number);
    let one = await purchase(seed, number, planned?.change);
    const file = (body) => {
      writeFileSync(join(folder, "responses", `${number}.bin`), body);
      return `${number}.bin`;
    };
    if (planned) {
      pending.delete(number);
      const { change, what, first } = planned;
      if (change.line) one.line = change.line;
      Object.assign(one.line, change.set);
      if (change.unread) delete one.line.evidence;
      expected.across.push({ what, lines: [first, number] });
      if (change.unread) expected.lines.push({ line: number, what: "the chain was not read", verdict: "incomplete" });
    } else if (number % step === 50) {
      const [what, verdict, spoil] = bad[kind++ % bad.length];
      await spoil(one, file, (change) => purchase(seed, number, change));
      expected.lines.push({ line: number, what, verdict });
    } else if (number % (2 * step) === 25 && pair < count / 500) {
      const second = Math.max(number + 1, count - number);
      if (second % step !== 50 && !pending.has(second) && second > number) {
        const [what, then] = across[pair++ % across.length];
        const change = then(one);
        Object.assign(one.line, change.first);
        pending.set(second, { change, what, first: number });
      }
    } else if (number % 10 === 0) one.line.response = file(one.body);
    else if (number % 10 === 1) one.line.response = `sha256:${createHash("sha256").update(one.body).digest("hex")}`;
    written.push(`${one.text ?? JSON.stringify(one.line)}\n`);
    if (written.length < 200 && number < count) continue;
    if (!out.write(written.join(""))) await once(out, "drain");
    written = [];
  }
  out.end();
  await once(out, "close");
  writeFileSync(join(folder, "expected.json"), JSON.stringify(expected, null, 1));
  return expected;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, lines = "20000", seed] = process.argv.slice(2);
  const { lines: found, across: together } = await generate(folder, Number(lines), seed);
  console.log(`${lines} lines, ${found.length} of them bad, ${together.length} pairs`);
}
