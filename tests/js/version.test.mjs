// The version stands in Cargo.toml and nowhere else by hand: everything that shows it takes it from there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file) => readFileSync(`${root}/${file}`, "utf8");
const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root, encoding: "utf8" }).split("\0").filter(Boolean);
const cargo = read("Cargo.toml");
const [, version] = /^\[workspace\.package\][^[]*?^version = "(\d+\.\d+\.\d+)"$/ms.exec(cargo) ?? [];

/** Data of others, which may hold any number. */
const foreign = /^tests\/(vectors|corpora|receipts)\//;
/** What was measured keeps the version that it was measured with; the benchmark writes it. */
const measured = "tests/bench/RESULTS.md";
/** Locks repeat what the manifests say, and manifests are read as such. */
const manifest = /(^|\/)(Cargo\.(toml|lock)|package(-lock)?\.json)$/;

test("Cargo.toml names one version, and its crates inherit it", () => {
  assert.match(version ?? "none", /^\d+\.\d+\.\d+$/);
  const crates = files.filter((file) => /(^|\/)Cargo\.toml$/.test(file));
  assert.ok(crates.length >= 2);
  const own = crates.flatMap((file) => [...read(file).matchAll(/^version\s*=\s*".*"/gm)].map(() => file));
  assert.deepEqual(own, ["Cargo.toml"]);
});

test("Cargo.lock follows it", () => {
  for (const name of ["counterfoil", "xtask"]) {
    assert.equal(new RegExp(`^name = "${name}"\nversion = "(.*)"$`, "m").exec(read("Cargo.lock"))?.[1], version, name);
  }
});

test("no package.json has a version, but the template's 0.0.0, which the build replaces", () => {
  const packages = files.filter((file) => /(^|\/)package\.json$/.test(file));
  assert.ok(packages.includes("pkg-template/package.json"));
  for (const file of packages) {
    assert.equal(JSON.parse(read(file)).version, file === "pkg-template/package.json" ? "0.0.0" : undefined, file);
  }
  assert.equal(createRequire(import.meta.url)("counterfoil/package.json").version, version);
});

test("the newest entry of the changelog is this version", () => {
  assert.equal(/^## \[(.+?)\]/m.exec(read("CHANGELOG.md"))?.[1], version);
});

test("no other text repeats it", () => {
  const pattern = new RegExp(`(?<![\\d.])${version.replaceAll(".", "\\.")}(?![\\d]|\\.\\d)`);
  const checked = files.filter((file) => file !== "CHANGELOG.md" && file !== measured && !foreign.test(file) && !manifest.test(file));
  assert.ok(checked.length > 100);
  assert.deepEqual(checked.filter((file) => pattern.test(read(file))), []);
});
