// An agent as the official packages' examples write it: wrapped fetch, inside an ordinary retry loop.
//   AGENT_KEY=0x… node official-agent.mjs --url http://…/weather [--stall-before-send] [--tries 3]
// Prints one JSON line at the end. It keeps nothing on disk.
import { createHash } from "node:crypto";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { privateKeyToAccount } from "viem/accounts";
import { options, say, watchedFetch, withRetries } from "./retry.mjs";

const o = options();
const { fetch, seen } = watchedFetch({ stall: o["stall-before-send"] });
const account = privateKeyToAccount(process.env.AGENT_KEY);
const pay = wrapFetchWithPayment(fetch, new x402Client().register("eip155:*", new ExactEvmScheme(account)));

const end = await withRetries(() => pay(o.url), { tries: Number(o.tries ?? 3) });
say({
  event: "result", delivered: end.delivered, outcome: end.delivered ? "delivered" : "gave_up", next: null,
  status: end.status ?? null, error: end.error ? String(end.error) : null, tries: end.tries, sent: seen,
  sha256: end.body ? createHash("sha256").update(end.body).digest("hex") : null,
});
process.exit(0);
