// Trees of intents, approvals and the lineage view as a user has them: payers on real journals, sellers on loopback, and the command line.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { approvalDocument, createPayer, lineage, verifyLineage } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { OFFER, PAYER, counted, folder, keyBytes, openJournal, priced, privateKeyToAccount, shop, sold, thrown } from "./payer-stage.mjs";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const command = join(home, "..", ".bin", "counterfoil");
const PERSON_KEY = `0x${"51".repeat(32)}`;
const person = privateKeyToAccount(PERSON_KEY);
const ROOT = "trip-000000000000001";

/** `{status, out, err}` of one run. */
function run(...args) {
  return new Promise((done) => {
    execFile(command, args, { timeout: 60_000, env: { ...process.env, NO_COLOR: "1" } }, (error, out, err) => done({ status: error ? error.code : 0, out, err }));
  });
}

const at = (amount) => (_, res, payment) => (payment ? sold(res, payment) : priced(res, { accepts: [{ ...OFFER, amount }] }));
const bought = async (payer, url, intent) => (await payer.fetch(url, { intent })).text();

test("children debit the root, whoever buys: two payers on one journal", async (t) => {
  const journal = openJournal();
  const seller = await shop(t, at("30000"));
  const options = { signer: counted(), journal, policy: { perCall: "100000" } };
  const planner = createPayer({ ...options, actor: "planner" });
  const trip = await planner.intend({ id: ROOT, purpose: "Trip", budget: "50000" });
  assert.match(trip, /^0x[0-9a-f]{64}$/);
  assert.equal(await planner.intend({ id: ROOT, purpose: "Trip", budget: "50000" }), trip);
  assert.equal((await thrown(planner.intend({ id: ROOT, budget: "60000" }))).code, "intent_conflict");
  assert.equal((await thrown(planner.intend({ id: "child-00000000000001", parent: trip, budget: "60000" }))).code, "lineage_wider");
  const buyer = createPayer({ ...options, actor: "buyer", root: trip });
  await bought(buyer, seller.url);
  const refused = await thrown(buyer.fetch(`${seller.url}?again`));
  assert.deepEqual([refused.code, refused.money, refused.next], ["over_budget", "none", "ask_human"]);
  assert.equal((await thrown(planner.fetch(`${seller.url}?other`, { intent: { parent: trip, scope: "another" } }))).code, "over_budget");
  assert.equal(options.signer.calls, 1);
  // Outside of the tree there is room; the buyer has no way there.
  await bought(planner, `${seller.url}?free`);
  const free = await planner.intend({ id: "free-0000000000000001" });
  assert.equal((await thrown(buyer.fetch(`${seller.url}?x`, { intent: { parent: free } }))).code, "bad_lineage");
  assert.equal((await thrown(planner.fetch(`${seller.url}?x`, { intent: { parent: "no such intent" } }))).code, "bad_lineage");

  const view = await planner.lineage(trip);
  assert.equal(view.root, trip);
  assert.deepEqual(view.totals.map(({ settled, reserved }) => [settled, reserved]), [["30000", "0"]]);
  assert.deepEqual(view.rows.map(({ kind, depth, agent, state }) => [kind, depth, agent, state]), [["intent", 0, "planner", "prepared"], ["intent", 1, "buyer", "settled"], ["attempt", 2, "buyer", "settled"]]);
  assert.equal((await planner.lineage()).totals[0].settled, "60000");
  const bundle = await planner.export(trip);
  assert.equal(verifyLineage(bundle).verdict, "verified");
  assert.equal(lineage([bundle, await planner.export()], { root: trip }).totals[0].settled, "30000");
  await Promise.all([planner.close(), buyer.close()]);
});

