// The package in a browser: its files as they are, no bundler, under a strict policy; and bundled, with nothing of Node in it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const types = { ".mjs": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };
const strict = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const policies = { strict, "no connect-src": strict.replace("connect-src 'self'; ", ""), "no wasm-unsafe-eval": strict.replace(" 'wasm-unsafe-eval'", "") };
const vector = { json: '{ "b":1, "a":[1.0,2] }', canonical: '{"a":[1,2],"b":1}' };
const bundles = {};
let server, browser, origin;

before(async () => {
  // A page is one script that hangs its package on the window; the policy is the first part of its path.
  const pages = {
    "/plain.mjs": 'import * as m from "/package/src/index.mjs"; window.m = m;',
    "/inline.mjs": 'import * as m from "/package/src/inline.mjs"; window.m = m;',
    "/both.mjs": 'import "/package/src/inline.mjs"; import * as m from "/package/src/core.mjs"; window.m = m;',
  };
  for (const name of ["counterfoil", "counterfoil/inline"]) {
    const contents = `import * as m from "${name}"; window.m = m;`;
    const result = await build({ stdin: { contents, resolveDir: dirname(dirname(home)) }, bundle: true, format: "esm", platform: "browser", write: false, metafile: true, logLevel: "silent" });
    bundles[name] = result;
    pages[`/${name.replace("/", "-")}.mjs`] = result.outputFiles[0].text;
  }
  server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://page");
    if (pathname === "/page.html") {
      response.setHeader("content-security-policy", policies[searchParams.get("policy")]);
      return response.setHeader("content-type", "text/html").end(`<!doctype html><script type="module" src="/${searchParams.get("script")}.mjs"></script>`);
    }
    response.setHeader("content-type", types[extname(pathname)] ?? "application/octet-stream");
    if (pathname in pages) return response.end(pages[pathname]);
    const inPackage = pathname.match(/^\/package\/((?:[\w-]+\/)+[\w.-]+)$/)?.[1];
    const body = inPackage && (await readFile(join(home, inPackage)).catch(() => undefined));
    response.writeHead(body ? 200 : 404).end(body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  origin = `http://127.0.0.1:${server.address().port}`;
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** Opens a page and runs `use(m, argument)` in it. */
async function on(script, policy, use, argument) {
  const page = await browser.newPage();
  try {
    await page.goto(`${origin}/page.html?${new URLSearchParams({ script, policy })}`);
    await page.waitForFunction(() => window.m !== undefined);
    return await page.evaluate(`(${use})(window.m, ${JSON.stringify(argument)})`);
  } finally {
    await page.close();
  }
}

const loadAndUse = async (m, { json }) => {
  await m.load();
  return m.canonicalize(json);
};

test("plain modules under a strict policy", async () => {
  assert.equal(await on("plain", "strict", loadAndUse, vector), vector.canonical);
});

test("before load, and with a load that fails, the error says so", async () => {
  const codes = async (m) => {
    const code = (error) => [error instanceof m.CounterfoilError, error.code];
    const first = (() => {
      try {
        m.canonicalize("1");
      } catch (error) {
        return code(error);
      }
    })();
    const failed = await m.load("/package/wasm/missing.wasm").catch(code);
    await m.load("/package/wasm/counterfoil_bg.wasm");
    return [first, failed, m.canonicalize("1")];
  };
  assert.deepEqual(await on("plain", "strict", codes), [[true, "not_loaded"], [true, "not_loaded"], "1"]);
});

test("inline needs no connection and no load", async () => {
  assert.equal(await on("inline", "no connect-src", (m, { json }) => m.canonicalize(json), vector), vector.canonical);
  assert.equal(await on("both", "no connect-src", (m, { json }) => m.canonicalize(json), vector), vector.canonical);
  assert.equal(await on("plain", "no connect-src", (m) => m.load().catch(({ code }) => code)), "not_loaded");
});

test("a policy without 'wasm-unsafe-eval' is a typed error", async () => {
  assert.equal(await on("plain", "no wasm-unsafe-eval", (m) => m.load().catch(({ code }) => code)), "not_loaded");
});

test("the package signs in a browser as in Node", async () => {
  const domain = { name: "USDC", version: "2", chainId: 84532, verifyingContract: "0x036CbD53842c5426634e7929541eC2318f3dCF7e" };
  const authorization = { from: "0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1", to: `0x${"22".repeat(20)}`, value: "10000", validAfter: "0", validBefore: "1700000600", nonce: `0x${"ab".repeat(32)}` };
  const sign = (m, { domain, authorization }) => {
    const signature = m.signAuthorization(authorization, domain, new Uint8Array(32).fill(1));
    return { signature, payer: m.recoverPayer(authorization, domain, signature) };
  };
  const there = await on("inline", "strict", sign, { domain, authorization });
  assert.deepEqual(there, sign(await import("counterfoil"), { domain, authorization }));
  assert.equal(there.payer, authorization.from); // address of the key 0x01…01
});

test("bundled for a browser it holds nothing of Node, and no module text unless asked for", async () => {
  for (const [name, { metafile }] of Object.entries(bundles)) {
    const inputs = Object.keys(metafile.inputs);
    assert.ok(!inputs.some((file) => /\/(dist|node)\//.test(file.replace(/.*node_modules\/counterfoil/, ""))), name);
    assert.equal(inputs.some((file) => file.endsWith("wasm-base64.mjs")), name.endsWith("inline"), name);
  }
  assert.equal(await on("counterfoil-inline", "strict", loadAndUse, vector), vector.canonical);
  assert.equal(await on("counterfoil", "strict", async (m, { json }) => (await m.load("/package/wasm/counterfoil_bg.wasm"), m.canonicalize(json)), vector), vector.canonical);
});
