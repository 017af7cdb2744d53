// inspector.html, the whole page in one file: node xtask/inspector.mjs <package folder>
//
// Made of the same sources as target/www. Scripts and styles stand in the text and are named by their hashes in the policy; the WebAssembly modules, the
// worker and the samples are blocks of data, which no browser executes. It talks to nobody, and its policy says so.

import { createHash } from "node:crypto";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const www = fileURLToPath(new URL("../www/", import.meta.url));
const folder = resolve(process.argv[2]);
const text = (path) => readFile(join(www, path), "utf8");

/** What `www/core.mjs` imports lies in the package. */
const fromPackage = {
  name: "from the package",
  setup: (build) => build.onResolve({ filter: /^\.\/counterfoil\// }, ({ path }) => ({ path: join(folder, path.slice("./counterfoil/".length)) })),
};

async function script(entry) {
  const { outputFiles } = await build({
    entryPoints: [join(www, entry)], write: false, bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8",
    plugins: [fromPackage], logLevel: "warning", logOverride: { "empty-import-meta": "silent" },
  });
  return outputFiles[0].text.trim();
}

const hash = (content) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
const block = (name, bytes) => `<script type="text/plain" data-file="${name}">${gzipSync(bytes, { level: 9 }).toString("base64")}</script>\n`;

/** Replaces what stands in the page exactly as often as it should. */
function replaced(html, pattern, by, times = 1) {
  const found = html.match(pattern)?.length ?? 0;
  if (found !== times) throw new Error(`index.html: ${pattern} stands there ${found} times`);
  return html.replace(pattern, by);
}

const STYLES = /<link rel="stylesheet" href="([a-z-]+\.css)">\n/g;
let html = await text("index.html");
const styles = (await Promise.all([...html.matchAll(STYLES)].map(([, path]) => text(path)))).join("\n");
const main = await script("main.mjs");
if (/<\/style/i.test(styles) || /<\/script|<!--/i.test(main)) throw new Error("a script or a style would end its element");

html = html.replace(STYLES, "");
const icon = `data:image/svg+xml;base64,${Buffer.from(await text("icon.svg")).toString("base64")}`;
html = replaced(html, /href="icon\.svg"/g, `href="${icon}"`);
html = replaced(html, /<script type="module" src="main\.mjs"><\/script>/g, () => `<style>${styles}</style>`);
html = replaced(html, /script-src 'self'/g, `script-src ${hash(main)}`);
html = replaced(html, /style-src 'self'/g, `style-src ${hash(styles)}`);
html = replaced(html, /img-src 'self'/g, "img-src data:");
html = replaced(html, /connect-src 'self'/g, "connect-src 'none'");
html = replaced(html, /worker-src 'self'/g, "worker-src blob:");
html = replaced(html, /It needs JavaScript, and a web server: [^<]*/g, "It needs JavaScript.");

const samples = (await readdir(join(www, "sample"), { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && entry.name !== "README.md")
  .map((entry) => join(entry.parentPath, entry.name).slice(www.length)).sort();
const blocks = [
  block("module", await readFile(join(folder, "wasm/verify_bg.wasm"))),
  block("jws", await readFile(join(folder, "wasm/jws_bg.wasm"))),
  block("worker", await script("lineage/worker.mjs")),
  ...(await Promise.all(samples.map(async (path) => block(path, await readFile(join(www, path)))))),
];
html = replaced(html, /<\/body>/g, () => `${blocks.join("")}<script type="module">${main}</script>\n</body>`);
await writeFile(join(folder, "inspector.html"), html);
