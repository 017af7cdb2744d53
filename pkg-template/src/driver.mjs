// Carries out what the machine asks for, one effect at a time, and reports back. It decides nothing: every branch here is
// the shape of an effect, never a rule about money.

import { pause, unlessAborted } from "./abort.mjs";
import { call } from "./boundary.mjs";
import { CounterfoilError } from "./errors.mjs";
import { concat } from "./hashes.mjs";
import { hold } from "./lease.mjs";
import { observed, SILENT } from "./tracing.mjs";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });
/** Of an answer that is no success, at most this much is looked at. */
const MAX_PROBLEM = 1 << 20;
/** A success is looked into when it is JSON and announces at most this length: it may say that it is no delivery. */
const MAX_JSON = 64 << 10;

/**
 * Runs one call of the machine to its end. Another worker's call of the same intent is waited for when `patient`; while it goes on:
 * `intent_in_flight`.
 * @param {object} host what the payer was made of: config, secret, clock, journal, rpc, sign, fetch, approve, alert
 * @param {object} start see `Start` in the core
 * @param {{ url: string, method: string, headers: Headers, body?: Uint8Array, signal?: AbortSignal, rest: object }} [request]
 * @returns {Promise<{ response?: Response, resolution?: object }>}
 */
export function run(host, start, request, patient = true) {
  return observed(host, start, (trace) => runIn(trace, host, start, request, patient));
}

async function runIn(trace, host, start, request, patient) {
  // `failure` is the transport's own error, `cause` the host's error behind a typed one; `held` is the intent's lease, `fence` what it adds to a
  // write until the answer is handed over: that its bytes arrived is written down whoever holds the lease by then.
  const turn = { host, request, patient, answer: undefined, failure: undefined, cause: undefined, paid: false, held: undefined, fence: undefined, trace };
  turn.step = (name, params) => call(name, { config: { ...host.config, ...host.trust.config() }, now: host.clock(), ...params }, undefined, host.secret);
  // Who buys reads the answer from here on; the machine goes on when the last byte has passed.
  const deliver = async (_, { resolution }, state) => {
    const rest = (event) => drive(turn, turn.step("clientStep", { state, event }), written);
    // Its spans are over when the body is.
    turn.trace = SILENT;
    return { response: await handOver(turn, rest), about: resolution };
  };
  // Of a trace only a cross-reference is written down.
  const begun = { ...start, traceparent: trace.traceparent ?? request?.headers.get("traceparent") ?? undefined };
  try {
    return await drive(turn, turn.step("clientStart", { start: begun }), start.mode === "fetch" ? { ...ends, deliver } : ends);
  } finally {
    // Behind an answer that is handed over it is held to the last byte.
    if (turn.fence) await turn.held.release();
  }
}

/** Takes the lease of the intent that the machine has come to. */
async function take(turn, intentId) {
  await turn.held?.release();
  turn.held = turn.fence = undefined;
  turn.held = await hold(turn.host, intentId, { signal: turn.request?.signal, patient: turn.patient });
  turn.fence = turn.held.fence;
}

/** Carries out effects until one of `ends` is reached. */
async function drive(turn, { state, effects }, ends) {
  for (;;) {
    let event;
    turn.intentId = state.intentId || undefined;
    for (const effect of effects) if (effect.type === "alert") turn.host.alert(effect.finding);
    const effect = effects.at(-1);
    const span = turn.trace.next(state, effect);
    if (span?.close) return { outside: { state, effects: [effect] } };
    if (span) {
      const ended = await turn.trace.inside(span.open, () => drive(turn, { state, effects: [effect] }, ends));
      if (!ended?.outside) return ended;
      ({ state, effects } = ended.outside);
      continue;
    }
    if (effect.type in ends) {
      turn.trace.end(state, effect);
      return ends[effect.type](turn, effect, state);
    }
    event = await carriers[effect.type](turn, effect);
    ({ state, effects } = turn.step("clientStep", { state, event }));
  }
}

const ends = {
  pass: ({ answer, failure }) => {
    if (failure) throw failure;
    return { response: answer };
  },
  fail: ({ cause }, { error }) => {
    throw new CounterfoilError(error.code, cause === undefined ? error : { ...error, cause });
  },
  replay: (_, { delivery, resolution }) => ({ response: stored(delivery), about: resolution }),
  done: (_, { resolution: { delivery, ...resolution } }) => ({
    resolution: delivery?.body === undefined ? resolution : { ...resolution, response: stored(delivery) },
  }),
};
/** After the body only a failure is of interest: the caller has the answer. */
const over = () => {};
const written = { ...ends, pass: over, replay: over, done: over };

