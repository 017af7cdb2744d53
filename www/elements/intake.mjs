// Where documents come in: dropped, pasted or opened. Fires `change` when what is to be checked has changed.

import { element, value } from "../build.mjs";
import { sha256, visible } from "../core.mjs";
import { file } from "../files.mjs";
import { pasted, sort } from "../recognise.mjs";

const SLOTS = { receipt: "receipt", response: "response", evidence: "chain evidence" };
const EXPECTATIONS = { payer: "Payer", payTo: "Recipient", amount: "Amount in atomic units", resource: "Resource URL", signer: "Signer you trust: an account, or the id of a key" };
const SAMPLE = { receipt: "sample/bundle.json", response: "sample/response.bin", evidence: "sample/evidence.json" };

class Intake extends HTMLElement {
  #slots = { receipt: undefined, response: undefined, evidence: [] };
  #expect = {};

  /** What is to be checked: the bytes of the receipt and of the response, the evidence, the expectations. */
  get material() {
    const { receipt, response, evidence } = this.#slots;
    const { signer, ...expect } = Object.fromEntries(Object.entries(this.#expect).filter(([, text]) => text));
    return {
      receipt: receipt?.bytes,
      body: response?.bytes,
      evidence: evidence.length ? evidence.flatMap(read) : undefined,
      expect: Object.keys(expect).length ? expect : undefined,
      trust: signer ? { signers: [signer] } : undefined,
    };
  }

  /** Makes the places live. Until then the page only says what it is for. */
  start() {
    for (const slot of this.querySelectorAll(".slot")) {
      slot.append(element("div", { class: "held", "aria-live": "polite" }), this.#opener(slot.dataset.slot));
    }
    this.querySelector(".more-ways").replaceChildren(this.#paste(), this.#expectations(), this.#sample());
    this.#dropping();
    document.addEventListener("paste", (event) => {
      if (event.target.closest?.("input, textarea")) return;
      const files = [...event.clipboardData.files];
      if (files.length) this.#open(files);
      else this.#text(event.clipboardData.getData("text/plain"));
    });
  }

  #opener(name) {
    const id = `open-${name}`;
    const input = element("input", {
      type: "file", id, class: "unseen", multiple: name === "evidence",
      onchange: async () => {
        const files = await Promise.all([...input.files].map(bytesOf));
        input.value = "";
        if (files.length) this.#put({ [name]: name === "evidence" ? files : files[0] });
      },
    });
    return element("div", { class: "open" }, input, element("label", { for: id, class: "button" }, "Open", element("span", { class: "unseen" }, ` ${SLOTS[name]} file`)));
  }

  #paste() {
    const text = element("textarea", { id: "pasted", rows: "3", spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
    const take = () => this.#text(text.value);
    text.addEventListener("paste", () => setTimeout(take));
    return element("details", { class: "paste" },
      element("summary", {}, "Paste text"),
      element("label", { for: "pasted" }, "A receipt, a bundle, chain evidence, or a PAYMENT-RESPONSE header"),
      text,
      element("button", { type: "button", class: "button", onclick: take }, "Check this text"));
  }

  #expectations() {
    const fields = Object.entries(EXPECTATIONS).map(([name, label]) => element("div", { class: "field" },
      element("label", { for: `expect-${name}` }, label),
      element("input", {
        type: "text", id: `expect-${name}`, spellcheck: "false", autocomplete: "off", autocapitalize: "off",
        onchange: (event) => {
          this.#expect[name] = event.target.value.trim();
          this.#changed();
        },
      })));
    return element("details", { class: "expect" },
      element("summary", {}, "Say what you expect"),
      element("p", { class: "hint" }, "A genuine receipt may be somebody else's. What you fill in here is compared with what it says."),
      element("div", { class: "fields" }, fields));
  }

  #sample() {
    return element("button", {
      type: "button", class: "quiet",
      onclick: async () => {
        const files = Object.entries(SAMPLE).map(async ([name, path]) => [name, { name: path.slice("sample/".length), bytes: await file(path) }]);
        const { evidence, ...one } = Object.fromEntries(await Promise.all(files));
        this.#put({ ...one, evidence: [evidence] });
      },
    }, "Open a sample");
  }

  #dropping() {
    let depth = 0;
    const show = (by) => {
      depth = by === 0 ? 0 : Math.max(0, depth + by);
      this.toggleAttribute("data-dropping", depth > 0);
    };
    document.addEventListener("dragenter", () => show(1));
    document.addEventListener("dragleave", () => show(-1));
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      show(0);
      const { files } = event.dataTransfer;
      if (files.length) this.#open([...files]);
      else this.#text(event.dataTransfer.getData("text/plain"));
    });
  }

  async #open(files) {
    this.take(await Promise.all(files.map(bytesOf)));
  }

  /** Puts files, `{name, bytes}`, where they belong by their shape. */
  take(files) {
    // Whoever else on the page takes these takes all of them.
    if (!this.dispatchEvent(new CustomEvent("files", { detail: files, cancelable: true }))) return;
    const { evidence, ...places } = sort(files, Boolean(this.#slots.receipt));
    this.#put(evidence.length ? { ...places, evidence } : places);
  }

  #text(text) {
    if (!text.trim()) return;
    const file = { name: "Pasted text", bytes: pasted(text) };
    if (!this.dispatchEvent(new CustomEvent("files", { detail: [file], cancelable: true }))) return;
    const { evidence, receipt, response } = sort([file], false);
    this.#put(evidence.length ? { evidence } : { receipt: receipt ?? response });
  }

  #put(places) {
    Object.assign(this.#slots, places);
    this.#changed();
  }

  #changed() {
    for (const name of Object.keys(SLOTS)) this.#show(name);
    this.dispatchEvent(new Event("change"));
  }

  #show(name) {
    const held = [this.#slots[name] ?? []].flat();
    const slot = this.querySelector(`[data-slot="${name}"]`);
    slot.toggleAttribute("data-full", held.length > 0);
    slot.querySelector(".held").replaceChildren(...held.map((file) => element("p", {},
      element("span", { class: "file" }, value(visible(file.name), "the file's name", 60)),
      ` ${file.bytes.byteLength.toLocaleString("en")} bytes`,
      name === "response" ? element("span", { class: "digest" }, "SHA-256 ", element("span", { class: "value" }, sha256(file.bytes))) : undefined)));
    slot.querySelector(".remove")?.remove();
    if (held.length) slot.querySelector(".open").append(this.#remover(name));
  }

  #remover(name) {
    return element("button", {
      type: "button", class: "quiet remove",
      onclick: () => {
        this.#put({ [name]: name === "evidence" ? [] : undefined });
        this.querySelector(`#open-${name}`).focus();
      },
    }, "Remove", element("span", { class: "unseen" }, ` the ${SLOTS[name]}`));
  }
}

async function bytesOf(file) {
  return { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
}

// What is no JSON stays a text, which the core then calls unreadable.
function read(file) {
  const text = new TextDecoder().decode(file.bytes);
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(0, 100);
  }
}

customElements.define("cf-intake", Intake);
