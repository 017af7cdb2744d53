// The same facts as lines of JSON or as Markdown tables.

export function jsonLines({ about, speeds = [], audits = [], cold = [], sizes = [], pages = [] }) {
  const lines = [{ kind: "about", ...about }];
  for (const { id, title, results } of speeds) for (const result of results) lines.push({ kind: "speed", question: id, title, ...result });
  for (const result of audits) lines.push({ kind: "audit", ...result });
  for (const result of cold) lines.push({ kind: "cold", ...result });
  for (const result of pages) lines.push({ kind: "page", ...result });
  for (const size of sizes) lines.push({ kind: "size", ...size });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

export function markdown({ about, speeds = [], audits = [], cold = [], sizes = [], pages = [] }) {
  const out = [`${about.date}, ${about.cpu}, ${about.cores} cores, load ${about.load}, Node ${about.node}. ${about.versions}.`, ""];
  for (const { title, results } of speeds) {
    out.push(`### ${title}`, "", "| | calls a processor second, median | quartiles | counterfoil's speed ÷ peer's, median | quartiles |", "|---|---:|---:|---:|---:|");
    for (const { name, speed, ratio } of results) out.push(row(name, count(speed.median), `${count(speed.low)} – ${count(speed.high)}`, ...against(ratio)));
    out.push("");
  }
  if (audits.length) {
    out.push("### The command", "", "| | lines | lines a second, on the wall | most memory, MB |", "|---|---:|---:|---:|");
    for (const { name, lines, rate, megabytes } of audits.filter(({ rate }) => rate)) out.push(row(name, count(lines), count(rate), count(megabytes)));
    out.push("");
    for (const { name, lines, agrees } of audits.filter(({ rate }) => !rate)) out.push(`${name}, over the verdicts on ${count(lines)} lines: ${agrees ? "the same sums" : "OTHER SUMS"}.`, "");
  }
  if (cold.length) {
    out.push("### From import to the first verdict", "", "| | milliseconds, median | quartiles | counterfoil's time ÷ peer's, median | quartiles |", "|---|---:|---:|---:|---:|");
    for (const { name, milliseconds: time, ratio } of cold) out.push(row(name, time.median.toFixed(1), `${time.low.toFixed(1)} – ${time.high.toFixed(1)}`, ...against(ratio)));
    out.push("");
  }
  if (pages.length) {
    out.push("### The page", "", "| | | |", "|---|---:|---|");
    for (const { name, value, unit } of pages) out.push(row(name, count(value), unit));
    out.push("");
  }
  if (sizes.length) {
    out.push("### Sizes, bytes", "", "| | raw | gzip | brotli |", "|---|---:|---:|---:|");
    for (const { name, raw, gzip, brotli } of sizes) out.push(row(name, count(raw), count(gzip), brotli ? count(brotli) : ""));
    out.push("");
  }
  return `${out.join("\n")}\n`;
}

const row = (...cells) => `| ${cells.join(" | ")} |`;
const against = (ratio) => (ratio ? [factor(ratio.median), `${factor(ratio.low)} – ${factor(ratio.high)}`] : ["", ""]);
const count = (value) => (value < 100 && !Number.isInteger(value) ? value.toPrecision(3) : Math.round(value).toLocaleString("en").replaceAll(",", " "));
const factor = (value) => `${value < 100 ? value.toPrecision(3) : Math.round(value)}×`;