test("a callback brings a signed approval, and a yes alone is nobody's", async (t) => {
  const seller = await shop(t, at("30000"));
  const asked = [];
  let answer = () => true;
  const signer = counted();
  const payer = createPayer({ signer, journal: openJournal(), policy: { perCall: "20000", approvers: [person.address], approve: (request) => (asked.push(request), answer(request)) } });
  assert.equal((await thrown(payer.fetch(seller.url))).code, "approval_untrusted");
  assert.equal(signer.calls, 0);
  answer = async (request) => {
    const now = Math.floor(Date.now() / 1000);
    const terms = { at: now, expiresAt: now + 600, amount: "70000" };
    const { typedData, digest } = approvalDocument(request, terms);
    assert.match(digest, /^0x/);
    const { EIP712Domain, ...types } = typedData.types;
    const signature = await person.signTypedData({ ...typedData, types, message: { ...typedData.message, amount: BigInt(typedData.message.amount), expiresAt: BigInt(typedData.message.expiresAt) } });
    return approvalDocument(request, { ...terms, signature }).approval;
  };
  assert.equal(await bought(payer, seller.url), "the report");
  const [{ reason, amount, payTo, newRecipient, ifNo, request }] = asked;
  assert.deepEqual([reason, amount, payTo, newRecipient, request.url], ["over_cap", "30000", OFFER.payTo, true, seller.url]);
  assert.match(ifNo, /Nothing is signed/);
  // The bundle says what of the approval is used: whoever has nothing else sees when more names it than it covers.
  const bundle = JSON.parse(await payer.export());
  assert.deepEqual(bundle.entries.map(({ amount, approval }) => [amount, approval]), [["30000", bundle.approvals[0].hash]]);
  const failed = (entries) => verifyLineage(JSON.stringify({ ...bundle, entries })).checks.filter(({ state }) => state === "fail").map(({ id }) => id);
  const [entry] = bundle.entries;
  assert.deepEqual(failed([entry, { ...entry, id: `${entry.id}1`, amount: "40000" }]), []);
  assert.deepEqual(failed([entry, { ...entry, id: `${entry.id}1`, amount: "40001" }]), ["lineage.approvals"]);
  await payer.close();
});

test("what drifts is asked about once, whichever payer of the journal meets it", async (t) => {
  const other = `0x${"0a".repeat(20)}`;
  const seller = await shop(t, (req, res, payment) => (payment ? sold(res, payment) : priced(res, { accepts: [{ ...OFFER, ...(req.url.includes("other") && { payTo: other }) }] })));
  const signer = counted();
  const options = { signer, journal: openJournal() };
  const one = createPayer({ ...options, policy: { perCall: "20000", drift: "ask" }, actor: "one" });
  for (const n of [1, 2, 3]) await bought(one, `${seller.url}?n=${n}`);
  const refused = await thrown(one.fetch(`${seller.url}?n=other`));
  assert.deepEqual([refused.code, refused.field, refused.money, refused.next], ["drift_refused", "policy.drift.newRecipient", "none", "ask_human"]);
  const asked = [];
  let answer = false;
  const two = createPayer({ ...options, policy: { perCall: "20000", drift: { newRecipient: "ask" }, approve: ({ reasons, payTo }) => (asked.push([reasons.join(), payTo.toLowerCase()]), answer) }, actor: "two" });
  assert.equal((await thrown(two.fetch(`${seller.url}?n=other`))).code, "approval_denied");
  assert.equal(signer.calls, 3);
  answer = true;
  assert.equal(await bought(two, `${seller.url}?n=other`), "the report");
  assert.equal(await bought(two, `${seller.url}?n=other2`), "the report");
  assert.deepEqual(asked, [["drift_new_recipient", other], ["drift_new_recipient", other]]);
  assert.throws(() => createPayer({ ...options, policy: { perCall: "1", drift: { newRecipients: "ask" } } }), { code: "policy_invalid" });
  await Promise.all([one.close(), two.close()]);
});

