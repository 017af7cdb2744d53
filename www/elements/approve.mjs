// The human gate: a request in plain words, and a signed yes or a no as a file. Every text that is signed comes from the core; nothing is sent.

import { element, value } from "../build.mjs";
import { approvalDocument, callAny, cut, networkName, refusalDocument, visible, visibleAscii } from "../core.mjs";
import { amountOf, atomicOf, money, unitOf } from "../lineage/money.mjs";
import { copy, save } from "../lineage/save.mjs";
import { clock } from "../lineage/time.mjs";
import { meaningOf } from "../lineage/words.mjs";
import { account, hasWallet, signed } from "../lineage/wallet.mjs";

const TIMES = [[3600, "1 hour"], [86_400, "1 day"], [604_800, "7 days"]];
const now = () => Math.floor(Date.now() / 1000);

class Approve extends HTMLElement {
  #dialog = element("dialog", { class: "sheet", "aria-labelledby": "approve-title" });
  #request;
  #unit;

  connectedCallback() {
    if (!this.#dialog.isConnected) this.append(this.#dialog);
  }

  /** Shows a request; `names` gives the label of an intent id. */
  open(request, names) {
    this.#request = request;
    this.#unit = [request.network, request.asset];
    this.#dialog.replaceChildren(...this.#plain(), ...this.#answer(names));
    this.#dialog.showModal();
  }

  #plain() {
    const { purpose, intentId, request, actor, amount, network, asset, payTo, parts, newRecipient, spent, reasons = [], ifNo } = this.#request;
    const line = (name, ...shown) => element("div", {}, element("dt", {}, name), element("dd", {}, shown));
    const to = parts ?? [{ payTo }];
    return [
      element("header", {}, element("h2", { id: "approve-title" }, "Approve a payment?"), element("button", { type: "button", class: "quiet close", onclick: () => this.#dialog.close() }, "Close")),
      element("p", { class: "lead-line" }, element("strong", {}, cut(visible(purpose ?? `Intent ${intentId}`)))),
      element("dl", {},
        line("Pay", money(amount, network, asset)),
        request && line("For", value(visibleAscii(`${request.method} ${request.url}`), "the request")),
        ...to.map((one) => line("To", value(visibleAscii(one.payTo ?? ""), "the recipient"), one.amount === undefined ? "" : [" ", money(one.amount, network, asset)], newRecipient ? element("span", { class: "note" }, "never paid from here before") : "")),
        line("Who asks", value(visible(actor ?? ""), "who asks")),
        line("On", visibleAscii(networkName(network) ?? network)),
        line("So far", money(spent ?? "0", network, asset), element("span", { class: "note" }, "spent, held or unknown of this token")),
        line("Asked because", reasons.map(meaningOf).join(" ") || meaningOf("approval_needed")),
        line("If you say no", cut(visible(ifNo ?? "Nothing is signed and nothing is paid."), 400))),
    ];
  }

  #answer(names) {
    const { intentId, path = [], amount } = this.#request;
    const scope = element("select", { id: "approve-scope" },
      element("option", { value: "" }, "This purchase only"),
      path.filter((id) => id !== intentId).map((id) => element("option", { value: id }, `Everything below: ${names(id)}`)));
    const most = element("input", { id: "approve-amount", type: "text", inputmode: "decimal", value: amountOf(amount, ...this.#unit), autocomplete: "off", spellcheck: "false", "aria-describedby": "approve-units" });
    const units = element("span", { id: "approve-units", class: "note" }, unitOf(...this.#unit));
    const until = element("select", { id: "approve-until" }, TIMES.map(([seconds, word]) => element("option", { value: String(seconds) }, word)));
    const field = (label, input, ...more) => element("div", { class: "field" }, element("label", { for: input.id }, label), input, more);
    const told = element("div", { class: "told", role: "status", "aria-live": "polite" });
    const terms = () => {
      const at = now();
      return { at, expiresAt: at + Number(until.value), amount: atomicOf(most.value.trim(), ...this.#unit), ...(scope.value && { intentId: scope.value }) };
    };
    const guarded = (act) => async () => {
      told.replaceChildren();
      try {
        await act(told);
      } catch (error) {
        told.replaceChildren(element("p", { class: "wrong" }, `Not signed. ${visible(error?.message ?? String(error)).slice(0, 300)}`));
      }
    };
    const wallet = hasWallet();
    return [
      element("h3", {}, "What your yes covers"),
      element("div", { class: "fields" }, field("Covers", scope), field("At most, together", most, units), field("Holds for", until)),
      element("p", { class: "ways" },
        wallet ? element("button", { type: "button", class: "button strong", onclick: guarded((told) => this.#byWallet(told, this.#yes(terms()))) }, "Approve with my wallet") : element("span", { class: "note" }, "No wallet is in this page: sign the text below with yours. "),
        element("button", { type: "button", class: "button", onclick: guarded((told) => this.#byHand(told, this.#yes(terms()))) }, wallet ? "Sign elsewhere" : "Show the text to sign")),
      element("h3", {}, "Or say no"),
      element("p", { class: "hint" }, "Without any answer nothing is paid either: the agent keeps waiting. A signed no ends the call, and it does not ask the same again."),
      element("p", { class: "ways" },
        wallet ? element("button", { type: "button", class: "button", onclick: guarded((told) => this.#byWallet(told, this.#no())) }, "Refuse with my wallet") : undefined,
        element("button", { type: "button", class: "button", onclick: guarded((told) => this.#byHand(told, this.#no())) }, wallet ? "Refuse, signed elsewhere" : "Refuse: show the text to sign")),
      told,
    ];
  }

  /** Both answers in one shape: the core's document for a signature, and what is said once it is there. */
  #yes(terms) {
    return {
      kind: "approval",
      make: (signature) => approvalDocument(this.#request, { ...terms, ...(signature && { signature }) }),
      done: ({ amount, expiresAt }) => [element("strong", {}, "Approved."), ` At most ${amountOf(amount, ...this.#unit)} ${unitOf(...this.#unit)}, until ${clock(expiresAt)} UTC`],
      hint: "Give this file to whoever runs the agent (payer.approve). Until then nothing changes. Whether you may approve is checked there.",
    };
  }

  #no() {
    const at = now();
    return {
      kind: "refusal",
      make: (signature) => refusalDocument(this.#request, { at, ...(signature && { signature }) }),
      done: () => [element("strong", {}, "Refused."), " Nothing is signed and nothing is paid"],
      hint: "Give this file to whoever runs the agent (payer.refuse): then the call ends, and does not ask again. Until then it waits. Whether you may refuse is checked there.",
    };
  }

  async #byWallet(told, answer) {
    const address = await account();
    this.#signed(told, answer, await signed(address, answer.make().typedData), address);
  }

  #byHand(told, answer) {
    const text = element("textarea", { id: "approve-text", readonly: true, rows: "6" });
    text.value = JSON.stringify(answer.make().typedData, null, 1);
    const signature = element("input", { id: "approve-signature", type: "text", autocomplete: "off", spellcheck: "false" });
    const take = () => {
      try {
        this.#signed(told, answer, signature.value.trim());
      } catch (error) {
        told.append(element("p", { class: "wrong" }, visible(error.message).slice(0, 300)));
      }
    };
    told.replaceChildren(
      element("label", { for: text.id }, "Sign this as EIP-712 typed data (eth_signTypedData_v4)"), text,
      element("label", { for: signature.id }, "The signature, 0x…"), signature,
      element("p", { class: "ways" }, element("button", { type: "button", class: "button strong", onclick: take }, `Make the ${answer.kind}`)));
    signature.focus();
  }

  #signed(told, { kind, make, done, hint }, signature, address) {
    const { [kind]: document, digest } = make(signature);
    const signer = callAny("rawRecover", { digest, signature });
    if (address && signer.toLowerCase() !== address.toLowerCase()) throw new Error("The wallet signed something else, or with another account.");
    told.replaceChildren(
      element("p", { class: "done" }, done(document), ", signed by ", element("span", { class: "value" }, signer), "."),
      element("p", { class: "hint" }, hint),
      ...this.#file(`${kind}.json`, JSON.stringify(document, null, 2), `The ${kind}`));
  }

  #file(name, text, label) {
    const shown = element("textarea", { id: "approve-file", readonly: true, rows: "6" });
    shown.value = text;
    const copied = element("button", { type: "button", class: "button", onclick: async () => { copied.textContent = (await copy(text)) ? "Copied" : "Select the text and copy it"; } }, "Copy");
    return [element("label", { for: shown.id }, label), shown,
      element("p", { class: "ways" }, element("button", { type: "button", class: "button strong", onclick: () => save(name, text) }, "Save as a file"), copied)];
  }
}

customElements.define("cf-approve", Approve);
