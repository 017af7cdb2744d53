// The pictures of README, from the prepared journals: node tests/page/pictures.mjs, after `cargo xtask build`. With a folder, one picture there of the whole page for
// each of five journals, from which somebody who never saw it should be able to say: was I charged twice, what is owed, what must I do?

import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { journal, launch, shown } from "./browser.mjs";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const { inspectorPage } = await import(pathToFileURL(join(home, "src/cli/inspector.mjs")));
const docs = fileURLToPath(new URL("../../docs/", import.meta.url));
const sample = (name) => readFileSync(new URL(`../../www/sample/${name}`, import.meta.url));
const MOST = 150_000;

const browser = await launch();
const file = join(tmpdir(), `counterfoil-pictures-${process.pid}.html`);

const [, , folder] = process.argv;

async function picture(name, documents, { width, height, hide = [] }, wait) {
  writeFileSync(file, await inspectorPage({ documents }));
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: "light" });
  await page.goto(pathToFileURL(file).href);
  await wait(page);
  // What only opens files says nothing in a picture.
  await page.evaluate((hide) => hide.forEach((name) => document.querySelectorAll(name).forEach((one) => { one.hidden = true; one.style.display = "none"; })), hide);
  const path = join(folder ?? docs, `${name}.png`);
  await page.screenshot({ path, fullPage: Boolean(folder) });
  await page.close();
  const { size } = statSync(path);
  console.log(path, size);
  if (!folder && size > MOST) throw new Error(`${path} is larger than ${MOST} bytes`);
}

/** Each journal of a picture is what one agent kept. */
const FIVE = {
  "1-two-agents": ["charged-twice-buyer-a", "charged-twice-buyer-b"],
  "2-researcher": ["paid-without-delivery"],
  "3-night-worker": ["unknown-in-flight"],
  "4-trip": ["all-well"],
  "5-buyer": ["needs-approval"],
};
/** The names of the files would give the answer away. */
const named = (journals) => journals.map((name, at) => ({ name: `agent-${"ab"[at]}.jsonl`, text: journal(name) }));

if (folder) {
  mkdirSync(folder, { recursive: true });
  for (const [name, journals] of Object.entries(FIVE)) await picture(name, named(journals), { width: 1440, height: 900 }, shown);
} else {
  await picture("lineage", named(FIVE["1-two-agents"]),
    { width: 1180, height: 920, hide: [".intake", ".views", "h1", ".sources-part", ".tools", ".exports-part"] }, shown);
  await picture("receipt", [{ name: "bundle.json", text: sample("bundle.json").toString() }, { name: "evidence.json", text: sample("evidence.json").toString() }, { name: "response.bin", base64: sample("response.bin").toString("base64") }],
    { width: 1000, height: 900, hide: [".views", ".more-ways"] }, (page) => page.locator(".word", { hasText: "Verified" }).waitFor());
}
await browser.close();
rmSync(file, { force: true });
