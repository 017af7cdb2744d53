// The views of the page, of which one is shown.

const all = () => [...document.querySelectorAll("main > .view")];
const buttons = () => [...document.querySelectorAll(".views button")];
const SKIPS = { receipt: "#verdict", lineage: "#todo" };
const told = [];

/** The name of the one that is shown. */
export const view = () => all().find((one) => !one.hidden).dataset.view;

/** Shows the view of this name. */
export function show(name) {
  if (!all().some((one) => one.dataset.view === name)) return;
  for (const one of all()) one.hidden = one.dataset.view !== name;
  for (const button of buttons()) {
    if (button.dataset.view === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  for (const skip of document.querySelectorAll(".skip")) skip.hidden = skip.getAttribute("href") !== (SKIPS[name] ?? "");
  document.body.dataset.view = name;
  for (const tell of told) tell(name);
}

/** Calls `tell(name)` whenever another one is shown. */
export function onView(tell) {
  told.push(tell);
}

for (const button of buttons()) button.addEventListener("click", () => show(button.dataset.view));
