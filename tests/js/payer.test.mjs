// The payer's promises: which call is the same purchase, what is handed out again, what a signer is asked for, and what
// holds when nothing can be read.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Wallet } from "ethers";
import { createPayer, verifyReceipt, wrapFetch } from "counterfoil";
import { NETWORK, OFFER, KEY, PAYER, USDC, clockwork, counted, keyBytes, openJournal, priced, privateKeyToAccount, recoverTypedDataAddress, shop, sold, thrown } from "./payer-stage.mjs";

const ID = "purchase-0000000000000001";
const intent = { id: ID };

function buyer(options = {}) {
  const { signer = counted(), journal = openJournal(), policy = { perCall: "20000" }, ...rest } = options;
  return { signer, journal, payer: createPayer({ signer, journal, policy, ...rest }) };
}

/** Pays at once, loses the answer the first `lost` times, and answers later sends from what it kept. */
const forgetful = (lost) => (req, res, payment) => {
  if (!payment) return priced(res);
  if (lost-- > 0) return req.socket.destroy();
  sold(res, payment);
};

test("the same id is the same purchase: answered from the journal, without a request", async (t) => {
  const seller = await shop(t);
  const { payer, signer, journal } = buyer();
  const first = await payer.fetch(seller.url, { intent });
  assert.equal(first.headers.get("idempotency-replayed"), null);
  assert.equal(await first.text(), "the report");
  const { intentId, attemptId, transaction } = payer.describe(first);
  assert.equal(attemptId, `${intentId}/0`);
  assert.equal(transaction, seller.payments[0].payload.authorization.nonce);
  for (const again of [payer, createPayer({ signer, journal, policy: { perCall: "20000" } })]) {
    const replayed = await again.fetch(seller.url, { intent });
    assert.equal(replayed.headers.get("idempotency-replayed"), "true");
    assert.equal(await replayed.text(), "the report");
    assert.equal(again.describe(replayed).intentId, intentId);
  }
  assert.deepEqual([seller.asked.length, seller.paid.length, signer.calls], [1, 1, 1]);
});

test("the same id with another request is a conflict: an alert, nothing sent", async (t) => {
  const seller = await shop(t);
  const alerts = [];
  const { payer, signer } = buyer({ onAlert: (finding) => alerts.push(finding.code) });
  await (await payer.fetch(seller.url, { intent })).text();
  for (const [url, init] of [[`${seller.url}/other`, {}], [seller.url, { method: "POST" }], [seller.url, { method: "POST", body: "x" }]]) {
    const error = await thrown(payer.fetch(url, { ...init, intent }));
    assert.equal(error.code, "intent_conflict");
  }
  assert.deepEqual(alerts, ["intent_conflict", "intent_conflict", "intent_conflict"]);
  assert.deepEqual([seller.asked.length, seller.paid.length, signer.calls], [1, 1, 1]);
});

test("without an id: two calls one after the other are two purchases, two at once are one", async (t) => {
  const seller = await shop(t);
  const { payer, signer } = buyer();
  await (await payer.fetch(seller.url)).text();
  await (await payer.fetch(seller.url)).text();
  assert.equal(signer.calls, 2);
  const [a, b] = seller.payments.map(({ payload }) => payload.authorization.nonce);
  assert.notEqual(a, b);
  const both = await Promise.all([payer.fetch(seller.url), payer.fetch(seller.url), payer.fetch(seller.url)]);
  assert.deepEqual(await Promise.all(both.map((answer) => answer.text())), ["the report", "the report", "the report"]);
  assert.deepEqual([signer.calls, seller.paid.length], [3, 3]);
  await (await payer.fetch(seller.url, { intent: { scope: "another run" } })).text();
  assert.equal(signer.calls, 4);
});

test("a retry loop around a lost answer sends the same bytes and signs once", async (t) => {
  for (const init of [{}, { intent }, { method: "POST", body: "what is wanted" }]) {
    const seller = await shop(t, forgetful(2));
    const { payer, signer } = buyer();
    const answer = await payer.fetch(seller.url, init);
    assert.equal(await answer.text(), "the report");
    assert.equal(signer.calls, 1);
    const headers = new Set(seller.paid.map(({ headers }) => headers["payment-signature"]));
    assert.deepEqual([seller.paid.length, headers.size], [3, 1]);
    assert.ok(seller.paid.every(({ body }) => body.toString() === (init.body ?? "")));
  }
});

