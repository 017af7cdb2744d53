// What an observer's trace is told of a purchase: with the SDK of OpenTelemetry as agents have it, and with tracers that fail in every way.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { createPayer, lineage, lineageProv, verifyLineage } from "counterfoil";
import { NETWORK, OFFER, PAYER, counted, keyBytes, openJournal, priced, shop, sold, thrown } from "./payer-stage.mjs";
import { unusedChain } from "./hand-over-suite.mjs";

const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
after(() => trace.disable());
beforeEach(() => exporter.reset());
const tracer = trace.getTracer("test");
const ID = { id: "order-0000000000000001" };
const secret = new Uint8Array(32).fill(7);
const open = (o = {}) => createPayer({ signer: counted(), journal: openJournal(), secret, policy: { perCall: "20000" }, actor: "buyer", ...o });
const text = async (payer, url, init = { intent: ID }) => (await payer.fetch(url, init)).text();
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

/** The spans by name, each with the name of the one above it. */
function spans() {
  const all = exporter.getFinishedSpans();
  const name = (id) => all.find((span) => span.spanContext().spanId === id)?.name;
  return all.map((span) => ({ name: span.name, above: name(span.parentSpanContext?.spanId), attributes: span.attributes, status: span.status.code, span }));
}

test("a purchase is three spans, one in the other, below the caller's own; each ends once", async (t) => {
  const seller = await shop(t);
  const journal = openJournal();
  const payer = open({ tracer, journal });
  const inside = [];
  const answer = await tracer.startActiveSpan("agent turn", async (turn) => {
    const said = await text(payer, seller.url, { intent: { ...ID, purpose: "A report", scope: "run-7" }, headers: { "x-secret": "not for traces" } });
    inside.push(turn.spanContext().traceId);
    turn.end();
    return said;
  });
  assert.equal(answer, "the report");
  const told = spans();
  assert.deepEqual(told.map(({ name, above, status }) => [name, above, status]), [
    ["payment settle", "payment attempt", SpanStatusCode.UNSET], ["payment attempt", "execute_tool payer.fetch", SpanStatusCode.UNSET],
    ["execute_tool payer.fetch", "agent turn", SpanStatusCode.UNSET], ["agent turn", undefined, SpanStatusCode.UNSET],
  ]);
  const [settle, attempt, call] = told;
  const [record] = await journal.intents();
  const { intentId, attempts: [{ attemptId, authorization, signature, header, traceparent }] } = record;
  const end = { "gen_ai.tool.call.id": intentId, "counterfoil.intent.id": intentId, "counterfoil.outcome": "paid", "counterfoil.money": "possible", "counterfoil.next": "stop", "payment.transaction": authorization.nonce };
  const paid = { "counterfoil.attempt.id": attemptId, "payment.amount": "10000", "payment.asset": OFFER.asset, "payment.recipient": OFFER.payTo, "payment.network": NETWORK, "payment.method": "eip3009", "payment.protocol": "x402" };
  const known = (attributes, names) => Object.fromEntries(Object.keys(names).map((name) => [name, attributes[name]]));
  for (const { attributes } of [settle, attempt]) assert.deepEqual(known(attributes, paid), paid);
  const { host } = new URL(seller.url);
  const called = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "payer.fetch", "gen_ai.agent.name": "buyer", "gen_ai.conversation.id": "run-7", "http.request.method": "GET", "server.address": host, "payment.payer": PAYER };
  assert.deepEqual(known(call.attributes, called), called);
  for (const { attributes } of [settle, attempt, call]) assert.deepEqual(Object.keys(known(attributes, end)).filter((name) => attributes[name] === undefined && name !== "payment.transaction"), []);
  // Nothing that signs, nothing of the caller's own.
  const everything = JSON.stringify(told.map(({ attributes }) => attributes));
  for (const secretive of [signature, signature.slice(2, 40), header.value, ID.id, "A report", "not for traces", "/report", Buffer.from(secret).toString("hex"), Buffer.from(keyBytes()).toString("hex")]) assert.ok(!everything.includes(secretive), secretive);
  assert.equal(traceparent, `00-${inside[0]}-${call.span.spanContext().spanId}-01`);

  // From the journal the same answer comes without an attempt.
  exporter.reset();
  assert.equal(await text(payer, seller.url), "the report");
  assert.deepEqual(spans().map(({ name }) => name), ["execute_tool payer.fetch"]);
  await payer.close();
});

