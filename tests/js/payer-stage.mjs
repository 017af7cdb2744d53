// What the tests of the payer stand on: sellers that count what reaches them, signers that count what they sign, and the
// local chain of the demo.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, rmdirSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryJournal } from "counterfoil/node";

const fromDemo = createRequire(new URL("../../demo/package.json", import.meta.url));
export const { privateKeyToAccount } = fromDemo("viem/accounts");
export const { recoverTypedDataAddress } = fromDemo("viem");

export const NETWORK = "eip155:84532";
export const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
export const SELLER = "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF";
/** One of the development keys that every local chain funds; it guards nothing. */
export const KEY = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a";
export const PAYER = privateKeyToAccount(KEY).address;
export const keyBytes = (key = KEY) => new Uint8Array(Buffer.from(key.slice(2), "hex"));

export const OFFER = {
  scheme: "exact", network: NETWORK, amount: "10000", asset: USDC, payTo: SELLER, maxTimeoutSeconds: 60,
  extra: { name: "USDC", version: "2" },
};

const packed = (value) => Buffer.from(JSON.stringify(value)).toString("base64");

/** A 402 answer of version 2 with these offers. */
export function priced(res, { accepts = [OFFER], url = "http://seller.test/", headers = {}, ...rest } = {}) {
  const price = { x402Version: 2, error: "Payment required", resource: { url, description: "", mimeType: "" }, accepts, ...rest };
  res.writeHead(402, { "payment-required": packed(price), "content-type": "application/json", ...headers });
  res.end("{}");
}

/** The answer that was paid for. */
export function sold(res, payment, { body = "the report", headers = {}, status = 200 } = {}) {
  const { payload } = payment;
  // Nothing of this seller reaches a chain: a transaction's name is as good as any.
  const settlement = { success: true, transaction: payload.authorization.nonce, network: NETWORK, payer: payload.authorization.from };
  res.writeHead(status, { "payment-response": packed(settlement), ...headers });
  res.end(body);
}

/**
 * A seller on loopback. `answer(req, res, payment)` answers; `payment` is what the header carried. `asked` and `paid` hold
 * the requests without and with a payment, in their order.
 */
export async function shop(t, answer = (_, res, payment) => (payment ? sold(res, payment) : priced(res))) {
  const seller = { asked: [], paid: [], payments: [] };
  const server = http.createServer(async (req, res) => {
    res.on("error", () => {});
    const parts = [];
    try {
      for await (const part of req) parts.push(part);
    } catch {
      return;
    }
    const header = req.headers["payment-signature"] ?? req.headers["x-payment"];
    const payment = header && JSON.parse(Buffer.from(header, "base64").toString("utf8"));
    const seen = { method: req.method, url: req.url, headers: req.headers, body: Buffer.concat(parts) };
    (payment ? seller.paid : seller.asked).push(seen);
    if (payment) seller.payments.push(payment);
    await answer(req, res, payment, seller);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  seller.url = `http://127.0.0.1:${server.address().port}/report`;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return seller;
}

/** A signer that counts, with what `sign` makes of the account's own signature. */
export function counted({ key = KEY, address = privateKeyToAccount(key).address, sign = (signature) => signature } = {}) {
  const account = privateKeyToAccount(key);
  const signer = { address, calls: 0, docs: [] };
  signer.signTypedData = async (doc) => {
    signer.calls += 1;
    signer.docs.push(doc);
    return sign(await account.signTypedData(doc), signer.calls);
  };
  return signer;
}

/** A memory journal with a way to look into it. */
export function openJournal() {
  const journal = memoryJournal();
  const texts = async (prefix) => {
    const found = [];
    for await (const { value } of journal.scan(prefix)) found.push(JSON.parse(new TextDecoder().decode(value)));
    return found;
  };
  journal.intents = () => texts("intent/");
  journal.held = async () => (await texts("wallet/")).flatMap(({ entries }) => entries);
  return journal;
}

/** A clock that stands until it is moved. */
export function clockwork(start = Math.floor(Date.now() / 1000)) {
  const clock = () => clock.now;
  clock.now = start;
  return clock;
}

export function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "counterfoil-payer-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A small file system of its own; undefined where nothing may be mounted. */
export function mount(t, options = "size=64k") {
  if (process.platform !== "linux" || process.getuid() !== 0) return undefined;
  const path = mkdtempSync(join(tmpdir(), "counterfoil-payer-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path], { stdio: "ignore" });
  } catch {
    rmdirSync(path);
    return undefined;
  }
  t.after(() => {
    execFileSync("umount", ["-l", path]);
    rmdirSync(path);
  });
  return path;
}

/** What a call threw; a call that gave an answer is a failure. */
export async function thrown(promise) {
  let response;
  try {
    response = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`answered with status ${response?.status}`);
}