test("with no chain to read an unknown stays unknown; after the window a new one is signed for the same nonce", async (t) => {
  const clock = clockwork();
  const seller = await shop(t, (req, res, payment) => {
    // One clock for both: the window is counted from the seller's.
    if (!payment) return priced(res, { headers: { date: new Date(clock.now * 1000).toUTCString() } });
    if (seller.answers) return sold(res, payment);
    req.socket.destroy();
  });
  const { payer, signer, journal } = buyer({ clock });
  const error = await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([error.code, error.money, error.next], ["outcome_unknown", "possible", "wait"]);
  assert.ok(error.retryAfter > 0 && error.retryAfter <= 60);
  assert.equal(signer.calls, 1);
  assert.equal((await journal.held()).length, 1, "unknown counts as spent");
  const [resolution] = await payer.resume();
  assert.deepEqual([resolution.outcome, resolution.money], ["unknown", "possible"]);
  assert.equal(signer.calls, 1);
  clock.now += 61;
  seller.answers = true;
  assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the report");
  assert.equal(signer.calls, 2);
  assert.equal(new Set(seller.payments.map(({ payload }) => payload.authorization.nonce)).size, 1);
  assert.equal((await journal.held()).length, 1, "one nonce, one amount");
});

test("changed terms while an earlier authorization may have landed are refused", async (t) => {
  const terms = { ...OFFER };
  const seller = await shop(t, (req, res, payment) => (payment ? req.socket.destroy() : priced(res, { accepts: [terms] })));
  const clock = clockwork();
  const alerts = [];
  const { payer, signer } = buyer({ clock, onAlert: ({ code }) => alerts.push(code) });
  await thrown(payer.fetch(seller.url, { intent }));
  clock.now += 61;
  for (const change of [{ amount: "9999" }, { amount: "10001" }, { payTo: "0x90F79bf6EB2c4f870365E785982E1f101E93b906" }]) {
    Object.assign(terms, OFFER, change);
    const error = await thrown(payer.fetch(seller.url, { intent }));
    assert.deepEqual([error.code, error.money], ["terms_changed", "possible"]);
  }
  assert.equal(signer.calls, 1);
  assert.deepEqual(alerts, ["terms_changed", "terms_changed", "terms_changed"]);
});

test("accounts of viem and wallets of ethers sign as they are", async (t) => {
  for (const signer of [privateKeyToAccount(KEY), new Wallet(KEY), { privateKey: keyBytes() }]) {
    const seller = await shop(t);
    const { payer } = buyer({ signer });
    assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the report");
    const { payload } = seller.payments[0];
    // An independent reading of what was signed.
    const types = { TransferWithAuthorization: [["from", "address"], ["to", "address"], ["value", "uint256"], ["validAfter", "uint256"], ["validBefore", "uint256"], ["nonce", "bytes32"]].map(([name, type]) => ({ name, type })) };
    const domain = { name: "USDC", version: "2", chainId: 84532, verifyingContract: USDC };
    const signedBy = await recoverTypedDataAddress({ domain, types, primaryType: "TransferWithAuthorization", message: payload.authorization, signature: payload.signature });
    assert.equal(signedBy, PAYER);
  }
});

test("a signer that fails, signs with another key, or is slower than the window: nothing is sent", async (t) => {
  const other = privateKeyToAccount(`0x${"11".repeat(32)}`);
  const clock = clockwork();
  const late = counted({ sign: (signature, calls) => ((clock.now += calls === 1 ? 61 : 0), signature) });
  const cases = [
    [counted({ sign: () => Promise.reject(new Error("locked")) }), "signer_failed"],
    [{ address: PAYER, calls: 0, signTypedData: (doc) => other.signTypedData(doc) }, "signer_mismatch"],
    [counted({ sign: () => "0x" }), "signature_invalid"],
    [counted({ sign: () => undefined }), "signer_failed"],
    [late, "expired_before_send"],
  ];
  for (const [signer, code] of cases) {
    const seller = await shop(t);
    const { payer, journal } = buyer({ signer, clock });
    const error = await thrown(payer.fetch(seller.url, { intent }));
    assert.deepEqual([error.code, error.money], [code, "none"]);
    assert.equal(seller.paid.length, 0);
    assert.deepEqual(await journal.held(), []);
    if (signer === late) assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the report");
  }
});

