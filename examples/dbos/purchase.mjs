// A paid call as a step of a DBOS workflow, in the PostgreSQL that holds the journal.
//
// DBOS repeats a step that a dead process had begun: at least once. counterfoil makes the repeated step the same purchase: at most once. The
// intent id is made of the workflow's id, so whoever recovers the workflow, on whatever machine, finds what was signed and sent in
// the journal and goes on from there; once DBOS has recorded the step, nobody pays, asks or reads anything again. What the
// history carries is the step's input and its result, and the result says how many bytes that was.
//
//     import { DBOS } from "@dbos-inc/dbos-sdk";
//     import pg from "pg";
//     import { createPayer } from "counterfoil";
//     import { postgresJournal } from "counterfoil/postgres";
//     import { registerPurchase } from "./purchase.mjs";
//
//     const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
//     const payer = createPayer({
//       signer: { privateKey }, secret,              // the same on every machine
//       journal: postgresJournal({ pool }),          // the same database as DBOS
//       rpc: { "eip155:8453": [rpcA, rpcB] },
//       policy: { perCall: "20000" },
//     });
//     const purchase = registerPurchase(payer);      // before launch: recovery looks for it by its name
//     DBOS.setConfig({ name: "reports", systemDatabaseUrl: process.env.DATABASE_URL, applicationVersion: "1" });
//     await DBOS.launch();                           // goes on with what a dead process left
//
//     const handle = await DBOS.startWorkflow(purchase, { workflowID: "order-2026-11-29-0001" })("https://api.example/report");
//     const bought = await handle.getResult();       // { intentId, status, bytes, sha256, body, carried } or { code, money, next }
//
// What to know:
// - DBOS recovers the workflows of its own `applicationVersion`. Left out, it is a digest of the code, and a crash followed by a deployment
//   leaves the purchase to `payer.resume()`. Run that after each start too; it settles what no workflow asks for any more.
// - An error thrown out of a step would be the workflow's recorded end, also one that only says "wait". So the step gives back what
//   happened, and the workflow sleeps and asks again: `error.next` decides, and nothing here does.
// - What a dead machine left is put back in the queue when one with its `executorID` starts, and any machine of the application may take it.
//   Should two come to run one workflow, the journal's lease lets one of them pay and the other take the answer.

import { DBOS } from "@dbos-inc/dbos-sdk";
import { paidCall, refusal, size } from "../paid-call.mjs";

const TRIES = 100;
/** Seconds, where the error does not say how long. */
const PAUSE = 10;

/**
 * The workflow `(url) => bought`; its id names the purchase. A refusal that is given back with `again: true` was still open when the tries were used up.
 * @param {import("counterfoil").Payer} payer
 */
export function registerPurchase(payer) {
  const step = DBOS.registerStep(
    /** @param {import("../paid-call.mjs").Call} call */
    async (call) => {
      const told = await paidCall(payer, call, DBOS.stepStatus?.cancelSignal).catch(refusal);
      return { ...told, carried: { input: size(call), result: size(told) } };
    },
    // For what is no error of counterfoil: the seller can't be reached and has not named a price.
    { name: "paid call", retriesAllowed: true, maxAttempts: 5 },
  );

  return DBOS.registerWorkflow(
    /** @param {string} url */
    async (url) => {
      const intentId = `dbos/${DBOS.workflowID}/report`;
      for (let tries = 1; ; tries += 1) {
        const told = await step({ intentId, url });
        DBOS.logger.info(`${intentId}: carried ${told.carried.input} + ${told.carried.result} bytes`);
        if (!("again" in told && told.again) || tries === TRIES) return told;
        await DBOS.sleep((told.retryAfter ?? PAUSE) * 1000);
      }
    },
    { name: "purchase" },
  );
}
