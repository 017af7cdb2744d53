// The report as a page: the inspector with what was found in it, one file that opens anywhere and asks nobody for anything.

import { closeSync, openSync } from "node:fs";
import { inspectorPage } from "../inspector.mjs";
import { closing } from "./formats.mjs";
import { writeAll } from "./joins.mjs";

/** The most lines and findings that the page lists: it stays a page. The totals are always whole. */
const MOST_LINES = 5000;
const MOST_FINDINGS = 2000;

export class Page {
  #file;

  /** The file is made at once: whoever can't write there hears of it before the work, not after. */
  constructor(path) {
    this.#file = openSync(path, "w");
  }

  /** Writes the page about what was audited; `given` is what the caller brought to every line. */
  async write(audited, { now, trust, profile }, args) {
    const brought = [["Arguments", args.join(" ")], ["Trust", trust && JSON.stringify(trust)], ["Form", profile && JSON.stringify(profile)]];
    const audit = {
      ...closing(audited),
      now,
      lines: first(MOST_LINES, audited.failures()).map(({ input, line, id, verdict, codes, field }) => ({ input, line, id, verdict, codes, field })),
      across: first(MOST_FINDINGS, audited.findings()),
      options: brought.filter(([, text]) => text),
    };
    writeAll(this.#file, Buffer.from(await inspectorPage({ audit })));
  }

  close() {
    closeSync(this.#file);
  }
}

function first(most, values) {
  const kept = [];
  for (const one of values) {
    if (kept.length === most) break;
    kept.push(one);
  }
  return kept;
}
