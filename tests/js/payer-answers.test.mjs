// Calls that share an answer, callers that give up, answers of every shape, and a journal that others write into.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createPayer, wrapFetch } from "counterfoil";
import { OFFER, clockwork, counted, openJournal, priced, shop, sold, thrown } from "./payer-stage.mjs";

const ID = "purchase-0000000000000001";
const intent = { id: ID };

function buyer({ signer = counted(), journal = openJournal(), policy = { perCall: "20000" }, ...rest } = {}) {
  return { signer, journal, payer: createPayer({ signer, journal, policy, ...rest }) };
}

/** A promise that is kept from outside. */
function gate() {
  let open;
  const opened = new Promise((done) => (open = done));
  return { open, opened };
}

test("whoever gives up on a shared call gives up alone", async (t) => {
  for (const wanted of [{}, { intent }]) {
    const { open, opened } = gate();
    const seller = await shop(t, async (_, res, payment) => {
      if (!payment) return priced(res);
      await opened;
      sold(res, payment);
    });
    const { payer, signer } = buyer();
    const first = new AbortController();
    const third = new AbortController();
    const gaveUp = thrown(payer.fetch(seller.url, { ...wanted, signal: first.signal }));
    const goesOn = payer.fetch(seller.url, wanted);
    const gaveUpToo = thrown(payer.fetch(seller.url, { ...wanted, signal: third.signal }));
    while (seller.paid.length === 0) await new Promise((done) => setTimeout(done, 5));
    third.abort();
    assert.equal((await gaveUpToo).name, "AbortError");
    first.abort();
    assert.equal((await gaveUp).name, "AbortError");
    open();
    assert.equal(await (await goesOn).text(), "the report");
    assert.equal(signer.calls, 1, "one purchase");
    assert.equal(new Set(seller.paid.map(({ headers }) => headers["payment-signature"])).size, 1);
  }
});

test("whoever gives up while a shared answer comes ends its own body alone", { timeout: 10_000 }, async (t) => {
  const { open, opened } = gate();
  const half = await shop(t, async (_, res, payment) => {
    if (!payment) return priced(res);
    res.writeHead(200, { "content-type": "text/plain" }).write("the ");
    await opened;
    res.end("report");
  });
  const { payer, signer, journal } = buyer();
  const first = new AbortController();
  const [given, kept] = await Promise.all([payer.fetch(half.url, { signal: first.signal }), payer.fetch(half.url)]);
  const broken = thrown(given.text());
  const whole = kept.text();
  first.abort();
  assert.equal((await broken).name, "AbortError");
  open();
  assert.equal(await whole, "the report");
  assert.equal(signer.calls, 1);
  assert.equal((await journal.intents())[0].status, "delivered");
  assert.equal(payer.describe(kept).attemptId, payer.describe(given).attemptId);
});

test("a caller that had given up before it came harms nobody", async (t) => {
  const { open, opened } = gate();
  const seller = await shop(t, async (_, res) => {
    await opened;
    priced(res, { accepts: [{ ...OFFER, amount: "99999999" }] });
  });
  const { payer } = buyer();
  // Nobody but the two callers is told: what nobody waits for must not end the process.
  const loose = [];
  const note = (reason) => loose.push(reason);
  process.on("unhandledRejection", note);
  t.after(() => process.off("unhandledRejection", note));
  const first = thrown(payer.fetch(seller.url));
  while (seller.asked.length === 0) await new Promise((done) => setTimeout(done, 5));
  assert.equal((await thrown(payer.fetch(seller.url, { signal: AbortSignal.abort() }))).name, "AbortError");
  open();
  assert.equal((await first).code, "over_cap");
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(loose, []);
});

test("an answer to another's credentials is not shared, free or paid; what traces a call does not tell two apart", async (t) => {
  const seller = await shop(t, (req, res, payment) => {
    if (!payment && !req.url.endsWith("/free")) return priced(res);
    const body = `for ${req.headers.authorization ?? req.headers.cookie}`;
    return payment ? sold(res, payment, { body }) : res.end(body);
  });
  const callers = [{ authorization: "Bearer a" }, { authorization: "Bearer b" }, { cookie: "id=c" }];
  for (const url of [`${seller.url}/free`, seller.url]) {
    const { payer, signer } = buyer();
    const answers = await Promise.all(callers.map(async (headers) => (await payer.fetch(url, { headers })).text()));
    assert.deepEqual(answers, ["for Bearer a", "for Bearer b", "for id=c"]);
    assert.equal(signer.calls, url === seller.url ? 3 : 0);
  }
  const { payer, signer } = buyer();
  const traced = (n) => ({ headers: { traceparent: `00-${"a".repeat(32)}-${n.repeat(16)}-01`, "X-Request-Id": n } });
  await Promise.all(["1", "2"].map(async (n) => (await payer.fetch(seller.url, traced(n))).text()));
  assert.equal(signer.calls, 1);
});

