// Puts the packed npm package where the agents import it from: the very file that would be published, not the sources.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
/** Where cargo puts what it builds. */
export const target = resolve(dirname(here), process.env.CARGO_TARGET_DIR ?? "target");

/** Installs the newest `target/npm/counterfoil-*.tgz`; false when there is none. */
export async function installPackage() {
  const folder = join(target, "npm");
  const packed = existsSync(folder) ? readdirSync(folder).filter((name) => /^counterfoil-.*\.tgz$/.test(name)) : [];
  if (!packed.length) return false;
  const time = (name) => statSync(join(folder, name)).mtimeMs;
  const newest = packed.sort((a, b) => time(b) - time(a))[0];
  const place = join(here, "node_modules", "counterfoil");
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, newest), "-C", place, "--strip-components=1"]);
  return true;
}
