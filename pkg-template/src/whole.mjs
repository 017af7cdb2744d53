// The module that answers every call.

import * as glue from "../wasm/counterfoil.mjs";
import { module, modules } from "./wasm.mjs";

modules.whole = module(glue, () => new URL("../wasm/counterfoil_bg.wasm", import.meta.url));

/**
 * Makes the functions of the package usable. Needed in browsers, once; where the module comes with the package it does
 * nothing. May be called again, also after a failure.
 */
export function load(source) {
  return modules.whole.load(source);
}
