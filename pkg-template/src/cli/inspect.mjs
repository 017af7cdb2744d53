// counterfoil inspect: the inspector page on this machine, showing journals as they grow. It reads files, answers this machine alone, and
// writes and sends nothing.

import { randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import http from "node:http";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inspectorPage } from "./inspector.mjs";
import { journalFile } from "./journals.mjs";
import { print, say, usageError } from "./output.mjs";

export const options = { port: { type: "string" } };
export const many = true;

/** How often the files are looked at, in milliseconds. */
const LOOK = 500;
const HOST = "127.0.0.1";

/** Serves the page for these journals until it is interrupted. Gives the exit status. */
export async function run(paths, given) {
  if (paths.length === 0) throw usageError("inspect wants a journal or a bundle");
  const port = given.port ?? "0";
  if (!/^[0-9]{1,5}$/.test(port) || Number(port) > 65_535) throw usageError("--port wants a number");
  const files = await Promise.all(paths.map(fileOf));
  // Who can't read the terminal can't read the journals: the path is part of the printed address.
  const place = `/${randomBytes(16).toString("hex")}`;
  const page = (await inspectorPage({ live: place })).replace("connect-src 'none'", "connect-src 'self'");
  const listeners = new Set();
  const server = http.createServer((request, answer) => serve(request, answer, { files, listeners, page, place, port: server.address().port }));
  await new Promise((done, fail) => server.once("error", fail).listen(Number(port), HOST, done));
  print(`http://${HOST}:${server.address().port}${place}`);
  say("Open this address on this machine. Ctrl-C ends it.");
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  await watch(files, listeners, stop.signal);
  for (const listener of listeners) listener.end();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  return 0;
}

async function fileOf(path) {
  const file = await journalFile(path);
  await stat(file);
  return file;
}

const HEADERS = {
  "cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin", "cross-origin-opener-policy": "same-origin", "content-security-policy": "frame-ancestors 'none'",
};

async function serve(request, answer, { files, listeners, page, place, port }) {
  const end = (status, type, body) => answer.writeHead(status, { ...HEADERS, "content-type": type }).end(body);
  // A page of somebody else that calls its own name this address would be of this origin.
  if (request.headers.host !== `${HOST}:${port}`) return end(421, "text/plain", "Open the address that counterfoil inspect printed.\n");
  if (request.method !== "GET") return end(405, "text/plain", "Read only.\n");
  try {
    if (request.url === place) return end(200, "text/html; charset=utf-8", page);
    if (request.url === `${place}/documents`) return end(200, "application/json", JSON.stringify(names(files)));
    const file = files.find((_, at) => request.url === `${place}/documents/${at}`);
    // A journal may be longer than any text can be.
    if (file) return end(200, "application/octet-stream", await readFile(file));
    if (request.url === `${place}/changes`) {
      answer.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" }).write("data: 0\n\n");
      listeners.add(answer);
      answer.on("close", () => listeners.delete(answer));
      return undefined;
    }
    return end(404, "text/plain", "Nothing here.\n");
  } catch {
    return end(500, "text/plain", "The journals can't be read.\n");
  }
}

/** What the documents are called: by their paths where two have one name. */
function names(files) {
  const short = files.map((file) => basename(file));
  return files.map((file, at) => (short.indexOf(short[at]) === short.lastIndexOf(short[at]) ? short[at] : file));
}

/** Tells the listeners whenever a file is another one than before. */
async function watch(files, listeners, signal) {
  const state = async () => JSON.stringify(await Promise.all(files.map(async (file) => {
    const { size, mtimeMs, ino } = await stat(file).catch(() => ({}));
    return [size, mtimeMs, ino];
  })));
  let known = await state();
  let number = 0;
  while (!signal.aborted) {
    await sleep(LOOK, undefined, { signal }).catch(() => {});
    const now = await state();
    if (now === known) continue;
    known = now;
    number += 1;
    for (const listener of listeners) listener.write(`data: ${number}\n\n`);
  }
}
