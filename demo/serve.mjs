// Serves the inspector page and the files of the last run on loopback, under a policy that lets the page load its
// own files and nothing else.
//   node serve.mjs [--port 0]
import http from "node:http";
import { readFile } from "node:fs/promises";
import { dirname, extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { target } from "../xtask/packed.mjs";
import { options } from "./retry.mjs";

const TYPES = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8", ".wasm": "application/wasm", ".json": "application/json", ".svg": "image/svg+xml",
  ".png": "image/png", ".ico": "image/x-icon", ".txt": "text/plain; charset=utf-8", ".bin": "application/octet-stream",
  ".webmanifest": "application/manifest+json", ".woff2": "font/woff2",
};
const POLICY = [
  "default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'",
  "connect-src 'self'", "worker-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
].join("; ");
const HEADERS = {
  "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin", "cache-control": "no-store",
};

/** `/out/…` is the folder of the last run, everything else the page. Gives the address. */
export async function serve({ www, out, port = 0 }) {
  const server = http.createServer(async (req, res) => {
    try {
      if (req.method !== "GET" && req.method !== "HEAD") return res.writeHead(405, { ...HEADERS, allow: "GET, HEAD" }).end();
      const path = decodeURIComponent(new URL(req.url, "http://localhost").pathname);
      const [root, rest] = path.startsWith("/out/") ? [out, path.slice(5)] : [www, path.slice(1)];
      const file = normalize(join(root, rest === "" || rest.endsWith("/") ? `${rest}index.html` : rest));
      if (!file.startsWith(root + sep)) throw new Error("outside");
      const body = await readFile(file);
      res.writeHead(200, { ...HEADERS, "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-length": body.length });
      res.end(req.method === "HEAD" ? undefined : body);
    } catch {
      res.writeHead(404, { ...HEADERS, "content-type": "text/plain; charset=utf-8" }).end("not found\n");
    }
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  return `http://127.0.0.1:${server.address().port}/`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const here = dirname(fileURLToPath(import.meta.url));
  const o = options();
  console.log(await serve({ www: join(target, "www"), out: join(here, "out"), port: Number(o.port ?? 0) }));
}
