// A seller of weather reports for 0.01 USDC: the official express middleware and the official facilitator, in
// process, behind a front that can lose, cut, delay or replace what they say. A careful one has counterfoil's gateway before them.
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import express from "express";
import { ExactEvmScheme as ServerScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import { declarePaymentIdentifierExtension } from "@x402/extensions/payment-identifier";
import { NETWORK } from "./chain.mjs";
import { startFacilitator } from "./facilitator.mjs";
import { FAULTS } from "./faults.mjs";

export const PRICE = 10_000n; // 0.01 USDC
export const REPORT = JSON.stringify({ report: "weather", place: "Reykjavík", sky: "clear", celsius: -3.5, hours: Array.from({ length: 24 }, (_, h) => h) });

/** A gateway over a file of its own. */
async function openGateway(chain) {
  // Not before it is asked for: a seller that keeps nothing needs no package.
  const { createGateway, sqliteStore } = await import("counterfoil/gateway");
  const Database = createRequire(import.meta.url)("better-sqlite3");
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-seller-"));
  const database = new Database(join(folder, "rows.db"));
  const store = sqliteStore({ database });
  const gateway = createGateway({ store, secret: crypto.getRandomValues(new Uint8Array(32)), rpc: { [NETWORK]: chain.url } });
  const close = async () => {
    await store.close();
    database.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { gateway, close };
}

const listen = (server) => new Promise((done) => server.listen(0, "127.0.0.1", () => done(server.address().port)));

/**
 * `keepsAnswers`: declares payment-identifier and answers a known id through the gateway. `on(event)` is awaited at
 * "payment" and "streaming". `struck` counts how often the fault really happened. `price` is what the middleware takes for one, `type` that of the
 * report: a short answer in JSON is read whole before it is handed on, others are not.
 */
export async function startSeller({ chain, payTo, fault = "none", keepsAnswers = false, maxTimeoutSeconds = 300, price = "$0.01", type = "json", on = async () => {} }) {
  const seller = { struck: 0, lifted: false, lift: () => { seller.lifted = true; }, payments: [] };
  const strike = () => { seller.struck += 1; };
  const once = () => (seller.struck > 0 ? false : (strike(), true));
  const act = FAULTS[fault]({ chain, strike, once, emit: on });

  const facilitator = startFacilitator(chain, { patience: act.patience });
  const client = {
    verify: (p, r) => facilitator.verify(p, r),
    settle: (p, r) => (act.settle ? act.settle(() => facilitator.settle(p, r)) : facilitator.settle(p, r)),
    getSupported: async () => facilitator.getSupported(),
  };
  const kept = keepsAnswers ? await openGateway(chain) : undefined;
  const app = express();
  if (kept) app.use(kept.gateway.express());
  const route = {
    accepts: { scheme: "exact", price, network: NETWORK, payTo, maxTimeoutSeconds },
    description: "One weather report", mimeType: "application/json",
    ...(keepsAnswers ? { extensions: { "payment-identifier": declarePaymentIdentifierExtension(false) } } : {}),
  };
  app.use(paymentMiddleware({ "GET /weather": route }, new x402ResourceServer(kept ? kept.gateway.facilitator(client) : client).register(NETWORK, new ServerScheme())));
  app.get("/weather", (_, res) => res.type(type).send(REPORT));
  const shop = http.createServer(app);
  const shopPort = await listen(shop);

  const upstream = (request) => new Promise((done, fail) => {
    const { method, url, headers } = request;
    // A connection each: one kept open may be closed by the shop just as it is used again.
    const out = http.request({ host: "127.0.0.1", port: shopPort, method, path: url, headers, agent: false }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => {
        const headers = { ...answer.headers };
        for (const name of ["connection", "keep-alive", "transfer-encoding"]) delete headers[name];
        done({ status: answer.statusCode, headers, body: Buffer.concat(parts) });
      });
    });
    out.on("error", fail);
    out.end(request.body);
  });

  seller.write = (res, answer) => { res.writeHead(answer.status, answer.headers); res.end(answer.body); };
  let challengeRequest;
  seller.challenge = () => upstream(challengeRequest);

  async function answer(request, res) {
    const header = request.headers["payment-signature"];
    if (!header || !request.url.startsWith("/weather")) {
      if (!header) challengeRequest = request;
      return seller.write(res, await upstream(request));
    }
    const payment = JSON.parse(Buffer.from(header, "base64").toString("utf8"));
    seller.payments.push(payment);
    const early = await act.before?.(seller);
    if (early) return seller.write(res, early);
    const given = await upstream(request);
    if (await act.after?.(given, res, seller)) return;
    seller.write(res, given);
  }

  const front = http.createServer((req, res) => {
    res.on("error", () => {});
    const parts = [];
    req.on("data", (part) => parts.push(part));
    req.on("end", () => {
      const request = { method: req.method, url: req.url, headers: req.headers, body: Buffer.concat(parts) };
      answer(request, res).catch(() => res.destroy());
    });
  });
  const port = await listen(front);
  seller.url = `http://127.0.0.1:${port}/weather`;

  /** The seller presents every cheque it was ever given, as a dishonest one would. */
  seller.presentAll = async () => {
    for (const payment of seller.payments) await facilitator.settle(payment, payment.accepted).catch(() => {});
  };
  seller.stop = async () => {
    for (const server of [front, shop]) { server.closeAllConnections(); server.close(); }
    await kept?.close();
  };
  return seller;
}
