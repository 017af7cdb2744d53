// One error class. Its codes, and what each means for the money and the next step, come from the core's registry.

import { codes } from "./codes.mjs";

export class CounterfoilError extends Error {
  /**
   * @param {string} code from the registry
   * @param {object} [detail] `field`, ids and `cause`; `next` and `money` where they differ from the registry's
   */
  constructor(code, detail = {}) {
    const known = codes[code] ?? { meaning: "An unknown code.", next: "stop", money: "possible" };
    const field = detail.field || undefined;
    super(`${code}: ${known.meaning}${field ? ` (${field})` : ""}`, "cause" in detail ? { cause: detail.cause } : undefined);
    this.code = code;
    if (field) this.field = field;
    this.next = detail.next ?? known.next;
    this.money = detail.money ?? known.money;
    for (const name of ["intentId", "attemptId", "retryAfter", "poll"]) {
      if (detail[name] !== undefined && detail[name] !== null) this[name] = detail[name];
    }
  }
}
// On the prototype, as with the built-in errors, so that it does not show up among an error's own fields.
Object.defineProperty(CounterfoilError.prototype, "name", { value: "CounterfoilError", configurable: true, writable: true });
