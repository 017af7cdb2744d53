// The keys of the whole page. Those that are single letters can be switched off.

import { view } from "./views.mjs";

/** Starts listening. */
export function keys(lineage) {
  const help = document.querySelector("cf-help");
  const tree = document.querySelector("cf-tree");
  help.addEventListener("change", () => { tree.letters = help.letters; });
  document.querySelector("#keys").addEventListener("click", () => help.open());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && view() === "lineage") return lineage.closePanel();
    if (!help.letters || event.target.closest("input, textarea, select")) return;
    if (event.key === "?") help.open();
    else if (view() !== "lineage" || !lineage.documents.length) return;
    else if (event.key === "/") document.querySelector("#search")?.focus();
    else if (event.key === "e") lineage.nextProblem(1);
    else if (event.key === "E") lineage.nextProblem(-1);
    else return;
    event.preventDefault();
  });
}