test("one shared answer: each caller reads it whole, whoever else reads or stops reading", async (t) => {
  const seller = await shop(t, (_, res, payment) => (payment ? sold(res, payment, { body: "x".repeat(300_000) }) : priced(res)));
  const { payer, signer, journal } = buyer();
  const calls = Array.from({ length: 5 }, (_, i) =>
    payer.fetch(seller.url, { intent }).then(async (answer) => {
      assert.equal(answer.url, seller.url);
      assert.equal(payer.describe(answer).intentId, (await journal.intents())[0].intentId);
      if (i === 1) return answer.body.cancel();
      return (await answer.text()).length;
    }));
  assert.deepEqual(await Promise.all(calls), [300_000, undefined, 300_000, 300_000, 300_000]);
  assert.deepEqual([signer.calls, seller.asked.length, seller.paid.length], [1, 1, 1]);
  assert.equal((await journal.intents())[0].status, "delivered");
});

test("the same id for another request at the same time: one is bought, the others are conflicts", async (t) => {
  const seller = await shop(t);
  const { payer, signer } = buyer();
  const ends = await Promise.allSettled(["a", "b", "b", "c"].map((path) => payer.fetch(`${seller.url}/${path}`, { intent })));
  assert.deepEqual(ends.map(({ status, reason }) => reason?.code ?? status), ["fulfilled", "intent_conflict", "intent_conflict", "intent_conflict"]);
  assert.deepEqual([signer.calls, seller.asked.length, seller.paid.length], [1, 1, 1]);
});

test("an id is never taken for the identity of an unnamed call", async (t) => {
  const seller = await shop(t);
  const { payer, signer } = buyer();
  await Promise.all([payer.fetch(seller.url), payer.fetch(seller.url, { intent }), payer.fetch(seller.url, { intent: { scope: "other" } })]);
  assert.equal(signer.calls, 3);
});

test("what others write into the wallet meanwhile is not overwritten", async (t) => {
  const seller = await shop(t);
  const inner = openJournal();
  const other = { id: "0xother#0", network: "eip155:84532", asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", amount: "7", at: 1, state: "reserved" };
  let written = false;
  // Between a commit and whatever its writer reads next, somebody else adds to the same record.
  const journal = {
    ...inner,
    async commit(ops) {
      const result = await inner.commit(ops);
      const wallet = ops.find(({ key }) => key.startsWith("wallet/"));
      if (wallet && result.ok && !written) {
        written = true;
        const now = await inner.read(wallet.key);
        const record = JSON.parse(new TextDecoder().decode(now.value));
        record.entries.push(other);
        const put = new TextEncoder().encode(JSON.stringify(record));
        assert.ok((await inner.commit([{ key: wallet.key, expect: now.rev, put }])).ok);
      }
      return result;
    },
  };
  const { payer } = buyer({ journal });
  assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the report");
  const held = await inner.held();
  assert.ok(written && held.some(({ id }) => id === other.id), "the other's reservation is still there");
  assert.equal(held.find(({ id }) => id !== other.id).state, "settled");
});

test("answers without a body are delivered without anybody reading them", async (t) => {
  const answers = {
    HEAD: (res, payment) => sold(res, payment, { body: undefined, headers: { "content-length": "1000" } }),
    DELETE: (res, payment) => sold(res, payment, { body: undefined, status: 204 }),
    PUT: (res, payment) => sold(res, payment, { body: "", headers: { "content-length": "0" } }),
  };
  for (const [method, answer] of Object.entries(answers)) {
    const seller = await shop(t, (_, res, payment) => (payment ? answer(res, payment) : priced(res)));
    const { payer, journal } = buyer();
    assert.ok((await payer.fetch(seller.url, { method, intent })).ok, method);
    assert.equal((await journal.intents())[0].status, "delivered", method);
    const again = await payer.fetch(seller.url, { method, intent });
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.equal(await again.text(), "");
    assert.equal(seller.paid.length, 1);
  }
});

test("whoever stops reading a stalled answer is let go, and so is the connection", { timeout: 10_000 }, async (t) => {
  const { open: gone, opened: closed } = gate();
  const seller = await shop(t, (_, res, payment) => {
    if (!payment) return priced(res);
    if (seller.paid.length > 1) return sold(res, payment);
    res.writeHead(200);
    res.write("the first half");
    res.on("close", gone);
  });
  const { payer, journal, signer } = buyer();
  const reader = (await payer.fetch(seller.url, { intent })).body.getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value), "the first half");
  const pending = reader.read();
  await reader.cancel();
  await closed;
  assert.deepEqual(await pending, { done: true, value: undefined });
  assert.equal((await journal.intents())[0].status, "open");
  assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the report");
  assert.equal(signer.calls, 1);
});

