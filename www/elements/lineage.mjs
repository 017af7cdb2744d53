// The lineage of intents: what a person has to do, what was spent, and the tree of who bought what for whom. It shows what the core says.

import { element } from "../build.mjs";
import { visible, visibleAscii } from "../core.mjs";
import { actionList } from "../lineage/actions.mjs";
import { budgets } from "../lineage/budget.mjs";
import { theEngine } from "../lineage/engine.mjs";
import { Exports } from "../lineage/exports.mjs";
import { nameOf, short } from "../lineage/row.mjs";
import { Rows } from "../lineage/rows.mjs";
import { faultsOf, sourcesOf } from "../lineage/trust.mjs";
import { COUNTERS, STATES } from "../lineage/words.mjs";

const LISTED_AGENTS = 200;

class Lineage extends HTMLElement {
  #documents = [];
  #head;
  #rows;
  #only;
  #tries = 0;

  #find = (name) => this.querySelector(`[data-part="${name}"]`);
  #tree = () => this.querySelector("cf-tree");
  #panel = () => this.querySelector("cf-panel");

  connectedCallback() {
    this.addEventListener("choose", (event) => this.#choose(event.detail));
    this.#panel().addEventListener("done", () => this.closePanel());
  }

  /** The documents that are shown, `{name, bytes}`. */
  get documents() {
    return this.#documents;
  }

  /** Shows documents, `{name, bytes}`, instead of those before, or together with them. */
  async open(documents, { together = false } = {}) {
    const all = together ? [...this.#documents, ...documents] : documents;
    this.#documents = all.filter(({ bytes }, at) => all.findIndex((other) => same(other.bytes, bytes)) === at);
    await this.#read();
  }

  /** Forgets what was shown. */
  clear() {
    this.#documents = [];
  }

  /** Shows newer versions of the same documents; what is selected and chosen stays. */
  async refresh(documents) {
    this.#documents = documents;
    await this.#read(true);
  }

  async #read(again = false) {
    const mine = (this.#tries += 1);
    const kept = again && this.#rows ? { key: keyOf(this.#rows.all[this.#shown]) } : undefined;
    this.setAttribute("aria-busy", "true");
    this.#find("busy").hidden = again;
    this.querySelector(".loaded").hidden = !again && !this.#head;
    try {
      const { head, rows } = await (await theEngine()).open(this.#documents);
      if (mine !== this.#tries) return;
      this.#head = head;
      this.#rows = new Rows(rows);
      this.#draw(again);
      if (kept?.key) {
        this.#shown = rows.findIndex((row) => keyOf(row) === kept.key);
        this.#tree().select(this.#shown);
      } else this.closePanel(false);
    } finally {
      if (mine === this.#tries) {
        this.removeAttribute("aria-busy");
        this.#find("busy").hidden = true;
      }
    }
  }
  #shown = -1;

  #draw(again) {
    const { actions, totals, counters, documents, refused } = { actions: [], totals: [], counters: {}, ...this.#head };
    const rows = this.#rows.all;
    this.querySelector(".loaded").hidden = false;
    this.#find("faults").replaceChildren(...faultsOf(documents, refused));
    this.#find("trust").replaceChildren(...sourcesOf(documents, (name) => this.#drop(name)));
    const on = { show: (intent, attempt) => this.#showIn(intent, attempt), compare: (pair, code) => this.#compare(pair, code), answer: (id) => this.#answer(id) };
    const whole = !refused.length && documents.every(({ report }) => report.verdict !== "failed");
    this.#find("actions").replaceChildren(...[actionList(actions, rows, on, whole)].flat());
    this.#find("budget").replaceChildren(...budgets({ totals, actions, whole }, rows));
    this.#counters(counters);
    if (!again) this.#tools();
    else this.#rows.update(this.#choice);
    this.#tree().show(this.#rows);
    this.#count();
  }
  #choice = {};

  #counters(counters) {
    this.#find("counters").replaceChildren(...Object.entries(COUNTERS).map(([name, [word, is]]) => {
      const count = counters[name] ?? 0;
      return element("button", {
        type: "button", class: "counter", "data-counter": name, "data-none": count === 0, "aria-pressed": String(this.#only === name), disabled: count === 0 && this.#only !== name,
        onclick: () => {
          this.#only = this.#only === name ? undefined : name;
          for (const one of this.querySelectorAll(".counter")) one.setAttribute("aria-pressed", String(one.dataset.counter === this.#only));
          this.#narrow({ only: this.#only && is });
        },
      }, element("strong", {}, count.toLocaleString("en")), " ", word);
    }));
  }

  #tools() {
    this.#only = undefined;
    this.#choice = {};
    const agents = [...new Set(this.#rows.all.filter(({ kind }) => kind !== "hand_over").map(({ agent }) => agent))].sort().slice(0, LISTED_AGENTS);
    const choose = (id, label, options, change) => [element("label", { for: id, class: "unseen" }, label),
      element("select", { id, onchange: ({ target }) => change(target.value) }, options.map(([value, word]) => element("option", { value }, word)))];
    this.#find("tools").replaceChildren(
      element("label", { for: "search", class: "unseen" }, "Search"),
      element("input", { id: "search", type: "search", placeholder: "Search: purpose, agent, address, id", autocomplete: "off", spellcheck: "false", oninput: ({ target }) => this.#soon({ search: target.value }) }),
      ...choose("by-state", "State", [["", "Every state"], ...Object.entries(STATES)], (state) => this.#narrow({ state })),
      ...(agents.length > 1 ? choose("by-agent", "Agent", [["", "Every agent"], ...agents.map((agent) => [agent, visible(agent).slice(0, 40)])], (agent) => this.#narrow({ agent })) : []),
      ...choose("order", "Order", [["tree", "As a tree"], ["time", "By time"]], (order) => this.#narrow({ order })),
      element("button", { type: "button", class: "button", onclick: (event) => this.#foldAll(event.target) }, "Close all"));
    this.#find("exports").replaceChildren(new Exports(this).shown());
  }

  #foldAll(button) {
    const open = button.textContent === "Open all";
    this.#rows.foldAll(open);
    button.textContent = open ? "Close all" : "Open all";
    this.#tree().refresh();
    this.#count();
  }

  /** While somebody types, at most one narrowing waits. */
  #soon(choice) {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.#narrow(choice), 120);
  }
  #waiting;

  #narrow(choice) {
    Object.assign(this.#choice, choice);
    this.#rows.update(choice);
    this.#tree().refresh();
    this.#count();
  }

  #count() {
    const all = this.#rows.all.length;
    const { shown, count } = this.#rows;
    const text = this.#rows.isNarrowed() ? `${count.toLocaleString("en")} of ${all.toLocaleString("en")} rows` : `${all.toLocaleString("en")} rows`;
    this.#find("count").textContent = shown.length ? text : "Nothing matches.";
  }

  async #choose(at) {
    const row = this.#rows.all[at];
    this.#shown = at;
    this.#tree().select(at);
    const receipts = row.kind === "hand_over" ? [] : await (await theEngine()).receipts(row.intentId);
    if (this.#shown !== at) return;
    this.toggleAttribute("data-beside", true);
    this.#panel().show(row, receipts);
  }

  /** Puts the receipt away, and the focus back on its row. */
  closePanel(focus = true) {
    if (this.#panel().hidden) return;
    this.#shown = -1;
    this.#panel().close();
    this.toggleAttribute("data-beside", false);
    this.#tree().select(-1);
    if (focus) this.#tree().focusRow();
  }

  #rowOf(intentId, attemptId) {
    const rows = this.#rows.all;
    const attempt = attemptId === undefined ? -1 : rows.findIndex((row) => row.attemptId === attemptId);
    return attempt >= 0 ? attempt : rows.findIndex((row) => row.intentId === intentId);
  }

  #showIn(intentId, attemptId) {
    const at = this.#rowOf(intentId, attemptId);
    if (at < 0) return;
    if (!this.#rows.shown.includes(at) && this.#rows.isNarrowed()) this.#clearChoice();
    this.#tree().go(at);
    this.#choose(at);
  }

  #clearChoice() {
    this.#only = undefined;
    for (const one of this.querySelectorAll(".counter")) one.setAttribute("aria-pressed", "false");
    for (const control of this.querySelectorAll("#search, #by-state, #by-agent")) control.value = "";
    this.#narrow({ search: "", state: "", agent: "", only: undefined });
  }

  async #compare(pair, code) {
    const found = await (await theEngine()).attempts(pair.map(({ attemptId }) => attemptId));
    // Several journals may give their attempts one name: then the transaction tells them apart, and without one the order of the journals.
    const same = pair[0].attemptId === pair[1].attemptId;
    const both = pair.map((row, at) => {
      const named = found.filter(({ attempt }) => attempt.attemptId === row.attemptId);
      return named.find(({ attempt }) => row.transaction && attempt.transaction === row.transaction) ?? named[same ? at : 0];
    }).filter(Boolean);
    if (both.length < 2) return this.#showIn(pair[0].intentId, pair[0].attemptId);
    this.toggleAttribute("data-beside", true);
    this.#panel().compare(both, pair, code);
  }

  async #answer(intentId) {
    const request = await (await theEngine()).request(intentId);
    if (!request) return;
    const named = new Map(this.#rows.all.filter(({ kind }) => kind === "intent").map((row) => [row.intentId, nameOf(row)]));
    document.querySelector("cf-approve").open(request, (id) => named.get(id) ?? short(visibleAscii(String(id))));
  }

  async #drop(name) {
    this.#documents = this.#documents.filter((one) => one.name !== name);
    if (this.#documents.length) await this.#read();
    else {
      this.#head = undefined;
      this.querySelector(".loaded").hidden = true;
    }
    document.querySelector("#open-lineage").focus();
  }

  /** The rows as they are, all of them. */
  get rows() {
    return this.#rows.all;
  }

  /** For the page's own keys: the next row with something wrong, or the one before. */
  nextProblem(step) {
    this.#tree().nextProblem(step);
  }
}

const same = (one, other) => one === other || (one.length === other.length && one.every((byte, at) => byte === other[at]));

const keyOf = (row) => row && (row.attemptId ?? `${row.kind} ${row.intentId}`);

customElements.define("cf-lineage", Lineage);
