// The journal in PostgreSQL: the promises of every store, and what processes, connections and servers that die do to it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { postgresJournal } from "counterfoil/postgres";
import { handOverSuite } from "../js/hand-over-suite.mjs";
import { all, journalSuite, put, textOf } from "../js/journal-suite.mjs";
import { postgres } from "./postgres-server.mjs";

const run = promisify(execFile);
const worker = fileURLToPath(new URL("./journal-worker.mjs", import.meta.url));
const server = await postgres();
const config = await server.database();
let tables = 0;
const fresh = () => `journal_${++tables}`;

// Whatever a database is set to, the journal's own settings hold.
const setup = open();
await setup.query(`ALTER DATABASE ${config.database} SET synchronous_commit = off`);
await setup.query(`ALTER DATABASE ${config.database} SET default_transaction_isolation = serializable`);
await setup.end();
const pool = open();
after(() => pool.end());

function open() {
  const opened = new pg.Pool({ ...config, max: 5 });
  opened.on("error", () => {});
  return opened;
}

const made = new WeakMap();
function make(options) {
  const table = fresh();
  const journal = postgresJournal({ pool, table, ...options });
  made.set(journal, table);
  return journal;
}

const another = (store) => postgresJournal({ pool: open(), table: made.get(store) });
journalSuite("postgres", make, another);
handOverSuite("postgres", make, another);

test("an idle connection that breaks ends nothing: the pool replaces it", async (t) => {
  const own = new pg.Pool({ ...config, max: 1 });
  t.after(() => own.end());
  const journal = postgresJournal({ pool: own, table: fresh() });
  await journal.commit([{ key: "a", expect: "absent", put: new Uint8Array([1]) }]);
  const { pid } = (await own.query("SELECT pg_backend_pid() AS pid")).rows[0];
  const gone = new Promise((done) => own.once("remove", done));
  await pool.query("SELECT pg_terminate_backend($1)", [pid]);
  await gone;
  assert.deepEqual((await journal.read("a")).value, new Uint8Array([1]));
  await journal.close();
  await journal.close();
  assert.equal(own.listenerCount("error"), 0, "the pool is the caller's again");
});

/** The pool, with `query(client, text, values)` in place of each of its clients' queries. */
function through(query, connect = () => pool.connect()) {
  return {
    async connect() {
      const client = await connect();
      return {
        query: (text, values) => query(client, text, values),
        release: (error) => client.release(error),
        on: (...listener) => client.on(...listener),
        removeListener: (...listener) => client.removeListener(...listener),
      };
    },
  };
}
const plain = (client, text, values) => client.query(text, values);
const lost = () => Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });

test("options are checked at once", () => {
  for (const [options, code, field] of [
    [undefined, "missing_field", "pool"],
    [{ pool: {} }, "missing_field", "pool"],
    [{ pool, table: "" }, "invalid_type", "table"],
    [{ pool, table: 'a"; DROP TABLE x; --' }, "invalid_type", "table"],
    [{ pool, table: "a.b.c" }, "invalid_type", "table"],
    [{ pool, table: "x".repeat(60) }, "invalid_type", "table"],
    [{ pool, durability: "memory" }, "invalid_type", "durability"],
    [{ pool, hook: true }, "invalid_type", "hook"],
  ]) assert.throws(() => postgresJournal(options), { name: "CounterfoilError", code, field });
  assert.equal(postgresJournal({ pool }).durability, "power-loss");
  assert.equal(postgresJournal({ pool, durability: "replicated" }).durability, "replicated");
});

test("keys that no text of PostgreSQL can hold are refused", async () => {
  const journal = make();
  for (const key of ["a\0b", "\ud800", "a\udfff"]) {
    await assert.rejects(journal.read(key), { code: "invalid_type", field: "key" });
    await assert.rejects(journal.commit([put(key, "1")]), { code: "invalid_type" });
  }
});

test("a dozen that begin at once make the tables once, also in a schema of their own", async () => {
  await pool.query("CREATE SCHEMA own");
  for (const table of ["own.journal", fresh()]) {
    const pools = Array.from({ length: 12 }, open);
    const journals = pools.map((pool) => postgresJournal({ pool, table }));
    const results = await Promise.all(journals.map((journal, i) => journal.commit([put("a", String(i))])));
    assert.equal(results.filter(({ ok }) => ok).length, 1);
    await Promise.all(pools.map((pool) => pool.end()));
  }
});

