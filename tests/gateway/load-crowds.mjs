// One purchase that many ask for at once.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ask, buyers, counts, inFlight, read, received, startWorker, untilAnswered } from "./load-shops.mjs";
import { pay, randomId } from "./shop.mjs";

// Long beside the test: whoever is slow here is not dead.
const LEASE = 600;

export const crowds = (name, { chain: chainOf, place, processes, requests }) => describe(name, () => {
  let chain;
  const shops = [];
  before(async () => {
    chain = chainOf();
    const where = await place();
    shops.push(...(await Promise.all(Array.from({ length: processes }, () => startWorker(chain, where, LEASE)))));
    // The table is there and connections are open: the crowd meets at the purchase and not before it.
    await Promise.all(shops.flatMap((shop) => Array.from({ length: 4 }, () => shop.control("quote", { key: "quote_of_nobody_1" }))));
  });
  after(() => Promise.all(shops.map((shop) => shop.stop())));

  /** One thing to buy: `url(i)` is where the i-th asks, each shop in turn; `ended` tells what came of it all. */
  async function scene(t, gate, order) {
    const begin = performance.now();
    const { number: since } = await chain.block();
    const was = await counts(shops);
    const url = (i) => `${shops[i % processes].url}/held?${new URLSearchParams({ gate, ...(order && { order }) })}`;
    const price = await ask(url(0));
    assert.equal(price.status, 402);
    return {
      url, price,
      /** All at once. The handler goes on when half of them were answered, which can't be with its answer. */
      atOnce(payments, waits) {
        let answered = 0;
        return Promise.all(payments.map(async (payment, i) => {
          const told = await read(await ask(url(i), payment));
          answered += 1;
          if (answered <= requests / 2) waits(told, i);
          if (answered === Math.floor(requests / 2)) await Promise.all(shops.map((shop) => shop.control("open", { gate })));
          return told;
        }));
      },
      /** One run of the handler, one settlement, one transfer, by the payer that is returned; nothing to be alarmed about. */
      async ended(told) {
        const now = await counts(shops);
        const more = Object.fromEntries(Object.entries(now).map(([what, n]) => [what, n - was[what]]));
        assert.deepEqual(more, { runs: 1, settled: 1, alerts: 0, fulfilled: order ? 1 : 0 });
        const transfers = await received(chain, since);
        assert.equal(transfers.length, 1);
        const [{ payer, transaction }] = transfers;
        if (order) {
          const row = await shops[0].control("order", { id: order });
          assert.deepEqual([row.order.state, row.order.transaction, row.effects], ["paid", transaction, []]);
        }
        const seconds = Math.round((performance.now() - begin) / 1000);
        const report = { processes, requests, runs: more.runs, transfers: transfers.length, ...told, seconds };
        t.diagnostic(`${name}: ${Object.entries(report).map(([what, n]) => `${what} ${n}`).join(", ")}`);
        return payer;
      },
    };
  }

  /** All were told to wait, but for one that got the answer and those that got it repeated; asked again, all get it. */
  async function oneAnswer({ url, atOnce }, payments, ids) {
    const first = await atOnce(payments, (told, i) => inFlight(told, ids[i]));
    first.forEach((told, i) => { if (told.status !== 200) inFlight(told, ids[i]); });
    const last = await Promise.all(payments.map((payment, i) => untilAnswered(() => ask(url(i), payment), ids[i])));
    const answers = [...first, ...last].filter(({ status }) => status === 200);
    assert.equal(answers.filter(({ replayed }) => !replayed).length, 1);
    assert.equal(new Set(answers.map(({ body, receipt, paid }) => `${body} ${receipt} ${paid}`)).size, 1);
    return { "in flight": first.filter(({ status }) => status === 409).length, answered: answers.length };
  }

  const quote = async (key) => {
    const quotes = await Promise.all(shops.map((shop) => shop.control("quote", { key })));
    const [order, ...others] = new Set(quotes.map(({ order }) => order.id));
    assert.deepEqual(others, []);
    return order;
  };

  test(`${requests} requests with one payment id are one purchase`, async (t) => {
    const sold = await scene(t, "id");
    const [buyer] = await buyers(chain, 1);
    const id = randomId();
    const same = pay(buyer, sold.price, { id });
    // The same bytes and fresh signatures of the same payer.
    const payments = await Promise.all(Array.from({ length: requests }, (_, i) => (i % 2 ? same : pay(buyer, sold.price, { id }))));
    const told = await oneAnswer(sold, payments, payments.map(() => id));
    assert.equal(await sold.ended(told), buyer.address.toLowerCase());
  });

  test(`${requests} ids and signatures of one payer on one order are one payment`, async (t) => {
    const sold = await scene(t, "order", await quote("quote_of_one_buyer"));
    const [buyer] = await buyers(chain, 1);
    const ids = Array.from({ length: requests }, randomId);
    const payments = await Promise.all(ids.map((id) => pay(buyer, sold.price, { id })));
    const told = await oneAnswer(sold, payments, ids);
    assert.equal(await sold.ended(told), buyer.address.toLowerCase());
  });

  test(`of ${requests} payers of one order one pays, and nothing is asked of the others`, async (t) => {
    const sold = await scene(t, "payers", await quote("quote_of_whoever_is_first"));
    const payers = await buyers(chain, requests);
    const payments = await Promise.all(payers.map((payer) => pay(payer, sold.price, { id: randomId() })));
    const refused = ({ status, problem }) => {
      assert.equal(status, 409, JSON.stringify(problem));
      assert.equal(problem.money, "none");
    };
    const first = await sold.atOnce(payments, refused);
    const won = first.filter(({ status }) => status === 200);
    assert.equal(won.length, 1);
    first.filter((told) => told !== won[0]).forEach(refused);
    // Paid by now: nothing for them all the same, and the payer's answer is the one that was given.
    const last = await Promise.all(payments.map(async (payment, i) => read(await ask(sold.url(i), payment))));
    last.forEach((told, i) => (first[i] === won[0] ? assert.equal(told.body, won[0].body) : refused(told)));
    const codes = new Set([...first, ...last].filter(({ problem }) => problem).map(({ problem }) => problem.code));
    const payer = await sold.ended({ refused: first.length - 1, codes: [...codes].join(" ") });
    assert.equal(payer, payers[first.indexOf(won[0])].address.toLowerCase());
  });
});
