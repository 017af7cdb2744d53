// One agent of a family, in a process of its own: node agent.mjs '{"actor","journal","rpc","policy","root"?,"intents","steps"}'.
// Writes the intents down, takes its steps one by one, and tells how each ended. In a step `parent` and `root` are ids that stand in `intents`.

import { createHash } from "node:crypto";
import { createPayer, wrapFetch } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { say } from "../crash/points.mjs";

const o = JSON.parse(process.argv[2]);
const journal = fileJournal(o.journal);
const options = {
  signer: { privateKey: Buffer.from(process.env.AGENT_KEY.slice(2), "hex") },
  secret: createHash("sha256").update("family test").digest(),
  journal, actor: o.actor, policy: o.policy,
  rpc: { "eip155:84532": o.rpc },
};
const intents = new Map();
const named = (id) => (id === undefined ? undefined : (intents.get(id) ?? id));
const writer = createPayer(options);
for (const { parent, ...intent } of o.intents) intents.set(intent.id, await writer.intend({ ...intent, parent: named(parent) }));
const payer = createPayer({ ...options, root: named(o.root) });

/** The network of one purchase: it may end with the process, or with the buyer's patience, once a payment is under way. */
function network({ dies, leaves }, gone) {
  return async (input, init) => {
    if (!new Headers(init?.headers).has("payment-signature")) return fetch(input, init);
    try {
      const answer = await fetch(input, init);
      if (dies) {
        say({ event: "here", label: "paid, and the answer not read" });
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      }
      return answer;
    } catch (error) {
      if (leaves) gone.abort();
      throw error;
    }
  };
}

const acts = {
  async buy({ url, intent: { parent, ...intent }, ...how }) {
    const gone = new AbortController();
    const response = await wrapFetch(network(how, gone), payer)(url, { intent: { ...intent, parent: named(parent) }, signal: gone.signal });
    const sha256 = createHash("sha256").update(Buffer.from(await response.arrayBuffer())).digest("hex");
    return { sha256, intentId: payer.describe(response).intentId };
  },
  intend: async ({ parent, ...intent }) => ({ intentId: await payer.intend({ ...intent, parent: named(parent) }) }),
  resume: async () => ({ outcomes: (await payer.resume()).map(({ outcome }) => outcome) }),
  async handOver({ id, to }) {
    for await (const { value } of journal.scan("intent/")) {
      const record = JSON.parse(new TextDecoder().decode(value));
      if (record.id === id) return { handOver: await payer.handOver(record.intentId, to) };
    }
    throw new Error(`nothing is known of ${id}`);
  },
  /** What is planned within one second has no order among itself. */
  async nextSecond() {
    const second = () => Math.floor(Date.now() / 1000);
    for (const now = second(); second() === now;) await new Promise((done) => setTimeout(done, 20));
    return {};
  },
  takeOver: async (handOver) => (await payer.takeOver(handOver), {}),
};

const ends = [];
for (const step of o.steps) {
  const [[kind, given]] = Object.entries(step);
  ends.push(await acts[kind](given).catch(({ code, name, intentId, message }) => ({ error: typeof code === "string" ? code : name, intentId, message })));
}
await payer.close();
say({ event: "end", ends });
process.exit(0);
