// What the scenarios of the gateway share: a shop with a clock that can be moved, a buyer, and orders to buy.
import { NETWORK, USDC } from "../../demo/chain.mjs";
import { challenge, funded, pay, payTo, randomId, send, sqlite, startShop } from "./shop.mjs";

/** A promise and the function that resolves it. */
export function gate() {
  let open;
  const opened = new Promise((done) => { open = done; });
  return { open, opened };
}

export async function until(condition) {
  while (!(await condition())) await new Promise((done) => setTimeout(done, 20));
}

/** The problem of an answer that is one, with the status of the answer; a bare 402 or a page is none. */
export async function problemOf(answer) {
  const text = await answer.text();
  if (!/problem\+json/.test(answer.headers.get("content-type"))) throw new Error(`no problem: ${answer.status} ${text}`);
  const problem = JSON.parse(text);
  if (problem.status !== answer.status) throw new Error(`status ${answer.status}, and ${problem.status} in the problem`);
  return problem;
}

export async function all(iterable) {
  const found = [];
  for await (const one of iterable) found.push(one);
  return found;
}

/** For `settle` of a shop: the transfer lands, and the answer about it is lost, once. */
export function answerLost() {
  let lost = false;
  return async (run) => {
    const result = await run();
    if (lost) return result;
    lost = true;
    throw new Error("the connection to the facilitator is gone");
  };
}

/** A shop whose clock `skip(seconds)` moves; the shop's, not the chain's. */
export async function scene(t, chain, { routes = { "GET /report": (req, res) => res.json({ report: "clear", at: Math.random() }) }, options = {}, ...rest } = {}) {
  let ahead = 0;
  const clock = () => Math.floor(Date.now() / 1000) + ahead;
  const store = rest.store ?? (await sqlite(t));
  const shop = await startShop(t, { chain, ...rest, store, routes, options: { clock, ...options } });
  const buyer = await funded(chain);
  const [method, path] = Object.keys(routes)[0].split(" ");
  const url = shop.url + path;
  return {
    shop, store, buyer, url, method, gateway: shop.gateway, counted: shop.counted, clock,
    skip: (seconds) => { ahead += seconds; },
    price: (where = url) => challenge(where, { method }),
    /** Pays for what is at `where`, under a new id unless told otherwise. */
    async buy({ where = url, by = buyer, id = randomId(), init = {}, ...how } = {}) {
      const payment = await pay(by, await challenge(where, { method, ...init }), { id, ...how });
      return { payment, id, answer: await send(where, payment, { method, ...init }) };
    },
  };
}

export const terms = (over = {}) => ({ network: NETWORK, asset: USDC, payTo, amount: "10000", ...over });

/**
 * A shop that sells orders, each paid by a POST to its own address. `stock.left` pieces are on its shelf, which the effects of
 * the orders change; `refuse` makes the facilitator refuse the next payments, which stay valid.
 */
export async function orderShop(t, chain, { stock = { left: 5 }, handler = (req, res) => res.json({ sold: req.params.id }), options = {}, ...rest } = {}) {
  const told = [];
  const refused = [];
  const state = { refuse: 0 };
  const onEffect = (one) => {
    told.push(one);
    if (one.effect === "hold_stock") {
      if (stock.left === 0) throw new Error("nothing is left");
      stock.left -= 1;
    }
    if (one.effect === "release_stock") stock.left += 1;
  };
  const verify = (run, payment, requirements) => {
    if (state.refuse === 0) return run();
    state.refuse -= 1;
    refused.push({ payment, requirements });
    return { isValid: false, invalidReason: "insufficient_funds", payer: payment.payload.authorization.from };
  };
  const order = ({ url }) => /\/orders\/(order_[0-9a-f]{64})$/.exec(url)?.[1];
  const made = await scene(t, chain, { routes: { "POST /orders/*": handler }, verify, options: { order, onEffect, ...options }, ...rest });
  return {
    ...made, stock, told, refused, state,
    effects: () => told.map((one) => one.effect),
    quote: (over = {}) => made.gateway.quote({ terms: terms(), stock: true, buyer: made.buyer.address, intentId: "intent_of_one_buyer_1", request: { item: "lamp" }, ...over }),
    at: (quoted) => `${made.shop.url}/orders/${quoted.order.id}`,
    /** What a dishonest facilitator does with a payment that it refused. */
    present: (n = 0) => made.shop.facilitator.settle(refused[n].payment, refused[n].requirements),
  };
}
