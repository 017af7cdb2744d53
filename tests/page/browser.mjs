// The built page in Chromium, served on loopback under its own policy; nothing else can be reached from it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import http from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { chromium } from "playwright-core";

const { source: axe } = createRequire(import.meta.url)("axe-core");
const root = resolve(fileURLToPath(new URL("../../", import.meta.url)));
const www = join(resolve(root, process.env.CARGO_TARGET_DIR ?? "target"), "www");
const TYPES = {
  ".html": "text/html; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml", ".wasm": "application/wasm", ".json": "application/json", ".bin": "application/octet-stream",
};
/** The policy that the page names itself, and what only a header can say. Trusted Types stop every path from text to markup. */
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; connect-src 'self'; "
  + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; worker-src 'self'; require-trusted-types-for 'script'; trusted-types counterfoil";

/** Serves `target/www` and starts Chromium. */
export async function start() {
  const server = http.createServer(async (request, answer) => {
    const path = decodeURIComponent(new URL(request.url, "http://page").pathname);
    const file = normalize(join(www, path === "/" ? "index.html" : path));
    try {
      if (!file.startsWith(www + sep)) throw new Error("outside");
      const body = await readFile(file);
      answer.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-security-policy": POLICY });
      answer.end(body);
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const browser = await launch();
  return {
    /** A fresh page. `trouble` collects what must never happen: other requests, dialogs, errors, breaches of the policy. */
    async open(options = {}) {
      const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
      const page = await context.newPage();
      const trouble = watch(page);
      await page.route("**", (route) => {
        const url = route.request().url();
        if (url.startsWith(`${origin}/`)) return route.continue();
        trouble.push(`request: ${url.slice(0, 100)}`);
        return route.abort();
      });
      await page.goto(`${origin}/`);
      await page.locator("#open-receipt").waitFor({ state: "attached" });
      return { page, trouble, origin };
    },
    async stop() {
      await browser.close();
      server.close();
    },
  };
}

/** Chromium itself. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** That nothing is wider than the window, nothing happened that must not, no value was told in place of its text, and axe finds nothing. */
export async function assertAccessible(page, trouble, width) {
  assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /\[object |\bundefined\b|\bNaN\b/);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `${wide} wide in a window of ${width}`);
  assert.deepEqual(trouble, []); // before axe, which makes elements of its own
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ target, failureSummary }) => `${target}: ${failureSummary}`)]), [], `${width}`);
}

/** Collects what must never happen on a page: dialogs, other windows, errors, breaches of the policy. */
export function watch(page) {
  const trouble = [];
  page.on("dialog", (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  page.on("popup", (popup) => trouble.push(`popup: ${popup.url()}`));
  page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") trouble.push(`console: ${message.text()}`);
  });
  return trouble;
}

let opened = 0;

/** Opens files in their places, as a person would by the buttons, and waits until the page has judged them. */
export async function put(page, places) {
  for (const [name, content] of Object.entries(places)) {
    const file = `${name}-${(opened += 1)}.json`;
    await page.setInputFiles(`#open-${name}`, { name: file, mimeType: "application/octet-stream", buffer: Buffer.from(content) });
    await page.locator(`[data-slot="${name}"] .file`, { hasText: file }).waitFor();
  }
}

/** What the prepared journal of that name in the page's samples holds. */
export const journal = (name) => readFileSync(new URL(`../../www/sample/lineage/${name}.jsonl`, import.meta.url), "utf8");

/** Opens texts by name in the lineage view, as a person would by its button, and waits until they are shown. */
export async function putLineage(page, files) {
  if (!(await page.locator("#open-lineage").isVisible().catch(() => false))) await page.getByRole("button", { name: "Lineage", exact: true }).click();
  await page.setInputFiles("#open-lineage", Object.entries(files).map(([name, text]) => ({ name, mimeType: "application/json", buffer: Buffer.from(text) })));
  await shown(page);
}

/** Waits until the lineage is read and shown. */
export async function shown(page) {
  await page.locator("cf-lineage:not([aria-busy]) .loaded:not([hidden])").waitFor();
}

/** Waits until what is read of a page is this: what an action changes may show a moment after it. */
export async function becomes(read, expected, message) {
  for (let tries = 0; tries < 200 && !isDeepStrictEqual(await read(), expected); tries++) await new Promise((done) => setTimeout(done, 50));
  assert.deepEqual(await read(), expected, message);
}

/** The verdict's one word. */
export function verdict(page) {
  return page.locator(".word").textContent();
}
