// Hono, on any runtime of it.

import { plainRequest, plainResponse, toResponse, withPayment } from "./web.mjs";

export function honoOf(handle) {
  return async (c, next) => {
    const { url, headers } = c.req.raw;
    if (!handle.concerns(url, Object.fromEntries(headers))) return next();
    // What middleware before this one has set stands on every answer, also on those that no handler gives.
    const given = [...c.res.headers];
    const request = await plainRequest(c.req.raw);
    const answer = await handle({ ...request, raw: c.req.raw }, async (payment) => {
      c.req.raw = withPayment(c.req.raw, payment);
      await next();
      return plainResponse(c.res);
    });
    const response = toResponse(answer);
    for (const [name, value] of given) if (!response.headers.has(name)) response.headers.append(name, value);
    // Setting a response over another one would mix their headers.
    c.res = undefined;
    c.res = response;
  };
}
