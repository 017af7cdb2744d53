// Puts the packed npm package where the agents import it from: the very file that would be published, not the sources.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** Installs the newest `target/npm/counterfoil-*.tgz`; false when there is none. */
export async function installPackage() {
  const folder = join(dirname(here), "target", "npm");
  const packed = existsSync(folder) ? readdirSync(folder).filter((name) => /^counterfoil-.*\.tgz$/.test(name)) : [];
  if (!packed.length) return false;
  const time = (name) => statSync(join(folder, name)).mtimeMs;
  const newest = packed.sort((a, b) => time(b) - time(a))[0];
  const target = join(here, "node_modules", "counterfoil");
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, newest), "-C", target, "--strip-components=1"]);
  return true;
}
