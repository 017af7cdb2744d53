// The rows as a table for a spreadsheet (RFC 4180), in which no text of a document can become a formula.

const COLUMNS = ["kind", "depth", "intentId", "attemptId", "parent", "agent", "label", "state", "by", "at", "endedAt", "network", "asset", "payTo", "cost", "runningTotal", "budget", "transaction", "flags"];

/** `shown` makes a text a cell in which nothing is hidden and nothing is a formula. */
export function csv(rows, shown) {
  const lines = rows.map((row) => COLUMNS.map((name) => cell(name === "flags" ? row.flags.join(" ") : row[name], shown)).join(","));
  return `${[COLUMNS.join(","), ...lines].join("\r\n")}\r\n`;
}

function cell(value, shown) {
  const safe = value === undefined ? "" : shown(value);
  return /[",;\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}
