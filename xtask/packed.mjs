// The packed npm package, for those who try it as a user would: the very file that would be published, not the sources.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Where cargo puts what it builds. */
export const target = resolve(dirname(fileURLToPath(import.meta.url)), "..", process.env.CARGO_TARGET_DIR ?? "target");

/** Unpacks the newest tarball of `cargo xtask pack` into `folder` and gives its path; undefined when there is none. */
export function unpackInto(folder) {
  const packed = join(target, "npm");
  const time = (file) => statSync(file).mtimeMs;
  const names = (existsSync(packed) ? readdirSync(packed) : []).filter((name) => /^counterfoil-.*\.tgz$/.test(name));
  const [newest] = names.map((name) => join(packed, name)).sort((a, b) => time(b) - time(a));
  if (!newest) return undefined;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  execFileSync("tar", ["-xzf", newest, "-C", folder, "--strip-components=1"]);
  return newest;
}