test("giving up before the send leaves nothing behind; after it, an open purchase", async (t) => {
  const seller = await shop(t, (_, res, payment) => (payment && !seller.answers ? undefined : payment ? sold(res, payment) : priced(res)));
  const stop = new AbortController();
  const signer = counted({ sign: (signature) => (stop.abort(), signature) });
  const { payer, journal } = buyer({ signer });
  const early = await thrown(payer.fetch(seller.url, { intent, signal: stop.signal }));
  assert.ok(early.code === "aborted" || early.name === "AbortError", String(early));
  assert.equal(seller.paid.length, 0);
  assert.deepEqual(await journal.held(), []);
  const second = buyer();
  const late = new AbortController();
  setTimeout(() => late.abort(), 300);
  const error = await thrown(second.payer.fetch(seller.url, { intent, signal: late.signal }));
  assert.equal(error.name, "AbortError");
  assert.equal((await second.journal.held()).length, 1);
  seller.answers = true;
  assert.equal(await (await second.payer.fetch(seller.url, { intent })).text(), "the report");
  assert.equal(second.signer.calls, 1);
});

test("an answer that was not read to its end is not delivered, and is had again", async (t) => {
  const seller = await shop(t, (_, res, payment) => {
    if (!payment) return priced(res);
    const whole = seller.paid.length > 1;
    sold(res, payment, { body: whole ? "the whole report" : "the who", headers: whole ? {} : { "content-length": "16" } });
    if (!whole) setTimeout(() => res.destroy(), 20);
  });
  const { payer, signer, journal } = buyer();
  const broken = await payer.fetch(seller.url, { intent });
  assert.equal((await thrown(broken.text())).code, "body_truncated");
  assert.equal((await journal.intents())[0].status, "open");
  assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the whole report");
  assert.equal(signer.calls, 1);

  const other = buyer();
  const unread = await other.payer.fetch(seller.url, { intent });
  await unread.body.cancel();
  assert.equal((await other.journal.intents())[0].status, "open");
  assert.equal(await (await other.payer.fetch(seller.url, { intent })).text(), "the whole report");
  assert.equal(other.signer.calls, 1);
});

test("a success that says the payment is not settled is no delivery", async (t) => {
  const unsettled = Buffer.from(JSON.stringify({ success: false, transaction: "", network: NETWORK, errorReason: "socket hang up" })).toString("base64");
  const settled = Buffer.from(JSON.stringify({ success: true, transaction: `0x${"ab".repeat(32)}`, network: NETWORK })).toString("base64");
  const rows = [
    [200, { "payment-response": unsettled }, "wait", "outcome_unknown"],
    [202, {}, '{"code":"payment_pending"}', "payment_in_flight"],
    [202, {}, '{"status":"processing","job":"1"}', "payment_in_flight"],
    [202, { "payment-response": settled }, '{"status":"processing","job":"1"}', "payment_in_flight"],
    [202, { "idempotency-replayed": "true" }, "", "outcome_unknown"],
  ];
  await Promise.all(rows.map(async ([status, headers, body, code]) => {
    const seller = await shop(t, (_, res, payment) => {
      if (!payment) return priced(res);
      if (seller.done) return sold(res, payment);
      res.writeHead(status, headers).end(body);
    });
    const { payer, signer, journal } = buyer();
    const error = await thrown(payer.fetch(seller.url));
    assert.deepEqual([error.code, error.money], [code, "possible"]);
    assert.equal((await journal.intents())[0].status, "open");
    seller.done = true;
    assert.equal(await (await payer.fetch(seller.url)).text(), "the report");
    assert.equal(signer.calls, 1, "the next identical call is the same purchase");
  }));
});