test("a role that may make no tables uses those that are there", async () => {
  const table = fresh();
  await postgresJournal({ pool, table }).commit([put("a", "1")]);
  await pool.query("CREATE ROLE plain LOGIN PASSWORD 'plain'");
  await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table}, ${table}_leases TO plain`);
  await pool.query(`GRANT USAGE ON ${table}_revisions TO plain`);
  const theirs = new pg.Pool({ ...config, user: "plain", password: "plain" });
  const journal = postgresJournal({ pool: theirs, table });
  const { token } = await journal.lease("worker", 60_000);
  assert.deepEqual(await journal.commit([put("b", "1")], { lease: "worker", token }), { ok: true });
  await assert.rejects(postgresJournal({ pool: theirs, table: fresh() }).read("a"), { code: "journal_unavailable" });
  await theirs.end();
});

test("killed before each statement in turn: all of a commit or nothing, and nobody is kept waiting", async () => {
  const seen = new Set();
  let points;
  for (let killAt = 1; !points; killAt++) {
    const table = fresh();
    const journal = postgresJournal({ pool, table });
    await journal.commit([put("a", "old"), put("b", "old"), put("d", "old")]);
    const said = await run(process.execPath, [worker, JSON.stringify({ pool: config, table, killAt })]).then(
      ({ stdout }) => stdout.trim().split("\n"),
      (error) => {
        assert.equal(error.signal, "SIGKILL", error.stderr);
        return error.stdout.trim().split("\n");
      },
    );
    if (said.length === 2) points = JSON.parse(said[1]);
    const [old, changed] = [[["a", "old"], ["b", "old"], ["d", "old"]], [["a", "new"], ["b", "new"], ["c", "new"]]];
    const found = await all(journal);
    const stands = found.length === changed.length && found[0][1] === "new";
    assert.deepEqual(found, stands ? changed : old, `killed at ${killAt}`);
    if (said[0] === "acknowledged") assert.ok(stands, "what was acknowledged stands");
    seen.add(stands);
    // The dead worker's rows are free again.
    const { rev } = await journal.read("a");
    assert.deepEqual(await journal.commit([put("a", "later", rev)]), { ok: true });
  }
  assert.deepEqual(seen, new Set([true, false]));
  assert.deepEqual(points.slice(4), ["begin", "fence", "put a", "put b", "put c", "delete d", "number", "commit", "begin", "release", "number", "commit"]);
});

test("each commit is durable by its own setting, and no stopped worker holds rows for ever", async () => {
  const settings = [];
  const journal = make({ pool: through(async (client, text, values) => {
    if (text === "COMMIT") {
      for (const name of ["synchronous_commit", "transaction_isolation", "idle_in_transaction_session_timeout"]) {
        settings.push((await client.query(`SELECT current_setting('${name}') AS value`)).rows[0].value);
      }
    }
    return client.query(text, values);
  }) });
  await journal.read("a"); // the tables
  settings.length = 0;
  await journal.commit([put("a", "1")]);
  const lease = await journal.lease("worker", 1_000);
  await lease.renew(1_000);
  assert.deepEqual(settings, Array.from({ length: 3 }, () => ["on", "read committed", "10s"]).flat());
});

test("a worker that stops in the middle is cut off; what it then commits is refused", async () => {
  let go;
  const stopped = new Promise((resolve) => (go = resolve));
  const table = fresh();
  let reached;
  const there = new Promise((resolve) => (reached = resolve));
  const slow = postgresJournal({ pool, table, hook: (at) => at === "commit" && (reached(), stopped) });
  const first = slow.commit([put("a", "slow")]);
  await there;
  const journal = postgresJournal({ pool, table });
  assert.deepEqual(await journal.commit([put("a", "quick")]), { ok: true }); // after the server has cut off the other
  go();
  await assert.rejects(first, { code: "journal_unavailable", money: "none" });
  assert.deepEqual(await all(journal), [["a", "quick"]]);
});

test("the answer to a COMMIT is lost: the server is asked what became of it", async () => {
  const table = fresh();
  await postgresJournal({ pool, table }).commit([]);
  const stood = postgresJournal({ table, pool: through(async (client, text, values) => {
    const answer = await client.query(text, values);
    if (text === "COMMIT") throw lost();
    return answer;
  }) });
  assert.deepEqual(await stood.commit([put("stood", "1")]), { ok: true });

  const fell = postgresJournal({ table, pool: through((client, text, values) => {
    if (text !== "COMMIT") return client.query(text, values);
    client.connection.stream.destroy();
    throw lost();
  }) });
  await assert.rejects(fell.commit([put("fell", "1")]), { name: "CounterfoilError", code: "journal_unavailable", money: "none" });
  assert.deepEqual(await all(postgresJournal({ pool, table })), [["stood", "1"]]);

  let down = false;
  const unknown = postgresJournal({ table, pool: through(async (client, text, values) => {
    const answer = await client.query(text, values);
    if (text !== "COMMIT") return answer;
    down = true;
    throw lost();
  }, () => (down ? Promise.reject(lost()) : pool.connect())) });
  await assert.rejects(unknown.commit([put("unknown", "1")]), { code: "journal_unknown", money: "possible", next: "wait" });
});

test("a server that can't be reached is journal_unavailable, and is tried again", async () => {
  let down = true;
  const journal = make({ pool: through(plain, () => (down ? Promise.reject(lost()) : pool.connect())) });
  for (const use of [() => journal.read("a"), () => journal.commit([put("a", "1")]), () => all(journal), () => journal.lease("a", 1)]) {
    await assert.rejects(use(), { name: "CounterfoilError", code: "journal_unavailable", money: "none" });
  }
  down = false;
  assert.deepEqual(await journal.commit([put("a", "1")]), { ok: true });
});

test("what was acknowledged is there after the server was killed, and so are tokens", async () => {
  const table = fresh();
  const journal = postgresJournal({ pool, table });
  const before = await journal.lease("worker", 20);
  const acknowledged = [];
  const writing = (async () => {
    for (let i = 0; ; i++) {
      const key = `k${String(i).padStart(5, "0")}`;
      await journal.commit([put(key, "1")]);
      acknowledged.push(key);
    }
  })();
  const ended = assert.rejects(writing, (error) => ["journal_unavailable", "journal_unknown"].includes(error.code));
  while (acknowledged.length < 20) await new Promise((resolve) => setTimeout(resolve, 5));
  await server.stop("kill");
  await ended;
  await server.start();
  const found = (await all(journal)).map(([key]) => key);
  for (const key of acknowledged) assert.ok(found.includes(key), key);
  const again = await journal.lease("worker", 20);
  assert.ok(again.token > before.token);
  assert.deepEqual(await journal.commit([put("late", "1")], { lease: "worker", token: before.token }), { ok: false, key: "worker" });
  assert.equal(textOf(await journal.read(acknowledged[0])), "1");
});
