// The worker: the core and the documents off the page's own thread. It is told what to do by the page alone.

import { CounterfoilError, load } from "../core.mjs";
import { Keeper, said } from "./keeper.mjs";

/** Rows cross in parcels, so that no one of them holds the page up. */
const PARCEL = 2000;
const keeper = new Keeper();

const CALLS = {
  /** Starts the core, from the module's bytes where the page has them. */
  load: async (bytes) => void (await load(bytes)),
  open: (documents, tell) => {
    const { head, rows } = keeper.open(documents);
    for (let at = 0; at < rows.length; at += PARCEL) tell(rows.slice(at, at + PARCEL));
    return head;
  },
  receipts: (intentId) => keeper.receipts(intentId),
  request: (intentId) => keeper.request(intentId),
  attempts: (ids) => keeper.attempts(ids),
  exported: (kind) => keeper.exported(kind),
};

onmessage = async ({ data: { id, call, given } }) => {
  try {
    postMessage({ id, answer: await CALLS[call](given, (parcel) => postMessage({ id, parcel })) });
  } catch (error) {
    if (!(error instanceof CounterfoilError)) console.error(error);
    postMessage({ id, error: said(error) });
  }
};
