// One of several processes that spend from one wallet: node cap-worker.mjs '{"pool","table","url","signed","cap","worker","calls"}', with a channel to its parent.
// Buys each of its calls once, and tells how each ended. What it signs it appends to `signed` first.

import { appendFileSync } from "node:fs";
import pg from "pg";
import { createPayer } from "counterfoil";
import { postgresJournal } from "counterfoil/postgres";
import { KEY, OFFER, privateKeyToAccount } from "../js/payer-stage.mjs";

const o = JSON.parse(process.argv[2]);
const pool = new pg.Pool({ ...o.pool, max: 2 });
pool.on("error", () => {});
const account = privateKeyToAccount(KEY);
const payer = createPayer({
  signer: {
    address: account.address,
    signTypedData: (document) => {
      appendFileSync(o.signed, `${document.message.nonce}\n`);
      return account.signTypedData(document);
    },
  },
  journal: postgresJournal({ pool, table: o.table }),
  policy: { perCall: OFFER.amount, perWallet: [{ amount: o.cap, window: 86_400 }] },
  actor: `worker-${o.worker}`,
});

async function buy(call) {
  const id = `cap-${String(o.worker).padStart(6, "0")}-${call.padStart(8, "0")}`;
  for (;;) {
    try {
      return await (await payer.fetch(`${o.url}?worker=${o.worker}&call=${call}`, { intent: { id } })).text();
    } catch (error) {
      // Eight write one record: whoever was overtaken too often begins again.
      if (error.code !== "journal_conflict") return error.code ?? String(error.stack);
    }
  }
}

process.once("message", async () => {
  const ends = [];
  for (const call of o.calls) ends.push(await buy(call));
  process.send({ ends });
  process.disconnect();
  await pool.end();
});
process.send({ ready: true });
