// A shop in a process of its own, to be killed: node shop-worker.mjs <settings as JSON>. It says on its output how far a paid request
// has come, and stays there when it is told to: "handler" before anything is settled, "settling" after the row says that a
// broadcast begins and before it does, "settled" after the transfer was mined and before anybody is told.
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { sqliteStore } from "counterfoil/gateway";
import { connect } from "../../demo/chain.mjs";
import { startShop } from "./shop.mjs";

const { url, file, port, stay, lease, call } = JSON.parse(process.argv[2]);
const say = (line) => writeSync(1, `${line}\n`);
const at = async (place) => {
  say(place);
  if (place === stay) await new Promise((done) => setTimeout(done, 1 << 30));
};
const Database = createRequire(import.meta.url)("better-sqlite3");
const shop = await startShop({ after() {} }, {
  chain: connect(url), store: sqliteStore({ database: new Database(file) }), port,
  routes: { "GET /report": async (req, res) => { await at("handler"); res.json({ made: process.pid }); } },
  settle: async (run) => {
    await at("settling");
    const result = await run();
    await at("settled");
    return result;
  },
  options: { lease, ...(call && { call: () => call }) },
});
say(shop.url);
