// Reports that were made before, put together: their verdicts are read as they are, and what closes each report has to fit what stands before it.

import { auditSummary, auditVerdicts } from "counterfoil/verify";
import { visible } from "../../display.mjs";

const PART = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/;

export class Reports {
  #files;
  /** What was closed of each audit, by what it read: a report of the whole, or how often each part came. */
  #audits = new Map();
  #why;
  /** What the merged reports read. */
  audited = [];

  constructor(inputs) {
    this.#files = new Map(inputs.map(({ name }) => [name, { lines: 0, closed: false }]));
  }

  /** The verdicts of parcels of blocks, as judged ones come. */
  async *read(parcels) {
    for await (const blocks of parcels) {
      const judged = blocks.flatMap((block) => this.#verdicts(block) ?? []);
      yield { verdicts: judged.map(({ verdicts }) => verdicts), keys: judged.map(({ keys }) => keys), summary: auditSummary(judged.map(({ summary }) => summary)) };
    }
  }

  #verdicts({ input, lines, broken }) {
    const file = this.#files.get(input);
    if (broken) this.#fault(`${visible(input)} could not be read to its end`);
    const kept = [];
    for (const line of lines.latin1Slice().split("\n")) {
      if (line.startsWith('{"summary":')) this.#close(input, file, line);
      else if (line.trim() && !line.startsWith('{"finding":')) {
        kept.push(line);
        file.lines++;
        file.closed = false;
      }
    }
    return kept.length ? auditVerdicts(Buffer.from(kept.join("\n"), "latin1")) : undefined;
  }

  /** The closing line of one report: several may stand in one file, each behind its verdicts. */
  #close(input, file, line) {
    const lines = file.lines;
    [file.lines, file.closed] = [0, true];
    const closing = closingOf(line);
    if (!closing) return this.#fault(`the report in ${visible(input)} has no whole closing line`);
    const { summary, complete, part } = closing;
    this.audited.push(...summary.inputs);
    if (!complete) this.#fault("what was merged is not");
    if (summary.lines !== lines) this.#fault(`the report in ${visible(input)} has ${lines} verdicts and closes with ${summary.lines}`);
    const [, own, all] = PART.exec(part ?? "1/1");
    const audit = JSON.stringify([all, summary.inputs]);
    const parts = this.#audits.get(audit) ?? new Map();
    this.#audits.set(audit, parts.set(own, (parts.get(own) ?? 0) + 1));
  }

  #fault(why) {
    this.#why ??= why;
  }

  /** Why what was read is not the whole of its audits; undefined where it is. */
  missing() {
    for (const [name, { closed }] of this.#files) if (!closed) this.#fault(`the report in ${visible(name)} has no closing line`);
    for (const [audit, parts] of this.#audits) {
      const [all] = JSON.parse(audit);
      const [twice] = [...parts].find(([, times]) => times > 1) ?? [];
      if (twice) this.#fault(all === "1" ? "one report was given more than once" : `part ${twice}/${all} was given more than once`);
      if (parts.size !== Number(all)) this.#fault(`of ${all} parts ${parts.size} were given`);
    }
    return this.#why;
  }
}

/** What a line says that closes a report; undefined where it is not one. */
function closingOf(line) {
  try {
    const { summary, complete, part } = JSON.parse(line);
    auditSummary([summary], summary.inputs);
    if (!Array.isArray(summary.inputs) || (part !== undefined && !fits(part))) return undefined;
    return { summary, complete: complete === true, part };
  } catch {
    return undefined;
  }
}

function fits(part) {
  const [, own, all] = PART.exec(part) ?? [];
  return Number(own) <= Number(all);
}
