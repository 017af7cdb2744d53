// Both stores of the gateway under one suite.

import { after } from "node:test";
import pg from "pg";
import { postgres } from "./postgres-server.mjs";
import { removeFiles, sqliteFile } from "./store-place.mjs";
import { storeProcesses } from "./store-processes.mjs";
import { storeSuite } from "./store-suite.mjs";

after(removeFiles);

/** A database that sorts by a language, reads as of a transaction's first statement, and confirms before it has written. */
async function unusualDatabase() {
  const config = await (await postgres()).database("TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'");
  const client = new pg.Client(config);
  await client.connect();
  for (const setting of ["default_transaction_isolation = 'serializable'", "default_transaction_read_only = on", "synchronous_commit = off"]) {
    await client.query(`ALTER DATABASE ${config.database} SET ${setting}`);
  }
  await client.end();
  return config;
}

let database;
let tables = 0;
const places = {
  postgres: async () => ({ postgres: await (database ??= unusualDatabase()), table: `gateway_${++tables}` }),
  sqlite: async () => ({ sqlite: sqliteFile() }),
};
for (const [name, make] of Object.entries(places)) {
  storeSuite(name, make);
  storeProcesses(name, make);
}
