// counterfoil: the client, and everything that is pure.

export { CounterfoilError } from "./errors.mjs";
export { memoryJournal } from "./journal.mjs";
export { createPayer, wrapFetch } from "./payer.mjs";
export { load } from "./whole.mjs";
export * from "./core.mjs";
export * from "./verify.mjs";
