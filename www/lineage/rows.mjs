// Which rows are shown, and in which order. The rows and everything in them come from the core; here they are only hidden and sorted.

/** Rows of a lineage in the order of its tree, as `lineage` gives them. */
export class Rows {
  #texts;
  #collapsed = new Set();
  #choice = { order: "tree", search: "", state: "", agent: "", only: undefined };

  constructor(rows) {
    this.all = rows;
    /** Of each row the one above it, and the first behind what is below it. */
    this.above = new Int32Array(rows.length).fill(-1);
    this.end = new Int32Array(rows.length);
    const open = [];
    rows.forEach((row, at) => {
      while (open.length && rows[open.at(-1)].depth >= row.depth) this.end[open.pop()] = at;
      this.above[at] = open.at(-1) ?? -1;
      open.push(at);
    });
    for (const at of open) this.end[at] = rows.length;
    this.first = rows.reduce((least, { at }) => (at ? Math.min(least, at) : least), Infinity);
    this.last = rows.reduce((most, { at, endedAt }) => Math.max(most, at, endedAt ?? 0), 0);
    this.update({});
  }

  hasChildren(at) {
    return this.end[at] > at + 1;
  }

  isOpen(at) {
    return !this.#collapsed.has(at);
  }

  isFlat() {
    return this.#choice.order === "time";
  }

  isNarrowed() {
    const { search, state, agent, only } = this.#choice;
    return Boolean(search || state || agent || only);
  }

  /** Opens or closes what is below a row. */
  fold(at, open) {
    if (open) this.#collapsed.delete(at);
    else this.#collapsed.add(at);
    this.update({});
  }

  foldAll(open) {
    this.#collapsed = new Set(open ? [] : this.all.keys());
    this.update({});
  }

  /** Opens everything above a row, so that it can be seen. */
  reveal(at) {
    for (let up = this.above[at]; up >= 0; up = this.above[up]) this.#collapsed.delete(up);
    this.update({});
  }

  /** Takes another choice of `{order, search, state, agent, only}`; `shown` are then the indices of the rows to show. */
  update(choice) {
    Object.assign(this.#choice, choice);
    const found = this.isNarrowed() ? this.#matching() : undefined;
    this.shown = this.isFlat() ? this.#byTime(found) : this.#inTree(found);
    this.count = found ? found.reduce((sum, one) => sum + (one === 2), 0) : this.shown.length;
  }

  /** Of each row: 2 where it matches, 1 where something below it does. */
  #matching() {
    const { search, state, agent, only } = this.#choice;
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) this.#texts ??= this.all.map(textOf);
    const found = new Uint8Array(this.all.length);
    this.all.forEach((row, at) => {
      if (state && row.state !== state) return;
      if (agent && row.agent !== agent) return;
      if (only && !only(row)) return;
      if (words.length && !words.every((word) => this.#texts[at].includes(word))) return;
      found[at] = 2;
      for (let up = this.above[at]; up >= 0 && !found[up]; up = this.above[up]) found[up] = 1;
    });
    return found;
  }

  #inTree(found) {
    const shown = [];
    for (let at = 0; at < this.all.length;) {
      if (found && !found[at]) {
        at = this.end[at];
        continue;
      }
      shown.push(at);
      at = this.isOpen(at) || found ? at + 1 : this.end[at];
    }
    return shown;
  }

  #byTime(found) {
    const shown = [];
    for (let at = 0; at < this.all.length; at++) if (found ? found[at] === 2 : this.all[at].kind !== "intent" || !this.hasChildren(at)) shown.push(at);
    return shown.sort((one, other) => this.all[one].at - this.all[other].at || one - other);
  }
}

function textOf({ label, agent, intentId, attemptId, payTo, transaction, flags, state }) {
  return [label, agent, intentId, attemptId, payTo, transaction, state, ...flags].filter(Boolean).join("\n").toLowerCase();
}
