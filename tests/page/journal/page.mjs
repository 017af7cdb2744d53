// What a tab of the tests holds, on `window.tab`: the package as a bundler would take it, and the suite of journals on this origin's IndexedDB.

import * as package_ from "counterfoil";
import * as raw from "counterfoil/raw";
import { indexedDbJournal } from "counterfoil/browser";
import { journalSuite } from "../../js/journal-suite.mjs";
import { tests } from "./suite.mjs";

let places = 0;
const made = new WeakMap();

function make() {
  const place = `suite-${crypto.randomUUID()}-${++places}`;
  const journal = indexedDbJournal(place);
  made.set(journal, place);
  return journal;
}

/** On the same database from a frame, which has a package of its own. */
async function another(journal) {
  const frame = document.createElement("iframe");
  frame.src = location.href;
  document.body.append(frame);
  await new Promise((done) => (frame.onload = done));
  return frame.contentWindow.tab.indexedDbJournal(made.get(journal));
}

journalSuite("indexedDb", make, another);

window.tab = { ...package_, raw, indexedDbJournal, titles: tests.map(({ title }) => title), run: (n) => tests[n].body() };
