// counterfoil/browser: what needs a browser's storage.

export { indexedDbJournal } from "./journal.mjs";
