// Requests and answers as plain values: `{method, url, headers, body}` and `{status, headers: [[name, value]], body}`.

const encoder = new TextEncoder();
// Of the connection or of the moment, not of the answer.
const DROPPED = new Set(["connection", "keep-alive", "transfer-encoding", "content-length", "date", "set-cookie", "trailer", "upgrade", "proxy-authenticate"]);

/** The headers of an answer that are kept with it, names in lower case. */
export function kept(headers) {
  const all = {};
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    if (!DROPPED.has(key)) all[key] = key in all ? `${all[key]}, ${value}` : String(value);
  }
  return all;
}

export function jsonAnswer(status, value, headers = {}) {
  return { status, headers: Object.entries({ "content-type": "application/json", "cache-control": "no-store", ...headers }), body: encoder.encode(JSON.stringify(value)) };
}

/** RFC 9457. */
export function problemAnswer({ problem, headers = {} }) {
  return jsonAnswer(problem.status, problem, { "content-type": "application/problem+json", ...headers });
}

export function storedAnswer({ body }, { status, headers }) {
  return { status, headers: Object.entries(headers), body: body ?? new Uint8Array() };
}

/** `(Request) => Response` with admission in front. */
export function wrapOf(handle, handler) {
  return async (request, ...rest) => {
    const answer = await handle(await plainRequest(request), async (payment) => plainResponse(await handler(withPayment(request.clone(), payment), ...rest)));
    return toResponse(answer);
  };
}

export async function plainRequest(request) {
  return { method: request.method, url: request.url, headers: Object.fromEntries(request.headers), body: new Uint8Array(await request.clone().arrayBuffer()) };
}

export async function plainResponse(response) {
  return { status: response.status, headers: [...response.headers], body: new Uint8Array(await response.arrayBuffer()) };
}

export function toResponse({ status, headers, body }) {
  const bodiless = [101, 204, 205, 304].includes(status);
  const all = new Headers();
  // The engine counts the bytes itself; a header that may stand twice stays twice.
  for (const [name, value] of headers) if (!["content-length", "transfer-encoding"].includes(name.toLowerCase())) all.append(name, value);
  return new Response(bodiless ? null : body, { status, headers: all });
}

/** The request with another payment in its header, when there is one to put there. */
export function withPayment(request, payment) {
  if (!payment) return request;
  const headers = new Headers(request.headers);
  for (const name of PAYMENT_HEADERS) headers.delete(name);
  headers.set(payment.name, payment.value);
  return new Request(request, { headers });
}

/** Names with one value, or a list where a header stands more than once. */
export function groupHeaders(headers) {
  const all = new Map();
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    all.set(key, all.has(key) ? [all.get(key), value].flat() : value);
  }
  return all;
}

export const PAYMENT_HEADERS = ["payment-signature", "x-payment"];
