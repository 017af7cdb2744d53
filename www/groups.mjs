// Checks by subject, in the order in which a reader asks.

const SUBJECTS = [
  ["Record", ["format", "record", "intent"]],
  ["Offer", ["quote"]],
  ["Signature", ["authorization", "signature", "payment"]],
  ["Seller's statement", ["settlement"]],
  ["Chain", ["chain"]],
  ["Answer", ["delivery"]],
  ["Your expectations", ["expect"]],
];
const PURCHASE = /^purchase\[(\d+)\]\./;

/** Which purchase of a bundle a check is about; undefined when the bundle has but one, or it is about the whole. */
export function purchaseOf(check) {
  const found = PURCHASE.exec(check.id);
  return found ? Number(found[1]) : undefined;
}

/** `[{title, checks}]`, without empty ones. */
export function groupsOf(checks) {
  const groups = [...SUBJECTS.map(([title]) => ({ title, checks: [] })), { title: "Other", checks: [] }];
  for (const check of checks) {
    const [first] = check.id.replace(PURCHASE, "").split(".");
    const at = SUBJECTS.findIndex(([, names]) => names.includes(first));
    groups.at(at).checks.push(check);
  }
  return groups.filter((group) => group.checks.length);
}

/** The state of several checks together: any failure fails, a required check that was not made leaves it open. */
export function stateOf(checks) {
  if (checks.some((check) => check.state === "fail")) return "fail";
  if (checks.some((check) => check.required && check.state === "not_checked")) return "not_checked";
  return checks.some((check) => check.state === "pass") ? "pass" : "not_checked";
}