const carriers = {
  async load(turn, { keys }) {
    const { host, paid, intentId, request } = turn;
    const records = [];
    try {
      if (intentId && turn.held?.intentId !== intentId) await take(turn, intentId);
      for (const key of keys) {
        const entry = await host.journal.read(key);
        if (entry) records.push({ key, rev: entry.rev, text: decoder.decode(entry.value) });
      }
    } catch (cause) {
      if (request?.signal?.aborted && cause === request.signal.reason) throw cause;
      const { code = "journal_unavailable", ...detail } = cause instanceof CounterfoilError ? cause : {};
      throw new CounterfoilError(code, { ...detail, intentId, cause, ...(paid && { money: "possible" }) });
    }
    return { type: "loaded", records, since: turn.held?.since };
  },

  async persist(turn, { ops }) {
    const { host, request } = turn;
    try {
      const result = await host.journal.commit(ops.map(({ key, expect, put }) => ({ key, expect, put: encoder.encode(put) })), turn.fence);
      // The lease has lapsed: the machine goes on from what stands in the journal now, once it is this call's turn again.
      if (!result.ok && result.key === turn.fence?.lease) await take(turn, turn.intentId);
      if (!result.ok) return { type: "conflict" };
      const revs = [];
      for (const { key, put } of ops) {
        const entry = await host.journal.read(key);
        // Where another call has written since, its revision is not told as ours: our next write must meet a conflict.
        if (entry && decoder.decode(entry.value) === put) revs.push({ key, rev: entry.rev });
      }
      return { type: "persisted", revs };
    } catch (error) {
      if (request?.signal?.aborted && error === request.signal.reason) throw error;
      turn.cause = error;
      return { type: "persist_failed", code: error?.code };
    }
  },

  async send(turn, { payment }) {
    const { host, request } = turn;
    const headers = new Headers(request.headers);
    if (payment) {
      headers.set(payment.name, payment.value);
      headers.set("Access-Control-Expose-Headers", "PAYMENT-RESPONSE,X-PAYMENT-RESPONSE");
    }
    const init = { ...request.rest, method: request.method, headers, body: request.body, signal: request.signal };
    // A payment never follows a redirect: what it buys is bound to this URL.
    if (payment) init.redirect = "manual";
    turn.answer = turn.failure = undefined;
    turn.paid ||= payment !== undefined;
    try {
      turn.answer = await host.fetch(request.url, init);
    } catch (error) {
      if (payment && request.signal?.aborted) throw error;
      turn.failure = error;
      return { type: "answer", answer: { transport: transport(error, request.signal) } };
    }
    const answer = await heard(turn, payment);
    // Who gave up while a refusal was being read is told so, and not what the refusal said.
    if (payment) request.signal?.throwIfAborted();
    return { type: "answer", answer, redirected: turn.answer.redirected };
  },

  async sign(turn, { sign }) {
    const { host, request } = turn;
    try {
      const signature = await unlessAborted(request?.signal, () => host.sign(sign));
      if (typeof signature === "string" && /^0x[0-9a-f]*$/i.test(signature)) return { type: "signed", signature };
    } catch (error) {
      turn.cause = error;
    }
    // A signature that comes after the caller gave up is dropped: it was never written down and never sent.
    return { type: request?.signal?.aborted ? "aborted" : "sign_failed" };
  },

  async ask_contract(turn, { ask }) {
    const { host, request } = turn;
    let answer;
    try {
      answer = await unlessAborted(request?.signal, () => host.askContract(ask));
    } catch (error) {
      if (request?.signal?.aborted) return { type: "aborted" };
      turn.cause = error;
    }
    return { type: "contract", ...(typeof answer === "string" && { answer }) };
  },

  async read_chain({ host }, { read }) {
    return { type: "evidence", evidence: await host.readChain(read) };
  },

  async ask(turn, { approval }) {
    const { host, request } = turn;
    try {
      const answer = await unlessAborted(request?.signal, () => host.approve(approval));
      const signed = typeof answer === "object" && answer !== null;
      return { type: "approved", yes: signed || answer === true, ...(signed && { approval: answer }) };
    } catch (error) {
      // Nothing is written down yet: whoever gives up here leaves nothing behind.
      request?.signal?.throwIfAborted();
      turn.cause = error;
      return { type: "approved", yes: false };
    }
  },

  async wait({ request }, { seconds }) {
    await pause(request?.signal, seconds * 1000);
    return { type: "waited" };
  },

  /** Nobody reads along: the answer is taken in whole. */
  async deliver(turn) {
    const event = {};
    for await (const _ of passing(turn, (end) => void Object.assign(event, end)));
    return event;
  },
};

