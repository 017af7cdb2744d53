// The inspector: takes documents in, asks the core, shows its reports. It decides nothing itself and talks to nobody. What its own address
// brings is shown only when somebody asks for it.

import "./elements/theme.mjs";
import "./elements/verdict.mjs";
import "./elements/intake.mjs";
import "./elements/report.mjs";
import "./elements/tree.mjs";
import "./elements/panel.mjs";
import "./elements/approve.mjs";
import "./elements/help.mjs";
import "./elements/lineage.mjs";
import "./elements/audit.mjs";
import { element } from "./build.mjs";
import { load } from "./core.mjs";
import { alone, embedded, file, fromBase64 } from "./files.mjs";
import { judge } from "./judge.mjs";
import { keys } from "./keys.mjs";
import { follow } from "./live.mjs";
import { openers } from "./lineage/openers.mjs";
import { fromLink } from "./lineage/share.mjs";
import { recognise } from "./recognise.mjs";
import { onView, show, view } from "./views.mjs";

const verdict = document.querySelector("cf-verdict");
const intake = document.querySelector("cf-intake");
const report = document.querySelector("cf-report");
const lineage = document.querySelector("cf-lineage");

/** Checks what is in the places now. */
function check() {
  const { receipt, ...material } = intake.material;
  if (!receipt) {
    verdict.wait();
    report.clear();
    return;
  }
  judge(receipt, material, { verdict, report }, check);
}

/** Journals, and several bundles, are a lineage; in its view so is one bundle. True where the files went there. */
function asLineage(files, { always = false } = {}) {
  const kinds = files.map(({ bytes }) => recognise(bytes));
  const bundles = kinds.filter((kind) => kind === "bundle").length;
  if (!always && !kinds.includes("journal") && bundles < (view() === "lineage" ? 1 : 2)) return false;
  const wanted = always ? files : files.filter((_, at) => ["journal", "bundle"].includes(kinds[at]));
  show("lineage");
  lineage.open(wanted, { together: true });
  return true;
}

/** Opens what whoever wrote this file put into it. */
function open({ documents = [], live, view: wanted, audit } = {}) {
  if (audit) {
    document.querySelector("cf-audit").show(audit);
    document.querySelector(".views [data-view=audit]").hidden = false;
    show("audit");
  }
  const files = documents.map(({ name, text, base64 }) => ({ name, bytes: base64 === undefined ? new TextEncoder().encode(text) : fromBase64(base64) }));
  if (wanted) show(wanted);
  if (live) follow(live, lineage);
  else if (files.length) intake.take(files);
}

async function start() {
  document.querySelector(".policy code").textContent = document.querySelector("meta[http-equiv]").content;
  await load(alone() ? await file("module") : undefined);
  intake.start();
  intake.addEventListener("change", check);
  intake.addEventListener("files", (event) => {
    if (asLineage(event.detail)) event.preventDefault();
  });
  document.querySelector("cf-lineage .openers").append(...openers((files) => asLineage(files, { always: true }), () => lineage.clear()));
  onView((name) => {
    const { receipt } = intake.material;
    if (name === "lineage" && !lineage.documents.length && receipt && recognise(receipt) === "bundle") asLineage([{ name: "The receipt", bytes: receipt }]);
  });
  keys(lineage);
  check();
  open(embedded());
  await brought();
}

/** What a link brings is named, and read when a person says so. */
async function brought() {
  const documents = await fromLink();
  if (!documents) return;
  show("lineage");
  const told = document.querySelector("[data-part=brought]");
  if (documents instanceof Error) return told.replaceChildren("The link to this page holds no documents that can be read.");
  const size = documents.reduce((sum, { text }) => sum + text.length, 0).toLocaleString("en");
  told.replaceChildren(`The link to this page holds ${documents.length === 1 ? "a document" : `${documents.length} documents`} of ${size} characters, by whoever made it. `,
    element("button", {
      type: "button", class: "button strong",
      onclick: () => {
        told.replaceChildren();
        lineage.open(documents.map(({ name, text }) => ({ name, bytes: new TextEncoder().encode(text) })));
      },
    }, "Check what the link holds"));
}

start().catch((error) => {
  verdict.broken();
  throw error;
});
