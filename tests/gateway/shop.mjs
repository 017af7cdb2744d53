// A shop for the tests of the gateway: the official express middleware and facilitator on a real chain, behind a gateway.
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, sqliteStore } from "counterfoil/gateway";
import { startFacilitator } from "../../demo/facilitator.mjs";
import { NETWORK, USDC } from "../../demo/chain.mjs";

const require = createRequire(new URL("../../demo/package.json", import.meta.url));
const load = (name) => import(require.resolve(name).replace(/\/cjs\/(.*)\.js$/, "/esm/$1.mjs"));
const { default: express } = await import(require.resolve("express"));
const { paymentMiddleware, x402ResourceServer } = await load("@x402/express");
const { ExactEvmScheme } = await load("@x402/evm/exact/server");
const { declarePaymentIdentifierExtension } = await load("@x402/extensions/payment-identifier");
const { recoverTypedDataAddress } = await import(require.resolve("viem"));
const accounts = await import(require.resolve("viem/accounts"));

export { express, recoverTypedDataAddress };
export const PRICE = 10_000n;
export const SECRET = new Uint8Array(32).fill(7);
export const payTo = "0x1111111111111111111111111111111111111111";

/** An account that the token knows and that owns some of it. */
export async function funded(chain, amount = 1_000_000n) {
  const key = accounts.generatePrivateKey();
  const account = accounts.privateKeyToAccount(key);
  await chain.mint(account.address, amount);
  return { key, account, address: account.address };
}

/** A store in a file of its own, gone when the test is over. */
export async function sqlite(t) {
  const Database = createRequire(import.meta.url)("better-sqlite3");
  const folder = await mkdtemp(join(tmpdir(), "counterfoil-shop-"));
  const database = new Database(join(folder, "rows.db"));
  const store = sqliteStore({ database });
  t.after(async () => {
    await store.close();
    database.close();
    await rm(folder, { recursive: true, force: true });
  });
  return store;
}

/**
 * `routes`: what the shop sells, `{ "GET /report": (req, res) => … }`. `settle(run)` stands around the facilitator's settle call. `options` go to
 * the gateway; `key` is the facilitator's.
 */
export async function startShop(t, { chain, key, store, routes, settle, verify, options = {}, before = [], requiresId = false, port = 0 }) {
  const facilitator = startFacilitator(chain, { key });
  const counted = { verified: 0, settled: 0, runs: 0, alerts: [], effects: [] };
  const client = {
    verify: (p, r) => (counted.verified++, verify ? verify(() => facilitator.verify(p, r), p, r) : facilitator.verify(p, r)),
    settle: (p, r) => (counted.settled++, settle ? settle(() => facilitator.settle(p, r), p, r) : facilitator.settle(p, r)),
    getSupported: () => facilitator.getSupported(),
  };
  const gateway = createGateway({
    store, secret: SECRET, rpc: { [NETWORK]: chain.url },
    onAlert: (finding) => counted.alerts.push(finding),
    onEffect: (effect) => { counted.effects.push(effect); },
    ...options,
  });
  const app = express();
  for (const middleware of before) app.use(middleware);
  app.use(gateway.express());
  const sold = Object.fromEntries(Object.keys(routes).map((route) => [route, {
    accepts: { scheme: "exact", price: "$0.01", network: NETWORK, payTo, maxTimeoutSeconds: 300 },
    description: "for sale", mimeType: "application/json",
    extensions: { "payment-identifier": declarePaymentIdentifierExtension(requiresId) },
  }]));
  app.use(paymentMiddleware(sold, new x402ResourceServer(gateway.facilitator(client)).register(NETWORK, new ExactEvmScheme())));
  for (const [route, handler] of Object.entries(routes)) {
    const [method, path] = route.split(" ");
    app[method.toLowerCase()](path.replace("*", ":id"), express.json(), (req, res, next) => { counted.runs++; return handler(req, res, next); });
  }
  app.use((error, req, res, next) => res.status(500).json({ error: "failed" }));
  const server = http.createServer(app);
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  const stop = () => new Promise((done) => { server.closeAllConnections(); server.close(done); });
  t.after(stop);
  return { url: `http://127.0.0.1:${server.address().port}`, gateway, counted, facilitator, stop };
}

const TYPES = { TransferWithAuthorization: ["from:address", "to:address", "value:uint256", "validAfter:uint256", "validBefore:uint256", "nonce:bytes32"].map((field) => ({ name: field.split(":")[0], type: field.split(":")[1] })) };

export const randomNonce = () => `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex")}`;
export const randomId = () => `pay_${crypto.randomUUID().replaceAll("-", "")}`;

/** A payment made by hand for the price in a 402 answer; `id` names it, `over` changes what is signed, `change` the payment after it. */
export async function pay(buyer, challenge, { id, nonce = randomNonce(), over = {}, change = (payment) => payment } = {}) {
  const required = JSON.parse(Buffer.from(challenge.headers.get("payment-required"), "base64"));
  const accepted = { ...required.accepts[0], ...over };
  const now = Math.floor(Date.now() / 1000);
  const authorization = { from: buyer.address, to: accepted.payTo, value: accepted.amount, validAfter: String(now - 600), validBefore: String(now + (over.window ?? 120)), nonce };
  delete accepted.window;
  const domain = { name: accepted.extra.name, version: accepted.extra.version, chainId: Number(accepted.network.split(":")[1]), verifyingContract: accepted.asset };
  const signature = await buyer.account.signTypedData({ domain, types: TYPES, primaryType: "TransferWithAuthorization", message: authorization });
  const extensions = structuredClone(required.extensions);
  if (id && extensions?.["payment-identifier"]) extensions["payment-identifier"].info.id = id;
  const payment = change({ x402Version: 2, payload: { authorization, signature }, extensions, resource: required.resource, accepted });
  return { header: Buffer.from(JSON.stringify(payment)).toString("base64"), nonce, authorization, payment };
}

export const challenge = (url, init) => fetch(url, init);
export const send = (url, { header }, init = {}) => fetch(url, { ...init, headers: { ...init.headers, "payment-signature": header } });

/** Transfers of a payer that the chain shows. */
export async function transfers(chain, payer) {
  const topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
  const logs = await chain.rpc("eth_getLogs", [{ address: USDC, fromBlock: "0x0", toBlock: "latest", topics: [topic, `0x${payer.slice(2).toLowerCase().padStart(64, "0")}`] }]);
  return logs.length;
}
