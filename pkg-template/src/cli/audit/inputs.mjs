// Which files an audit reads: files, folders with everything below, patterns, and - for standard input.

import { readdirSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { usageError } from "../output.mjs";

const FORMATS = new Map([["jsonl", "jsonl"], ["ndjson", "jsonl"], ["json", "json"], ["csv", "csv"], ["parquet", "parquet"]]);
export const formats = [...new Set(FORMATS.values())];
const PATTERN = /[*?]/;

/**
 * `[{name, path, format, size, mtime}]` in the order of their names' bytes, each once; `path` is missing for standard input. In folders only files with a
 * known suffix count, unless the format is given.
 */
export function inputsOf(names, format) {
  const found = new Map();
  const add = (name, stats) => found.set(name, { name, path: name, format: format ?? formatOf(name) ?? "jsonl", size: stats.size, mtime: stats.mtimeMs });
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
    if (format || formatOf(file)) add(file, statSync(file, { throwIfNoEntry: false }) ?? { size: 0, mtimeMs: 0 });
  }
}

function formatOf(name) {
  return FORMATS.get(/\.([a-z]+)$/i.exec(name)?.[1].toLowerCase());
}

/** Every file below a folder, a link that leads nowhere too: that it could not be read has to be told. What is no file, such as a pipe, is not read. */
function* below(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const kind = entry.isSymbolicLink() ? statSync(path, { throwIfNoEntry: false }) : entry;
    if (entry.isDirectory()) yield* below(path);
    else if (!kind || kind.isFile()) yield path;
  }
}

/** The files that a pattern names: `*` and `?` within a name, `**` over folders. */
function matching(pattern) {
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
