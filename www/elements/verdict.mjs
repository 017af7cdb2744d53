// The verdict: one place, five wordings, all of them fixed here. Nothing that a document says is ever shown in this box.

import { element, symbol } from "../build.mjs";
import { groupsOf, stateOf } from "../groups.mjs";

const WORDS = {
  verified: ["Verified", "Every required check passed."],
  failed: ["Failed", "At least one check failed. Do not rely on this document."],
  incomplete: ["Incomplete", "Nothing failed, but required checks could not be made."],
  none: ["No verdict yet", "Add a receipt to check it."],
  refused: ["No verdict", "What was handed in can't be read."],
};

class Verdict extends HTMLElement {
  /** Shows the verdict of a report. */
  show(report) {
    this.#say(report.verdict);
    const failed = report.checks.filter((check) => check.state === "fail");
    const missing = report.checks.filter((check) => check.required && check.state === "not_checked");
    this.#ground(
      element("ul", { class: "chips", "aria-label": "By subject" }, groupsOf(report.checks).map(({ title, checks }) => chip(title, stateOf(checks)))),
      reasons("Failed", failed),
      reasons("Needed for a verdict", missing),
    );
  }

  /** Nothing to judge yet. */
  wait() {
    this.#say("none");
    this.#ground();
  }

  /** The document is not one that can be judged. */
  refuse(error) {
    this.#say("refused");
    this.#ground(element("p", {}, element("code", {}, error.code), " ", error.message.slice(error.code.length + 2)));
  }

  /** The checker itself could not start. */
  broken() {
    this.#say("none", "The checker could not be loaded. Reload the page, or use the npm package.");
  }

  #say(verdict, sentence = WORDS[verdict][1]) {
    this.querySelector(".stub").dataset.verdict = verdict;
    this.querySelector(".word").textContent = WORDS[verdict][0];
    this.querySelector(".sentence").textContent = sentence;
  }

  #ground(...parts) {
    this.querySelector(".ground").replaceChildren(...parts.filter(Boolean));
  }
}

const SAID = { pass: "passed", fail: "failed", not_checked: "not checked" };

function chip(title, state) {
  return element("li", { class: "chip", "data-state": state }, symbol(state), title, element("span", { class: "unseen" }, `: ${SAID[state]}`));
}

const MOST_REASONS = 4;

// Titles and reasons are sentences of the core's own table.
function reasons(title, checks) {
  if (!checks.length) return undefined;
  const rest = checks.length - MOST_REASONS;
  return element("div", { class: "reasons" },
    element("h3", {}, title),
    element("ul", {},
      checks.slice(0, MOST_REASONS).map((check) => element("li", {}, element("strong", {}, `${check.title}.`), ` ${check.why}`)),
      rest > 0 ? element("li", {}, `And ${rest} more, below.`) : undefined));
}

customElements.define("cf-verdict", Verdict);

/** Another verdict than the one that stands in the page. */
export function stub() {
  return element("cf-verdict", {}, element("section", { class: "stub", "data-verdict": "none", "aria-label": "Verdict" },
    element("div", { class: "answer" }, element("p", { class: "word" }), element("p", { class: "sentence" })),
    element("div", { class: "ground" })));
}
