// Shops without Express: Hono with the official middleware, and a handler of web requests written by hand, which speaks version 1
// (`X-PAYMENT`) or 2. No server: `fetch` hands a Request to the shop and resolves with its Response.
import { createRequire } from "node:module";
import { createGateway } from "counterfoil/gateway";
import { startFacilitator } from "../../demo/facilitator.mjs";
import { NETWORK, USDC } from "../../demo/chain.mjs";
import { payTo, SECRET } from "./shop.mjs";

const require = createRequire(new URL("../../demo/package.json", import.meta.url));
const load = (name) => import(require.resolve(name).replace(/\/cjs\/(.*)\.js$/, "/esm/$1.mjs"));
const { Hono } = await import(require.resolve("hono"));
const { paymentMiddleware, x402ResourceServer } = await load("@x402/hono");
const { ExactEvmScheme } = await load("@x402/evm/exact/server");
const { declarePaymentIdentifierExtension } = await load("@x402/extensions/payment-identifier");

export const HOST = "http://shop.test";
const packed = (value) => Buffer.from(JSON.stringify(value)).toString("base64");
const unpacked = (text) => JSON.parse(Buffer.from(text, "base64").toString());

function seller(chain, store, options, settle) {
  const facilitator = startFacilitator(chain, { v1: true });
  const counted = { runs: 0, settled: 0, alerts: [] };
  const gateway = createGateway({ store, secret: SECRET, rpc: { [NETWORK]: chain.url }, onAlert: (finding) => counted.alerts.push(finding), ...options });
  const client = gateway.facilitator({
    verify: (...args) => facilitator.verify(...args),
    settle: (...args) => (counted.settled++, settle ? settle(() => facilitator.settle(...args)) : facilitator.settle(...args)),
    getSupported: facilitator.getSupported,
  });
  return { gateway, counted, client };
}

const asFetch = (answer) => async (input, init) => answer(new Request(typeof input === "string" && input.startsWith("/") ? HOST + input : input, init));

/** `work(Request) => Response` at GET and POST /report, behind Hono's middleware. */
export function honoShop({ chain, store, work, options, settle }) {
  const { gateway, counted, client } = seller(chain, store, options, settle);
  const app = new Hono();
  app.use(gateway.hono());
  const route = {
    accepts: { scheme: "exact", price: "$0.01", network: NETWORK, payTo, maxTimeoutSeconds: 300 }, description: "for sale",
    extensions: { "payment-identifier": declarePaymentIdentifierExtension(false) },
  };
  app.use(paymentMiddleware({ "GET /report": route, "POST /report": route }, new x402ResourceServer(client).register(NETWORK, new ExactEvmScheme())));
  app.all("/report", (c) => { counted.runs += 1; return work(c.req.raw); });
  return { gateway, counted, fetch: asFetch((request) => app.fetch(request)) };
}

/** The same behind `gateway.wrap`. A handler of one's own verifies, works and settles. */
export function webShop({ chain, store, work, options, settle, version = 2 }) {
  const { gateway, counted, client } = seller(chain, store, options, settle);
  const sells = version === 2 ? sellsV2 : sellsV1;
  const handler = gateway.wrap(async (request) => {
    const { terms, header, ask, settledHeader } = sells(request);
    const value = request.headers.get(header);
    if (!value) return ask();
    const payment = unpacked(value);
    const verified = await client.verify(payment, terms);
    if (!verified.isValid) return ask(verified.invalidReason);
    counted.runs += 1;
    const answer = await work(request);
    if (!answer.ok) return answer;
    const settlement = await client.settle(payment, terms);
    if (!settlement.success) return ask(settlement.errorReason);
    answer.headers.set(settledHeader, packed(settlement));
    return answer;
  });
  return { gateway, counted, fetch: asFetch(handler) };
}

function sellsV2({ url }) {
  const terms = { scheme: "exact", network: NETWORK, amount: "10000", asset: USDC, payTo, maxTimeoutSeconds: 300, extra: { name: "USDC", version: "2" } };
  const price = (error = "Payment required") => ({ x402Version: 2, error, resource: { url, description: "", mimeType: "" }, accepts: [terms], extensions: { "payment-identifier": declarePaymentIdentifierExtension(false) } });
  return {
    terms, header: "payment-signature", settledHeader: "payment-response",
    ask: (error) => new Response("{}", { status: 402, headers: { "payment-required": packed(price(error)), "content-type": "application/json" } }),
  };
}

function sellsV1({ url }) {
  const terms = { scheme: "exact", network: "base-sepolia", maxAmountRequired: "10000", resource: url, description: "", mimeType: "application/json", payTo, maxTimeoutSeconds: 300, asset: USDC, extra: { name: "USDC", version: "2" } };
  return {
    terms, header: "x-payment", settledHeader: "x-payment-response",
    ask: (error = "X-PAYMENT header is required") => Response.json({ x402Version: 1, error, accepts: [terms] }, { status: 402 }),
  };
}