test("what waits for a person is approved on the command line, and the same call goes on", async (t) => {
  const seller = await shop(t, at("30000"));
  const at_ = folder(t);
  const journal = join(at_, "agent.jsonl");
  const keyFile = join(at_, "person.key");
  writeFileSync(keyFile, PERSON_KEY, { mode: 0o600 });
  const open = () => createPayer({ signer: { privateKey: keyBytes() }, journal: fileJournal(journal), policy: { perCall: "20000", approvers: [person.address] }, actor: "buyer" });
  const intent = { id: "maps-000000000000001", purpose: "Maps \u001b[2J of Oslo" };
  let payer = open();
  const waiting = await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([waiting.code, waiting.money, waiting.next], ["approval_needed", "none", "ask_human"]);
  await payer.close();
  assert.equal(seller.paid.length, 0);

  const shown = await run("approve", journal);
  assert.equal(shown.status, 1);
  assert.ok(!shown.out.includes("\u001b"), "a control character reaches the terminal");
  for (const word of ["Maps", seller.url, "buyer", "30000", OFFER.payTo, "never paid from here before", "over_cap", "Nothing is signed"]) assert.ok(shown.out.includes(word), word);
  const tree = await run("lineage", journal);
  assert.equal(tree.status, 1);
  assert.match(tree.out, /needs approval 1/);
  assert.match(tree.out, /✋ needs approval/);
  assert.match(tree.out, new RegExp(`to\\s+${OFFER.payTo}\\s+because: over_cap`));

  const wrongKey = join(at_, "wrong.key");
  writeFileSync(wrongKey, `0x${"52".repeat(32)}`, { mode: 0o600 });
  assert.equal((await run("approve", journal, "--key-file", wrongKey, "--json")).status, 0);
  payer = open();
  // Signed by somebody who is not on the list: it covers nothing.
  assert.equal((await thrown(payer.fetch(seller.url, { intent }))).code, "approval_needed");
  await payer.close();
  const answered = await run("approve", journal, "--key-file", keyFile);
  assert.equal(answered.status, 0, answered.err);
  assert.match(answered.err, new RegExp(person.address));
  payer = open();
  assert.equal(await bought(payer, seller.url, intent), "the report");
  await payer.close();
  assert.equal(seller.paid.length, 1);
  const after = await run("approve", journal);
  assert.deepEqual([after.status, after.out.trim()], [0, "Nothing waits for an approval."]);
});

test("what waits for a person is refused: the call ends, asks the same no more, and can still be approved", async (t) => {
  let price = "30000";
  const seller = await shop(t, (_, res, payment) => at(price)(_, res, payment));
  const place = folder(t);
  const journal = join(place, "agent.jsonl");
  const [keyFile, wrongKey] = [["person.key", PERSON_KEY], ["wrong.key", `0x${"52".repeat(32)}`]].map(([name, key]) => {
    writeFileSync(join(place, name), key, { mode: 0o600 });
    return join(place, name);
  });
  const open = () => createPayer({ signer: { privateKey: keyBytes() }, journal: fileJournal(journal), policy: { perCall: "20000", approvers: [person.address] }, actor: "buyer" });
  const intent = { id: "maps-000000000000001", purpose: "Maps" };
  const calls = async (act = async () => {}) => {
    const payer = open();
    try {
      await act(payer);
      return await payer.fetch(seller.url, { intent }).then((answer) => answer.text(), ({ code }) => code);
    } finally {
      await payer.close();
    }
  };
  assert.equal(await calls(), "approval_needed");
  assert.equal((await run("approve", journal, "--refuse", "--key-file", keyFile, "--amount", "1")).status, 2);
  // Somebody who is not on the list says no: the question stays.
  assert.equal((await run("approve", journal, "--refuse", "--key-file", wrongKey, "--json")).status, 0);
  assert.equal(await calls(), "approval_needed");
  const told = await run("approve", journal, "--refuse", "--key-file", keyFile);
  assert.equal(told.status, 0, told.err);
  assert.match(told.err, /Refused by/);
  assert.equal(await calls(), "approval_denied");
  assert.equal((await run("approve", journal)).out.trim(), "Nothing waits for an approval.");
  const shown = await run("lineage", journal);
  assert.match(shown.out, /✕ failed[^]*⚑ approval_denied/);
  const refusal = JSON.parse(told.out.slice(told.out.lastIndexOf("\n{")));
  assert.equal(await calls((payer) => assert.rejects(payer.refuse(refusal), { code: "approval_replayed" })), "approval_denied");
  assert.equal(seller.paid.length, 0);
  // A bundle says so, and says so truly.
  const payer = open();
  const bundle = await payer.export();
  await payer.close();
  assert.equal(verifyLineage(bundle).checks.find(({ id }) => id === "lineage.approvals").state, "pass");
  const forged = (change) => verifyLineage(JSON.stringify({ ...JSON.parse(bundle), refused: JSON.parse(bundle).refused.map((one) => ({ ...one, ...change(one) })) }));
  const elsewhere = [
    [({ request }) => ({ request: { ...request, amount: "1" } }), /a request that does not stand here/],
    [() => ({ intentId: `0x${"0a".repeat(32)}` }), /an intent that this request does not belong to/],
  ];
  for (const [change, words] of elsewhere) {
    const { state, why } = forged(change).checks.find(({ id }) => id === "lineage.approvals");
    assert.equal(state, "fail");
    assert.match(why, words);
  }
  assert.deepEqual(lineage([bundle]).nodes.filter(({ kind }) => kind === "refusal").map(({ actor, hash }) => [actor, hash]), [["person", refusal.hash]]);
  // Another price is another question.
  price = "31000";
  assert.equal(await calls(), "approval_needed");
  price = "30000";
  assert.equal(await calls(), "approval_needed");
  assert.equal((await run("approve", journal, "--refuse", "--key-file", keyFile)).status, 0);
  // Whoever said no may say yes to the same question later.
  const now = Math.floor(Date.now() / 1000);
  const terms = { at: now, expiresAt: now + 600 };
  const yes = async (payer) => {
    const [{ request }] = JSON.parse(await payer.export()).refused;
    const { typedData } = approvalDocument(request, terms);
    const { EIP712Domain, ...types } = typedData.types;
    const signature = await person.signTypedData({ ...typedData, types, message: { ...typedData.message, amount: BigInt(typedData.message.amount), expiresAt: BigInt(typedData.message.expiresAt) } });
    await payer.approve(approvalDocument(request, { ...terms, signature }).approval);
  };
  assert.equal(await calls(yes), "the report");
  assert.equal(seller.paid.length, 1);
});