test("giving up while the answer comes leaves the purchase open, whatever the reason", async (t) => {
  for (const reason of [undefined, new Error("changed my mind"), new DOMException("too late", "TimeoutError")]) {
    const seller = await shop(t, (_, res, payment) => {
      if (!payment) return priced(res);
      if (seller.paid.length > 1) return sold(res, payment);
      res.writeHead(200);
      res.write("the first half");
    });
    const { payer, journal, signer } = buyer();
    const stop = new AbortController();
    const answer = await payer.fetch(seller.url, { intent, signal: stop.signal });
    const read = thrown(answer.text());
    stop.abort(reason);
    assert.equal(await read, stop.signal.reason);
    assert.equal((await journal.intents())[0].status, "open");
    assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the report");
    assert.equal(signer.calls, 1);
  }
});

test("giving up in a wait, in an approval or at a slow signer takes effect at once", { timeout: 10_000 }, async (t) => {
  const busy = await shop(t, (_, res, payment) => (payment ? res.writeHead(503, { "retry-after": "9" }).end() : priced(res)));
  const never = () => new Promise(() => {});
  const waiting = buyer();
  const asking = buyer({ policy: { approve: never } });
  const signing = buyer({ signer: counted({ sign: never }) });
  for (const [{ payer, journal }, held, expected] of [[waiting, 1, "AbortError"], [asking, 0, "AbortError"], [signing, 0, "aborted"]]) {
    const error = await thrown(payer.fetch(busy.url, { intent, signal: AbortSignal.timeout(300) }).catch((cause) => {
      throw cause.name === "TimeoutError" ? new DOMException("", "AbortError") : cause;
    }));
    assert.equal(error.code === "aborted" ? error.code : error.name, expected);
    assert.equal((await journal.held()).length, held);
  }
  const already = AbortSignal.abort();
  const { payer, signer } = buyer();
  const before = busy.asked.length;
  assert.equal((await thrown(payer.fetch(busy.url, { signal: already }))).name, "AbortError");
  assert.deepEqual([busy.asked.length, signer.calls], [before, 0]);
});

test("giving up after the send ends the call: nothing is read, written or sent any more", async (t) => {
  const seller = await shop(t, (_, res, payment) => payment || priced(res));
  const stop = new AbortController();
  let afterwards = 0;
  const inner = openJournal();
  const late = () => (afterwards += stop.signal.aborted ? 1 : 0);
  const journal = { ...inner, commit: (ops) => (late(), inner.commit(ops)), read: (key) => (late(), inner.read(key)) };
  const { payer, signer } = buyer({ journal });
  const call = thrown(payer.fetch(seller.url, { intent, signal: stop.signal }));
  while (seller.paid.length === 0) await new Promise((done) => setTimeout(done, 5));
  stop.abort();
  assert.equal(await call, stop.signal.reason);
  assert.deepEqual([afterwards, seller.paid.length, signer.calls], [0, 1, 1]);
  assert.deepEqual((await inner.held()).map(({ state }) => state), ["reserved"]);
});

