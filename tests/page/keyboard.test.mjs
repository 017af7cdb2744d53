// Every flow of the page with the keyboard alone, in Chromium and in Firefox: no pointer is moved, and the focus is never lost. The page is
// inspector.html from the disk, as somebody has it who was sent it.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";
import { journal, launch } from "./browser.mjs";

const home = dirname(createRequire(import.meta.url).resolve("counterfoil/package.json"));
const { inspectorPage } = await import(pathToFileURL(join(home, "src/cli/inspector.mjs")));
const folder = mkdtempSync(join(tmpdir(), "counterfoil-keyboard-"));
const firefox = process.env.FIREFOX || "/usr/bin/firefox-esr";

/** Each browser gives `{press, type, ask(function, argument), until(function, argument)}` for a page. */
const BROWSERS = {
  async Chromium() {
    const browser = await launch();
    return {
      close: () => browser.close(),
      async open(url) {
        const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
        await page.goto(url);
        return { press: (key) => page.keyboard.press(key), type: (text) => page.keyboard.type(text), ask: (...how) => page.evaluate(...how), until: (what, given) => page.waitForFunction(what, given) };
      },
    };
  },
  async Firefox() {
    const browser = await puppeteer.launch({ browser: "firefox", executablePath: firefox, headless: true, extraPrefsFirefox: { "network.proxy.type": 0, "app.update.auto": false } });
    return {
      close: () => browser.close(),
      async open(url) {
        const page = await browser.newPage();
        await page.setViewport({ width: 1280, height: 900 });
        await page.goto(url);
        const press = async (key) => {
          const [modifier, plain] = key.includes("+") && key.length > 1 ? key.split("+") : [undefined, key];
          if (modifier) await page.keyboard.down(modifier);
          await page.keyboard.press(plain);
          if (modifier) await page.keyboard.up(modifier);
        };
        return { press, type: (text) => page.keyboard.type(text), ask: (...how) => page.evaluate(...how), until: (what, given) => page.waitForFunction(what, { polling: 100 }, given) };
      },
    };
  },
};

after(() => rmSync(folder, { recursive: true, force: true }));

for (const [name, start] of Object.entries(BROWSERS)) {
  const missing = name === "Firefox" && !existsSync(firefox);
  test(`with the keyboard alone in ${name}`, { skip: missing && !process.env.CI ? "Firefox is missing" : false }, async (t) => {
    const browser = await start();
    t.after(() => browser.close());
    let pages = 0;
    const open = async (files) => {
      const path = join(folder, `${name}-${(pages += 1)}.html`);
      writeFileSync(path, await inspectorPage({ documents: Object.entries(files).map(([name, text]) => ({ name, text })) }));
      const page = await browser.open(pathToFileURL(path).href);
      if (Object.keys(files).length) await page.until(() => document.querySelector("cf-lineage:not([aria-busy]) .loaded:not([hidden]) .room [role=row]"));
      else await page.until(() => document.querySelector("#open-receipt"));
      return page;
    };
    /** Tab until the focus is on what this names. */
    const tabTo = async (page, words) => {
      for (let tries = 0; tries < 60; tries++) {
        await page.press("Tab");
        const at = await page.ask(() => {
          const here = document.activeElement;
          return here === document.body ? "nowhere" : `${here.id} ${here.getAttribute("aria-label") ?? ""} ${here.getAttribute("role") ?? ""} ${here.textContent.trim()}`;
        });
        if (words.test(at)) return;
      }
      throw new Error(`${words} was not reached`);
    };
    /** What a key does may show a moment after it. */
    const onto = (page, words) => page.until((words) => new RegExp(words).test(document.activeElement.textContent), words.source);
    const onId = (page, id) => page.until((id) => document.activeElement.id === id, id);

    await t.test("a sample is chosen, read and compared", async () => {
      const page = await open({});
      await tabTo(page, /^ {3}Lineage$/);
      await page.press("Enter");
      await tabTo(page, /^sample/);
      await page.type("Charged");
      await tabTo(page, /Show the sample/);
      await page.press("Enter");
      await page.until(() => document.querySelector("cf-lineage:not([aria-busy]) .room [role=row]"));
      await tabTo(page, /^ {3}Compare the two/);
      await page.press("Enter");
      await page.until(() => document.querySelector(".pair mark"));
      await onId(page, "panel-title");
      await page.press("Escape");
      await page.until(() => document.querySelector("cf-panel").hidden && document.activeElement.matches("[role=row]"));
    });

    await t.test("the tree is walked, folded, searched by letters, and a receipt opened and closed", async () => {
      const page = await open({ "agent.jsonl": journal("all-well") });
      await tabTo(page, /^ {2}row/);
      await onto(page, /Trip to Oslo/);
      await page.press("ArrowDown");
      await page.press("ArrowDown");
      await onto(page, /Weather in Oslo/);
      await page.press("ArrowLeft");
      await page.until(() => document.activeElement.getAttribute("aria-expanded") === "false");
      await page.press("ArrowLeft");
      await onto(page, /Weather along the way/);
      await page.press("End");
      await onto(page, /Payment to/);
      await page.press("Home");
      await page.type("room");
      await onto(page, /Room prices/);
      await page.press("End");
      await page.press("Enter");
      await page.until(() => document.querySelector("cf-panel .word"));
      await page.press("Escape");
      await onto(page, /Payment to/);
    });

    await t.test("problems are gone through, filters set, keys told and switched off", async () => {
      const page = await open({ "agent.jsonl": journal("unknown-in-flight") });
      await tabTo(page, /^ {2}row/);
      await page.press("e");
      await onto(page, /Map of the north/);
      await page.press("Shift+E");
      await page.press("/");
      await onId(page, "search");
      await page.type("north");
      await page.until(() => document.querySelectorAll(".room [role=row]").length === 2);
      await page.press("Tab");
      await page.press("Shift+Tab");
      for (let n = 0; n < 5; n++) await page.press("Backspace");
      await page.until(() => document.querySelectorAll(".room [role=row]").length === 5);
      await tabTo(page, /^ {2}row/);
      await page.press("?");
      await page.until(() => document.querySelector("cf-help dialog[open]"));
      await tabTo(page, /^letters/);
      await page.press(" ");
      await page.press("Escape");
      await page.until(() => !document.querySelector("dialog[open]"));
      await page.press("?");
      assert.ok(await page.ask(() => !document.querySelector("dialog[open]")));
    });

    await t.test("a request is refused and put away, and the focus comes back", async () => {
      const page = await open({ "agent.jsonl": journal("needs-approval") });
      await tabTo(page, /Approve or refuse/);
      await page.press("Enter");
      await page.until(() => document.querySelector("cf-approve dialog[open]"));
      await tabTo(page, /Refuse: show the text to sign/);
      await page.press("Enter");
      await page.until(() => document.activeElement?.id === "approve-signature");
      await page.press("Escape");
      await page.until(() => !document.querySelector("dialog[open]"));
      await onto(page, /Approve or refuse/);
    });

    await t.test("one payment is checked", async () => {
      const page = await open({});
      await tabTo(page, /Open a sample/);
      await page.press("Enter");
      await page.until(() => document.querySelector(".word").textContent === "Verified");
    });
  });
}
