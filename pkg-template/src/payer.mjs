// createPayer and wrapFetch: the settings of a payer, requests as the machine needs them, and one live call per intent.

import { unlessAborted } from "./abort.mjs";
import { call, fromHex, isBytes, object, text } from "./boundary.mjs";
import { run } from "./driver.mjs";
import { CounterfoilError } from "./errors.mjs";
import { digest, sha256 } from "./hashes.mjs";
import { intentsOf, isNew, recover as recoverHistory } from "./history.mjs";
import { askContract, readEvidence } from "./rpc.mjs";
import * as tree from "./tree.mjs";
import { trustOf } from "./trust.mjs";
import { lineage as lineageOf } from "./verify.mjs";
import { withSteadyBoundary } from "./multipart.mjs";
import { sharing } from "./sharing.mjs";
import "./whole.mjs";

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
    const start = { mode: "fetch", request: named, intent: intent ?? {}, authenticated: request.headers.has("authorization") };
    // Two identical calls at once are one purchase and share its answer.
    const key = JSON.stringify(intent?.id === undefined ? [fingerprint, intent?.scope ?? "default", intent?.parent] : [intent.id]);
    const asked = JSON.stringify([fingerprint, ...[...request.headers].filter(([name]) => !TRACE.includes(name))]);
    for (let running = live.get(key); running; running = live.get(key)) {
      if (running.asked === asked && !running.isGivenUp()) return running.join(request.signal);
      // An answer to another's credentials is not this caller's. And the same id with another request is for the machine to refuse,
      // once the first call has written its record.
      await unlessAborted(request.signal, () => running.over);
      open();
    }
    const shared = { asked, ...sharing(dress) };
    const answer = shared.join(request.signal);
    live.set(key, shared);
    const buy = (signal) => run(host, start, { ...request, signal }).then(known).finally(() => live.delete(key));
    shared.over = shared.begin(buy);
    return answer;
  }

  /** A copy of an answer is told of as the answer is. */
  function dress(copy, answer) {
    for (const name of ["url", "redirected", "type"]) Object.defineProperty(copy, name, { value: answer[name] });
    described.set(copy, described.get(answer));
    return copy;
  }

  async function resume() {
    open();
    // Nothing here to know the past by: whether it was so, or was lost, only the payer's own logs say.
    if (await isNew(host)) return [{ intentId: "", attemptId: "", ...call("unknownHistory", {}) }];
    const { left, unreadable } = await unsettled(host);
    const resolutions = [];
    for (const record of left) resolutions.push(await settle(record, false));
    // What another worker had in hand, or held when it died, is waited for last and all at once.
    const settled = await Promise.all(resolutions.map((found, i) => (found.outcome === "intent_in_flight" ? settle(left[i], true) : found)));
    return [...settled, ...unreadable];
  }

  function settle({ intentId, request: bought }, patient) {
    const request = requestAgain(bought);
    const start = { mode: "resume", intentId, resendable: request !== undefined };
    return run(host, start, request, patient).then(known, notSettled);
  }

  /** One intent that can't be settled now keeps no other from being settled; a journal that fails ends them all. */
  function notSettled(error) {
    const { code, intentId, attemptId = "", money, next } = error;
    if (intentId === undefined || code.startsWith("journal_")) throw error;
    return { intentId, attemptId, outcome: code, money, next };
  }

  async function release(intentId, reason) {
    open();
    await run(host, { mode: "release", intentId, reason });
  }

  async function claim(intentId, { receipt } = {}) {
    open();
    const document = receipt === undefined ? undefined : text(receipt, "receipt");
    const { resolution } = await run(host, { mode: "claim", intentId, receipt: document });
    return resolution.claim;
  }

  async function cancel(intentId) {
    open();
    const { resolution } = await run(host, { mode: "cancel", intentId });
    return resolution.cancellation;
  }

  async function recover(what) {
    open();
    return recoverHistory(host, object(what, "what"));
  }

  async function handOver(intentId, to, budget, { expiresIn } = {}) {
    open();
    const { resolution } = await run(host, { mode: "hand_over", intentId, to, expiresIn, intent: { budget } });
    return resolution.handOver;
  }

  async function takeOver(given) {
    open();
    await run(host, { mode: "take_over", handOver: object(given, "handOver") });
  }

  async function intend(intent) {
    open();
    return tree.intend(host, object(intent, "intent"));
  }

  async function approve(approval) {
    open();
    await tree.approve(host, approval);
  }

  async function refuse(refusal) {
    open();
    await tree.refuse(host, refusal);
  }

  async function exportBundle(root) {
    open();
    const all = new Map();
    for await (const { intentId, record } of intentsOf(host)) all.set(intentId, record);
    const { places = [], approvals = [], asked = [], refused = [], entries = [] } = JSON.parse((await tree.walletOf(host)) ?? "{}");
    const family = root === undefined ? undefined : familyOf(root, all, places);
    const intents = family === undefined ? [...all.values()] : [...family].filter((intentId) => all.has(intentId)).map((intentId) => all.get(intentId));
    const kept = Object.entries({ places, approvals, asked, refused }).map(([name, list]) => [name, list.filter(({ intentId }) => family?.has(intentId) ?? true)]);
    // What of each approval is used.
    const under = new Set(kept[1][1].map(({ hash }) => hash));
    kept.push(["entries", entries.filter(({ approval }) => under.has(approval))]);
    const placed = Object.fromEntries(kept.filter(([, list]) => list.length > 0));
    // Records are placed as they stand in the journal: nothing is read and written again on the way.
    const head = JSON.stringify({ type: "counterfoil/bundle", v: 1, exportedAt: host.clock(), payer: host.config.payer, ...placed });
    const recovered = [];
    if (root === undefined) for await (const { value } of host.journal.scan(`recovered/${call("rawChecksumAddress", { address: host.config.payer })}/`)) recovered.push(decoder.decode(value));
    const more = recovered.length === 0 ? "" : `,"recovered":[${recovered.join(",")}]`;
    return `${head.slice(0, -1)},"intents":[${intents.join(",")}]${more}}\n`;
  }

  async function lineage(root) {
    return lineageOf([await exportBundle()], { root });
  }

  async function close() {
    closed = true;
    host.secret?.fill(0);
    host.forget?.();
    await host.journal.close();
  }

  const describe = (response) => described.get(response);
  return { fetch, describe, release, claim, cancel, resume, recover, handOver, takeOver, intend, approve, refuse, lineage, export: exportBundle, close };
}

