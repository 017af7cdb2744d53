// How far each document is to be believed: a broken one is named before anything that it says.

import { element, symbol } from "../build.mjs";
import { visible } from "../core.mjs";

const WORDS = { verified: "holds together", failed: "do not rely on it", incomplete: "holds together as far as it could be checked" };
const STATES = { verified: "pass", failed: "fail", incomplete: "not_checked" };

/** What is wrong with documents, before everything else. */
export function faultsOf(documents, refused) {
  const broken = documents.filter(({ report }) => report.verdict === "failed");
  return [
    ...refused.map(({ name, error }) => element("div", { class: "fault" }, element("p", {}, symbol("fail"), element("strong", {}, visible(name)), " can't be read, and is left out: ", element("code", {}, visible(error.code)), ` ${visible(error.message).replace(/^\w+: /, "")}`))),
    ...broken.map(({ name, report }) => element("div", { class: "fault" },
      element("p", {}, symbol("fail"), element("strong", {}, `Do not rely on ${visible(name)}.`), " Somebody changed it, or it is damaged. What is shown below may not be what was written."),
      report.checks.filter((check) => check.state === "fail").map((check) => element("p", { class: "reason" }, `${visible(check.title)}: no. ${visible(check.why)}`)))),
  ];
}

/** One entry for each document; `drop(name)` takes it away. */
export function sourcesOf(documents, drop) {
  return [
    element("ul", { class: "sources", "aria-label": "Documents" }, documents.map(({ name, report }) => source(name, report, drop))),
    limits(documents),
  ].filter(Boolean);
}

function source(name, report, drop) {
  const state = STATES[report.verdict];
  const open = report.verdict === "failed" ? [] : report.checks.filter((check) => check.required && check.state === "not_checked");
  const { head, kind } = report.facts;
  return element("li", { class: "source", "data-state": state },
    element("p", {}, symbol(state), element("strong", {}, visible(name)), ` ${WORDS[report.verdict]}`, head ? element("span", { class: "note" }, ` ${kind} of ${head.seq.toLocaleString("en")} lines`) : "",
      element("button", { type: "button", class: "quiet", onclick: () => drop(name) }, "Remove", element("span", { class: "unseen" }, ` ${visible(name)}`))),
    open.map((check) => element("p", { class: "reason" }, `${visible(check.title)}: not checked. ${visible(check.why)}`)));
}

/** What no check of a document can show, as the core says it. */
function limits(documents) {
  const sentences = [...new Set(documents.flatMap(({ report }) => report.doesNotProve))];
  if (!sentences.length) return undefined;
  return element("details", { class: "cannot" }, element("summary", {}, "What these documents can't show"),
    element("ul", {}, sentences.map((sentence) => element("li", {}, visible(sentence)))));
}
