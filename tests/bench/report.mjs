// The same facts as lines of JSON or as Markdown tables.

export function jsonLines({ about, speeds, sizes }) {
  const lines = [{ kind: "about", ...about }];
  for (const { id, title, results } of speeds) for (const result of results) lines.push({ kind: "speed", question: id, title, ...result });
  for (const size of sizes) lines.push({ kind: "size", ...size });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

export function markdown({ about, speeds, sizes }) {
  const out = [`${about.date}, ${about.cpu}, ${about.cores} cores, load ${about.load}, Node ${about.node}, ${about.rounds} rounds`, about.versions, ""];
  for (const { title, results } of speeds) {
    out.push(`### ${title}`, "", "| | calls a processor second, median | quartiles | counterfoil ÷ peer, median | quartiles |", "|---|---:|---:|---:|---:|");
    for (const { name, speed, ratio } of results) {
      const against = ratio ? `${factor(ratio.median)} | ${factor(ratio.low)} – ${factor(ratio.high)}` : " | ";
      out.push(`| ${name} | ${count(speed.median)} | ${count(speed.low)} – ${count(speed.high)} | ${against} |`);
    }
    out.push("");
  }
  out.push("### Sizes, bytes", "", "| | raw | gzip | brotli |", "|---|---:|---:|---:|");
  for (const { name, raw, gzip, brotli } of sizes) out.push(`| ${name} | ${count(raw)} | ${count(gzip)} | ${brotli ? count(brotli) : ""} |`);
  return `${out.join("\n")}\n`;
}

const count = (value) => (value < 100 && !Number.isInteger(value) ? value.toPrecision(3) : Math.round(value).toLocaleString("en").replaceAll(",", " "));
const factor = (value) => `${value < 100 ? value.toPrecision(3) : Math.round(value)}×`;
