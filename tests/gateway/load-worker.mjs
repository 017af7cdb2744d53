// A shop in a process of its own: node load-worker.mjs <job as JSON>. Several share one database. Beside what it sells it has routes
// below /control, by which a test counts, asks for quotes, and says where the process is to be killed.
//
// Points are what can be told apart from outside: every step of every update of the store, the broadcast, the handler. At the point
// that it was told, the process says so and kills itself with SIGKILL.

import { AsyncLocalStorage } from "node:async_hooks";
import { writeSync } from "node:fs";
import { connect, NETWORK, USDC } from "../../demo/chain.mjs";
import { PRICE, payTo, startShop } from "./shop.mjs";
import { openStore } from "./store-place.mjs";

const { place, chain: url, key, lease } = JSON.parse(process.argv[2]);
const say = (line) => writeSync(1, `${line}\n`);

const update = new AsyncLocalStorage();
let armed = { points: new Set(), decisions: {}, updates: 0 };
const waiting = new Set();

async function point(name) {
  const { points, at } = armed;
  points.add(name);
  for (const look of waiting) look();
  if (name !== at) return;
  say(`killed at ${name}`);
  process.kill(process.pid, "SIGKILL");
  await new Promise(() => {});
}

/** Resolves once that point was passed. */
const passed = (name) =>
  new Promise((done) => {
    const look = () => {
      if (!armed.points.has(name)) return;
      waiting.delete(look);
      done();
    };
    waiting.add(look);
    look();
  });

// What a heartbeat does comes whenever it comes: it has names of its own.
const { setInterval: every } = globalThis;
globalThis.setInterval = (beat, ...rest) => every(() => update.run("heartbeat", beat), ...rest);

function named(store) {
  return {
    ...store,
    update(keys, decide) {
      const { decisions } = armed;
      const name = update.getStore() ?? `update ${++armed.updates}`;
      const watched = (rows) => {
        const decision = decide(rows);
        decisions[name] = decision.result?.again ? "again" : (decision.result?.decision ?? "order");
        return decision;
      };
      return update.run(name, () => store.update(keys, watched));
    },
  };
}

const gates = {};
const gate = (name) => {
  let open;
  return (gates[name] ??= { opened: new Promise((done) => { open = done; }), open });
};
const handlers = {
  /** Waits until the test says so. */
  held: ({ gate: name }) => gate(name).opened,
  /** Takes as long as a heartbeat. */
  slow: () => passed("heartbeat committed"),
  plain: () => {},
};
const sell = (kind) => async (req, res) => {
  await point("handler");
  await handlers[kind](req.query);
  res.json({ kind, at: Math.random(), process: process.pid });
};

const controls = {
  counts: async () => {
    const { runs, settled, alerts, effects } = shop.counted;
    return { runs, settled, alerts: alerts.length, fulfilled: effects.filter(({ effect }) => effect === "fulfil").length };
  },
  quote: ({ key }) => shop.gateway.quote({ key, terms: { network: NETWORK, asset: USDC, payTo, amount: String(PRICE) } }),
  order: async ({ id }) => (await store.read(`order/${id}`)).value,
  sweep: () => shop.gateway.sweep(),
  open: async ({ gate: name }) => gate(name).open(),
  arm: async ({ at }) => { armed = { points: new Set(), decisions: {}, updates: 0, at }; },
  points: async () => ({ points: [...armed.points], decisions: armed.decisions }),
};
const control = (req, res, next) => {
  const [, name] = /^\/control\/(\w+)$/.exec(req.path) ?? [];
  if (!name) return next();
  controls[name](req.query).then((told) => res.json(told ?? {}), (error) => res.status(500).json({ error: String(error), code: error.code }));
};

const chain = connect(url);
const mined = chain.pub.waitForTransactionReceipt;
chain.pub.waitForTransactionReceipt = async (asked) => {
  await point("broadcast sent");
  return mined(asked);
};
const store = openStore(place, { hook: (step) => point(`${update.getStore()} ${step}`) });
const shop = await startShop(
  { after() {} },
  {
    chain, key,
    store: named(store),
    routes: Object.fromEntries(Object.keys(handlers).map((kind) => [`GET /${kind}`, sell(kind)])),
    settle: async (run) => {
      await point("broadcast begin");
      const result = await run();
      await point("broadcast end");
      return result;
    },
    before: [control],
    options: { lease, order: ({ url }) => new URL(url).searchParams.get("order") ?? undefined },
  },
);
say(`at ${shop.url}`);
