// Light or dark: the system's choice until the reader makes one. The choice is not stored.

import { element } from "../build.mjs";

class Theme extends HTMLElement {
  connectedCallback() {
    const root = document.documentElement;
    const system = matchMedia("(prefers-color-scheme: dark)");
    const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
    const button = element("button", {
      type: "button", class: "quiet",
      onclick() {
        root.dataset.theme = dark() ? "light" : "dark";
        tell();
      },
    });
    const tell = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
    system.addEventListener("change", tell);
    tell();
    this.replaceChildren(button);
  }
}

customElements.define("cf-theme", Theme);
