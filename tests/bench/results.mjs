// RESULTS.md: what the benchmarks said when they were last run, each part between its own marks. Only this writes it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const file = new URL("RESULTS.md", import.meta.url);
const title = "# Results\n\nWritten by `cargo xtask bench --write`; how it is measured: [docs/bench.md](../../docs/bench.md).\n";

/** Replaces one part's tables, or adds them at the end. */
export function write(part, tables) {
  writeFileSync(file, placed(existsSync(file) ? readFileSync(file, "utf8") : title, part, tables));
}

export function placed(text, part, tables) {
  const [begin, end] = [`<!-- ${part} -->`, `<!-- end of ${part} -->`];
  const section = `${begin}\n\n## ${part}\n\n${tables.trim()}\n\n${end}`;
  const from = text.indexOf(begin);
  if (from < 0) return `${text.trimEnd()}\n\n${section}\n`;
  return text.slice(0, from) + section + text.slice(text.indexOf(end) + end.length);
}
