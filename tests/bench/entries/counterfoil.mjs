import { createPayer, load, memoryJournal } from "counterfoil";

await load();
export const fetchOf = (privateKey) => createPayer({ signer: { privateKey }, journal: memoryJournal(), policy: { perCall: "10000" } }).fetch;
