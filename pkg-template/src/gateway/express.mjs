// Express: the answer is held back until it is kept, then sent as it was.

import { groupHeaders, PAYMENT_HEADERS } from "./web.mjs";

export function expressOf(handle) {
  return async (req, res, next) => {
    const url = `${req.protocol}://${req.headers.host}${req.originalUrl}`;
    if (!handle.concerns(url, req.headers)) return next();
    // What middleware before this one has set stands on every answer, also on those that no handler gives.
    const given = { ...res.getHeaders() };
    try {
      const body = await bodyOf(req);
      const answer = await handle({ method: req.method, url, headers: req.headers, body, raw: req }, (payment, abandoned) => {
        if (payment) {
          for (const name of PAYMENT_HEADERS) delete req.headers[name];
          req.headers[payment.name] = payment.value;
        }
        const held = hold(res);
        // The buyer left. A handler that gives up for that never ends its answer; one that goes on still may.
        res.once("close", () => abandoned?.());
        next();
        return held;
      });
      send(req, res, answer, given);
    } catch (error) {
      next(error);
    }
  };
}

/**
 * The body's bytes, left in place for the parsers behind: read while they arrive, and put back before the stream has ended. A
 * parser that ran before has to leave the bytes at `req.rawBody`.
 */
async function bodyOf(req) {
  if (req.rawBody !== undefined) return new Uint8Array(req.rawBody);
  if (req.headers["content-length"] === undefined && req.headers["transfer-encoding"] === undefined) return new Uint8Array();
  if (req.readableEnded) throw new TypeError("the request's body was read before the gateway saw it: keep its bytes at req.rawBody");
  const chunks = [];
  await new Promise((done, fail) => {
    const take = () => {
      for (let chunk = req.read(); chunk !== null; chunk = req.read()) chunks.push(chunk);
      if (!req.complete) return;
      stop();
      done();
    };
    const broken = () => { stop(); fail(new TypeError("the request ended before its body did")); };
    const stop = () => {
      req.off("readable", take);
      req.off("close", broken);
      if (chunks.length) req.unshift(Buffer.concat(chunks));
    };
    req.on("readable", take);
    req.on("close", broken);
  });
  return new Uint8Array(Buffer.concat(chunks));
}

/** Resolves with the answer that the handlers behind give, none of which leaves before `send`. */
function hold(res) {
  const real = { writeHead: res.writeHead, write: res.write, end: res.end, flushHeaders: res.flushHeaders };
  const chunks = [];
  const take = (chunk, encoding) => {
    if (chunk !== undefined && chunk !== null && typeof chunk !== "function") chunks.push(Buffer.from(chunk, typeof encoding === "string" ? encoding : undefined));
  };
  const called = (...args) => args.findLast((arg) => typeof arg === "function")?.();
  return new Promise((done) => {
    res.writeHead = (status, ...rest) => {
      res.statusCode = status;
      const headers = rest.find((arg) => typeof arg === "object" && arg !== null);
      const pairs = Array.isArray(headers) ? headers.flatMap((name, i) => (i % 2 ? [] : [[name, headers[i + 1]]])) : Object.entries(headers ?? {});
      for (const [name, value] of pairs) res.setHeader(name, value);
      return res;
    };
    res.write = (chunk, encoding, callback) => {
      take(chunk, encoding);
      called(encoding, callback);
      return true;
    };
    res.end = (chunk, encoding, callback) => {
      take(chunk, encoding);
      Object.assign(res, real);
      const headers = Object.entries(res.getHeaders()).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]));
      done({ status: res.statusCode, headers, body: new Uint8Array(Buffer.concat(chunks)) });
      called(chunk, encoding, callback);
      return res;
    };
    res.flushHeaders = () => {};
  });
}

function send(req, res, { status, headers, body }, given) {
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  for (const [name, value] of Object.entries(given)) res.setHeader(name, value);
  for (const [name, value] of groupHeaders(headers)) res.setHeader(name, value);
  res.statusCode = status;
  if (status !== 204 && status !== 304 && req.method !== "HEAD") res.setHeader("content-length", body.length);
  res.end(body);
}
