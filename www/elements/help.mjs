// The keys of the page, and the switch that turns single letters off for those whom they disturb.

import { element } from "../build.mjs";

const KEYS = [
  ["↑ ↓", "one row up or down"], ["Page Up, Page Down, Home, End", "further"], ["→ ←", "open or close what is below a row; else go into it, or above it"],
  ["Enter", "show the receipt of a row"], ["Esc", "close the receipt or a window"], ["any letters", "go to the next row that begins so"],
  ["e  E", "next or previous row with something wrong"], ["/", "search"], ["?", "this list"],
];

class Help extends HTMLElement {
  #dialog = element("dialog", { class: "sheet", "aria-labelledby": "help-title" });

  /** Whether single letters are commands. */
  letters = true;

  connectedCallback() {
    const letters = element("input", { type: "checkbox", id: "letters", checked: true, onchange: ({ target }) => { this.letters = target.checked; this.dispatchEvent(new Event("change")); } });
    this.#dialog.append(
      element("header", {}, element("h2", { id: "help-title" }, "Keys"), element("button", { type: "button", class: "quiet close", onclick: () => this.#dialog.close() }, "Close")),
      element("dl", { class: "keys" }, KEYS.map(([key, word]) => element("div", {}, element("dt", {}, element("kbd", {}, key)), element("dd", {}, word)))),
      element("p", {}, letters, " ", element("label", { for: "letters" }, "Single letters are commands (e, E, /, ?)")));
    this.append(this.#dialog);
  }

  open() {
    this.#dialog.showModal();
  }
}

customElements.define("cf-help", Help);
