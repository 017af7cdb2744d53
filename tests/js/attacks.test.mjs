// Hostile sellers, sub-agents and files against a payer: each has a number, C1 to C20, and what must come of it. F1 to F9 are texts that are hostile to whoever shows them; they
// are met in the page's and the command line's own tests, which the last test here looks up.

import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { callKey, createPayer, verifyLineage, verifyReceipt } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { unusedChain } from "./hand-over-suite.mjs";
import { NETWORK, OFFER, PAYER, SELLER, USDC, clockwork, counted, folder, keyBytes, openJournal, priced, shop, sold, thrown } from "./payer-stage.mjs";

const ID = { id: "order-0000000000000001" };
const ELSE = `0x${"0a".repeat(20)}`;
const open = (o = {}) => createPayer({ signer: counted(), journal: openJournal(), policy: { perCall: "20000" }, ...o });
const offered = (...accepts) => (_, res, payment) => (payment ? sold(res, payment) : priced(res, { accepts }));

/** What a seller that answers so gets from a payer with this policy: the error's code and field, and how often it was signed. */
async function refused(t, answer, policy = { perCall: "20000" }) {
  const seller = await shop(t, answer);
  const signer = counted();
  const payer = open({ signer, policy });
  const { code, field, money } = await thrown(payer.fetch(seller.url, { intent: ID }));
  await payer.close();
  return { code, field, money, signed: signer.calls, paid: seller.paid.length };
}

/** A seller that never answers a payment, and a buyer that waits no longer once it has come: what was sent is open. */
async function leaving(t, later = (_, res) => res.destroy()) {
  const gone = [];
  const seller = await shop(t, (req, res, payment, { payments }) => (payment ? (gone.shift()?.abort() ?? later(req, res, payment, payments)) : priced(res)));
  seller.leave = async (payer, path = "", intent = ID) => {
    const control = new AbortController();
    gone.push(control);
    const { name } = await thrown(payer.fetch(seller.url + path, { intent, signal: control.signal }));
    assert.equal(name, "AbortError");
  };
  return seller;
}

test("C1: 100 USDC for a cent's worth, in the first offer, in the second, and hidden behind a small number in extra", async (t) => {
  const dear = { ...OFFER, amount: "100000000" };
  for (const accepts of [[dear], [{ ...OFFER, network: "eip155:1", asset: ELSE }, dear], [{ ...dear, extra: { ...OFFER.extra, amount: "10000", maxAmountRequired: "10000" } }]]) {
    assert.deepEqual(await refused(t, offered(...accepts)), { code: "over_cap", field: "policy.perCall", money: "none", signed: 0, paid: 0 });
  }
});

test("C5: to nobody, to the token, to the payer, to where it burns", async (t) => {
  for (const payTo of [`0x${"0".repeat(40)}`, USDC, PAYER, "0x000000000000000000000000000000000000dEaD"]) {
    const { code, signed } = await refused(t, offered({ ...OFFER, payTo }));
    assert.deepEqual([code, signed], ["recipient_forbidden", 0], payTo);
  }
});

test("C6: a token that calls itself USDC", async (t) => {
  const { code, signed } = await refused(t, offered({ ...OFFER, asset: ELSE, extra: { ...OFFER.extra, symbol: "USDC", decimals: 0 } }));
  assert.deepEqual([code, signed], ["unknown_asset", 0]);
});

test("C7: addresses and schemes that only look like what they are", async (t) => {
  const digits = SELLER.slice(2);
  const looks = [
    `0\u0445${digits}`, `0x${digits.replace("2", "\uff12")}`, `0x\u200d${digits}`, `\u202e0x${digits}`, "merchant.eth", `0x${digits.slice(1)}\u0430`, `0x${digits} `, ` 0x${digits}`, `0X${digits}`,
  ];
  for (const payTo of looks) assert.equal((await refused(t, offered({ ...OFFER, payTo }))).signed, 0, payTo);
  for (const scheme of ["e\u0445act", "exact\u200b", "EXACT", "\u212aexact"]) assert.equal((await refused(t, offered({ ...OFFER, scheme }))).signed, 0, scheme);
});