test("a form is the same request each time it is made, as a body and in a Request", async (t) => {
  let lost = true;
  const seller = await shop(t, (req, res, payment) => {
    if (!payment) return priced(res);
    if (lost) return req.socket.destroy();
    sold(res, payment);
  });
  const form = (prompt = "a cat", text = "--\r\n--x") => {
    const data = new FormData();
    data.set("prompt", prompt);
    data.set("file", new Blob([text], { type: "text/plain" }), "a.txt");
    return data;
  };
  for (const asked of [(data) => [seller.url, { method: "POST", body: data }], (data) => [new Request(seller.url, { method: "POST", body: data })]]) {
    const { payer, signer } = buyer();
    lost = true;
    for (const _ of [1, 2]) assert.equal((await thrown(payer.fetch(...asked(form())))).code, "outcome_unknown");
    lost = false;
    assert.equal(await (await payer.fetch(...asked(form()))).text(), "the report");
    assert.equal(signer.calls, 1);
    const { body, headers } = seller.paid.at(-1);
    const read = await new Response(body, { headers: { "content-type": headers["content-type"] } }).formData();
    assert.equal(read.get("prompt"), "a cat");
    assert.equal(await read.get("file").text(), "--\r\n--x");
    // Another form is another request.
    for (const other of [form("a dog"), form("a cat", "--\r\n--y"), new FormData()]) await (await payer.fetch(...asked(other))).text();
    assert.equal(signer.calls, 4);
  }
  // A boundary of the caller's own stays.
  const type = "multipart/form-data; boundary=mine";
  const text = '--mine\r\ncontent-disposition: form-data; name="prompt"\r\n\r\na cat\r\n--mine--\r\n';
  const { payer } = buyer();
  await (await payer.fetch(seller.url, { method: "POST", body: text, headers: { "content-type": type } })).text();
  assert.deepEqual([seller.paid.at(-1).body.toString(), seller.paid.at(-1).headers["content-type"]], [text, type]);
});

test("two payers on one journal: each settles, counts and shows what is its own", async (t) => {
  const seller = await shop(t, (req, res, payment) => (payment ? req.socket.destroy() : priced(res)));
  const { payer, journal } = buyer();
  const { intentId } = await thrown(payer.fetch(seller.url, { intent }));
  const other = buyer({ journal, signer: counted({ key: "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6" }) });
  const [{ outcome }] = await other.payer.resume();
  assert.equal(outcome, "unknown_history", "of its own it knows nothing");
  for (const act of ["release", "claim", "cancel"]) {
    assert.equal((await thrown(other.payer[act](intentId))).code, "intent_unknown", act);
  }
  assert.equal((await thrown(other.payer.handOver(intentId, "worker-b"))).code, "intent_unknown");
  assert.deepEqual(JSON.parse(await other.payer.export()).intents, []);
  assert.deepEqual((await journal.intents()).map(({ status, attempts }) => [status, attempts[0].state]), [["open", "sent"]]);
  assert.deepEqual((await payer.resume()).map((one) => [one.intentId, one.outcome]), [[intentId, "unknown"]]);
  assert.equal(JSON.parse(await payer.export()).intents.length, 1);
});

test("of an answer above the limit only the digest is kept", async (t) => {
  const seller = await shop(t);
  const { payer } = buyer({ maxStoredBody: 4 });
  assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the report");
  const error = await thrown(payer.fetch(seller.url, { intent }));
  assert.deepEqual([error.code, error.money, error.next], ["answer_not_stored", "proven", "lookup_receipt"]);
  assert.equal(seller.paid.length, 1);
});

test("two purchases at once can't pass the wallet's cap together, and unknown counts as spent", async (t) => {
  const seller = await shop(t);
  const policy = { perCall: "20000", perWallet: [{ amount: "15000", window: 3600 }] };
  const { payer, signer } = buyer({ policy });
  const ends = await Promise.allSettled([1, 2, 3].map((n) => payer.fetch(`${seller.url}/${n}`)));
  const refused = ends.filter(({ status }) => status === "rejected");
  assert.deepEqual(refused.map(({ reason }) => reason.code), ["over_wallet_cap", "over_wallet_cap"]);
  assert.deepEqual([signer.calls, seller.paid.length], [1, 1]);
  const silent = await shop(t, (req, res, payment) => (payment ? req.socket.destroy() : priced(res)));
  const other = buyer({ policy });
  assert.equal((await thrown(other.payer.fetch(silent.url))).code, "outcome_unknown");
  assert.equal((await thrown(other.payer.fetch(`${silent.url}/2`))).code, "over_wallet_cap");
});

