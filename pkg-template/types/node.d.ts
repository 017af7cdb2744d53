/** counterfoil/node: what needs a file system, and the reader of chain evidence. */
import type { Address, ChainEvidence, Hex, JournalStore, Network, Rpc, Seconds, TokenLayout, UnreadableEvidence } from "./values.js";

/**
 * A journal in one append-only file, each commit a line that is on the disk before `commit` resolves. `path` is the file, or a folder that gets
 * a `journal.jsonl`; what is missing is made, readable by its owner only. Opened at the first use: `journal_locked` while another
 * process has it, `journal_corrupt` at the damaged byte, `journal_unavailable` when the file can't be had. After a failed write everything is
 * refused until the journal is opened again.
 */
export function fileJournal(path: string | { path: string }): JournalStore;
/** A journal that ends with the process. */
export function memoryJournal(): JournalStore;
/**
 * What each source tells about one nonce, read at one block: the lowest that all of them have under `tag`. Never throws for a source that can't
 * be read: it answers `{error: "unreachable"}`, which `resolve` counts as unreadable.
 */
export function readEvidence(rpcs: Rpc | Rpc[], what: {
  network: Network; asset: Address; payer: Address;
  /** Hex; of Permit2 also as decimal text. */
  nonce: string;
  /**
   * "eip3009" when absent. A used nonce of Permit2 is found by its state at earlier blocks: a source that keeps no state so far back gives no logs,
   * and `resolve` then says `used_or_cancelled`.
   */
  method?: "eip3009" | "permit2" | "tempo";
  /** Of a transaction on Tempo, whose `nonce` is its memo: who is paid, its end, and its hash where that is known. */
  recipient?: Address; validBefore?: Seconds; hash?: Hex;
  /** "finalized" when absent. */
  tag?: "latest" | "safe" | "finalized";
  /** Milliseconds for one call, 10,000 when absent. */
  timeout?: number;
  /** Also reads what proves the answers: headers, eth_getProof, the receipt in its block. `layouts` where the token's code is not pinned. */
  proofs?: boolean | { layouts?: TokenLayout[] };
}): Promise<(ChainEvidence | UnreadableEvidence)[]>;
