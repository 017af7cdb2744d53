// The page's side of the core's work on lineages: a worker, or the same code in the page where no worker may start.

import { load } from "../core.mjs";
import { alone, file } from "../files.mjs";
import { Keeper } from "./keeper.mjs";

// The page makes no script but its own: the only address that passes is the one made here.
const own = new Set();
const trusted = globalThis.trustedTypes?.createPolicy("counterfoil", {
  createScriptURL(url) {
    if (own.has(url)) return url;
    throw new TypeError("not a script of this page");
  },
});

async function address() {
  const url = alone()
    ? URL.createObjectURL(new Blob([await file("worker")], { type: "text/javascript" }))
    : new URL("lineage/worker.mjs", document.baseURI).href;
  own.add(url);
  return trusted ? trusted.createScriptURL(url) : url;
}

class InWorker {
  #worker;
  #calls = new Map();
  #last = 0;

  static async start() {
    const engine = new InWorker();
    engine.#worker = new Worker(await address(), { type: alone() ? "classic" : "module" });
    const failed = new Promise((_, fail) => engine.#worker.addEventListener("error", (event) => fail(new Error(event.message || "no worker"))));
    failed.catch(() => {});
    engine.#worker.addEventListener("message", ({ data }) => engine.#hear(data));
    await Promise.race([engine.#call("load", alone() ? await file("module") : undefined), failed]);
    return engine;
  }

  #hear({ id, answer, error, parcel }) {
    const call = this.#calls.get(id);
    if (parcel) return call.parcels.push(parcel);
    this.#calls.delete(id);
    if (error) call.fail(Object.assign(new Error(error.message), error));
    else call.done({ answer, parcels: call.parcels });
  }

  #call(call, given) {
    const id = (this.#last += 1);
    return new Promise((done, fail) => {
      this.#calls.set(id, { done, fail, parcels: [] });
      this.#worker.postMessage({ id, call, given });
    });
  }

  async open(documents) {
    const { answer, parcels } = await this.#call("open", documents);
    return { head: answer, rows: parcels.flat() };
  }

  receipts = async (given) => (await this.#call("receipts", given)).answer;
  request = async (given) => (await this.#call("request", given)).answer;
  attempts = async (given) => (await this.#call("attempts", given)).answer;
  exported = async (given) => (await this.#call("exported", given)).answer;
}

let engine;

/** The one engine of the page, started when it is first needed. What it gives is waited for, also where it is there at once. */
export function theEngine() {
  engine ??= InWorker.start().catch(async (error) => {
    console.info(`No worker: ${error.message}. The page does the work itself.`);
    await load(alone() ? await file("module") : undefined);
    return new Keeper();
  });
  return engine;
}
