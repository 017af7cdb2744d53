// Many at once on one purchase, over several processes that share one database: one payment, one run, one answer.
import { after, before } from "node:test";
import { startChain } from "../../demo/chain.mjs";
import { crowds } from "./load-crowds.mjs";
import { kills } from "./load-kills.mjs";
import { postgres } from "./postgres-server.mjs";
import { removeFiles, sqliteFile } from "./store-place.mjs";

const all = Boolean(process.env.COUNTERFOIL_ALL);
let chain;
before(async () => { chain = await startChain(); });
after(() => chain.stop());
after(removeFiles);

// Fewer connections than requests: who waits for a row keeps one, and whoever has the row needs one to go on.
const onPostgres = async () => ({ postgres: { ...(await (await postgres()).database()), max: 4 } });
const onSqlite = async () => ({ sqlite: sqliteFile() });

crowds("PostgreSQL, 8 processes", { chain: () => chain, place: onPostgres, processes: 8, requests: 200 });
crowds("SQLite, 3 processes", { chain: () => chain, place: onSqlite, processes: 3, requests: 45 });
kills("PostgreSQL", { chain: () => chain, place: onPostgres, stride: all ? 1 : 7 });
kills("SQLite", { chain: () => chain, place: onSqlite, stride: all ? 1 : 11 });
