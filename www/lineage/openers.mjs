// The ways in: files, and samples that come with the page.

import { element } from "../build.mjs";
import { file } from "../files.mjs";

/** Title and files of each sample. The broken ones show what the page says of a journal that somebody changed. */
const SAMPLES = {
  "charged-twice": ["Charged twice", ["charged-twice-buyer-a.jsonl", "charged-twice-buyer-b.jsonl"]],
  "paid-without-delivery": ["Paid without delivery", ["paid-without-delivery.jsonl"]],
  "unknown-in-flight": ["Unknown, in flight", ["unknown-in-flight.jsonl"]],
  "needs-approval": ["Needs your approval", ["needs-approval.jsonl"]],
  "all-well": ["All well", ["all-well.jsonl"]],
  "rewritten": ["Broken: a line was rewritten", ["broken-rewritten.jsonl"]],
  "cut": ["Broken: lines are missing", ["broken-cut.jsonl"]],
};

/** `open(files)` takes files, `{name, bytes}`; `clear()` forgets those before. */
export function openers(open, clear) {
  const input = element("input", {
    type: "file", id: "open-lineage", class: "unseen", multiple: true,
    onchange: async () => {
      const files = await Promise.all([...input.files].map(async (one) => ({ name: one.name, bytes: new Uint8Array(await one.arrayBuffer()) })));
      input.value = "";
      if (files.length) open(files);
    },
  });
  const samples = element("select", { id: "sample" }, element("option", { value: "" }, "Choose one"), Object.entries(SAMPLES).map(([name, [title]]) => element("option", { value: name }, title)));
  const show = async () => {
    if (!samples.value) return samples.focus();
    const names = SAMPLES[samples.value][1];
    const files = await Promise.all(names.map(async (name) => ({ name, bytes: await file(`sample/lineage/${name}`) })));
    clear();
    open(files);
  };
  return [
    element("div", { class: "open" }, input, element("label", { for: input.id, class: "button strong" }, "Open journals or bundles")),
    element("div", { class: "samples" }, element("label", { for: samples.id }, "Or a sample"), samples, element("button", { type: "button", class: "button", onclick: show }, "Show", element("span", { class: "unseen" }, " the sample"))),
    element("button", { type: "button", class: "quiet", id: "keys" }, "Keys"),
  ];
}
