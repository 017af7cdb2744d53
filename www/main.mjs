// The inspector: takes documents in, asks the core, shows its report. It decides nothing itself, talks to nobody and reads
// nothing from its own address.

import "./elements/theme.mjs";
import "./elements/verdict.mjs";
import "./elements/intake.mjs";
import "./elements/report.mjs";
import { CounterfoilError, load, verifyReceipt } from "./core.mjs";

const verdict = document.querySelector("cf-verdict");
const intake = document.querySelector("cf-intake");
const report = document.querySelector("cf-report");

/** Checks what is in the places now. */
function check() {
  const { receipt, ...material } = intake.material;
  if (!receipt) {
    verdict.wait();
    report.clear();
    return;
  }
  try {
    const found = verifyReceipt(receipt, { ...material, now: Math.floor(Date.now() / 1000) });
    verdict.show(found);
    report.show(found, receipt);
  } catch (error) {
    if (!(error instanceof CounterfoilError)) throw error;
    verdict.refuse(error);
    report.showRaw(receipt);
  }
}

try {
  await load();
  intake.start();
  intake.addEventListener("change", check);
  check();
} catch (error) {
  verdict.broken();
  throw error;
}
