// Where documents come in: dropped, pasted or opened. Fires `change` when what is to be checked has changed.

import { element, value } from "../build.mjs";
import { codingOf, codings, decoded } from "../codings.mjs";
import { sha256, visible } from "../core.mjs";
import { file } from "../files.mjs";
import { pasted, sort } from "../recognise.mjs";
import { trusted } from "../trusted.mjs";

const SLOTS = { receipt: "receipt", response: "response", evidence: "chain evidence" };
const EXPECTATIONS = { payer: "Payer", payTo: "Recipient", amount: "Amount in atomic units", resource: "Resource URL", signer: "Signer you trust: an account, or the id of a key" };
const SAMPLE = { receipt: "sample/bundle.json", response: "sample/response.bin", evidence: "sample/evidence.json" };

class Intake extends HTMLElement {
  #slots = { receipt: undefined, response: undefined, evidence: [], trust: [] };
  #expect = {};

  /** What is to be checked: the bytes of the receipt and of the response, the evidence, the expectations. */
  get material() {
    const { receipt, response, evidence, trust } = this.#slots;
    const { signer, ...expect } = Object.fromEntries(Object.entries(this.#expect).filter(([, text]) => text));
    return {
      receipt: receipt?.bytes,
      body: response?.bytes,
      bodyEncoding: response?.coding,
      decodedBody: response?.plain,
      evidence: evidence.length ? evidence.flatMap(read) : undefined,
      expect: Object.keys(expect).length ? expect : undefined,
      ...trusted(trust.map(read), signer),
    };
  }

  /** Makes the places live. Until then the page only says what it is for. */
  start() {
    for (const slot of this.querySelectorAll(".slot")) {
      slot.append(element("div", { class: "held", "aria-live": "polite" }), this.#opener(slot.dataset.slot));
    }
    this.querySelector(".more-ways").replaceChildren(element("div", { class: "trusting", "aria-live": "polite" }), this.#paste(), this.#expectations(), this.#sample());
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
    this.#put(filled(sort(files, Boolean(this.#slots.receipt))));
  }

  #text(text) {
    if (!text.trim()) return;
    const file = { name: "Pasted text", bytes: pasted(text) };
    if (!this.dispatchEvent(new CustomEvent("files", { detail: [file], cancelable: true }))) return;
    const { receipt, response, ...lists } = filled(sort([file], false));
    this.#put(Object.keys(lists).length ? lists : { receipt: receipt ?? response });
  }

  #put(places) {
    Object.assign(this.#slots, places);
    const { response } = places;
    if (response && codingOf(response.bytes)) this.#decode(response, codingOf(response.bytes));
    else this.#changed();
  }

  /** Takes a content coding off the answer; the answer as it came stays what is hashed first. */
  async #decode(response, coding) {
    const plain = coding && (await decoded(response.bytes, coding));
    if (this.#slots.response?.bytes !== response.bytes) return;
    this.#slots.response = { name: response.name, bytes: response.bytes, coding, plain };
    this.#changed();
  }

  #changed() {
    for (const name of Object.keys(SLOTS)) this.#show(name);
    this.#showTrust();
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
    slot.querySelector(".coding")?.remove();
    if (name === "response" && held.length) slot.querySelector(".held").after(this.#coding(held[0]));
    slot.querySelector(".remove")?.remove();
    if (held.length) slot.querySelector(".open").append(this.#remover(name));
  }

  #coding(response) {
    const choice = element("select", { id: "response-coding", onchange: () => this.#decode(response, choice.value || undefined) },
      [["", "none"], ...codings().map((name) => [name, name])].map(([name, text]) => element("option", { value: name, selected: name === (response.coding ?? "") }, text)));
    return element("div", { class: "coding" },
      element("label", { for: "response-coding" }, "Content-Encoding that the file still carries"), choice,
      response.coding && !response.plain ? element("p", { class: "hint", role: "status" }, "It is not of that coding, or too large without it, and is not compared.") : undefined);
  }

  /** What is taken for the reader's own word has to be seen. */
  #showTrust() {
    const place = this.querySelector(".trusting");
    const { trust } = this.#slots;
    if (!trust.length) return place.replaceChildren();
    place.replaceChildren(
      element("p", {}, element("strong", {}, "Taken as your own word: "), "whom these files name counts as trusted. Leave out what the seller sent along."),
      element("ul", {}, trust.map((file) => element("li", {}, element("span", { class: "file" }, value(visible(file.name), "the file's name", 60))))),
      element("button", { type: "button", class: "quiet", onclick: () => this.#put({ trust: [] }) }, "Remove", element("span", { class: "unseen" }, " the files that say whom to trust")));
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

/** The places that got something. */
function filled(places) {
  return Object.fromEntries(Object.entries(places).filter(([, files]) => !Array.isArray(files) || files.length));
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
