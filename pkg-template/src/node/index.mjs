// counterfoil/node: what needs a file system, and the reader of chain evidence.

export { fileJournal } from "./file-journal.mjs";
export { memoryJournal } from "../journal.mjs";
export { readEvidence } from "../rpc.mjs";
