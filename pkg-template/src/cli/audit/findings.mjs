// The findings across lines: for each key that several share, their verdicts are read again and handed to the core.

import { auditAcross } from "counterfoil/verify";

/** As the core has it. */
const MOST_COMPARED = 1000;
const AT_ONCE = 256;
const PLACE = /^\{"v":1,"input":("(?:[^"\\]|\\.)*"),"line":(\d+)/;

/** The findings in the order of their keys, which is that of no input: the same for the same lines, however they were parted. */
export function* findingsOf(joins, spool) {
  let [groups, held] = [[], 0];
  for (const group of joins.groups()) {
    const verdicts = first(group, spool);
    groups.push({ kind: group.kind, count: group.count, verdicts: verdicts.map(({ text }) => JSON.parse(text)) });
    held += verdicts.length;
    if (held < AT_ONCE) continue;
    yield* auditAcross(groups);
    [groups, held] = [[], 0];
  }
  if (groups.length) yield* auditAcross(groups);
}

/** The first verdicts of a group by input and line, never many more in memory than are compared. */
function first({ members }, spool) {
  let kept = [];
  for (const [at, length] of members) {
    const text = spool.read(at, length);
    const [, input, line] = PLACE.exec(text);
    kept.push({ text, input: Buffer.from(JSON.parse(input)), line: Number(line) });
    if (kept.length === 2 * MOST_COMPARED) kept = kept.sort(order).slice(0, MOST_COMPARED);
  }
  return kept.sort(order).slice(0, MOST_COMPARED);
}

function order(one, other) {
  return Buffer.compare(one.input, other.input) || one.line - other.line || (one.text < other.text ? -1 : 1);
}