test("requests in every form: URL, Request, text, bytes, a stream; the body goes with both sends", async (t) => {
  const seller = await shop(t);
  const { payer } = buyer();
  const stream = () => new Response("what is wanted").body;
  const bytes = new TextEncoder().encode("what is wanted");
  const headers = { "content-type": "text/plain", "x-mine": "1" };
  for (const body of ["what is wanted", bytes, new Blob([bytes]), stream()]) {
    await (await payer.fetch(new URL(seller.url), { method: "POST", body, headers })).text();
  }
  const request = new Request(seller.url, { method: "POST", body: stream(), headers, duplex: "half" });
  await (await payer.fetch(request, { intent })).text();
  // The same bytes under the same id are the same request, in whatever form they come.
  const again = await payer.fetch(seller.url, { method: "post", body: bytes, intent });
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal(seller.paid.length, 5);
  for (const { body, method, headers } of [...seller.asked, ...seller.paid]) {
    assert.deepEqual([method, String(body), headers["content-type"], headers["x-mine"]], ["POST", "what is wanted", "text/plain", "1"]);
  }
});

test("after a restart a request with a body is settled, not sent again without it; the same call ends it", async (t) => {
  let lost = true;
  const seller = await shop(t, (req, res, payment) => (!payment ? priced(res) : lost ? req.socket.destroy() : sold(res, payment)));
  const journal = openJournal();
  const signer = counted();
  const post = { method: "POST", body: "what is wanted", intent };
  const gaveUp = AbortSignal.timeout(500);
  await thrown(buyer({ journal, signer }).payer.fetch(seller.url, { ...post, signal: gaveUp }));
  const sent = seller.paid.length;
  lost = false;
  const { payer } = buyer({ journal, signer });
  const [resolution] = await payer.resume();
  assert.deepEqual([resolution.outcome, resolution.money, resolution.next], ["unknown", "possible", "wait"]);
  assert.equal(seller.paid.length, sent, "nothing goes out without its body");
  assert.equal(await (await payer.fetch(seller.url, post)).text(), "the report");
  assert.equal(signer.calls, 1);
  assert.equal(String(seller.paid.at(-1).body), "what is wanted");
  // The seller's word for the payment is not the chain's: it stays listed until somebody reads the chain.
  const ends = await payer.resume();
  assert.deepEqual(ends.map(({ outcome }) => outcome), ["delivered"]);
  assert.equal(seller.paid.length, sent + 1);
});

test("one purchase that can't be settled keeps no other from being settled", async (t) => {
  const conflict = JSON.stringify({ code: "payment_identifier_conflict" });
  let lost = true;
  const seller = await shop(t, (req, res, payment) => {
    if (!payment) return priced(res);
    if (lost) return req.socket.destroy();
    if (req.url.endsWith("/1")) return res.writeHead(409, { "content-type": "application/problem+json" }).end(conflict);
    if (req.url.endsWith("/2")) return res.writeHead(200, { "content-length": "99" }).write("half", () => res.destroy());
    sold(res, payment);
  });
  const { payer, signer } = buyer();
  await Promise.all([1, 2, 3].map((n) => thrown(payer.fetch(`${seller.url}/${n}`, { signal: AbortSignal.timeout(500) }))));
  lost = false;
  const resolutions = await payer.resume();
  assert.deepEqual(resolutions.map(({ outcome }) => outcome).sort(), ["body_truncated", "delivered", "payment_identifier_conflict"]);
  const { response } = resolutions.find(({ outcome }) => outcome === "delivered");
  assert.equal(await response.text(), "the report");
  assert.equal(signer.calls, 3);
});

test("a record that can't be read is told of, and keeps no other from being settled", async (t) => {
  let lost = true;
  const seller = await shop(t, (req, res, payment) => {
    if (!payment) return priced(res);
    if (lost) return req.socket.destroy();
    sold(res, payment);
  });
  const { payer, journal } = buyer();
  await Promise.all([1, 2].map((n) => thrown(payer.fetch(`${seller.url}/${n}`, { signal: AbortSignal.timeout(500) }))));
  const found = [];
  for await (const entry of journal.scan("intent/")) found.push(entry);
  const [newer] = found;
  const record = { ...JSON.parse(new TextDecoder().decode(newer.value)), v: 99 };
  await journal.commit([{ key: newer.key, expect: newer.rev, put: new TextEncoder().encode(JSON.stringify(record)) }]);
  lost = false;
  const [settled, unread] = await payer.resume();
  assert.equal(settled.outcome, "delivered");
  assert.deepEqual(unread, { intentId: record.intentId, attemptId: "", outcome: "unsupported_version", money: "possible", next: "stop" });
});

