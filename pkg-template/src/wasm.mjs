// The WebAssembly modules of the package, of one source. `whole` answers every call; `verifier` is smaller and answers those that read and
// verify; `jws` knows two algorithms that neither has. In Node and in the inline build their bytes come with the package, and a module starts by itself at the first call that
// needs it; elsewhere `load` fetches it.

import { CounterfoilError } from "./errors.mjs";

/** By name. Each has a file that puts it here, so that whoever imports one file does not bring the other module along. */
export const modules = {};

/** What `whole.mjs` and `verifier.mjs` put there. `glue` is what was generated for the module, `url` where a browser finds it. */
export function module(glue, url) {
  let started = false;
  let carried;
  return {
    /** Names where the module's bytes are to be had without waiting. */
    carry(bytes) {
      carried = bytes;
    },
    started: () => started,
    /** Whether a call may come. */
    ready: () => started || carried !== undefined,
    async load(source) {
      if (started || carried) return;
      try {
        await glue.default({ module_or_path: source ?? url() });
        started = true;
      } catch (cause) {
        throw new CounterfoilError("not_loaded", { cause });
      }
    },
    /** Runs one function of the instance. */
    enter(name, args) {
      if (!started) {
        if (!carried) throw new CounterfoilError("not_loaded");
        glue.initSync({ module: carried() });
        started = true;
      }
      try {
        return glue[name](...args);
      } catch (cause) {
        // Only a trap ends here: out of memory, out of stack, a defect. The instance may be half way through something, so
        // a fresh one takes its place; the core holds no state, so nothing is lost.
        glue.__wbg_reset_state();
        throw new CounterfoilError("internal_error", { cause });
      }
    },
  };
}

/** Runs a function that only the whole core has. */
export function enter(name, args) {
  if (!modules.whole) throw new CounterfoilError("not_loaded");
  return modules.whole.enter(name, args);
}

/** Runs a function that every module has: in the one that runs, and where none does, in the smallest that is there. */
export function enterAny(name, args) {
  const { whole, verifier } = modules;
  const one = whole?.started() || !verifier?.ready() ? (whole ?? verifier) : verifier;
  if (!one) throw new CounterfoilError("not_loaded");
  return one.enter(name, args);
}

/** The same for much work at once, which the verifier is built for. */
export function enterBulk(name, args) {
  return modules.verifier?.ready() ? modules.verifier.enter(name, args) : enterAny(name, args);
}
