// The rows as a table for a spreadsheet (RFC 4180), in which no text of a document can become a formula.

const COLUMNS = ["kind", "depth", "intentId", "attemptId", "parent", "agent", "label", "state", "by", "at", "endedAt", "network", "asset", "payTo", "cost", "runningTotal", "budget", "transaction", "flags"];
const FORMULA = /^[=+\-@\t\r\n]|^\s+[=+\-@]/;

export function csv(rows) {
  const lines = rows.map((row) => COLUMNS.map((name) => cell(name === "flags" ? row.flags.join(" ") : row[name])).join(","));
  return `${[COLUMNS.join(","), ...lines].join("\r\n")}\r\n`;
}

function cell(value) {
  const text = value === undefined ? "" : String(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}
