// The part that checks JWS on P-256 and Ed25519, which few documents are signed with. In Node and in the inline build it starts by itself
// when one is met; elsewhere `loadJws` fetches it.

import * as glue from "../wasm/jws.mjs";
import { module, modules } from "./wasm.mjs";

modules.jws = module(glue, () => new URL("../wasm/jws_bg.wasm", import.meta.url));

/** As `load`. Without it a signature of those two algorithms counts as not checked, and the verdict says so. */
export function loadJws(source) {
  return modules.jws.load(source);
}

/** Whether the last document with such a signature came before the part was there. */
export const jwsMissed = () => modules.jws.missed === true;