test("C8: amounts that are no amount", async (t) => {
  const amounts = ["1e4", "0x2710", "00010000", "+1", "-1", "", " 1", "1.0", String(2n ** 256n), "9".repeat(78), "9".repeat(4000), "10000\u0000", "1\u0661", 10000, 1e4, null, ["10000"]];
  for (const amount of amounts) {
    const { signed, money } = await refused(t, offered({ ...OFFER, amount }));
    assert.deepEqual([signed, money], [0, "none"], String(amount).slice(0, 20));
  }
});

test("C9: a cheque that could be cashed for ten years is good for ten minutes, or for what the policy says", async (t) => {
  for (const [policy, most] of [[{}, 600], [{ maxWindow: 60 }, 60]]) {
    const signer = counted();
    const clock = clockwork();
    const seller = await shop(t, offered({ ...OFFER, maxTimeoutSeconds: 10 * 365 * 86_400 }));
    const payer = open({ signer, clock, policy: { perCall: "20000", ...policy } });
    assert.equal(await (await payer.fetch(seller.url, { intent: ID })).text(), "the report");
    const [{ message: { validAfter, validBefore } }] = signer.docs;
    assert.ok(validBefore <= BigInt(clock.now + most) && validBefore > BigInt(clock.now), `${validBefore - BigInt(clock.now)} s`);
    assert.ok(validAfter <= BigInt(clock.now));
    await payer.close();
  }
  for (const maxTimeoutSeconds of [0, -1, 1.5, "60", 1e21, null]) assert.equal((await refused(t, offered({ ...OFFER, maxTimeoutSeconds }))).signed, 0, String(maxTimeoutSeconds));
});

test("C10: a sub-agent that asks for the same in other words has no other budget, and none while the first is unknown", async (t) => {
  const seller = await leaving(t);
  const signer = counted();
  const planner = open({ signer });
  const trip = await planner.intend({ id: "trip-00000000000001", budget: "15000" });
  await seller.leave(planner, "?q=maps", { parent: trip });
  for (const other of ["?q=Maps", "?q=maps%20", "?q=charts", "?q=maps&page=2"]) {
    for (const intent of [{ parent: trip }, { parent: trip, scope: "another session" }, { parent: trip, id: `named-${other}-0000000000`.slice(0, 24) }]) {
      assert.equal((await thrown(planner.fetch(seller.url + other, { intent }))).code, "over_budget", other);
    }
  }
  assert.equal(signer.calls, 1);
  await planner.close();
});

test("C11: a forged lineage: a parent nobody knows, one of another tree, one below itself, one that is too deep", async (t) => {
  const seller = await shop(t);
  const journal = openJournal();
  const payer = open({ journal });
  const [own, other] = [await payer.intend({ id: "own-000000000000001", budget: "30000" }), await payer.intend({ id: "other-0000000000001" })];
  for (const parent of ["no such intent", `0x${"ab".repeat(32)}`]) assert.equal((await thrown(payer.fetch(seller.url, { intent: { parent } }))).code, "bad_lineage");
  const worker = open({ journal, root: own });
  assert.equal((await thrown(worker.fetch(seller.url, { intent: { parent: other } }))).code, "bad_lineage");
  let parent = own;
  const errors = [];
  for (let depth = 0; depth < 40; depth++) {
    try {
      parent = await payer.intend({ id: `depth-${String(depth).padStart(12, "0")}`, parent, budget: "30000" });
    } catch ({ code }) {
      errors.push(code);
    }
  }
  assert.deepEqual([...new Set(errors)], ["bad_lineage"]);
  // In a document that somebody made: A below B below A, and what claims a place of its own.
  const bundle = JSON.parse(await payer.export());
  const [one, two] = bundle.places;
  const failed = (places) => verifyLineage(JSON.stringify({ ...bundle, places })).checks.filter(({ state }) => state === "fail").map(({ id }) => id);
  assert.deepEqual(failed([{ ...one, parent: two.intentId }, { ...two, parent: one.intentId }]), ["lineage.acyclic"]);
  assert.deepEqual(failed([one, { ...two, parent: one.intentId, budget: "30001" }]), ["lineage.scope"]);
  assert.equal(seller.paid.length, 0);
  await Promise.all([payer.close(), worker.close()]);
});

