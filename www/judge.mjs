// One receipt, judged and shown: the same wherever the page shows one.

import { CounterfoilError, verifyReceipt } from "./core.mjs";
import { awaitsJws } from "./jws.mjs";

/** Shows the report on a receipt's bytes, or why there is none. `again` is called when the part that its signature needs has come. */
export function judge(receipt, material, { verdict, report }, again) {
  try {
    const found = verifyReceipt(receipt, { ...material, now: Math.floor(Date.now() / 1000) });
    if (awaitsJws(again)) return;
    verdict.show(found);
    report.show(found, receipt);
  } catch (error) {
    if (!(error instanceof CounterfoilError)) throw error;
    verdict.refuse(error);
    report.showRaw(receipt);
  }
}
