// Hono, on any runtime of it.

import { plainRequest, plainResponse, toResponse, withPayment } from "./web.mjs";

export function honoOf(handle) {
  return async (c, next) => {
    const { url, headers } = c.req.raw;
    if (!handle.concerns(url, Object.fromEntries(headers))) return next();
    const request = await plainRequest(c.req.raw);
    const answer = await handle({ ...request, raw: c.req.raw }, async (payment) => {
      c.req.raw = withPayment(c.req.raw, payment);
      await next();
      return plainResponse(c.res);
    });
    // Setting a response over another one would mix their headers.
    c.res = undefined;
    c.res = toResponse(answer);
  };
}