test("a refusal whose body never ends holds no purchase", { timeout: 20_000 }, async (t) => {
  let stalls = true;
  const seller = await shop(t, (_, res, payment) => {
    if (!payment) return priced(res);
    if (stalls) return res.writeHead(500, { "content-type": "application/json" }).write('{"code":');
    sold(res, payment);
  });
  const { payer, signer } = buyer({ leaseMs: 300 });
  assert.equal((await thrown(payer.fetch(seller.url, { intent }))).code, "outcome_unknown");
  stalls = false;
  assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the report");
  assert.equal(signer.calls, 1);
});

test("a hook for alerts that fails, at once or later, breaks nothing", async (t) => {
  const conflict = JSON.stringify({ code: "payment_identifier_conflict" });
  const seller = await shop(t, (_, res, payment) => (payment ? res.writeHead(409, { "content-type": "application/json" }).end(conflict) : priced(res)));
  const loose = [];
  const note = (reason) => loose.push(reason);
  process.on("unhandledRejection", note);
  t.after(() => process.off("unhandledRejection", note));
  for (const fail of [() => { throw new Error("down"); }, async () => { throw new Error("down"); }]) {
    let told = 0;
    const { payer } = buyer({ onAlert: () => (told++, fail()) });
    assert.equal((await thrown(payer.fetch(seller.url))).code, "payment_identifier_conflict");
    await new Promise((done) => setImmediate(done));
    assert.equal(told, 1);
  }
  assert.deepEqual(loose, []);
});

test("a journal that fails after the send says that money may have moved", async (t) => {
  const seller = await shop(t);
  const inner = openJournal();
  let failing = false;
  const journal = { ...inner, commit: (ops) => (failing ? Promise.reject(new Error("disk full")) : inner.commit(ops)) };
  const signer = counted();
  const paying = wrapFetch((...args) => {
    failing = new Headers(args[1].headers).has("payment-signature");
    return fetch(...args);
  }, buyer({ journal, signer }).payer);
  const told = async (promise) => {
    const { code, money, cause } = await thrown(promise);
    return [code, money, cause.message];
  };
  assert.deepEqual(await told(paying(seller.url, { intent })), ["journal_unavailable", "possible", "disk full"]);
  // The next process finds a send without an end, and can't write either: what was sent stays sent.
  const rpc = { "eip155:84532": async () => Promise.reject(new Error("down")) };
  const next = buyer({ journal, signer, rpc, policy: { perCall: "20000" } });
  assert.deepEqual(await told(next.payer.fetch(seller.url, { intent })), ["journal_unavailable", "possible", "disk full"]);
  failing = false;
  assert.equal(await (await buyer({ journal, signer }).payer.fetch(seller.url, { intent })).text(), "the report");
  assert.equal(signer.calls, 1);
});

test("v of a signature may be 0 or 1; what is sent holds 27 or 28", async (t) => {
  const seller = await shop(t);
  const low = (signature) => signature.slice(0, -2) + (parseInt(signature.slice(-2), 16) - 27).toString(16).padStart(2, "0");
  const signer = counted({ sign: low });
  const { payer } = buyer({ signer });
  for (let n = 0; n < 6; n++) await (await payer.fetch(`${seller.url}/${n}`)).text();
  for (const { payload } of seller.payments) assert.match(payload.signature, /^0x[0-9a-f]{128}(1b|1c)$/);
  assert.equal(signer.calls, 6);
});

test("signers of the ethers kind are told by what they are, also behind a wrapper", async (t) => {
  const seller = await shop(t);
  const inner = counted();
  let args;
  const wrapped = { address: inner.address, getAddress: async () => inner.address, signTypedData: (...given) => {
    args = given;
    const [domain, types, message] = given;
    return inner.signTypedData({ domain, types, primaryType: "TransferWithAuthorization", message });
  } };
  await (await buyer({ signer: wrapped }).payer.fetch(seller.url)).text();
  assert.equal(args.length, 3);
  assert.deepEqual(Object.keys(args[1]), ["TransferWithAuthorization"]);
  assert.equal(typeof args[2].value, "bigint");
});

// ---------------------------------------------------------------- what sellers say after a payment

const problem = (res, status, body, headers = {}) => res.writeHead(status, { "content-type": "application/problem+json", ...headers }).end(JSON.stringify(body));

