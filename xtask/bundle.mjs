// The JavaScript half of the build: node xtask/bundle.mjs <package folder>
//
// Browsers get the sources as they are. Node gets one CommonJS bundle with the module inside, and an entry of each kind for
// every sub-path that names what it takes from there: whoever imports and whoever requires share one instance.

import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const folder = resolve(process.argv[2]);
const at = (...parts) => join(folder, ...parts);
const entries = { index: "index.mjs", core: "core.mjs", verify: "verify.mjs", raw: "raw.mjs", node: "node/index.mjs", postgres: "postgres/index.mjs", gateway: "gateway/index.mjs" };

await writeCodes();
await writeInline();
await writeNode();
await writeCommonJsTypes();

/** src/codes.mjs: the error registry as the core tells it, so that it can be read before anything is loaded. */
async function writeCodes() {
  const glue = await import(pathToFileURL(at("wasm/glue.mjs")));
  glue.initSync({ module: await readFile(at("wasm/counterfoil_bg.wasm")) });
  const { ok, error } = JSON.parse(glue.call("errorCodes", new TextEncoder().encode("{}")));
  if (error) throw new Error(`the core does not tell its error codes: ${error.code}`);
  const table = Object.fromEntries(ok.map(({ code, ...rest }) => [code, rest]));
  await writeFile(at("src/codes.mjs"), `// Generated from the core's registry.\nexport const codes = ${JSON.stringify(table, null, 2)};\n`);
}

/** src/wasm-base64.mjs: the module as text. */
async function writeInline() {
  const wasm = await readFile(at("wasm/counterfoil_bg.wasm"));
  await writeFile(at("src/wasm-base64.mjs"), `// Generated: wasm/counterfoil_bg.wasm.\nexport const base64 =\n  "${wasm.toString("base64")}";\n`);
}

async function writeNode() {
  await mkdir(at("dist"));
  const all = Object.entries(entries).map(([name, path]) => `export * as ${name} from "./${path}";`);
  await build({
    stdin: {
      contents: `import { base64 } from "./wasm-base64.mjs";
import { carry } from "./wasm.mjs";
carry(() => Buffer.from(base64, "base64"));
${all.join("\n")}`,
      resolveDir: at("src"),
      sourcefile: "all.mjs",
    },
    outfile: at("dist/all.cjs"),
    bundle: true,
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
