// createPayer and wrapFetch: the settings of a payer, requests as the machine needs them, and one live call per intent.

import { call, fromHex, isBytes, sha256 } from "./boundary.mjs";
import { digest, run } from "./driver.mjs";
import { CounterfoilError } from "./errors.mjs";
import { readEvidence } from "./rpc.mjs";

const decoder = new TextDecoder();

/**
 * A payer: one key, one journal, one policy. Nothing is sent and nothing is read until the first call.
 * Errors, at once: `missing_field`, `invalid_type`, `private_key_invalid`, `policy_invalid` and those of the policy's values.
 */
export function createPayer(options) {
  const host = hostOf(options);
  const live = new Map();
  const described = new WeakMap();
  let closed = false;

  function open() {
    if (closed) throw new CounterfoilError("journal_closed");
  }

  function known({ response, resolution, about }) {
    if (response && about) described.set(response, about);
    if (resolution?.response) described.set(resolution.response, resolution);
    return response ?? resolution;
  }

  async function fetch(input, init = {}) {
    open();
    const { intent, ...rest } = init;
    const request = await requestOf(input, rest);
    const identity = call("requestIdentity", { method: request.method, url: request.url }, request.body);
    const { fingerprint, ...named } = identity;
    const start = { mode: "fetch", request: named, intent: intent ?? {} };
    // Two identical calls at once are one purchase: the second waits and gets a copy.
    const key = intent?.id ?? `${fingerprint} ${intent?.scope ?? "default"} ${intent?.parent ?? ""}`;
    const running = live.get(key);
    if (running?.fingerprint === fingerprint) return copyOf(await running.result, described);
    // The same id with another request: the machine says so, once the first call has written its record.
    if (running) await running.result.catch(() => {});
    const result = run(host, start, request).then(known);
    live.set(key, { fingerprint, result });
    try {
      return await result;
    } finally {
      if (live.get(key)?.result === result) live.delete(key);
    }
  }

  async function resume() {
    open();
    const resolutions = [];
    for (const intentId of await unsettled(host)) {
      const request = await requestFromJournal(host, intentId);
      const start = { mode: "resume", intentId, resendable: request !== undefined };
      resolutions.push(known(await run(host, start, request)));
    }
    return resolutions;
  }

  async function release(intentId, reason) {
    open();
    await run(host, { mode: "release", intentId, reason });
  }

  async function exportBundle(root) {
    open();
    const intents = [];
    for await (const { key, value } of host.journal.scan("intent/")) {
      const text = decoder.decode(value);
      if (root === undefined || key === `intent/${root}` || JSON.parse(text).parent === root) intents.push(text);
    }
    // Records are placed as they stand in the journal: nothing is read and written again on the way.
    const head = JSON.stringify({ type: "counterfoil/bundle", v: 1, exportedAt: host.clock(), payer: host.config.payer });
    return `${head.slice(0, -1)},"intents":[${intents.join(",")}]}\n`;
  }

  async function close() {
    closed = true;
    host.secret?.fill(0);
    host.forget?.();
    await host.journal.close();
  }

  const describe = (response) => described.get(response);
  return { fetch, describe, release, resume, export: exportBundle, close };
}

/** A `fetch` that pays: `fetch(input, init)` with `init.intent`, as `payer.fetch`. The given `fetch` carries the requests. */
export function wrapFetch(fetch, payer) {
  if (typeof fetch !== "function") throw new CounterfoilError("invalid_type", { field: "fetch" });
  return (input, init) => payer.fetch(input, { ...init, [carrier]: fetch });
}

/** Under this name a request brings its own `fetch`. */
const carrier = Symbol("fetch");

/** One answer for several callers: each gets a body of its own. */
function copyOf(response, described) {
  const copy = response.clone();
  described.set(copy, described.get(response));
  return copy;
}