test("what ends in an error says so on every span that is open", async (t) => {
  const seller = await shop(t, (_, res, payment) => (payment ? res.destroy() : priced(res)));
  const payer = open({ tracer, rpc: { [NETWORK]: unusedChain() } });
  const error = await thrown(text(payer, seller.url));
  assert.equal(error.code, "outcome_unknown");
  const told = spans();
  assert.deepEqual(told.map(({ name }) => name), ["payment settle", "payment attempt", "execute_tool payer.fetch"]);
  for (const { attributes, status } of told) {
    assert.deepEqual([attributes["error.type"], attributes["counterfoil.money"], attributes["counterfoil.next"], status], ["outcome_unknown", error.money, error.next, SpanStatusCode.ERROR]);
  }
  exporter.reset();
  const refused = open({ tracer, policy: { perCall: "1" } });
  assert.equal((await thrown(text(refused, seller.url))).code, "over_cap");
  assert.deepEqual(spans().map(({ name, attributes, status }) => [name, attributes["error.type"], status]), [["execute_tool payer.fetch", "over_cap", SpanStatusCode.ERROR]]);
  await Promise.all([payer.close(), refused.close()]);
});

test("where a call stands in a trace is written down beside it, and is no part of what it is", async (t) => {
  const seller = await shop(t);
  const buys = async (headers) => {
    const journal = openJournal();
    const payer = open({ journal, clock: () => 1_790_000_000 });
    await text(payer, seller.url, { intent: ID, headers });
    const bundle = await payer.export();
    const [record] = await journal.intents();
    await payer.close();
    return { bundle, record };
  };
  const [one, other] = [await buys({ traceparent: `00-${TRACE}-00f067aa0ba902b7-01` }), await buys({ traceparent: `00-${TRACE.replace("4", "5")}-00f067aa0ba902b8-00` })];
  const identity = ({ record: { intentId, attempts: [{ attemptId, paymentId, authorization, signature }] } }) => ({ intentId, attemptId, paymentId, authorization, signature });
  assert.deepEqual(identity(one), identity(other));
  const of = ({ bundle }) => lineage([bundle]);
  const ids = ({ nodes }) => nodes.map(({ id }) => id);
  assert.deepEqual(ids(of(one)), ids(of(other)));
  assert.equal(of(one).rows.find(({ kind }) => kind === "attempt").traceparent, `00-${TRACE}-00f067aa0ba902b7-01`);
  const activity = Object.values(lineageProv([one.bundle]).activity).filter((one) => "cf:traceparent" in one);
  assert.deepEqual(activity.map((one) => [one["prov:type"].$, one["cf:traceparent"]]), [["cf:attempt", `00-${TRACE}-00f067aa0ba902b7-01`]]);
  assert.equal(verifyLineage(one.bundle).verdict, "verified");

  const later = "cc-" + `${TRACE}-00f067aa0ba902b7-01-what-will-be-said`;
  const bad = [
    "", "00", `00-${TRACE}-00f067aa0ba902b7`, `00-${TRACE}-00f067aa0ba902b7-01-more`, `00-${TRACE.toUpperCase()}-00f067aa0ba902b7-01`, `ff-${TRACE}-00f067aa0ba902b7-01`,
    `00-${"0".repeat(32)}-00f067aa0ba902b7-01`, `00-${TRACE}-${"0".repeat(16)}-01`, `00-${TRACE.slice(1)}g-00f067aa0ba902b7-01`, `0-0${TRACE}-00f067aa0ba902b7-01`, `cc-${TRACE}-00f067aa0ba902b7-01more`,
  ];
  for (const traceparent of bad) {
    const { record } = await buys({ traceparent });
    assert.equal("traceparent" in record.attempts[0], false, traceparent);
    assert.deepEqual(identity({ record }), identity(one), traceparent);
  }
  assert.equal((await buys({ traceparent: later })).record.attempts[0].traceparent, `00-${TRACE}-00f067aa0ba902b7-01`);
});

