// An observer's trace of every call, where the payer was given a tracer. It has the shape of that of @opentelemetry/api, of which nothing is needed here. Which spans are open, and
// what they are told, is the core's; a tracer that fails is left alone, and a call goes on as if there were none.

import { call } from "./boundary.mjs";

const ERROR = { code: 2 };
/** Tells nobody. */
export const SILENT = { next: () => undefined, end() {} };

/** Runs a call; `act` is given what its trace is told through. */
export function observed(host, start, act) {
  const told = host.tracer && quietly(() => call("clientCallSpan", { config: host.config, start }));
  if (!told) return act(SILENT);
  return within(host.tracer, told, (span) => act(new Trace(host.tracer, span)));
}

class Trace {
  #tracer;
  #root;
  /** The spans below the call's own, the outer first. */
  #open = [];

  constructor(tracer, root) {
    this.#tracer = tracer;
    this.#root = root;
  }

  /** Where the call stands, for what is written down of it. */
  get traceparent() {
    return quietly(() => {
      const { traceId, spanId, traceFlags } = this.#root.spanContext();
      return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
    });
  }

  /** What has to be done before an effect is carried out: `{open: span}`, `{close: true}` for the innermost, or nothing. */
  next(state, effect) {
    const wanted = quietly(() => call("clientSpans", { state, effect: effect.type, paid: effect.payment !== undefined }));
    if (!wanted) return undefined;
    const own = this.#open.findIndex(({ key }, at) => key !== wanted[at]?.key);
    if (own >= 0) return { close: true };
    const open = wanted[this.#open.length];
    return open && { open };
  }

  /** Runs `act` within a span. */
  inside(told, act) {
    return within(this.#tracer, told, async (span) => {
      this.#open.push({ key: told.key, span });
      try {
        return await act();
      } finally {
        this.#open.pop();
      }
    });
  }

  /** Tells every open span how the call ends. */
  end(state, { error, resolution = {} }) {
    const { delivery: _, ...rest } = resolution;
    const told = quietly(() => call("clientSpanEnd", { state, error, ...(error === undefined && { resolution: rest }) }));
    for (const span of [this.#root, ...this.#open.map(({ span }) => span)]) quietly(() => span.setAttributes(told.attributes));
  }
}

/** Runs `act` once, within a span where the tracer makes one, which ends with it. */
function within(tracer, { name, attributes }, act) {
  let begun;
  const once = (span) => (begun ??= ended(span, act(span)));
  const options = { attributes };
  const made = quietly(() => (typeof tracer.startActiveSpan === "function" ? tracer.startActiveSpan(name, options, once) : once(tracer.startSpan(name, options))));
  // What a tracer makes of our own promise is its own, also where it fails.
  Promise.resolve(made).catch(() => {});
  return once(undefined);
}

async function ended(span, result) {
  try {
    return await result;
  } catch (error) {
    quietly(() => span.setStatus(ERROR));
    throw error;
  } finally {
    quietly(() => span.end());
  }
}

function quietly(act) {
  try {
    return act();
  } catch {
    return undefined;
  }
}