function hostOf(options) {
  const { signer, journal, rpc = {}, policy = {}, clock, onAlert, maxStoredBody = 1 << 20 } = options ?? {};
  if (typeof journal?.commit !== "function") throw new CounterfoilError("missing_field", { field: "journal" });
  if (typeof signer !== "object" || signer === null) throw new CounterfoilError("missing_field", { field: "signer" });
  const { approve, ...caps } = policy;
  const key = "privateKey" in signer ? privateKeyOf(signer.privateKey) : undefined;
  const payer = key ? call("addressOfKey", {}, undefined, key) : signer.address;
  const secret = options.secret ? Uint8Array.from(options.secret) : key && fromHex(call("defaultSecret", {}, undefined, key));
  const config = { payer, policy: { ...caps, ...(approve && { approve: true }) }, readable: Object.keys(rpc) };
  call("clientConfig", { config });
  return {
    config,
    secret,
    journal,
    maxStoredBody,
    clock: clock ?? (() => Math.floor(Date.now() / 1000)),
    digest,
    approve: approve ?? (() => false),
    alert: (finding) => {
      // A caller's hook must not break a purchase.
      try {
        onAlert?.(finding);
      } catch {}
    },
    sign: key
      ? ({ authorization, domain }) => call("signAuthorization", { authorization, domain }, undefined, key)
      : ({ typedData }) => signer.signTypedData(forSigner(typedData)),
    readChain: (read) => readEvidence(sources(rpc[read.network]), read),
    fetch: (url, { [carrier]: own, ...init }) => (own ?? globalThis.fetch)(url, init),
    forget: () => key?.fill(0),
  };
}

function sources(rpc) {
  return Array.isArray(rpc) ? rpc : [rpc];
}

function privateKeyOf(key) {
  if (!isBytes(key)) throw new CounterfoilError("private_key_invalid", { field: "signer.privateKey" });
  return Uint8Array.from(key);
}

/** Signers differ in what they take; all of them take integers as bigint, and ethers wants no EIP712Domain among the types. */
function forSigner({ domain, types, primaryType, message }) {
  const integers = { value: BigInt(message.value), validAfter: BigInt(message.validAfter), validBefore: BigInt(message.validBefore) };
  return { domain, types, primaryType, message: { ...message, ...integers } };
}

/** A request that can be sent more than once: its body is in memory. */
async function requestOf(input, init) {
  const { [carrier]: own, ...plain } = init;
  let request;
  try {
    request = new Request(input, plain);
  } catch (cause) {
    throw new CounterfoilError("url_invalid", { field: "input", cause });
  }
  const body = request.body ? new Uint8Array(await request.arrayBuffer()) : undefined;
  const { credentials, cache, mode, redirect, referrer, referrerPolicy, integrity, keepalive } = request;
  const rest = { credentials, cache, redirect, referrer, referrerPolicy, integrity, keepalive, [carrier]: own };
  if (mode === "cors" || mode === "same-origin") rest.mode = mode;
  const signal = plain.signal ?? (input instanceof Request ? input.signal : undefined);
  return { url: request.url, method: request.method, headers: request.headers, body, signal, rest };
}

/** Intents that are not settled, oldest first. */
async function unsettled(host) {
  const open = [];
  for await (const { key, value } of host.journal.scan("intent/")) {
    const record = decoder.decode(value);
    if (!call("intentIsSettled", { record })) open.push({ key, at: JSON.parse(record).createdAt });
  }
  return open.sort((a, b) => a.at - b.at).map(({ key }) => key.slice("intent/".length));
}

/**
 * After a restart the request's body and headers are gone: only a request without a body can be sent again from the journal. The
 * others are settled by reading the chain, and the next call with the same intent sends the same payment again.
 */
async function requestFromJournal(host, intentId) {
  const entry = await host.journal.read(`intent/${intentId}`);
  const { method, url, bodySha256 } = JSON.parse(decoder.decode(entry.value)).request;
  const empty = bodySha256 === sha256(new Uint8Array());
  return empty ? { url, method, headers: new Headers(), body: undefined, rest: {} } : undefined;
}
