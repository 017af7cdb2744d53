// Two values side by side, with what differs marked.

import { element, value } from "./build.mjs";
import { cut, visible } from "./core.mjs";

/** The two texts as elements: `[expected, actual]`. Equal texts have no marks. */
export function sideBySide(expected, actual) {
  const texts = [visible(expected), visible(actual)];
  if (texts[0] === texts[1]) return [value(texts[0], "the expected value"), value(texts[1], "the actual value")];
  const [a, b] = texts;
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  return texts.map((text, at) => marked(text, head, tail, at ? "the actual value" : "the expected value"));
}

const LONG = 400;

function marked(text, head, tail, name) {
  if (text.length > LONG) return value(text, name, LONG / 2);
  const differs = text.slice(head, text.length - tail);
  return element("span", { class: "value" },
    text.slice(0, head),
    differs ? element("mark", {}, cut(differs)) : undefined,
    text.slice(text.length - tail));
}
