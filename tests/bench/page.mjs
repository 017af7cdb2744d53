// The page in Chromium: how soon it says what a document of 1 MB is worth, and how it bears 50,000 payments while somebody scrolls, narrows and folds for
// ten seconds. It is inspector.html from the disk.
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "../page/browser.mjs";
import { many, manyLines } from "../page/many.mjs";

const FRAME = 1000 / 60;

/** `[{name, value, unit}]`. `folder` is the package. */
export async function pages({ folder, quick }) {
  const place = mkdtempSync(join(tmpdir(), "counterfoil-bench-page-"));
  const browser = await launch();
  try {
    return [...(await firstVerdict(browser, folder, place, quick)), ...(await tenSeconds(browser, folder, place, quick))];
  } finally {
    await browser.close();
    rmSync(place, { recursive: true, force: true });
  }
}

/** From the start of the navigation to the verdict, with the document in the file. */
async function firstVerdict(browser, folder, place, quick) {
  const text = many(quick ? 20 : 358);
  const { inspectorPage } = await import(pathToFileURL(join(folder, "src/cli/inspector.mjs")));
  const file = join(place, "verdict.html");
  writeFileSync(file, await inspectorPage({ view: "receipt", documents: [{ name: "bundle.json", text }] }));
  const times = [];
  for (let round = 0; round < (quick ? 1 : 5); round++) {
    const page = await browser.newPage();
    await page.addInitScript(() => {
      new MutationObserver(() => {
        const word = document.querySelector(".word")?.textContent;
        if (word && word !== "No verdict yet") globalThis.said ??= performance.now();
      }).observe(document, { subtree: true, childList: true, characterData: true });
    });
    await page.goto(pathToFileURL(file).href);
    await page.waitForFunction(() => globalThis.said);
    times.push(await page.evaluate(() => globalThis.said));
    await page.close();
  }
  times.sort((one, other) => one - other);
  return [{ name: `first verdict on a bundle of ${(text.length / 1e6).toFixed(2)} MB, median of ${times.length}`, value: times[times.length >> 1], unit: "ms" }];
}

async function tenSeconds(browser, folder, place, quick) {
  const payments = quick ? 300 : Number(process.env.COUNTERFOIL_PAYMENTS ?? 50_000);
  // A journal, as that many payments leave it; one JSON text would be longer than may be read.
  const file = join(place, "many.jsonl");
  const journal = openSync(file, "w");
  for (const line of manyLines(payments)) writeSync(journal, line);
  closeSync(journal);
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(pathToFileURL(join(folder, "inspector.html")).href);
  await page.locator("#open-receipt").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Lineage", exact: true }).click();
  await page.evaluate(() => {
    globalThis.tasks = [];
    new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
  });
  const began = performance.now();
  await page.setInputFiles("#open-lineage", file);
  await page.locator(".room [role=row]").first().waitFor({ timeout: 600_000 });
  const opened = performance.now() - began;
  const opening = await page.evaluate(() => Math.max(0, ...globalThis.tasks.splice(0)));
  const played = await page.evaluate(play, quick ? 1000 : 10_000);
  const drawn = await page.locator(".room [role=row]").count();
  await page.close();
  const lost = played.gaps.reduce((sum, gap) => sum + Math.max(0, Math.round(gap / FRAME) - 1), 0);
  return [
    { name: `${payments} payments, read and shown`, value: opened, unit: "ms" },
    { name: "longest task of the page meanwhile", value: opening, unit: "ms" },
    { name: "10 s of scrolling, narrowing and folding: longest task", value: Math.max(0, ...played.tasks), unit: "ms" },
    { name: "dropped frames", value: lost, unit: `of ${Math.round(played.took / FRAME)}` },
    { name: "rows that were elements at the end", value: drawn, unit: "" },
  ];
}

/** In the page: a step each frame, and what the frames and tasks took. */
async function play(milliseconds) {
  const grid = document.querySelector("[role=treegrid]");
  const state = document.querySelector("#by-state");
  const rows = () => document.querySelectorAll(".room [role=row] .fold");
  const choose = (value) => {
    state.value = value;
    state.dispatchEvent(new Event("change"));
  };
  globalThis.tasks.length = 0;
  const gaps = [];
  const start = performance.now();
  let before = start;
  for (let frame = 0; performance.now() - start < milliseconds; frame++) {
    const now = await new Promise(requestAnimationFrame);
    if (frame) gaps.push(now - before);
    before = now;
    grid.scrollTop += frame % 240 < 200 ? 180 : -4000;
    if (frame % 120 === 60) choose("unknown");
    if (frame % 120 === 90) choose("");
    if (frame % 60 === 30) rows()[4]?.click();
  }
  await new Promise((done) => setTimeout(done, 200));
  return { gaps, tasks: [...globalThis.tasks], took: before - start };
}
