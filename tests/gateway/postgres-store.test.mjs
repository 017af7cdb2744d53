// The gateway's store in PostgreSQL: what only a server and its connections can do to it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { postgresStore } from "counterfoil/gateway";
import pg from "pg";
import { postgres } from "./postgres-server.mjs";
import { increment, openStore } from "./store-place.mjs";
import { keptSince, worker } from "./store-processes.mjs";

const server = await postgres();
const UNAVAILABLE = { name: "CounterfoilError", code: "store_unavailable", next: "wait", money: "possible" };

async function one(text, config) {
  const client = new pg.Client(config);
  await client.connect();
  try {
    return (await client.query(text)).rows[0];
  } finally {
    await client.end();
  }
}

/** A store on a pool that the test can reach into. */
async function withPool(poolOptions, storeOptions, body) {
  const pool = new pg.Pool({ ...(await server.database()), ...poolOptions });
  const store = postgresStore({ pool, ...storeOptions });
  try {
    await body(store, pool);
  } finally {
    await store.close();
    await pool.end();
  }
}

for (const how of ["immediate", "kill"]) {
  test(`what an update resolved with survives the server's end: ${how}`, async () => {
    const place = { postgres: await server.database() };
    await one(`ALTER DATABASE ${place.postgres.database} SET synchronous_commit = off`, place.postgres);
    const writer = worker({ place, job: "write", keys: ["a"] });
    await writer.said((line) => Number(line) >= 20);
    await server.stop(how);
    await writer.said((line) => line === "store_unavailable");
    await server.start();
    const store = openStore(place);
    await keptSince(store, writer);
    await store.close();
    await writer.ended();
  });
}

test("a server that is gone is told, and one that is back is used again", async () => {
  await withPool({}, {}, async (store) => {
    assert.deepEqual(await increment(store, ["a"]), [1]);
    await server.stop();
    for (const call of [() => increment(store, ["a"]), () => store.read("a"), () => store.scan("")]) await assert.rejects(call(), UNAVAILABLE);
    await server.start();
    assert.deepEqual(await increment(store, ["a"]), [2]);
  });
});

test("a server that is not there at the first use is asked again at the next", async () => {
  await withPool({}, {}, async (store) => {
    await server.stop();
    await assert.rejects(store.prepare(), UNAVAILABLE);
    await server.start();
    await store.prepare();
    assert.deepEqual(await increment(store, ["a"]), [1]);
  });
});

test("no connection to be had in time is told, and one that is free again is used", async () => {
  await withPool({ max: 1, connectionTimeoutMillis: 50 }, {}, async (store, pool) => {
    await store.prepare();
    const held = await pool.connect();
    await assert.rejects(increment(store, ["a"]), UNAVAILABLE);
    await assert.rejects(store.read("a"), UNAVAILABLE);
    held.release();
    assert.deepEqual(await increment(store, ["a"]), [1]);
  });
  await withPool({ max: 1 }, {}, async (store, pool) => {
    await Promise.all(Array.from({ length: 30 }, () => increment(store, ["a", "b"])));
    assert.deepEqual((await store.read("b")).value, { n: 30 });
    assert.deepEqual([pool.totalCount, pool.idleCount], [1, 1]);
  });
});

for (const at of ["begin", "locked", "read", "decided", "written:0"]) {
  test(`a connection that ends at ${at} is told, nothing is kept, and the pool goes on`, async () => {
    let ending = true;
    let held;
    const hook = async (step) => {
      if (step !== at || !ending) return;
      ending = false;
      const { pid } = (await held.query("SELECT pg_backend_pid() AS pid")).rows[0];
      const gone = new Promise((done) => held.once("end", done));
      await one(`SELECT pg_terminate_backend(${pid})`, server.config("postgres"));
      await gone;
    };
    await withPool({ max: 1 }, { hook }, async (store, pool) => {
      pool.on("acquire", (client) => (held = client));
      await assert.rejects(increment(store, ["a"]), UNAVAILABLE);
      assert.equal(await store.read("a"), undefined);
      assert.deepEqual(await increment(store, ["a"]), [1]);
    });
  });
}

