// The buyers of these tests: the official client as its examples use it, and counterfoil's own.
import { createRequire } from "node:module";
import { createPayer } from "counterfoil";
import { memoryJournal } from "counterfoil/node";
import { NETWORK } from "../../demo/chain.mjs";

const require = createRequire(new URL("../../demo/package.json", import.meta.url));
const load = (name) => import(require.resolve(name).replace(/\/cjs\/(.*)\.js$/, "/esm/$1.mjs"));
const { wrapFetchWithPayment, x402Client } = await load("@x402/fetch");
const { ExactEvmScheme } = await load("@x402/evm/exact/client");
const { ExactEvmSchemeV1 } = await load("@x402/evm/v1");
const { appendPaymentIdentifierToExtensions } = await load("@x402/extensions/payment-identifier");

/** `wrapFetchWithPayment` over `fetch`, which may lose what it brings. With `id`, every payment it makes carries that one. */
export function officialFetch(buyer, fetch = globalThis.fetch, { id } = {}) {
  const client = new x402Client().register("eip155:*", new ExactEvmScheme(buyer.account));
  if (id) client.onBeforePaymentCreation(async ({ paymentRequired }) => { appendPaymentIdentifierToExtensions(paymentRequired.extensions, id); });
  return wrapFetchWithPayment(fetch, client);
}

/** counterfoil's payer of a buyer. */
export function payerOf(buyer, chain, { journal = memoryJournal(), ...rest } = {}) {
  return createPayer({
    signer: { privateKey: new Uint8Array(Buffer.from(buyer.key.slice(2), "hex")) }, journal,
    rpc: { [NETWORK]: chain.url }, policy: { perCall: "20000", maxWindow: 300 }, ...rest,
  });
}

/** The official client where a seller speaks version 1. */
export function officialFetchV1(buyer, fetch = globalThis.fetch) {
  return wrapFetchWithPayment(fetch, new x402Client().registerV1("base-sepolia", new ExactEvmSchemeV1(buyer.account)));
}

/** A `fetch` that loses the answers to paid requests for which `lose` says so; `seen` holds them, `sent` the payments. */
export function losing(fetch, lose = () => true) {
  const seen = [], sent = [];
  const lossy = async (input, init) => {
    const request = new Request(input, init);
    const value = request.headers.get("payment-signature") ?? request.headers.get("x-payment");
    const answer = await fetch(request);
    if (!value) return answer;
    sent.push(JSON.parse(Buffer.from(value, "base64").toString()));
    seen.push(answer.clone());
    if (lose(seen.length, answer)) throw new TypeError("fetch failed");
    return answer;
  };
  return Object.assign(lossy, { seen, sent });
}