function transport(error, signal) {
  if (signal?.aborted) return "aborted";
  const code = error?.cause?.code ?? error?.code;
  if (code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "UND_ERR_CONNECT_TIMEOUT") return "refused_before_send";
  return error?.name === "TimeoutError" || /TIMEOUT/.test(code) ? "timeout" : "reset";
}

/** What `classify` is shown of an answer. The body of a success that is not a short JSON text is left for the caller alone. */
async function heard(turn, payment) {
  const { answer, host } = turn;
  const seen = { status: answer.status, headers: Object.fromEntries(answer.headers), receivedAt: host.clock() };
  const problem = payment ? !answer.ok || answer.status === 202 : answer.status === 402;
  if (!problem && !(payment && isShortJson(answer))) return seen;
  // The caller may still be given this answer, so a copy is read.
  const body = await text(answer.clone(), host.leaseMs);
  return body === undefined ? seen : { ...seen, body };
}

function isShortJson({ headers, body }) {
  const length = headers.get("content-length");
  const type = headers.get("content-type")?.split(";", 1)[0].trim() ?? "";
  return body !== null && /^[0-9]+$/.test(length) && Number(length) <= MAX_JSON && /^application\/([^/]+\+)?json$/i.test(type);
}

/** The body's text, where it comes whole within `ms`: one that never ends must not hold the intent for ever. */
async function text({ body }, ms) {
  const chunks = [];
  let length = 0;
  const reader = body?.getReader();
  let late = false;
  const stop = () => {
    late = true;
    reader?.cancel().catch(() => {});
  };
  const timer = setTimeout(stop, ms);
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) return late ? undefined : decoder.decode(concat(chunks, length));
      chunks.push(value);
      length += value.length;
      if (length > MAX_PROBLEM) return stop();
    }
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** The answer's chunks as they come; `end` is told what passed, once, before the last chunk's reader sees the end. */
async function* passing(turn, end) {
  const { answer, host, request } = turn;
  const chunks = [];
  let length = 0;
  let complete = false;
  const digest = host.digest();
  turn.reader = answer.body?.getReader();
  try {
    for (;;) {
      const { done, value } = (await turn.reader?.read()) ?? { done: true };
      if (done) break;
      digest.update(value);
      length += value.length;
      if (length <= host.maxStoredBody) chunks.push(value);
      else chunks.length = 0;
      yield value;
    }
    complete = request.method === "HEAD" || whole(answer, length);
  } catch (error) {
    // Whoever gives up leaves the purchase open; so does an answer that breaks off, which is told apart.
    if (request.signal?.aborted) throw error;
    turn.cause = error;
  }
  if (turn.cancelled) return;
  await end({
    type: "body",
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    sha256: await digest.hex(),
    length,
    ...(length <= host.maxStoredBody && { body: base64(concat(chunks, length)) }),
    complete,
  });
}

/** Whether as many bytes came as were announced. Behind a content coding the announced length is that of the coded bytes. */
function whole(answer, length) {
  const announced = answer.headers.get("content-length");
  return announced === null || answer.headers.has("content-encoding") || Number(announced) === length;
}

/** The answer for the caller; its end waits until the delivery is written down. */
async function handOver(turn, rest) {
  const { answer, held, request } = turn;
  held.loosen();
  turn.fence = undefined;
  const chunks = holding(held, passing(turn, rest));
  const body = new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    // Who stops reading leaves the purchase open: the next call has the answer sent again.
    async cancel(reason) {
      turn.cancelled = true;
      await (turn.reader ?? answer.body)?.cancel(reason);
      await chunks.return();
      await held.release();
    },
  }, { highWaterMark: 0 });
  const empty = isBodiless(answer.status) || request.method === "HEAD" || answer.body === null || answer.headers.get("content-length") === "0";
  // Nobody would read along to this end.
  if (empty) for await (const _ of chunks);
  const response = new Response(empty ? null : body, { status: answer.status, statusText: answer.statusText, headers: answer.headers });
  Object.defineProperty(response, "url", { value: answer.url });
  return response;
}

/** The same chunks; the lease is held as long as they are read. */
async function* holding(held, chunks) {
  try {
    for await (const chunk of chunks) {
      held.readOn();
      yield chunk;
    }
  } finally {
    await held.release();
  }
}

/** A stored answer, marked as such. */
function stored(delivery) {
  const headers = new Headers(delivery.headers);
  // The stored bytes are the decoded ones.
  for (const name of ["content-encoding", "content-length", "transfer-encoding"]) headers.delete(name);
  headers.set("Idempotency-Replayed", "true");
  return new Response(isBodiless(delivery.status) ? null : unbase64(delivery.body), { status: delivery.status, headers });
}

function isBodiless(status) {
  return [101, 204, 205, 304].includes(status);
}

function base64(bytes) {
  return call("rawBase64Encode", {}, bytes);
}

function unbase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