/** A seller that gives these answers to payments in their order, then sells. */
function answering(t, ...answers) {
  return shop(t, (_, res, payment, seller) => {
    if (!payment) return priced(res);
    const answer = answers[seller.paid.length - 1];
    return answer ? answer(res, payment) : sold(res, payment);
  });
}

const sentHeaders = (seller) => new Set(seller.paid.map(({ headers }) => headers["payment-signature"]));

test("a wait that is a date counts from the answer's own Date and reaches the caller, with where to ask", async (t) => {
  const date = "Sun, 20 Sep 2026 10:00:00 GMT";
  const until = "Sun, 20 Sep 2026 10:01:30 GMT";
  const polls = [["/orders/1", (url) => new URL("/orders/1", url).href], ["shop.order.get", () => "shop.order.get"], ["https://evil.example/", () => undefined], [undefined, () => undefined]];
  for (const [poll, told] of polls) {
    const seller = await answering(t, (res) => problem(res, 409, { code: "payment_in_flight", poll }, { date, "retry-after": until }));
    const alerts = [];
    const { payer, signer } = buyer({ onAlert: (finding) => alerts.push(finding) });
    const error = await thrown(payer.fetch(seller.url, { intent }));
    assert.deepEqual([error.code, error.next, error.money, error.retryAfter, error.poll], ["payment_in_flight", "wait", "possible", 90, told(seller.url)]);
    assert.deepEqual([signer.calls, seller.paid.length, alerts], [1, 1, []]);
    // The next call of the purchase sends the same bytes, and gets what was kept for it.
    assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the report");
    assert.deepEqual([signer.calls, sentHeaders(seller).size], [1, 1]);
  }
});

test("in flight, then replayed: waited for under the same id and key, and nobody is alerted", async (t) => {
  const seller = await answering(t, (res) => problem(res, 409, { error_code: "payment_in_flight", retry_after: 1, poll: "shop.order.get" }), (res, payment) => sold(res, payment, { headers: { "idempotency-replay": "true" } }));
  const alerts = [];
  const { payer, signer } = buyer({ onAlert: (finding) => alerts.push(finding) });
  const headers = { "idempotency-key": "1234-5678-abcd-efgh" };
  const answer = await payer.fetch(seller.url, { headers, intent });
  assert.equal(await answer.text(), "the report");
  assert.deepEqual([signer.calls, seller.paid.length, sentHeaders(seller).size, alerts], [1, 2, 1, []]);
  assert.deepEqual(seller.paid.map((seen) => seen.headers["idempotency-key"]), [headers["idempotency-key"], headers["idempotency-key"]]);
  assert.equal((await payer.fetch(seller.url, { headers, intent })).headers.get("idempotency-replayed"), "true");
  assert.deepEqual([seller.paid.length, alerts], [2, []]);
});

test("a conflict with a hint to retry is not retried: one alert, and no signature ever again", async (t) => {
  const hint = { error_code: "payment_identifier_conflict", suggested_action: "retry_after_delay", retry_after: 1 };
  const seller = await answering(t, ...Array(9).fill((res) => problem(res, 409, hint, { "retry-after": "1" })));
  const alerts = [];
  const clock = clockwork();
  const { payer, signer, journal } = buyer({ clock, onAlert: (finding) => alerts.push(finding) });
  for (const later of [0, 1, 61, 86_401]) {
    clock.now += later;
    const error = await thrown(payer.fetch(seller.url, { intent }));
    assert.deepEqual([error.code, error.next, error.money, error.retryAfter], ["payment_identifier_conflict", "stop", "possible", undefined]);
  }
  assert.deepEqual([signer.calls, seller.paid.length, seller.asked.length], [1, 1, 1]);
  assert.deepEqual(alerts.map(({ code, severity }) => [code, severity]), [["payment_identifier_conflict", "alert"]]);
  assert.deepEqual((await journal.held()).map(({ state }) => state), ["reserved"]);
});

test("402 after paying, a replayed credential, a bare 409, a stranger's advice to pay anew: the same bytes again", async (t) => {
  const answers = {
    "402 with a new challenge": (res) => priced(res, { accepts: [{ ...OFFER, extra: { ...OFFER.extra, challenge: "c2" } }] }),
    "403 credential_replayed": (res) => problem(res, 403, { code: "credential_replayed" }),
    "bare 409": (res) => res.writeHead(409).end(),
    "payment_state unused": (res) => problem(res, 500, { payment_state: "unused", retry_action: "new_payment" }),
  };
  await Promise.all(Object.entries(answers).map(async ([what, answer]) => {
    const seller = await answering(t, answer);
    const alerts = [];
    const { payer, signer } = buyer({ onAlert: (finding) => alerts.push(finding) });
    assert.equal(await (await payer.fetch(seller.url, { intent })).text(), "the report", what);
    assert.deepEqual([signer.calls, seller.asked.length, seller.paid.length, sentHeaders(seller).size, alerts], [1, 1, 2, 1, []], what);
  }));
});

