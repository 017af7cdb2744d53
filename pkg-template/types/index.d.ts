/** counterfoil: pay x402 APIs at most once, provably, and check it afterwards. */
export * from "./core.js";
export * from "./verify.js";
export { CounterfoilError } from "./values.js";
export type { JournalEntry, JournalLease, JournalOp, JournalStore, Rpc } from "./values.js";

/**
 * Makes the functions usable in a browser: fetches the WebAssembly module once, from beside the package unless another source is given.
 * In Node and with `counterfoil/inline` the module is there already and this does nothing. May be called again after a failure.
 */
export function load(source?: URL | string | Response | Uint8Array | WebAssembly.Module): Promise<void>;