test("of two transfers for one purchase the terminal says which is the payment", async () => {
  const journals = ["a", "b"].map((name) => fileURLToPath(new URL(`../../www/sample/lineage/charged-twice-buyer-${name}.jsonl`, import.meta.url)));
  const { status, out } = await run("lineage", ...journals);
  assert.equal(status, 1);
  assert.match(out, /0x98a3ad83…[^]*duplicate_charge: first, the payment\n[^]*0x98a3ad83…[^]*duplicate_charge: second, owed back\n/);
  assert.ok(out.split("\n").every((line) => [...line].length <= 80), "a line is longer than 80 columns");
});

test("what can't be relied on is no proof that there is nothing to do", async (t) => {
  const journals = ["a", "b"].map((name) => {
    const windows = join(folder(t), `${name}.jsonl`);
    writeFileSync(windows, readFileSync(new URL(`../../www/sample/lineage/charged-twice-buyer-${name}.jsonl`, import.meta.url), "utf8").replaceAll("\n", "\r\n"));
    return windows;
  });
  const { status, out } = await run("lineage", ...journals);
  assert.equal(status, 1);
  assert.match(out, /What was spent is unknown\.[^]*Do not rely on[^]*Unknown whether there is something for you to do/);
  assert.doesNotMatch(out, /Nothing/);
});