const json = (res, body, headers = {}) => {
  const text = JSON.stringify(body);
  res.writeHead(200, { "content-type": "application/json; charset=utf-8", "content-length": Buffer.byteLength(text), ...headers }).end(text);
};

test("a success whose short JSON says that it is none is no delivery", async (t) => {
  const bodies = [
    { success: false, errorReason: "settlement_pending", retry_after: 1 },
    { jsonrpc: "2.0", id: 1, error: { code: -32042, data: { httpStatus: 402 } } },
    { jsonrpc: "2.0", id: 1, result: { isError: true, structuredContent: { x402Version: 2, accepts: [OFFER] } } },
  ];
  await Promise.all(bodies.map(async (body) => {
    const seller = await answering(t, (res) => json(res, body));
    const { payer, signer, journal } = buyer();
    const answer = await payer.fetch(seller.url, { intent });
    assert.equal(await answer.text(), "the report");
    assert.deepEqual([signer.calls, seller.paid.length, sentHeaders(seller).size], [1, 2, 1]);
    assert.equal((await journal.intents())[0].status, "delivered");
  }));
});

test("goods in JSON are goods, whatever their members say, and come to their last byte", async (t) => {
  const goods = [{ code: "payment_in_flight", poll: "x" }, { payment_state: "settled" }, [1, 2, 3], { text: "ä€😀" }];
  for (const body of goods) {
    const seller = await answering(t, (res, { payload }) => {
      const settlement = { success: true, transaction: payload.authorization.nonce, network: OFFER.network };
      json(res, body, { "payment-response": Buffer.from(JSON.stringify(settlement)).toString("base64") });
    });
    const { payer, journal } = buyer();
    assert.deepEqual(await (await payer.fetch(seller.url, { intent })).json(), body);
    assert.equal((await journal.intents())[0].status, "delivered");
    assert.equal(seller.paid.length, 1);
  }
});

test("an answer that streams is handed over before it ends, JSON too", { timeout: 10_000 }, async (t) => {
  const long = JSON.stringify("x".repeat(70_000));
  for (const headers of [{ "content-type": "application/json" }, { "content-type": "application/json", "content-length": String(long.length) }, { "content-type": "text/event-stream", "content-length": "500" }]) {
    const { open, opened } = gate();
    const seller = await answering(t, async (res) => {
      res.writeHead(200, headers);
      res.write(long.slice(0, 10));
      await opened;
      res.end(headers["content-length"] ? long.slice(10, Number(headers["content-length"])) : long.slice(10));
    });
    const { payer } = buyer();
    const answer = await payer.fetch(seller.url, { intent });
    open();
    assert.equal((await answer.text()).length, Number(headers["content-length"] ?? long.length));
  }
});

test("a short JSON answer that breaks off is told as before, and giving up while it comes takes effect at once", { timeout: 10_000 }, async (t) => {
  const half = (end) => (res) => {
    res.writeHead(200, { "content-type": "application/json", "content-length": "99" });
    res.write('{"half":', () => end(res));
  };
  const broken = await answering(t, half((res) => res.destroy()));
  const { payer, signer, journal } = buyer();
  const error = await thrown(payer.fetch(broken.url, { intent }).then((answer) => answer.text()));
  assert.equal(error.code, "body_truncated");
  assert.equal((await journal.intents())[0].status, "open");
  assert.equal(await (await payer.fetch(broken.url, { intent })).text(), "the report");
  assert.equal(signer.calls, 1);

  const { open: reached, opened: stalled } = gate();
  const stalling = await answering(t, half(reached));
  const stop = new AbortController();
  const other = buyer();
  const call = thrown(other.payer.fetch(stalling.url, { intent, signal: stop.signal }));
  await stalled;
  stop.abort();
  assert.equal(await call, stop.signal.reason);
  assert.equal((await other.journal.intents())[0].status, "open");
});
