/** counterfoil/browser: what needs a browser's storage. */
import type { JournalStore } from "./values.js";

/**
 * A journal in the IndexedDB database `name` of this origin, shared by its tabs and workers; durability "power-loss": a commit resolves once the
 * transaction, opened with `durability: "strict"`, is complete. Leases carry fencing tokens that only rise; one whose tab is gone is free at
 * once, which Web Locks tell. Needs a secure context (HTTPS or localhost). What a browser may throw away under storage
 * pressure it throws away with this: ask `navigator.storage.persist()`, and give intents explicit ids.
 * Errors: `invalid_type` at once; later `journal_unavailable` (nothing was written), `journal_closed`.
 */
export function indexedDbJournal(name: string): JournalStore;
