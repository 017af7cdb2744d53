// What can be taken away: the view as JSON, its graph as PROV-JSON, its rows as CSV, the documents in a link, the page on paper.

import { element } from "../build.mjs";
import { visibleCell } from "../core.mjs";
import { csv } from "./csv.mjs";
import { theEngine } from "./engine.mjs";
import { copy, save } from "./save.mjs";
import { linkTo } from "./share.mjs";

export class Exports {
  #view;
  #told = element("p", { class: "told", role: "status", "aria-live": "polite" });

  constructor(view) {
    this.#view = view;
  }

  shown() {
    const button = (word, act) => element("button", { type: "button", class: "button", onclick: act }, word);
    return element("div", { class: "ways" },
      button("Save JSON", async () => save("lineage.json", await (await theEngine()).exported("json"))),
      button("Save PROV", async () => save("lineage.prov.json", await (await theEngine()).exported("prov"))),
      button("Save CSV", () => save("lineage.csv", csv(this.#view.rows, visibleCell), "text/csv")),
      button("Print", () => print()),
      button("Make a link", () => this.#link()),
      this.#told);
  }

  async #link() {
    const link = await linkTo(this.#view.documents);
    if (!link) return this.#told.replaceChildren("These documents are too long for a link: send the file itself.");
    const copied = element("button", { type: "button", class: "button strong", onclick: async () => { copied.textContent = (await copy(link)) ? "Copied" : "Select the text and copy it"; } }, "Copy the link");
    const text = element("input", { type: "text", readonly: true, id: "link", value: link });
    this.#told.replaceChildren(element("strong", {}, "The link contains the documents."), " Whoever has it can read everything in them, also the signed payments. It is sent to no server. ",
      element("label", { for: "link" }, "The link"), text, copied);
    copied.focus();
  }
}
