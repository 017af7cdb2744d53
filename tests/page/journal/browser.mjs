// Tabs of one origin in a Chromium whose storage is on the disk: each in a process of its own, which can be killed. And tabs in Firefox.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import puppeteer from "puppeteer-core";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

async function script() {
  const suite = here("suite.mjs");
  const { outputFiles } = await build({
    entryPoints: [here("page.mjs")], alias: { "node:test": suite, "node:assert/strict": suite }, bundle: true, format: "esm", platform: "browser",
    define: { "import.meta.url": '"http://unused.invalid/"' }, write: false, logLevel: "warning",
  });
  return outputFiles[0].text;
}

/** Serves one page, its script and the core's module on loopback. */
async function serve() {
  const files = {
    "/": ["text/html", '<!doctype html><title>tab</title><body><script type="module" src="/tab.mjs"></script>'],
    "/tab.mjs": ["text/javascript", await script()],
    "/core.wasm": ["application/wasm", readFileSync(join(home, "wasm/counterfoil_bg.wasm"))],
  };
  const server = createServer(({ url }, response) => {
    const [type, body] = files[url] ?? ["text/plain", ""];
    response.writeHead(url in files ? 200 : 404, { "content-type": type }).end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { origin: `http://127.0.0.1:${server.address().port}`, stop: () => (server.closeAllConnections(), server.close()) };
}

/** Starts it. `tab()` opens one; `restart()` kills the whole browser and starts it again on the same disk. */
export async function start() {
  const { origin, stop } = await serve();
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-tabs-"));
  const launch = () => chromium.launchPersistentContext(folder, {
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--process-per-tab"],
  });
  let context = await launch();

  return {
    async tab() {
      const page = await context.newPage();
      await page.goto(origin);
      await page.waitForFunction(() => window.tab !== undefined);
      await page.evaluate(() => window.tab.load("/core.wasm"));
      return page;
    },
    async restart() {
      const session = await context.newCDPSession(context.pages()[0]);
      const gone = new Promise((done) => context.once("close", done));
      session.send("Browser.crash").catch(() => {});
      await gone;
      context = await launch();
    },
    async stop() {
      await context.close();
      stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const FIREFOX = process.env.FIREFOX || "/usr/bin/firefox-esr";

/** Firefox, whose tabs nobody kills here. */
export async function startFirefox() {
  const { origin, stop } = await serve();
  const browser = await puppeteer.launch({ browser: "firefox", executablePath: FIREFOX, headless: true, extraPrefsFirefox: { "network.proxy.type": 0, "app.update.auto": false } });
  return {
    async tab() {
      const page = await browser.newPage();
      await page.goto(origin);
      await page.waitForFunction(() => window.tab !== undefined, { polling: 50 });
      await page.evaluate(() => window.tab.load("/core.wasm"));
      return page;
    },
    async stop() {
      await browser.close();
      stop();
    },
  };
}

/** Kills the process of a tab. */
export async function kill(page) {
  const session = await page.context().newCDPSession(page);
  const crashed = new Promise((done) => page.once("crash", done));
  session.send("Page.crash").catch(() => {});
  await crashed;
}
