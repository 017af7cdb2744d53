// counterfoil/inline: the same as counterfoil, with its modules in the text: nothing to load, nothing to fetch.

import { counterfoil, jws } from "./wasm-base64.mjs";
import "./jws.mjs";
import "./whole.mjs";
import { modules } from "./wasm.mjs";

const carried = (base64) => () => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
modules.whole.carry(carried(counterfoil));
modules.jws.carry(carried(jws));

export * from "./index.mjs";