/** A `fetch` that pays: `fetch(input, init)` with `init.intent`, as `payer.fetch`. The given `fetch` carries the requests. */
export function wrapFetch(fetch, payer) {
  if (typeof fetch !== "function") throw new CounterfoilError("invalid_type", { field: "fetch" });
  return (input, init) => payer.fetch(input, { ...init, [carrier]: fetch });
}

/** Under this name a request brings its own `fetch`. */
const carrier = Symbol("fetch");

/** What a client's middleware says of the call itself: it asks for the same, in nobody else's name. */
const TRACE = ["traceparent", "tracestate", "baggage", "b3", "request-id", "x-request-id", "correlation-id", "x-correlation-id", "x-amzn-trace-id", "x-cloud-trace-context", "user-agent"];

/** An intent and all that descend from it. */
function familyOf(root, all, places) {
  const family = new Set([root]);
  const parents = [...places, ...[...all.values()].map((text) => JSON.parse(text))];
  // A set gives what is added on the way, too.
  for (const parent of family) {
    for (const one of parents) if (one.parent === parent) family.add(one.intentId);
  }
  return family;
}

function hostOf(options) {
  const { signer, journal, rpc = {}, policy = {}, clock, onAlert, maxStoredBody = 1 << 20, leaseMs = 10_000, actor, knownWriters, contractWallet, signTempo, root, tracer } = options ?? {};
  if (typeof journal?.commit !== "function") throw new CounterfoilError("missing_field", { field: "journal" });
  if (typeof signer !== "object" || signer === null) throw new CounterfoilError("missing_field", { field: "signer" });
  if (signTempo !== undefined && typeof signTempo !== "function") throw new CounterfoilError("invalid_type", { field: "signTempo" });
  if (tracer !== undefined && ![tracer?.startActiveSpan, tracer?.startSpan].some((start) => typeof start === "function")) throw new CounterfoilError("invalid_type", { field: "tracer" });
  if (!(Number.isFinite(leaseMs) && leaseMs > 0)) throw new CounterfoilError("invalid_type", { field: "leaseMs" });
  const { approve, ...caps } = object(policy, "policy");
  if (approve !== undefined && typeof approve !== "function") throw new CounterfoilError("policy_invalid", { field: "policy.approve" });
  // A wallet of ethers has a private key, too, as text behind a name of its own: what signs by itself is asked to sign.
  const signs = typeof signer.signTypedData === "function";
  if (!signs && !("privateKey" in signer)) throw new CounterfoilError("missing_field", { field: "signer" });
  const key = signs ? undefined : privateKeyOf(signer.privateKey);
  const payer = key ? call("addressOfKey", {}, undefined, key) : addressOf(signer);
  if (options.secret !== undefined && !isBytes(options.secret)) throw new CounterfoilError("secret_invalid", { field: "secret" });
  const secret = options.secret ? Uint8Array.from(options.secret) : key && fromHex(call("defaultSecret", {}, undefined, key));
  const config = { payer, policy: { ...caps, ...(approve && { approve: true }) }, readable: Object.keys(object(rpc, "rpc")), actor, knownWriters, contractWallet, signsTempo: signTempo !== undefined, root };
  const trust = trustOf(options);
  const now = clock ?? (() => Math.floor(Date.now() / 1000));
  call("clientConfig", { config: { ...config, ...trust.config() }, clock: now() }, undefined, secret);
  return {
    config,
    secret,
    journal,
    tracer,
    leaseMs,
    loose: new Map(),
    maxStoredBody,
    clock: now,
    digest,
    approve: approve ?? (() => false),
    alert: (finding) => {
      // A caller's hook must not break a purchase, nor end the process when it fails later on.
      try {
        Promise.resolve(onAlert?.(finding)).catch(() => {});
      } catch {}
    },
    sign: ({ typedData, transaction }) => {
      if (transaction) return signTempo(transactionOf(transaction));
      return key ? call("signTypedData", { typedData, signer: payer }, undefined, key) : askSigner(signer, typedData);
    },
    trust,
    askContract: ({ network, ...ask }) => askContract(sources(rpc[network]), ask),
    sources: (network) => sources(rpc[network] ?? []),
    readChain: async (read) => trust.meet(read.network, await readEvidence(sources(rpc[read.network]), { ...read, proofs: trust.proofs })),
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

function addressOf({ address }) {
  if (address === undefined || address === null) throw new CounterfoilError("missing_field", { field: "signer.address" });
  if (typeof address !== "string") throw new CounterfoilError("invalid_type", { field: "signer.address" });
  return address;
}

/** A transaction on Tempo in the shape in which viem takes it: all but gas, its price and the signature is fixed. */
function transactionOf({ calls, nonceKey, maxFee, ...rest }) {
  return {
    ...rest,
    calls: calls.map(({ to, value, data }) => ({ to, value: BigInt(value), data })),
    nonceKey: BigInt(nonceKey),
    ...(maxFee !== undefined && { maxFee: BigInt(maxFee) }),
  };
}

/**
 * Signers take one document, as those of viem do, or domain, types and message apart and without the domain's own type, as
 * those of ethers. All of them take integers as bigint.
 */
function askSigner(signer, { domain, types, primaryType, message: plain }) {
  const message = withIntegers(types, primaryType, plain);
  const apart = signer.signTypedData.length > 1 || typeof signer.getAddress === "function";
  if (!apart) return signer.signTypedData({ domain, types, primaryType, message });
  const { EIP712Domain, ...own } = types;
  return signer.signTypedData(domain, own, message);
}

function withIntegers(types, type, value) {
  if (type === "uint256") return BigInt(value);
  if (!types[type]) return value;
  return Object.fromEntries(types[type].map(({ name, type }) => [name, withIntegers(types, type, value[name])]));
}

/** A request that can be sent more than once: its body is in memory. */
async function requestOf(input, init) {
  const { [carrier]: own, ...plain } = init;
  // A body that comes as a stream is read to its end before anything is sent.
  if (plain.body instanceof ReadableStream) plain.duplex ??= "half";
  let request;
  try {
    request = new Request(input, plain);
  } catch (cause) {
    throw unusable(input, cause);
  }
  const bytes = request.body ? new Uint8Array(await request.arrayBuffer()) : undefined;
  const { headers, body } = withSteadyBoundary(request.headers, bytes, plain.body ?? input);
  const { credentials, cache, mode, redirect, referrer, referrerPolicy, integrity, keepalive } = request;
  const rest = { credentials, cache, redirect, referrer, referrerPolicy, integrity, keepalive, [carrier]: own };
  if (mode === "cors" || mode === "same-origin") rest.mode = mode;
  const signal = plain.signal ?? (input instanceof Request ? input.signal : undefined);
  return { url: request.url, method: request.method, headers, body, signal, rest };
}

function unusable(input, cause) {
  if (input instanceof Request) return new CounterfoilError(input.bodyUsed ? "request_body_unsupported" : "invalid_type", { field: input.bodyUsed ? "input" : "init", cause });
  try {
    new Request(input);
  } catch {
    return new CounterfoilError("url_invalid", { field: "input", cause });
  }
  return new CounterfoilError("invalid_type", { field: "init", cause });
}

/** Records of the intents that are not settled, oldest first; and of those that can't be read what is told of them. */
async function unsettled(host) {
  const left = [];
  const unreadable = [];
  for await (const { intentId, record, standing, ...told } of intentsOf(host)) {
    if (standing === "open") left.push(JSON.parse(record));
    if (standing === "unreadable") unreadable.push({ intentId, attemptId: "", ...told });
  }
  return { left: left.sort((a, b) => a.createdAt - b.createdAt), unreadable };
}

/**
 * After a restart the request's body and headers are gone: only a request without a body can be sent again from the journal. The
 * others are settled by reading the chain, and the next call with the same intent sends the same payment again.
 */
function requestAgain({ method, url, bodySha256 }) {
  const empty = bodySha256 === sha256(new Uint8Array());
  return empty ? { url, method, headers: new Headers(), body: undefined, rest: {} } : undefined;
}
