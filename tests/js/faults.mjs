// Journals and bundles that somebody changed afterwards, each with the words that name what is wrong: made of the recorded ones.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { approvalDocument, refusalDocument } from "counterfoil";
import { canonical } from "../page/many.mjs";

const { privateKeyToAccount } = createRequire(new URL("../../demo/package.json", import.meta.url))("viem/accounts");
const person = privateKeyToAccount(`0x${"51".repeat(32)}`);
const linesOf = (name) => readFileSync(new URL(`../../www/sample/lineage/${name}.jsonl`, import.meta.url), "utf8").trimEnd().split("\n");
const lines = linesOf("paid-without-delivery");
const other = linesOf("all-well");
/** In the middle. */
const AT = 8;

const text = (lines) => lines.map((line) => `${line}\n`).join("");
const changed = (line) => lines.with(AT, line);
/** A line whose hash is right again. */
function rehashed(line, change) {
  const { hash: _, ...body } = { ...JSON.parse(line), ...change };
  return canonical({ ...body, hash: `0x${createHash("sha256").update(`counterfoil/journal/v1\n${canonical(body)}`).digest("hex")}` });
}
const forged = lines[AT].replace(/"updatedAt":\d/, '"updatedAt":9');
const elsewhere = `0x${"5a".repeat(32)}`;

const wallet = linesOf("needs-approval").map((line) => JSON.parse(line)).flatMap(({ ops }) => ops).findLast(({ put }) => put?.asked);
const request = wallet.put.asked[0];
const bundle = (more) => JSON.stringify({ type: "counterfoil/bundle", v: 1, payer: wallet.key.slice("wallet/".length), intents: [], ...more });

async function signed({ EIP712Domain: _, ...types }, { message, ...typed }) {
  const numbers = Object.fromEntries(types[typed.primaryType].filter(({ type }) => type.startsWith("uint")).map(({ name }) => [name, BigInt(message[name])]));
  return person.signTypedData({ ...typed, types, message: { ...message, ...numbers } });
}
async function answered(make) {
  const { typedData } = make();
  return make(await signed(typedData.types, typedData));
}
const at = request.at + 5;
const { approval } = await answered((signature) => approvalDocument(request, { at, expiresAt: at + 600, amount: request.amount, ...(signature && { signature }) }));
const { refusal } = await answered((signature) => refusalDocument(request, { at, ...(signature && { signature }) }));
const entries = (amount) => [{ id: `${request.intentId}#0`, amount, asset: request.asset, network: request.network, at, state: "settled", approval: approval.hash }];

/** By name: the text, and the words; none where nothing is wrong. */
export const FAULTS = {
  whole: [text(lines)],
  forged: [text(changed(forged)), /rewritten, line 9/],
  "rewritten-middle": [text(changed(rehashed(forged))), /spliced, line 10/],
  "changed-prev": [text(changed(lines[AT].replace(JSON.parse(lines[AT]).prev, elsewhere))), /rewritten, line 9/],
  "changed-prev-and-hash": [text(changed(rehashed(lines[AT], { prev: elsewhere }))), /spliced, line 9/],
  truncated: [text(lines.toSpliced(AT, 2)), /truncated, line 9/],
  beheaded: [text(lines.slice(1)), /truncated, line 1/],
  reordered: [text(lines.toSpliced(AT, 2, lines[AT + 1], lines[AT])), /reordered, line 9/],
  repeated: [text(lines.toSpliced(AT, 0, lines[AT - 1])), /reordered, line 9/],
  spliced: [text([...other.slice(0, AT), ...lines.slice(AT)]), /spliced, line 9/],
  "foreign-line": [text(lines.toSpliced(AT, 0, other[AT])), /spliced, line 9/],
  "no-line": [text(changed("{}")), /malformed, line 9/],
  "approval-within": [bundle({ approvals: [approval], entries: entries(request.amount) })],
  "approval-used-up": [bundle({ approvals: [approval], entries: entries(String(BigInt(request.amount) + 1n)) }), /More names one than it covers/],
  "approval-altered": [bundle({ approvals: [{ ...approval, amount: "9000000" }], entries: [] }), /another hash than it names/],
  "refusal-of-this": [bundle({ refused: [{ intentId: request.intentId, request, refusal }] })],
  "refusal-of-another-request": [bundle({ refused: [{ intentId: request.intentId, request: { ...request, amount: "1" }, refusal }] }), /a request that does not stand here/],
  "refusal-of-another-intent": [bundle({ refused: [{ intentId: elsewhere, request, refusal }] }), /an intent that this request does not belong to/],
};
