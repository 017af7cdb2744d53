// The page's one door to the package: the same files and the same WebAssembly module that npm gets. `cargo xtask build`
// puts them beside the page, as target/www/counterfoil.

export { sha256 } from "./counterfoil/src/hashes.mjs";
export { cut, inUnits, networkName, visible, visibleAscii, visibleCell, visibleLines } from "./counterfoil/src/display.mjs";
export { CounterfoilError } from "./counterfoil/src/errors.mjs";
export { approvalDocument, refusalDocument, lineage, lineageProv, load, loadJws, verifyReceipt } from "./counterfoil/src/verify.mjs";
export { callAny } from "./counterfoil/src/boundary.mjs";
export { jwsMissed } from "./counterfoil/src/jws.mjs";
