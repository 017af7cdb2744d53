// node paying-worker.mjs '{"pool","table","rpc","url","leaseMs"?}', started with a channel to its parent: settles what is left open, says
// so, and then buys under each intent id that it is told.

import { createHash } from "node:crypto";
import pg from "pg";
import { createPayer } from "counterfoil";
import { postgresJournal } from "counterfoil/postgres";

const o = JSON.parse(process.argv[2]);
const pool = new pg.Pool({ ...o.pool, max: 3 });
pool.on("error", () => {});
const payer = createPayer({
  signer: { privateKey: new Uint8Array(Buffer.from(process.env.WORKER_KEY.slice(2), "hex")) },
  journal: postgresJournal({ pool, table: o.table }),
  rpc: { "eip155:84532": o.rpc },
  policy: { perCall: "20000", maxWindow: 300 },
  leaseMs: o.leaseMs,
});

process.on("disconnect", () => process.exit(0));
process.on("message", async ({ id }) => {
  try {
    const response = await payer.fetch(o.url, { intent: { id } });
    const sha256 = createHash("sha256").update(new Uint8Array(await response.arrayBuffer())).digest("hex");
    process.send({ id, sha256, replayed: response.headers.has("idempotency-replayed") });
  } catch ({ code, money, next, stack, cause }) {
    process.send({ id, code, money, next, ...(code === undefined || code === "journal_unavailable" ? { stack: `${stack}\n${cause?.stack}` } : {}) });
  }
});
const resumed = await payer.resume();
process.send({ resumed: resumed.map(({ intentId, outcome }) => ({ intentId, outcome })) });
