// The packed package: every sub-path in every way it can be loaded, and its types.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const home = dirname(require.resolve("counterfoil/package.json"));
const subPaths = ["counterfoil", "counterfoil/core", "counterfoil/verify", "counterfoil/raw", "counterfoil/node", "counterfoil/browser", "counterfoil/postgres", "counterfoil/gateway", "counterfoil/inline"];
const abc = new TextEncoder().encode("abc");
const sha256OfAbc = "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-2, B.1
const runtimeNames = async (subPath) => Object.keys(await import(subPath)).filter((name) => name !== "default" && name !== "module.exports").sort();

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
function project(type) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "counterfoil-package-")));
  folders.push(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type }));
  symlinkSync(dirname(home), join(folder, "node_modules"));
  return folder;
}

for (const subPath of subPaths) {
  test(`${subPath}: import and require give the same functions`, async () => {
    const [imported, required] = [await import(subPath), require(subPath)];
    assert.deepEqual(await runtimeNames(subPath), Object.keys(required).sort());
    assert.notEqual(Object.keys(required).length, 0);
    for (const [name, value] of Object.entries(required)) {
      assert.equal(typeof value, "function", name);
      assert.equal(imported[name], value, name);
    }
  });

  test(`${subPath}: works as the first thing a process loads`, () => {
    const call = subPath.match(/core|inline|foil$/) ? "m.sha256(new TextEncoder().encode('abc'))" : "Object.keys(m).length > 0";
    const folder = project("module");
    for (const [flag, code] of [["module", `import * as m from "${subPath}"; console.log(${call})`], ["commonjs", `const m = require("${subPath}"); console.log(${call})`]]) {
      const printed = execFileSync(process.execPath, [`--input-type=${flag}`, "-e", code], { cwd: folder, encoding: "utf8" }).trim();
      assert.ok([sha256OfAbc, "true"].includes(printed), printed);
    }
  });
}

test("sub-paths that are not listed can't be reached", async () => {
  for (const path of ["counterfoil/src/core.mjs", "counterfoil/dist/all.cjs", "counterfoil/wasm/counterfoil.mjs"]) {
    await assert.rejects(import(path), { code: "ERR_PACKAGE_PATH_NOT_EXPORTED" });
    assert.throws(() => require(path), { code: "ERR_PACKAGE_PATH_NOT_EXPORTED" });
  }
});

test("an error is the same class wherever it comes from", async () => {
  const { CounterfoilError } = require("counterfoil");
  const { call } = await import("counterfoil/raw");
  assert.throws(() => call("no such function", {}), (error) => error instanceof CounterfoilError && error instanceof Error && error.code === "unknown_call");
});

test("load is there and does nothing where the module comes with the package", async () => {
  const { load, sha256 } = await import("counterfoil");
  await load();
  await load("https://counterfoil.invalid/nothing.wasm");
  assert.equal(sha256(abc), sha256OfAbc);
});

test("the checksums are those of the files, and every file is in them", () => {
  const lines = readFileSync(join(home, "SHA256SUMS"), "utf8").trimEnd().split("\n");
  const listed = lines.map((line) => line.split("  "));
  for (const [sum, file] of listed) {
    assert.equal(createHash("sha256").update(readFileSync(join(home, file))).digest("hex"), sum, file);
  }
  for (const file of ["wasm/counterfoil_bg.wasm", "dist/all.cjs", "types/index.d.ts", "LICENSE-MIT", "package.json"]) {
    assert.ok(listed.some(([, name]) => name === file), file);
  }
});

const modules = { counterfoil: "counterfoil", verify: "verify", verify_simd: "verify", jws: "jws" };

test("every copy of a module as text is the published one", () => {
  const copies = Object.keys(modules).map((name) => [name, `dist/${name}_bg.cjs`]);
  for (const [name, file] of [...copies, ["counterfoil", "src/wasm-base64.mjs"], ["jws", "src/wasm-base64.mjs"]]) {
    const [, text] = readFileSync(join(home, file), "utf8").match(new RegExp(`(?:exports|${name}) =\\s*"([^"]+)"`));
    assert.ok(Buffer.from(text, "base64").equals(readFileSync(require.resolve(`counterfoil/${name}_bg.wasm`))), file);
  }
});

test("the modules import nothing from the host but their own table, and what throws", () => {
  for (const [name, glue] of Object.entries(modules)) {
    const module = new WebAssembly.Module(readFileSync(require.resolve(`counterfoil/${name}_bg.wasm`)));
    const names = WebAssembly.Module.imports(module).map(({ module, name }) => `${module} ${name}`);
    // The second one is the glue's own `throw new Error(…)`; where the boundary is compiled for speed the compiler sees that it is never called.
    const own = [/^__wbindgen_init_externref_table$/, /^__wbg___wbindgen_throw_[0-9a-f]+$/].map((name) => new RegExp(`^\\./${glue}_bg\\.js ${name.source.slice(1)}`));
    assert.ok(names.length > 0);
    for (const name of names) assert.ok(own.some((known) => known.test(name)), name);
  }
});

test("the version is that of the crate", () => {
  const [, version] = readFileSync(new URL("../../Cargo.toml", import.meta.url), "utf8").match(/^version = "(.+)"$/m);
  assert.equal(require("counterfoil/package.json").version, version);
});

function tsc(folder, ...files) {
  const run = [fileURLToPath(new URL("../../node_modules/.bin/tsc", import.meta.url)), "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom,dom.asynciterable"];
  try {
    return execFileSync(process.execPath, [...run, "--types", "", ...files], { cwd: folder, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    return error.stdout;
  }
}

test("the declared names are the exported ones, seen as an ES module and as CommonJS", async () => {
  for (const [type, extension] of [["module", "mts"], ["commonjs", "cts"]]) {
    const folder = project(type);
    for (const [i, subPath] of subPaths.entries()) {
      const names = (await runtimeNames(subPath)).map((name) => `${name}: true`);
      // A missing name is an error of this literal and a surplus one too.
      writeFileSync(join(folder, `names${i}.${extension}`), `import * as m from "${subPath}";\nexport const names: Record<keyof typeof m, true> = { ${names.join(", ")} };\n`);
    }
    assert.equal(tsc(folder, ...subPaths.map((_, i) => `names${i}.${extension}`)), "");
  }
});

test("the types take what is right and refuse what is not", () => {
  const folder = project("module");
  writeFileSync(join(folder, "use.mts"), readFileSync(new URL("./types.mts", import.meta.url)));
  assert.equal(tsc(folder, "use.mts"), "");
});
