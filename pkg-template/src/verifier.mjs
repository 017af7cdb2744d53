// The module of those who only read and verify: without what pays, sells and signs. It is built twice, and the engine says which it takes.

import * as glue from "../wasm/verify.mjs";
import { module, modules } from "./wasm.mjs";

// A function that takes nothing and gives one vector: (module (func (result v128) i32.const 0 i8x16.splat))
const PROBE = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11);

/** Whether the engine multiplies several numbers at once (simd128). */
export const lanes = () => WebAssembly.validate(PROBE);

modules.verifier = module(glue, () =>
  lanes() ? new URL("../wasm/verify_simd_bg.wasm", import.meta.url) : new URL("../wasm/verify_bg.wasm", import.meta.url),
);

/** As `load` of `counterfoil`, for what `counterfoil/verify` exports. It does nothing where the whole core runs already. */
export async function load(source) {
  if (!modules.whole?.started()) await modules.verifier.load(source);
}
