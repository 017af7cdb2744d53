// What a request is: one for the gateway's own routes, one with a payment, or one that is none of its business.

import { CounterfoilError } from "../errors.mjs";
import { call } from "../boundary.mjs";
import { theirs, Thrown } from "./thrown.mjs";
import { jsonAnswer, PAYMENT_HEADERS, problemAnswer } from "./web.mjs";

export function routesOf(host, sale) {
  handle.concerns = (url, headers) => PAYMENT_HEADERS.some((name) => headers[name] !== undefined) || new URL(url).pathname.startsWith(`${host.base}/`);
  return handle;

  async function handle(request, run) {
    const path = new URL(request.url).pathname;
    const handler = theirs(run);
    try {
      if (path.startsWith(`${host.base}/`)) {
        const own = await ownRoute(request, path.slice(host.base.length + 1));
        if (own) return own;
      }
      const payment = paymentOf(request);
      return payment ? await sale.answer(request, payment, handler) : await handler();
    } catch (error) {
      if (error instanceof Thrown) throw error.cause;
      if (!(error instanceof CounterfoilError)) throw error;
      return problemAnswer(call("saleProblem", { code: error.code }));
    }
  }

  async function ownRoute(request, path) {
    const [, kind, id] = /^(receipts|payments)\/([A-Za-z0-9_-]{1,140})$/.exec(path) ?? [];
    if (!kind || request.method !== "GET") return undefined;
    return kind === "receipts" ? receipt(id) : status(request, id);
  }

  /** Public: a receipt says who paid whom how much for which digest, and nothing of the answer. */
  async function receipt(id) {
    const row = await host.store.read(`receipt/${id}`);
    return row ? jsonAnswer(200, row.value, { "cache-control": "public, max-age=60" }) : missing();
  }

  /** For the payer only, who shows the payment itself; everybody else hears what a stranger hears. */
  async function status(request, id) {
    const payment = paymentOf(request);
    if (!payment) return missing();
    const { presented } = await sale.read({ ...request, call: undefined }, payment.value);
    const told = await host.step("status", { id, ids: host.ids(id), presented });
    return told.status ? jsonAnswer(200, told.status, told.headers) : missing();
  }

  function missing() {
    return problemAnswer(call("saleProblem", { code: "not_found" }));
  }
}

/** The payment's header; two that differ are none to choose from. */
function paymentOf(request) {
  const found = PAYMENT_HEADERS.filter((name) => request.headers[name] !== undefined);
  if (found.length > 1) throw new CounterfoilError("payment_payload_invalid");
  return found.length ? { name: found[0], value: String(request.headers[found[0]]) } : undefined;
}
