// The inspector page with something in it: one file that opens anywhere. docs/page.md says what may be put in.

import { readFile } from "node:fs/promises";

const SLOT = '<script type="application/json" id="embedded">';

/** The page's text before and after what is embedded, for whoever writes that piece by piece. */
export async function around() {
  const html = await readFile(new URL("../../inspector.html", import.meta.url), "utf8");
  const at = html.indexOf(SLOT) + SLOT.length;
  if (at < SLOT.length) throw new Error("inspector.html has no place for data");
  return [html.slice(0, at), html.slice(at)];
}

/** A value as JSON that no text in it can end the element of, or open another: in JSON a `<` stands in strings only. */
export function dataBlock(value) {
  return JSON.stringify(value).replace(/</g, "\\u003c");
}

/** The page with `value` in it. */
export async function inspectorPage(value) {
  const [before, after] = await around();
  return `${before}${dataBlock(value)}${after}`;
}