test("a tracer that fails changes nothing of what is paid", async (t) => {
  const boom = () => { throw new Error("the tracer is broken"); };
  const span = { spanContext: () => ({ traceId: TRACE, spanId: "00f067aa0ba902b7", traceFlags: 1 }), setAttributes() {}, setStatus() {}, end() {} };
  const broken = {
    "starts nothing": { startActiveSpan: boom, startSpan: boom },
    "never calls back": { startActiveSpan() {} },
    "calls back later": { startActiveSpan: (_, __, act) => void setTimeout(() => act(span), 20) },
    "calls back twice": { startActiveSpan: (_, __, act) => (act(span), act(span)) },
    "throws behind it": { startActiveSpan: (_, __, act) => { act(span); boom(); } },
    "rejects behind it": { startActiveSpan: async (_, __, act) => { await act(span); boom(); } },
    "gives no span": { startActiveSpan: (_, __, act) => act(undefined), startSpan: () => undefined },
    "has a span that throws": { startActiveSpan: (_, __, act) => act({ spanContext: boom, setAttributes: boom, setStatus: boom, end: boom }) },
    "tells nonsense of itself": { startActiveSpan: (_, __, act) => act({ ...span, spanContext: () => ({ traceId: 7, spanId: null, traceFlags: 1 }) }) },
    "knows startSpan alone": { startSpan: () => span },
  };
  for (const [name, tracer] of Object.entries(broken)) {
    const seller = await shop(t);
    const signer = counted();
    const journal = openJournal();
    const payer = open({ tracer, signer, journal });
    assert.equal(await text(payer, seller.url), "the report", name);
    assert.deepEqual([signer.calls, seller.paid.length, (await journal.intents())[0].status], [1, 1, "delivered"], name);
    const dear = await shop(t, (_, res) => priced(res, { accepts: [{ ...OFFER, amount: "20001" }] }));
    assert.equal((await thrown(text(payer, dear.url, { intent: { id: "order-0000000000000002" } }))).code, "over_cap", name);
    await payer.close();
  }
  for (const tracer of [null, 1, {}, { startSpan: "no" }]) assert.throws(() => open({ tracer }), { code: "invalid_type", field: "tracer" });
});

test("every span of many calls at once ends once, and each stands in its own trace", async (t) => {
  const ended = new Map();
  const counting = { startActiveSpan: (name, options, act) => tracer.startActiveSpan(name, options, (span) => {
    const end = span.end.bind(span);
    ended.set(span, 0);
    span.end = () => { ended.set(span, ended.get(span) + 1); end(); };
    return act(span);
  }) };
  const seller = await shop(t, (_, res, payment) => (payment ? sold(res, payment) : priced(res)));
  const payer = open({ tracer: counting });
  await Promise.all(Array.from({ length: 8 }, (_, n) => text(payer, `${seller.url}?n=${n}`, { intent: { id: `order-00000000000000${n + 10}` } })));
  assert.deepEqual([ended.size, [...ended.values()].filter((times) => times !== 1)], [24, []]);
  const traces = exporter.getFinishedSpans().map((span) => span.spanContext().traceId);
  assert.deepEqual([...new Set(traces)].map((id) => traces.filter((one) => one === id).length), Array(8).fill(3));
  await payer.close();
});

test("the package needs nothing of OpenTelemetry", () => {
  const manifest = JSON.parse(readFileSync(createRequire(import.meta.url).resolve("counterfoil/package.json"), "utf8"));
  assert.deepEqual(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).filter((name) => name.includes("opentelemetry")), []);
});

test("a tracer of @opentelemetry/api is one by its type, too", () => {
  const [tsc, file] = ["../../node_modules/.bin/tsc", "./tracing-types.mts"].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  const { status, stdout } = spawnSync(tsc, ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom,dom.asynciterable", "--skipLibCheck", file], { encoding: "utf8" });
  assert.deepEqual([status, stdout], [0, ""]);
});
