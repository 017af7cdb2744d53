// Which files an audit reads: files, folders with everything below, patterns, and - for standard input.

import { readdirSync, realpathSync, statSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { usageError } from "../output.mjs";

const FORMATS = new Map([["jsonl", "jsonl"], ["ndjson", "jsonl"], ["json", "json"], ["csv", "csv"], ["parquet", "parquet"]]);
export const formats = [...new Set(FORMATS.values())];
const PATTERN = /[*?]/;

/**
 * `[{name, path, format, size, mtime}]` in the order of their names' bytes, each once; `path` is missing for standard input, and `size` for that and for whatever else is
 * read only once, such as a pipe. In folders only files with a known suffix count, unless the format is given.
 */
export function inputsOf(names, format) {
  const found = new Map();
  const add = (name, stats) => found.set(name, { name, path: name, format: format ?? formatOf(name) ?? "jsonl", size: stats.isFile() ? stats.size : undefined, mtime: stats.mtimeMs });
  for (const name of names) {
    if (name === "-") {
      found.set("-", { name: "-", format: format ?? "jsonl" });
      continue;
    }
    const stats = statSync(name, { throwIfNoEntry: !PATTERN.test(name) });
    if (stats?.isDirectory()) for (const file of below(name)) addBelow(file);
    else if (stats) add(name, stats);
    else matching(name).forEach(addBelow);
  }
  if (!found.size) throw usageError("no input was found");
  return [...found.values()].sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)));

  function addBelow(file) {
    if (format || formatOf(file)) add(file, statOf(file) ?? { isFile: () => true, size: 0, mtimeMs: 0 });
  }
}

function formatOf(name) {
  return FORMATS.get(/\.([a-z]+)$/i.exec(name)?.[1].toLowerCase());
}

/** Undefined for a link that leads nowhere, or in a circle. */
function statOf(path) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (error.code === "ELOOP") return undefined;
    throw error;
  }
}

/**
 * Every file below a folder, a link that leads nowhere too: that it could not be read has to be told. What is no file, such as a pipe, is not read. Links to folders are
 * followed, and no folder is gone through twice.
 */
function* below(folder, seen = new Set()) {
  const real = realpathSync(folder);
  if (seen.has(real)) return;
  seen.add(real);
  const entries = readdirSync(folder, { withFileTypes: true });
  // A folder under its own name comes before links to it.
  for (const entry of [...entries.filter((entry) => !entry.isSymbolicLink()), ...entries.filter((entry) => entry.isSymbolicLink())]) {
    const path = join(folder, entry.name);
    const kind = entry.isSymbolicLink() ? statOf(path) : entry;
    if (kind?.isDirectory()) yield* below(path, seen);
    else if (!kind || kind.isFile()) yield path;
  }
}

/** The files that a pattern names: `*` and `?` within a name, `**` over folders. */
function matching(given) {
  // As the names are written that it is compared with.
  const pattern = posix.normalize(given);
  const parts = pattern.split("/");
  const fixed = parts.slice(0, parts.findIndex((part) => PATTERN.test(part))).join("/");
  const source = parts.map((part) => (part === "**" ? "(?:[^/]+/)*" : `${part.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[^/]*").replace(/\?/g, "[^/]")}/`)).join("");
  const whole = new RegExp(`^${source.replace(/\/$/, "")}$`, "u");
  const root = fixed || (pattern.startsWith("/") ? "/" : ".");
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory()) throw usageError("no file is named like the pattern");
  const files = [...below(root)].map((file) => file.split(sep).join("/")).filter((file) => whole.test(file));
  if (!files.length) throw usageError("no file is named like the pattern");
  return files;
}