test("C12: two workers, one intent, at once: one authorization", async (t) => {
  const seller = await shop(t);
  const journal = openJournal();
  const signers = [counted(), counted()];
  const workers = signers.map((signer) => open({ signer, journal, leaseMs: 2000 }));
  const ends = await Promise.all(workers.map((payer) => payer.fetch(seller.url, { intent: ID }).then((answer) => answer.text(), ({ code }) => code)));
  assert.ok(ends.every((end) => ["the report", "intent_in_flight"].includes(end)) && ends.includes("the report"), String(ends));
  assert.equal(signers[0].calls + signers[1].calls, 1);
  assert.equal(new Set(seller.payments.map((payment) => JSON.stringify(payment))).size, 1);
  await Promise.all(workers.map((payer) => payer.close()));
});

test("C14: what was paid for a GET is for no POST, and for no other body", async (t) => {
  const seller = await shop(t);
  const signer = counted();
  const payer = open({ signer });
  const buys = (init) => payer.fetch(seller.url, { intent: ID, ...init }).then((answer) => answer.text(), ({ code }) => code);
  assert.equal(await buys({}), "the report");
  for (const init of [{ method: "POST" }, { method: "POST", body: "a" }, { method: "PUT", body: "a" }]) assert.equal(await buys(init), "intent_conflict");
  const other = { id: "order-0000000000000002" };
  assert.equal(await buys({ method: "POST", body: "a", intent: other }), "the report");
  assert.equal(await buys({ method: "POST", body: "b", intent: other }), "intent_conflict");
  assert.deepEqual([signer.calls, seller.paid.length], [2, 2]);
  await payer.close();
});

test("C15: the payment id is not to be guessed from the order", async (t) => {
  const seller = await shop(t, (_, res, payment) => (payment ? sold(res, payment) : priced(res, { extensions: { "payment-identifier": { info: { required: false }, schema: {} } } })));
  const ids = [];
  for (const secret of [1, 2, 1]) {
    const payer = open({ secret: new Uint8Array(32).fill(secret) });
    await (await payer.fetch(seller.url, { intent: ID })).text();
    ids.push(seller.payments.at(-1).extensions["payment-identifier"].info.id);
    await payer.close();
  }
  assert.equal(ids[0], ids[2], "the same after everything is lost");
  assert.notEqual(ids[0], ids[1], "without the secret it is another");
  for (const id of ids) assert.ok(/^[A-Za-z0-9_-]{32,128}$/.test(id) && !id.includes("0000000000000001"), id);
});

test("C16: what a seller echoes of somebody else's is not taken up", async (t) => {
  const theirs = { payer: ELSE, transaction: `0x${"ee".repeat(32)}`, nonce: `0x${"dd".repeat(32)}`, extensions: { "payment-identifier": { info: { id: "somebody-elses-payment-id-000001" } } } };
  const packed = Buffer.from(JSON.stringify({ success: true, network: NETWORK, ...theirs })).toString("base64");
  const headers = { "payment-response": packed, "content-type": "application/json", "idempotency-key": "somebody-elses-payment-id-000001" };
  const seller = await leaving(t, (_, res) => res.writeHead(503, headers).end(JSON.stringify({ ...theirs, paymentId: "somebody-elses-payment-id-000001" })));
  const [signer, journal] = [counted(), openJournal()];
  const payer = open({ signer, journal });
  await seller.leave(payer);
  const before = (await journal.intents())[0].attempts[0];
  assert.equal((await thrown(payer.fetch(seller.url, { intent: ID }))).code, "outcome_unknown");
  const { attempts: [after], status } = (await journal.intents())[0];
  for (const name of ["attemptId", "paymentId", "authorization", "signature", "header"]) assert.deepEqual(after[name], before[name], name);
  assert.deepEqual([status, signer.calls, new Set(seller.payments.map((payment) => JSON.stringify(payment))).size], ["open", 1, 1]);
  assert.ok(!JSON.stringify(await journal.held()).includes("settled"));
  // Beside the goods, too, it proves nothing: the report on the purchase says so.
  const giver = await shop(t, (_, res, payment) => (payment ? res.writeHead(200, headers).end("the report") : priced(res)));
  const other = open();
  assert.equal(await (await other.fetch(giver.url, { intent: ID })).text(), "the report");
  const report = verifyReceipt(await other.export());
  assert.equal(report.verdict, "failed");
  assert.match(JSON.stringify(report.checks.filter(({ state }) => state === "fail")), /payer/);
  await Promise.all([payer.close(), other.close()]);
});

