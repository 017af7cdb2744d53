// The same agent with counterfoil: one journal folder, one intent, the same ordinary retry loop.
//   AGENT_KEY=0x… node agent.mjs --url http://…/weather --intent <id> --journal <folder> --rpc http://… [--max-window 300]
//     [--stall-before-send] [--tries 3] [--export bundle.json] [--response response.bin]
// Prints one JSON line at the end. Run it again with the same journal and intent after anything at all.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createPayer } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { options, say, watchedFetch, withRetries } from "./retry.mjs";

const o = options();
const watch = watchedFetch({ stall: o["stall-before-send"] });
globalThis.fetch = watch.fetch;

const payer = createPayer({
  signer: { privateKey: new Uint8Array(Buffer.from(process.env.AGENT_KEY.slice(2), "hex")) },
  journal: await fileJournal(o.journal),
  rpc: { "eip155:84532": o.rpc },
  policy: { perCall: "20000", maxWindow: Number(o["max-window"] ?? 300) },
});

const resumed = await payer.resume();
const end = await withRetries(() => payer.fetch(o.url, { intent: { id: o.intent } }), { tries: Number(o.tries ?? 3) });
const { error } = end;
say({
  event: "result", delivered: end.delivered,
  outcome: end.delivered ? "delivered" : ({ proven: "paid_not_delivered", none: "unpaid" }[error?.money] ?? "unresolved"),
  next: error?.next ?? null, code: error?.code ?? null, money: error?.money ?? null,
  status: end.status ?? null, error: error ? String(error) : null, tries: end.tries, sent: watch.seen,
  sha256: end.body ? createHash("sha256").update(end.body).digest("hex") : null,
  resumed: resumed.map(({ intentId, outcome, money, next }) => ({ intentId, outcome, money, next })),
});
if (o.export) writeFileSync(o.export, await payer.export());
if (o.response && end.delivered) writeFileSync(o.response, end.body);
await payer.close();
process.exit(0);
