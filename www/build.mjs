// Building elements. The one place of the page that makes any; text goes in as text, never as markup.

import { cut } from "./core.mjs";

/** An element with attributes and children; strings become text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== undefined));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** One of the symbols that stand in the page: pass, fail, not_checked. */
export function symbol(state) {
  const icon = document.createElementNS(SVG, "svg");
  icon.setAttribute("class", "symbol");
  icon.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#symbol-${state}`);
  icon.append(use);
  return icon;
}

/** Text that was made visible already: cut when it is long, whole on demand. `name` says what it is the value of. */
export function value(text, name, limit, kind = "value") {
  const short = cut(text, limit);
  if (short === text) return element("span", { class: kind }, text);
  const shown = element("span", { class: kind }, short);
  const more = element("button", {
    type: "button", class: "more", "aria-expanded": "false", "aria-label": `Show all of ${name}`,
    onclick() {
      const open = more.getAttribute("aria-expanded") !== "true";
      more.setAttribute("aria-expanded", String(open));
      more.textContent = open ? "Show less" : "Show all";
      shown.textContent = open ? text : short;
    },
  }, "Show all");
  return element("span", { class: "long" }, shown, " ", more);
}