test("C17: `already settled`, in a transaction of somebody else's: the chain is asked about this payer and this nonce", async (t) => {
  const chain = unusedChain();
  const said = JSON.stringify({ error: "authorization_used", message: "already settled", transaction: `0x${"ee".repeat(32)}` });
  const seller = await leaving(t, (_, res) => res.writeHead(409, { "content-type": "application/json" }).end(said));
  const [signer, journal] = [counted(), openJournal()];
  const payer = open({ signer, journal, rpc: { [NETWORK]: chain } });
  await seller.leave(payer);
  const error = await thrown(payer.fetch(seller.url, { intent: ID }));
  assert.ok(["outcome_unknown", "payment_identifier_conflict"].includes(error.code), error.code);
  assert.notEqual(error.money, "proven");
  assert.ok(chain.calls.includes("eth_call"));
  const [{ attempts: [{ state, transaction }] }] = await journal.intents();
  assert.deepEqual([state, transaction, signer.calls], ["sent", undefined, 1]);
  assert.deepEqual((await journal.held()).map(({ state }) => state), ["reserved"]);
  await payer.close();
});

test("C18: what is paid, to whom and in what is no volatile field", () => {
  for (const field of ["amount", "payTo", "asset", "network", "payer", "resource"]) {
    for (const pointer of [`/${field}`, `/nested/${field}`]) {
      assert.throws(() => callKey({ tool: "t", args: { [field]: "1" }, scope: "run", rule: { effect: "write", volatile: [pointer] } }), { code: "protected_field" }, pointer);
    }
  }
});

test("C19: a journal put back to an older copy: nothing more is signed than for the nonce that was", async (t) => {
  const seller = await leaving(t);
  const place = folder(t);
  const [file, copy] = [join(place, "agent.jsonl"), join(place, "copy.jsonl")];
  const used = unusedChain();
  const answers = async (method, params) => (method === "eth_call" ? `0x${"00".repeat(31)}01` : used(method, params));
  const buys = async (rpc) => {
    const signer = counted();
    const payer = open({ signer, journal: fileJournal(file), secret: new Uint8Array(32).fill(7), rpc: { [NETWORK]: rpc } });
    const code = rpc === answers ? (await thrown(payer.fetch(seller.url, { intent: ID }))).code : await seller.leave(payer);
    await payer.close();
    return { code, signed: signer.docs.map(({ message }) => message.nonce) };
  };
  const empty = fileJournal(file);
  await empty.commit([{ key: "note", expect: "absent", put: new TextEncoder().encode("{}") }]);
  await empty.close();
  copyFileSync(file, copy);
  const first = await buys(used);
  assert.equal(first.signed.length, 1);
  copyFileSync(copy, file);
  // The chain says that the nonce is used: nothing is signed.
  const second = await buys(answers);
  assert.deepEqual([second.code, second.signed], ["used_or_cancelled", []]);
  copyFileSync(copy, file);
  // Where it is unused, what is signed competes for the same one.
  assert.deepEqual((await buys(used)).signed, first.signed);
});

test("C20: a line that another process put in, by which the payment failed: the journal is corrupt, and nobody is told that it failed", async (t) => {
  const seller = await leaving(t);
  const file = join(folder(t), "agent.jsonl");
  const payer = open({ signer: { privateKey: keyBytes() }, journal: fileJournal(file) });
  await seller.leave(payer);
  await payer.close();
  const whole = readFileSync(file, "utf8");
  const last = JSON.parse(whole.trimEnd().split("\n").at(-1));
  const dead = JSON.parse(JSON.stringify(last).replaceAll('"state":"sent"', '"state":"dead"'));
  const sorted = (value) => (Array.isArray(value) ? value.map(sorted) : value && typeof value === "object" ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])])) : value);
  const line = (changed) => JSON.stringify(sorted({ ...dead, ...changed }));
  // Added behind, in the place of the last, with a number of its own: none has the hash.
  const forged = [`${whole}${line({ seq: last.seq + 1, prev: last.hash })}\n`, whole.replace(JSON.stringify(sorted(last)), line({})), `${whole}${line({})}\n`];
  for (const text of forged) {
    assert.notEqual(text, whole);
    writeFileSync(file, text);
    const signer = counted();
    const reader = open({ signer, journal: fileJournal(file) });
    assert.equal((await thrown(reader.fetch(seller.url, { intent: ID }))).code, "journal_corrupt");
    await reader.close().catch(() => {});
    assert.equal(signer.calls, 0);
    assert.equal(verifyLineage(text).verdict, "failed");
  }
});

