// counterfoil/inline: the same as counterfoil, with the module in the text: nothing to load, nothing to fetch.

import { base64 } from "./wasm-base64.mjs";
import "./whole.mjs";
import { modules } from "./wasm.mjs";

modules.whole.carry(() => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));

export * from "./index.mjs";
