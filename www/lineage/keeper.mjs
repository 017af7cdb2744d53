// Holds the documents and asks the core about them: in a worker where the browser has one for us, else in the page.

import { CounterfoilError, lineage, lineageProv } from "../core.mjs";
import { bundleOf, recordsOf, requestOf } from "./documents.mjs";

export class Keeper {
  #documents = [];

  /**
   * Reads documents, `{name, bytes}`, together. What can't be read is left out and named in `refused`, so that one broken file hides none of the others.
   * Gives the view without its nodes, a report on each document, and the rows apart.
   */
  open(documents) {
    const refused = [];
    let read = documents;
    let view;
    for (;;) {
      try {
        // The nodes are for files: they are made when one is asked for.
        view = read.length ? lineage(read.map(({ bytes }) => bytes), { nodes: false, reports: true }) : {};
        break;
      } catch (error) {
        const [, at] = /^bundles\[(\d+)\]/.exec(error.field ?? "") ?? [];
        if (!(error instanceof CounterfoilError) || at === undefined) throw error;
        refused.push({ name: read[at].name, error: said(error) });
        read = read.filter((_, index) => index !== Number(at));
      }
    }
    this.#documents = read;
    const { rows = [], nodes: _, reports = [], ...head } = view;
    const documents_ = read.map(({ name, bytes }, at) => ({ name, length: bytes.length, report: reports[at] }));
    return { head: { ...head, documents: documents_, refused }, rows };
  }

  /** The bundle of each record of an intent: `[{name, text}]`. */
  receipts(intentId) {
    return (recordsOf(this.#documents, [intentId]).get(intentId) ?? []).map((one) => ({ name: one.name, text: bundleOf(one) }));
  }

  /** What a person is asked about an intent. */
  request(intentId) {
    return requestOf(this.#documents, intentId);
  }

  /** The attempts of these ids as they are recorded: `[{name, intentId, attempt, request}]`. */
  attempts(ids) {
    const found = [];
    // The id of an attempt begins with that of its intent.
    const intents = [...new Set(ids.map((id) => id.slice(0, id.lastIndexOf("/"))))];
    for (const [intentId, records] of recordsOf(this.#documents, intents)) {
      for (const { name, record } of records) {
        for (const attempt of record.attempts ?? []) {
          if (ids.includes(attempt.attemptId) && !found.some((one) => same(one.attempt, attempt))) found.push({ name, intentId, attempt, request: record.request });
        }
      }
    }
    return found;
  }

  /** The whole view as the core tells it: "json", or as the graph of W3C PROV: "prov". */
  exported(kind) {
    const told = kind === "prov" ? lineageProv : lineage;
    return JSON.stringify(told(this.#documents.map(({ bytes }) => bytes)), null, 1);
  }
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** What of an error crosses to the page. */
export function said({ code, field, message }) {
  return { code, field, message };
}
