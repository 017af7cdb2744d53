// counterfoil inspect: the page on this machine, live as a journal grows, and closed to everybody else.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { journal, launch, shown, watch } from "./browser.mjs";

const cli = join(dirname(createRequire(import.meta.url).resolve("counterfoil/package.json")), "src/cli/main.mjs");

/** The command on a journal that holds so many lines of a recorded one. `ended` is its exit status. */
async function inspect(t, lines = Infinity) {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-inspect-"));
  const file = join(folder, "agent.jsonl");
  const all = journal("unknown-in-flight").trimEnd().split("\n");
  writeFileSync(file, all.slice(0, lines).map((line) => `${line}\n`).join(""));
  const child = spawn(process.execPath, [cli, "inspect", file], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((done) => child.once("exit", (code) => done(code)));
  t.after(() => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  let text = "";
  const url = await new Promise((done, fail) => {
    child.stdout.on("data", (chunk) => {
      text += chunk;
      if (text.includes("\n")) done(text.trim());
    });
    ended.then((code) => fail(new Error(`ended with ${code}`)));
  });
  return { url, file, child, ended, rest: all.slice(lines) };
}

/** Status, headers and text of one request; `headers` and `method` are whatever somebody sends. */
const ask = (url, { headers = {}, method = "GET" } = {}) => new Promise((done, fail) => {
  http.request(url, { method, headers }, (answer) => {
    let text = "";
    answer.on("data", (chunk) => { text += chunk; });
    answer.on("end", () => done({ status: answer.statusCode, headers: answer.headers, text }));
  }).on("error", fail).end();
});

test("it shows a journal, and what is written to it meanwhile, and ends with Ctrl-C", async (t) => {
  const { url, file, child, ended, rest } = await inspect(t, 4);
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}$/);
  const browser = await launch();
  t.after(() => browser.close());
  const page = await browser.newPage();
  const trouble = watch(page);
  const requests = [];
  page.on("request", (request) => requests.push(new URL(request.url())));
  await page.goto(url);
  await shown(page);
  const before = await page.locator(".room [role=row]").count();
  const bytes = statSync(file).size;
  for (const line of rest) appendFileSync(file, `${line}\n`);
  await page.locator('[data-counter="unknown"] strong', { hasText: "1" }).waitFor();
  assert.ok((await page.locator(".room [role=row]").count()) > before);
  assert.ok(requests.every(({ protocol, origin }) => protocol === "blob:" || origin === new URL(url).origin), String(requests));
  assert.deepEqual(trouble, []);
  assert.equal(statSync(file).size, bytes + Buffer.byteLength(rest.join("\n")) + 1, "it wrote to the journal");
  child.kill("SIGINT");
  assert.equal(await ended, 0);
  await page.getByText("No longer live").waitFor();
});

test("another host, another path, another method and another origin get nothing of the journal", async (t) => {
  const { url, file } = await inspect(t);
  const secret = JSON.parse(readFileSync(file, "utf8").split("\n")[1]).hash;
  const { origin, port, host } = new URL(url);
  assert.deepEqual(JSON.parse((await ask(`${url}/documents`)).text), ["agent.jsonl"]);
  const good = await ask(`${url}/documents/0`);
  assert.equal(good.status, 200);
  assert.ok(good.text.includes(secret));
  assert.equal(good.headers["cache-control"], "no-store");
  assert.equal(good.headers["access-control-allow-origin"], undefined);
  assert.equal(good.headers["cross-origin-resource-policy"], "same-origin");
  const refused = [
    [`${url}/documents/0`, { headers: { host: `evil.example:${port}` } }, 421],
    [`${url}/documents/0`, { headers: { host: `localhost:${port}` } }, 421],
    [`${url}/documents/0`, { headers: { host: `${host}.evil.example` } }, 421],
    [`${origin}/documents`, {}, 404],
    [`${origin}/${"0".repeat(32)}/documents`, {}, 404],
    [`${url}/../../etc/passwd`, {}, 404],
    [`${url}/documents/0?x`, {}, 404],
    [`${url}/documents/1`, {}, 404],
    [`${origin}/documents/0`, {}, 404],
    [`${url}/documents/0`, { method: "POST" }, 405],
    [`${url}/documents/0`, { method: "DELETE" }, 405],
    [origin, {}, 404],
  ];
  for (const [to, how, status] of refused) {
    const answer = await ask(to, how);
    assert.equal(answer.status, status, `${to} ${JSON.stringify(how)}`);
    assert.ok(!answer.text.includes(secret));
  }
});

test("without a journal, or with one that is not there, it says so and serves nothing", async () => {
  for (const args of [[], [join(tmpdir(), "no-such-journal.jsonl")], ["--port", "x", cli]]) {
    const child = spawn(process.execPath, [cli, "inspect", ...args], { stdio: "ignore" });
    assert.equal(await new Promise((done) => child.once("exit", done)), 2, args.join(" "));
  }
});
