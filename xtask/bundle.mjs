// The JavaScript half of the build: node xtask/bundle.mjs <package folder>
//
// Browsers get the sources as they are. Node gets one CommonJS bundle, beside it every module as text, which is read when it is needed, and an
// entry of each kind for every sub-path that names what it takes from there: whoever imports and whoever requires share one instance.

import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const folder = resolve(process.argv[2]);
const at = (...parts) => join(folder, ...parts);
const entries = { index: "index.mjs", core: "core.mjs", verify: "verify.mjs", raw: "raw.mjs", node: "node/index.mjs", browser: "browser/index.mjs", postgres: "postgres/index.mjs", gateway: "gateway/index.mjs" };

/** Most bytes of each module, gzipped: what they have and a fiftieth. A build that was not asked to be small, or keeps names, is not measured. */
const budgets = { counterfoil: 730_000, verify: 490_000, verify_simd: 555_000, jws: 48_400 };
const measured = process.env.CARGO_PROFILE_RELEASE_LTO !== "off" && !process.env.COUNTERFOIL_NAMES;

await keepBudgets();
await writeCodes();
await writeInline();
await writeNode();
await writeCommonJsTypes();

async function keepBudgets() {
  for (const [name, most] of measured ? Object.entries(budgets) : []) {
    const size = gzipSync(await readFile(at(`wasm/${name}_bg.wasm`)), { level: 9 }).length;
    if (size > most) throw new Error(`${name}: ${size} bytes gzipped, more than the ${most} that xtask/bundle.mjs allows`);
  }
}

/** src/codes.mjs: the error registry as the core tells it, so that it can be read before anything is loaded. */
async function writeCodes() {
  const glue = await import(pathToFileURL(at("wasm/counterfoil.mjs")));
  glue.initSync({ module: await readFile(at("wasm/counterfoil_bg.wasm")) });
  const { ok, error } = JSON.parse(glue.call("errorCodes", new TextEncoder().encode("{}")));
  if (error) throw new Error(`the core does not tell its error codes: ${error.code}`);
  const table = Object.fromEntries(ok.map(({ code, ...rest }) => [code, rest]));
  await writeFile(at("src/codes.mjs"), `// Generated from the core's registry.\nexport const codes = ${JSON.stringify(table, null, 2)};\n`);
}

/** src/wasm-base64.mjs: the modules of the inline build as text. */
async function writeInline() {
  const texts = ["counterfoil", "jws"].map(async (name) => {
    const wasm = await readFile(at(`wasm/${name}_bg.wasm`));
    return `export const ${name} =\n  "${wasm.toString("base64")}";\n`;
  });
  await writeFile(at("src/wasm-base64.mjs"), ["// Generated: the modules of wasm.\n", ...(await Promise.all(texts))].join(""));
}

async function writeNode() {
  await mkdir(at("dist"));
  for (const name of Object.keys(budgets)) {
    const wasm = await readFile(at(`wasm/${name}_bg.wasm`));
    await writeFile(at(`dist/${name}_bg.cjs`), `"use strict";\nmodule.exports =\n  "${wasm.toString("base64")}";\n`);
  }
  const all = Object.entries(entries).map(([name, path]) => `export * as ${name} from "./${path}";`);
  await build({
    stdin: {
      contents: `import "./jws.mjs";
import "./whole.mjs";
import { lanes } from "./verifier.mjs";
import { modules } from "./wasm.mjs";
modules.whole.carry(() => Buffer.from(require("./counterfoil_bg.cjs"), "base64"));
modules.jws.carry(() => Buffer.from(require("./jws_bg.cjs"), "base64"));
modules.verifier.carry(() => Buffer.from(lanes() ? require("./verify_simd_bg.cjs") : require("./verify_bg.cjs"), "base64"));
${all.join("\n")}`,
      resolveDir: at("src"),
      sourcefile: "all.mjs",
    },
    outfile: at("dist/all.cjs"),
    bundle: true,
    external: ["./*_bg.cjs"],
    format: "cjs",
    platform: "node",
    target: "node20",
    logLevel: "warning",
    logOverride: { "empty-import-meta": "silent" },
  });
  const built = createRequire(import.meta.url)(at("dist/all.cjs"));
  for (const entry of Object.keys(entries)) {
    const names = Object.keys(built[entry]).sort();
    const requires = names.map((name) => `exports.${name} = all.${name};\n`).join("");
    await writeFile(at(`dist/${entry}.cjs`), `"use strict";\nconst all = require("./all.cjs").${entry};\n${requires}`);
    await writeFile(at(`dist/${entry}.mjs`), `export { ${names.join(", ")} } from "./${entry}.cjs";\n`);
  }
}

/** A .d.cts beside every .d.ts: the same declarations, seen as those of a CommonJS module. */
async function writeCommonJsTypes() {
  for (const file of await readdir(at("types"))) {
    const declarations = await readFile(at("types", file), "utf8");
    const renamed = declarations.replace(/(from\s+"\.[^"]*)\.js"/g, '$1.cjs"');
    await writeFile(at("types", file.replace(/\.d\.ts$/, ".d.cts")), renamed);
  }
}
