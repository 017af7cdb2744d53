// Puts the packed npm package where the contenders import it from: the very file that would be published, not the sources.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** Unpacks the newest `target/npm/counterfoil-*.tgz`; gives it and the folder. */
export function installPackage() {
  const packed = join(resolve(here, "../..", process.env.CARGO_TARGET_DIR ?? "target"), "npm");
  const time = (file) => statSync(file).mtimeMs;
  const tarballs = (existsSync(packed) ? readdirSync(packed) : []).filter((name) => /^counterfoil-.*\.tgz$/.test(name)).map((name) => join(packed, name));
  const [tarball] = tarballs.sort((a, b) => time(b) - time(a));
  if (!tarball) throw new Error("no package to measure; `cargo xtask bench` builds it");
  const folder = join(here, "node_modules", "counterfoil");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"]);
  return { tarball, folder };
}
