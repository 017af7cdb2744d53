// Verdicts on blocks of lines, in this thread or in a worker of its own.

import { parentPort, workerData } from "node:worker_threads";
import { auditLines, auditSummary } from "counterfoil/verify";
import { answersIn } from "./answers.mjs";

/** `judge(block)` gives verdicts, keys and summary. */
export function judgeOf({ given, responses, blank }) {
  const find = responses === undefined ? undefined : answersIn(responses);
  return ({ lines, input, first, numbers, broken }) => auditLines(lines, { input, first, numbers, broken, given, blank, find });
}

if (parentPort) {
  const judge = judgeOf(workerData);
  parentPort.on("message", ({ place, blocks }) => {
    const judged = blocks.map(judge);
    const verdicts = judged.map((one) => one.verdicts.slice());
    const keys = judged.map((one) => one.keys.slice());
    const summary = auditSummary(judged.map((one) => one.summary));
    parentPort.postMessage({ place, verdicts, keys, summary }, [...verdicts, ...keys].map(({ buffer }) => buffer));
  });
}