test("many purchases at once, all of one wallet", async (t) => {
  const seller = await shop(t);
  const { payer, signer } = buyer();
  const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => payer.fetch(`${seller.url}/${n}`)));
  assert.deepEqual(new Set(await Promise.all(answers.map((answer) => answer.text()))), new Set(["the report"]));
  assert.deepEqual([signer.calls, seller.paid.length], [60, 60]);
});

test("release closes what is paid and undelivered, and throws while anything is unknown", async (t) => {
  const seller = await shop(t, (req, res, payment) => (payment ? req.socket.destroy() : priced(res)));
  const { payer, journal } = buyer();
  const { intentId } = await thrown(payer.fetch(seller.url, { intent }));
  const error = await thrown(payer.release(intentId, "not wanted any more"));
  assert.deepEqual([error.code, error.money], ["outcome_unknown", "possible"]);
  assert.equal((await journal.intents())[0].status, "open");
  await assert.rejects(payer.release(`0x${"00".repeat(32)}`, ""), { code: "intent_unknown" });
});

test("what needs no payment passes through, and so does the network's own error", async (t) => {
  const seller = await shop(t, (req, res) => res.writeHead(req.url.endsWith("missing") ? 404 : 200, { "x-mine": "1" }).end("free"));
  const { payer, signer, journal } = buyer();
  const free = await payer.fetch(seller.url);
  assert.deepEqual([free.status, free.headers.get("x-mine"), await free.text()], [200, "1", "free"]);
  assert.equal((await payer.fetch(`${seller.url}/missing`)).status, 404);
  const down = await thrown(payer.fetch("http://127.0.0.1:9/"));
  assert.equal(down.name, "TypeError");
  assert.equal(signer.calls, 0);
  assert.deepEqual(await journal.intents(), []);
});

test("the caller's headers go with both requests; a payment follows no redirect", async (t) => {
  const seller = await shop(t);
  const { payer } = buyer();
  await (await payer.fetch(new Request(seller.url, { headers: { authorization: "Bearer mine" } }))).text();
  assert.equal(seller.asked[0].headers.authorization, "Bearer mine");
  assert.equal(seller.paid[0].headers.authorization, "Bearer mine");
  const thief = await shop(t);
  const sly = await shop(t, (_, res, payment) => (payment ? res.writeHead(307, { location: thief.url }).end() : priced(res)));
  await thrown(payer.fetch(sly.url));
  assert.deepEqual([thief.asked.length, thief.paid.length], [0, 0]);
});

test("wrapFetch pays with the fetch that it was given", async (t) => {
  const seller = await shop(t);
  const { payer } = buyer();
  let calls = 0;
  const paying = wrapFetch((...args) => (calls++, fetch(...args)), payer);
  assert.equal(await (await paying(seller.url, { intent })).text(), "the report");
  assert.equal(calls, 2);
});

test("the exported bundle is what the verifier reads, and says no more than is known", async (t) => {
  const seller = await shop(t);
  const { payer } = buyer();
  await (await payer.fetch(seller.url, { intent })).text();
  const bundle = await payer.export();
  assert.equal(JSON.parse(bundle).intents[0].attempts[0].authorization.to, OFFER.payTo);
  const report = verifyReceipt(bundle);
  assert.equal(report.verdict, "incomplete", "without evidence of the caller's own nothing is proven paid");
  assert.equal(report.checks.find(({ id }) => id === "signature").state, "pass");
  assert.equal(verifyReceipt(bundle.replace('"value":"10000"', '"value":"10001"')).verdict, "failed");
  assert.equal(JSON.parse(bundle).intents[0].rail.network, NETWORK);
});
