// The tree of intents and attempts. However many rows there are, only those in sight are elements; numbers of all of them are told to
// screen readers. One row takes the focus at a time.

import { element } from "../build.mjs";
import { COLUMNS, Scale, legend, rowOf } from "../lineage/row.mjs";

/** Rows drawn above and below those in sight. */
const MORE = 8;
/** Rows that are drawn for paper; the rest of a longer list is in the exported table. */
const ON_PAPER = 2000;

class Tree extends HTMLElement {
  #rows;
  #drawn = new Map();
  #active = 0;
  #selected = -1;
  #height = 44;
  #typed = "";
  #typedAt = 0;
  #onPaper = false;
  #grid;
  #room;

  /** Whether single letters are commands. */
  letters = true;

  connectedCallback() {
    if (this.#grid) return;
    this.#room = element("div", { role: "rowgroup", class: "room" });
    const head = element("div", { role: "rowgroup", class: "heads" }, element("div", { role: "row", class: "cells", "aria-rowindex": "1" },
      COLUMNS.map(([name, word], at) => element("div", { role: "columnheader", class: name, "aria-colindex": String(at + 1) }, element("span", {}, word)))));
    this.#grid = element("div", { role: "treegrid", class: "grid", "aria-label": "Intents and payments", "aria-readonly": "true", "aria-colcount": String(COLUMNS.length) }, head, this.#room);
    this.append(this.#grid, legend());
    this.#grid.addEventListener("scroll", () => requestAnimationFrame(() => this.#draw()), { passive: true });
    this.#grid.addEventListener("keydown", (event) => this.#key(event));
    this.#grid.addEventListener("click", (event) => this.#click(event));
    this.#grid.addEventListener("focusin", (event) => {
      const at = Number(event.target.closest("[data-at]")?.dataset.at ?? NaN);
      if (!Number.isNaN(at)) this.#activate(at, false);
    });
    new ResizeObserver(() => this.#measure()).observe(this.#grid);
    addEventListener("beforeprint", () => this.#paper(true));
    addEventListener("afterprint", () => this.#paper(false));
  }

  /** Shows these `Rows`. */
  show(rows) {
    this.#rows = rows;
    this.#scale = new Scale(rows);
    this.#grid.querySelector("[role=columnheader].when").replaceChildren(element("span", {}, "When"), ...this.#scale.ends());
    this.#selected = -1;
    this.refresh();
  }
  #scale;

  /** Draws again after the choice of rows has changed. The focused row stays if it is still shown. */
  refresh() {
    this.#clear();
    const { shown } = this.#rows;
    this.#grid.setAttribute("aria-rowcount", String(shown.length + 1));
    this.#active = Math.max(0, shown.indexOf(this.#row));
    this.#row = shown[this.#active];
    this.#measure();
  }
  #row = 0;

  /** Shows the row of this index, with the focus on it where that is wanted. */
  go(at, focus = true) {
    if (!this.#rows.shown.includes(at)) {
      this.#rows.reveal(at);
      this.refresh();
    }
    const place = this.#rows.shown.indexOf(at);
    if (place >= 0) this.#activate(place, focus);
  }

  /** Marks the row whose receipt is shown. */
  select(at) {
    this.#selected = at;
    for (const [place, row] of this.#drawn) row.setAttribute("aria-selected", String(this.#rows.shown[place] === at));
  }

  focusRow() {
    this.#activate(this.#active, true);
  }

  #clear() {
    for (const row of this.#drawn.values()) row.remove();
    this.#drawn.clear();
  }

  #measure() {
    if (!this.#rows) return;
    const height = Number.parseFloat(getComputedStyle(this).getPropertyValue("--row-height")) || 44;
    if (height !== this.#height) this.#clear();
    this.#height = height;
    this.#draw();
  }

  #draw() {
    if (!this.#rows) return;
    const { shown } = this.#rows;
    this.#room.style.height = this.#onPaper ? "auto" : `${shown.length * this.#height}px`;
    const first = this.#onPaper ? 0 : Math.max(0, Math.floor(this.#grid.scrollTop / this.#height) - MORE);
    const last = this.#onPaper ? Math.min(shown.length, ON_PAPER) : Math.min(shown.length, Math.ceil((this.#grid.scrollTop + this.#grid.clientHeight) / this.#height) + MORE);
    for (const [place, row] of this.#drawn) {
      // The row with the focus stays, wherever it is: removing it would lose the focus.
      if ((place < first || place >= last) && place !== this.#active) {
        row.remove();
        this.#drawn.delete(place);
      }
    }
    const fresh = [];
    for (let place = first; place < last; place++) if (!this.#drawn.has(place)) fresh.push(this.#make(place));
    if (shown.length && !this.#drawn.has(this.#active)) fresh.push(this.#make(this.#active));
    if (fresh.length) this.#inOrder(fresh);
  }

  /** Screen readers read rows in the order in which they stand. */
  #inOrder(fresh) {
    const before = (place) => {
      let next;
      for (const [other, row] of this.#drawn) if (other > place && row.isConnected && (next === undefined || other < Number(next.dataset.at))) next = row;
      return next ?? null;
    };
    if (this.#drawn.size === fresh.length) this.#room.append(...fresh.toSorted((one, other) => one.dataset.at - other.dataset.at));
    else for (const row of fresh) this.#room.insertBefore(row, before(Number(row.dataset.at)));
  }

  #make(place) {
    const at = this.#rows.shown[place];
    const row = rowOf(this.#rows, at, { scale: this.#scale });
    row.dataset.at = String(place);
    row.tabIndex = place === this.#active ? 0 : -1;
    row.setAttribute("aria-rowindex", String(place + 2));
    row.setAttribute("aria-selected", String(at === this.#selected));
    row.style.top = `${place * this.#height}px`;
    this.#drawn.set(place, row);
    return row;
  }

  #activate(place, focus) {
    const before = this.#drawn.get(this.#active);
    if (before) before.tabIndex = -1;
    this.#active = Math.max(0, Math.min(this.#rows.shown.length - 1, place));
    this.#row = this.#rows.shown[this.#active];
    if (focus) this.#bringIntoSight();
    this.#draw();
    const row = this.#drawn.get(this.#active);
    if (!row) return;
    row.tabIndex = 0;
    if (focus) row.focus({ preventScroll: true });
  }

  #bringIntoSight() {
    const heads = this.#grid.firstElementChild.offsetHeight;
    const top = this.#active * this.#height;
    const [from, to] = [this.#grid.scrollTop, this.#grid.scrollTop + this.#grid.clientHeight - heads - this.#height];
    if (top < from) this.#grid.scrollTop = top;
    else if (top > to) this.#grid.scrollTop = top - (to - from);
  }

  #page() {
    return Math.max(1, Math.floor(this.#grid.clientHeight / this.#height) - 2);
  }

  #fold(open) {
    const focused = this.#grid.contains(document.activeElement);
    this.#rows.fold(this.#row, open);
    this.refresh();
    if (focused) this.focusRow();
    this.dispatchEvent(new Event("fold", { bubbles: true }));
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !event.target.matches("[role=row]")) return;
    const rows = this.#rows;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: this.#page(), PageUp: -this.#page(), Home: -Infinity, End: Infinity }[event.key];
    const tree = !rows.isFlat();
    if (step !== undefined) this.#activate(step === -Infinity ? 0 : step === Infinity ? rows.shown.length - 1 : this.#active + step, true);
    else if (event.key === "ArrowRight" && tree && rows.hasChildren(this.#row)) rows.isOpen(this.#row) ? this.#activate(this.#active + 1, true) : this.#fold(true);
    else if (event.key === "ArrowLeft" && tree && rows.hasChildren(this.#row) && rows.isOpen(this.#row)) this.#fold(false);
    else if (event.key === "ArrowLeft" && tree && rows.above[this.#row] >= 0) this.go(rows.above[this.#row]);
    else if (event.key === "Enter" || event.key === " ") this.#choose();
    else if (event.key.length === 1 && !(this.letters && "eE?/".includes(event.key))) this.#type(event.key);
    else return;
    event.preventDefault();
  }

  /** Type-ahead: the next row whose name begins so. */
  #type(key) {
    this.#typed = performance.now() - this.#typedAt > 800 ? key.toLowerCase() : this.#typed + key.toLowerCase();
    this.#typedAt = performance.now();
    const { shown, all } = this.#rows;
    const from = this.#active + (this.#typed.length === 1 ? 1 : 0);
    for (let step = 0; step < shown.length; step++) {
      const place = (from + step) % shown.length;
      const row = all[shown[place]];
      if ((row.label ?? row.agent).toLowerCase().startsWith(this.#typed)) return this.#activate(place, true);
    }
  }

  #click(event) {
    const row = event.target.closest("[data-at]");
    if (!row) return;
    this.#activate(Number(row.dataset.at), true);
    if (event.target.closest(".fold")) this.#fold(!this.#rows.isOpen(this.#row));
    else this.#choose();
  }

  #choose() {
    this.dispatchEvent(new CustomEvent("choose", { bubbles: true, detail: this.#row }));
  }

  /** The next row with something wrong, or the one before. */
  nextProblem(step) {
    const { shown, all } = this.#rows;
    for (let place = this.#active + step; place >= 0 && place < shown.length; place += step) {
      const { flags, state } = all[shown[place]];
      if (flags.length || state === "needs_approval" || state === "unknown") return this.#activate(place, true);
    }
  }

  #paper(on) {
    if (!this.#rows) return;
    this.#onPaper = on;
    this.#draw();
  }
}

customElements.define("cf-tree", Tree);
