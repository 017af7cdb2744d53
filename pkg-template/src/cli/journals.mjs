// The journals that the command line names.

import { stat } from "node:fs/promises";
import { join } from "node:path";

/** The file itself: a name that was mistyped must not become a new journal. */
export async function journalFile(path) {
  return (await stat(path)).isDirectory() ? join(path, "journal.jsonl") : path;
}