test("the tree in a terminal: words, icons, cost; and files that were tampered with", async (t) => {
  const seller = await shop(t, (req, res, payment) => {
    if (!payment) return priced(res, { accepts: [{ ...OFFER, amount: "10000" }] });
    if (req.url.includes("lost")) return res.destroy();
    return sold(res, payment);
  });
  const journal = join(folder(t), "agent.jsonl");
  const payer = createPayer({ signer: { privateKey: keyBytes() }, journal: fileJournal(journal), policy: { perCall: "20000" }, actor: "planner" });
  const trip = await payer.intend({ id: ROOT, purpose: "Trip to Oslo", budget: "50000" });
  await bought(payer, seller.url, { parent: trip });
  await thrown(payer.fetch(`${seller.url}?lost`, { intent: { parent: trip } }));
  await payer.close();
  const { status, out } = await run("lineage", journal);
  assert.equal(status, 2);
  for (const line of [/^Trip to Oslo$/m, /settled 10000 \+ in flight or unknown 10000/, /unknown 1/, /● settled/, /\? unknown/, /of 50000/]) assert.match(out, line);
  assert.ok(out.split("\n").every((line) => [...line].length <= 80), "a line is longer than 80 columns");
  const json = JSON.parse((await run("lineage", journal, "--json")).out);
  assert.deepEqual([json.root, json.counters.unknown, json.reports[0].verdict], [trip, 1, "verified"]);
  const dot = await run("lineage", journal, "--dot");
  assert.match(dot.out, /^digraph lineage \{/);
  assert.ok(dot.out.includes(`"${trip}" ->`));

  const lines = readFileSync(journal, "utf8").split("\n");
  const forged = join(folder(t), "forged.jsonl");
  writeFileSync(forged, lines.map((line, index) => (index === 2 ? line.replace("10000", "90000") : line)).join("\n"));
  const told = await run("lineage", forged);
  assert.equal(told.status, 1);
  assert.match(told.out, /Do not rely on/);
  assert.match(told.out, /rewritten, line 3/);
  appendFileSync(forged, "");
  assert.equal((await run("lineage")).status, 2);
  assert.equal((await run("lineage", join(folder(t), "no-such-file"))).status, 2);
  assert.equal((await run("lineage", journal, "--root", "0x00")).status, 2);
});

test("a journal may be longer than one JSON text: the limit is that of a line", async (t) => {
  const seller = await shop(t, at("10000"));
  const place = folder(t);
  const journal = join(place, "agent.jsonl");
  const payer = createPayer({ signer: { privateKey: keyBytes() }, journal: fileJournal(journal), policy: { perCall: "20000" }, actor: "buyer" });
  await bought(payer, seller.url, { id: "early-00000000000001" });
  await payer.close();
  // What else a journal may hold, as fileJournal writes it: 66 MiB in lines of one.
  const lines = readFileSync(journal, "utf8").trimEnd().split("\n");
  let { hash, seq } = JSON.parse(lines.at(-1));
  const noise = "n".repeat(1 << 20);
  const next = (ops) => {
    const body = { ops, prev: hash, seq: (seq += 1), v: 1 };
    hash = `0x${createHash("sha256").update(`counterfoil/journal/v1\n${JSON.stringify(body)}`).digest("hex")}`;
    lines.push(JSON.stringify({ hash, ...body }));
  };
  for (let n = 0; n < 66; n++) next([{ key: `note/${n % 3}`, text: noise }]);
  const long = `${lines.join("\n")}\n`;
  assert.ok(long.length > 64 << 20);
  writeFileSync(journal, long);
  const told = await run("lineage", journal, "--json");
  assert.deepEqual([told.status, JSON.parse(told.out).reports[0].verdict, JSON.parse(told.out).journals[0].seq], [0, "verified", seq]);
  // One line is one text, and so is a bundle.
  lines.length -= 66;
  seq -= 66;
  hash = JSON.parse(lines.at(-1)).hash;
  next([{ key: "note/0", text: "n".repeat(65 << 20) }]);
  next([{ key: "note/0", text: "" }]);
  const report = verifyLineage(`${lines.join("\n")}\n`);
  assert.match(report.checks.find(({ id }) => id === "journal.form").why, /malformed/);
  assert.throws(() => lineage(["{}", `{"type":"counterfoil/bundle","v":1,"note":"${"n".repeat(65 << 20)}"}`]), { code: "too_large", field: "bundles[1]" });
  assert.throws(() => lineage([new Uint8Array([0x7b, 0xff])]), { code: "json_invalid", field: "bundles[0]" });
  assert.throws(() => lineage(["{}", "\ud800"]), { code: "lone_surrogate", field: "bundles[1]" });
  assert.throws(() => verifyLineage(7), { code: "invalid_type", field: "bundle" });
});

test("a code is explained from the registry", async () => {
  const { status, out } = await run("explain", "over_budget");
  assert.equal(status, 0);
  for (const word of ["over_budget", "passes a budget above the intent", "none: Nothing can have moved.", "ask_human: Ask a person"]) assert.ok(out.includes(word), word);
  assert.equal(JSON.parse((await run("explain", "outcome_unknown", "--json")).out).next, "wait");
  const unknown = await run("explain", "no_such_code\u001b[2J");
  assert.equal(unknown.status, 2);
  assert.ok(!unknown.err.includes("\u001b"));
});

test("the payer is named in every refusal of a wrong setting", () => {
  const good = { signer: counted(), journal: openJournal() };
  assert.throws(() => createPayer({ ...good, policy: { perCall: "1", approvers: ["0x12"] } }), { code: "address_invalid" });
  assert.throws(() => createPayer({ ...good, policy: { perCall: "1", perRecipient: [{ amount: "1", window: 0 }] } }), { code: "policy_invalid" });
  assert.ok(PAYER);
});
