// The one WebAssembly instance. In Node and in the inline build its bytes come with the package and it starts by itself
// at the first call; elsewhere `load` fetches it.

import start, { __wbg_reset_state, call, canonicalSha256, canonicalize, initSync, sha256 } from "../wasm/glue.mjs";
import { CounterfoilError } from "./errors.mjs";

const functions = { call, canonicalSha256, canonicalize, sha256 };

let started = false;
let carried;

/** Names where the module's bytes are to be had without waiting. */
export function carry(bytes) {
  carried = bytes;
}

/**
 * Makes the functions of the package usable. Needed in browsers, once; where the module comes with the package it does
 * nothing. May be called again, also after a failure.
 */
export async function load(source) {
  if (started || carried) return;
  try {
    await start({ module_or_path: source ?? new URL("../wasm/counterfoil_bg.wasm", import.meta.url) });
    started = true;
  } catch (cause) {
    throw new CounterfoilError("not_loaded", { cause });
  }
}

/** Runs one function of the instance. */
export function enter(name, args) {
  if (!started) {
    if (!carried) throw new CounterfoilError("not_loaded");
    initSync({ module: carried() });
    started = true;
  }
  try {
    return functions[name](...args);
  } catch (cause) {
    // Only a trap ends here: out of memory, out of stack, a defect. The instance may be half way through something, so
    // a fresh one takes its place; the core holds no state, so nothing is lost.
    __wbg_reset_state();
    throw new CounterfoilError("internal_error", { cause });
  }
}