test("a lost answer to COMMIT is not taken for a failure nor for a success", async () => {
  await withPool({}, {}, async (store, pool) => {
    await store.prepare();
    const connect = pool.connect.bind(pool);
    pool.connect = async () => {
      const client = await connect();
      const query = client.query.bind(client);
      client.query = async (text, values) => {
        const answer = await query(text, values);
        if (text !== "COMMIT") return answer;
        client.connection.stream.destroy();
        throw new Error("Connection terminated unexpectedly");
      };
      return client;
    };
    await assert.rejects(increment(store, ["a"]), UNAVAILABLE);
    pool.connect = connect;
    assert.deepEqual((await store.read("a")).value, { n: 1 });
    assert.deepEqual(await increment(store, ["a"]), [2]);
  });
});

test("an update is confirmed when it is on the disk, and its locks end with a silent owner, whatever the database is set to", async () => {
  const settings = [];
  let held;
  const hook = async (step) => {
    if (step === "decided") {
      for (const name of ["synchronous_commit", "transaction_isolation", "idle_in_transaction_session_timeout", "statement_timeout"]) settings.push((await held.query(`SHOW ${name}`)).rows[0][name]);
    }
  };
  await withPool({ options: "-c synchronous_commit=off -c default_transaction_isolation=serializable" }, { hook, statementTimeout: 7000 }, async (store, pool) => {
    pool.on("acquire", (client) => (held = client));
    await increment(store, ["a"]);
    assert.deepEqual(settings, ["on", "read committed", "30s", "7s"]);
    assert.equal((await pool.query("SHOW synchronous_commit")).rows[0].synchronous_commit, "off");
  });
  settings.length = 0;
  await withPool({ options: "-c synchronous_commit=remote_apply" }, { hook }, async (store, pool) => {
    pool.on("acquire", (client) => (held = client));
    await increment(store, ["a"]);
    assert.deepEqual(settings, ["remote_apply", "read committed", "30s", "0"]);
  });
});

test("a server that does not write through is refused", async () => {
  const set = async (text, expected) => {
    await one(text, server.config("postgres"));
    await one("SELECT pg_reload_conf()", server.config("postgres"));
    while ((await one("SHOW fsync", server.config("postgres"))).fsync !== expected);
  };
  await withPool({}, {}, async (store) => {
    await set("ALTER SYSTEM SET fsync = off", "off");
    await assert.rejects(increment(store, ["a"]), UNAVAILABLE);
    await set("ALTER SYSTEM RESET fsync", "on");
    assert.deepEqual(await increment(store, ["a"]), [1]);
  });
});

test("a role that may not create uses a table that is there", async () => {
  await withPool({}, {}, async (store, pool) => {
    await store.prepare();
    await pool.query("CREATE ROLE limited LOGIN PASSWORD 'limited'");
    await pool.query("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    await pool.query("GRANT SELECT, INSERT, UPDATE, DELETE ON counterfoil_gateway TO limited");
    const place = { postgres: { ...pool.options, user: "limited", password: "limited" } };
    const limited = openStore(place);
    assert.deepEqual(await increment(limited, ["a"]), [1]);
    await limited.close();
    const elsewhere = openStore(place, { table: "elsewhere" });
    await assert.rejects(elsewhere.prepare(), UNAVAILABLE);
    await elsewhere.close();
  });
});

test("the same key in another table is another lock", async () => {
  let other;
  const hook = (step) => (step === "locked" ? increment(other, ["a"]) : undefined);
  await withPool({}, { hook }, async (store, pool) => {
    other = postgresStore({ pool, table: "other", statementTimeout: 5000 });
    assert.deepEqual(await increment(store, ["a"]), [1]);
    assert.deepEqual((await other.read("a")).value, { n: 1 });
    await other.close();
  });
});

test("what is no pool or no time is refused", async () => {
  for (const pool of [undefined, {}, "postgres://127.0.0.1"]) assert.throws(() => postgresStore({ pool }), { code: "invalid_type", field: "pool" });
  for (const statementTimeout of [0, -1, "1", 1.5]) assert.throws(() => postgresStore({ pool: { connect() {} }, statementTimeout }), { code: "invalid_type", field: "statementTimeout" });
});
