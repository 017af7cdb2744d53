// The part of the core that checks JWS on P-256 and Ed25519: it is fetched when a document is met that is signed so.

import { jwsMissed, loadJws } from "./core.mjs";
import { alone, file } from "./files.mjs";

let coming;
let settled = false;

/** Whether the report that was just made lacks that part. Then `again` is called when it is there, or can't be had. */
export function awaitsJws(again) {
  if (settled || !jwsMissed()) return false;
  coming ??= bring()
    .catch(() => {})
    .then(() => (settled = true));
  coming.then(again);
  return true;
}

async function bring() {
  await loadJws(alone() ? await file("jws") : undefined);
}