test("C20: where the whole chain is made anew, a payment is over only where the reads show it", async (t) => {
  const seller = await leaving(t);
  const payer = open();
  await seller.leave(payer);
  const bundle = JSON.parse(await payer.export());
  bundle.intents[0].attempts[0].state = "dead";
  const text = JSON.stringify(bundle);
  const failed = verifyLineage(text).checks.filter(({ state }) => state === "fail").map(({ id }) => id);
  assert.deepEqual(failed, ["lineage.state"]);
  await payer.close();
});

/** What is met elsewhere: the number, what it is, and the test. */
const ELSEWHERE = [
  ["C2", "a price that moves by one unit, up or down", "tests/js/payer.test.mjs", "changed terms while an earlier authorization may have landed are refused"],
  ["C3", "a second demand to another recipient; on another rail", "tests/js/payer.test.mjs", "changed terms while an earlier authorization may have landed are refused"],
  ["C4", "another demand after paying, again and again", "tests/js/payer-answers.test.mjs", "402 after paying, a replayed credential, a bare 409, a stranger's advice to pay anew: the same bytes again"],
  ["C13", "the paid request is sent on to another host", "tests/js/payer.test.mjs", "the caller's headers go with both requests; a payment follows no redirect"],
  ["F1", "markup in names, descriptions, addresses and errors", "tests/page/hostile.test.mjs", "hostile documents are text or an error, and nothing else"],
  ["F1", "the same in a lineage", "tests/page/hostile.test.mjs", "in a lineage too, hostile texts are text: purposes, agents, addresses, file names"],
  ["F2", "addresses that run something", "tests/page/hostile.test.mjs", "hostile documents are text or an error, and nothing else"],
  ["F3", "a transaction that is a path", "tests/page/hostile.test.mjs", "hostile documents are text or an error, and nothing else"],
  ["F4", "what can't be seen, and what turns text round; very long names", "tests/page/hostile.test.mjs", "a hostile file name is text, and long values are cut with the whole on demand"],
  ["F5", "a verdict in a merchant's name", "tests/page/hostile.test.mjs", "hostile documents are text or an error, and nothing else"],
  ["F6", "control characters in a terminal", "tests/js/cli.test.mjs", "nothing in a document reaches the terminal as a control, colour or direction"],
  ["F7", "a link that brings an address to ask", "tests/page/take.test.mjs", "a hostile fragment is a sentence, and no request follows from it"],
  ["F8", "formulas in a table", "tests/page/take.test.mjs", "no text of a document becomes a formula or another column of the table"],
  ["F9", "messages from elsewhere", "tests/page/sample.test.mjs", "the address of the page brings nothing in"],
];

test("every number has a test that is there", () => {
  const own = readFileSync(new URL(import.meta.url), "utf8");
  const numbers = [...Array.from({ length: 20 }, (_, at) => `C${at + 1}`), ...Array.from({ length: 9 }, (_, at) => `F${at + 1}`)];
  const missing = numbers.filter((number) => !own.includes(`test("${number}: `) && !ELSEWHERE.some(([named]) => named === number));
  assert.deepEqual(missing, []);
  for (const [number, , file, title] of ELSEWHERE) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
    assert.ok(text.includes(`test("${title}"`), `${number}: ${file} has no test of this name: ${title}`);
  }
});

test("F2, F3, F5: the addresses, the path and the words that are meant are among the hostile documents", () => {
  const text = readFileSync(new URL("../page/hostile.test.mjs", import.meta.url), "utf8");
  for (const hostile of ["javascript:alert(1)", "data:text/html", "vbscript:", "java\\tscript:", " JAVASCRIPT:", "https:javascript", "0x../../address/", "✅ Verified"]) assert.ok(text.includes(hostile), hostile);
});
