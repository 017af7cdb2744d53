// What a user downloads: the modules, the tarball, and a browser bundle of the same job done by both sides.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));

export async function sizes({ folder, tarball }) {
  const module = (name) => readFileSync(join(folder, "wasm", `${name}_bg.wasm`));
  const wasm = module("counterfoil");
  const ours = await bundle(join(here, "entries", "counterfoil.mjs"));
  return [
    ...["counterfoil", "verify", "verify_simd", "jws"].map((name) => ({ name: `${name}_bg.wasm`, ...compressed(module(name)) })),
    { name: "npm tarball", raw: unpacked(folder), gzip: statSync(tarball).size },
    { name: "browser: counterfoil, script", ...compressed(ours) },
    { name: "browser: counterfoil, script + wasm", ...compressed(ours, wasm) },
    { name: "browser: counterfoil/verify, script + wasm", ...compressed(await bundle(join(here, "entries", "verify.mjs")), module("verify_simd")) },
    { name: "browser: viem account + @x402/fetch + @x402/evm", ...compressed(await bundle(join(here, "entries", "official.mjs"))) },
  ];
}

/** One minified file of a module and all it imports; its bytes, where no `outfile` takes them. */
export async function bundle(entry, { platform = "browser", outfile } = {}) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    platform,
    target: "es2022",
    legalComments: "none",
    logLevel: "error",
    ...(outfile ? { outfile } : { write: false }),
  });
  return outputFiles?.[0].contents;
}

/** Files travel one by one, so each is compressed alone. */
function compressed(...files) {
  const sum = (size) => files.reduce((total, file) => total + size(file), 0);
  const best = (file) => ({ params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: file.length } });
  return {
    raw: sum((file) => file.length),
    gzip: sum((file) => gzipSync(file, { level: 9 }).length),
    brotli: sum((file) => brotliCompressSync(file, best(file)).length),
  };
}

function unpacked(folder) {
  const size = (entry) => (entry.isFile() ? statSync(join(entry.parentPath ?? entry.path, entry.name)).size : 0);
  return readdirSync(folder, { recursive: true, withFileTypes: true }).reduce((total, entry) => total + size(entry), 0);
}
