// One paid request, from its header to the answer that is sent.

import { call } from "../boundary.mjs";
import { sha256 } from "../hashes.mjs";
import { decodedBody } from "./decoded.mjs";
import { askContract, readAll } from "./chain.mjs";
import { kept, problemAnswer, storedAnswer } from "./web.mjs";

export function saleOf(host) {
  /** The payment in a header, with the payer that its signature names. */
  async function read(request, header) {
    const params = { header, method: request.method, url: host.address(request.url), call: (await host.callOf?.(request)) ?? undefined };
    let told = call("saleRead", params, request.body);
    if (told.ask) {
      const contract = await askContract(host.rpcs(told.ask.network), told.ask);
      told = call("saleRead", { ...params, contract }, request.body);
    }
    return { ...told, ids: host.ids(told.presented.id) };
  }

  async function answer(request, payment, run) {
    const told = await read(request, payment.value);
    const order = (await host.order?.(request)) ?? undefined;
    const poll = `${host.base}/payments/${told.presented.id}`;
    const input = { ...told, header: payment, poll, ...(order === undefined ? {} : { order }) };
    return follow(await host.step("admit", input), input, run);
  }

  async function follow(decision, input, run) {
    switch (decision.decision) {
      case "process":
        return process(decision, input, run);
      case "read":
        return follow(await evidence(decision, input), input, run);
      case "admit":
        return follow(await host.step("admit", input), input, run);
      case "replay": {
        const stored = await host.store.read(decision.answer);
        return stored ? storedAnswer(stored, decision) : problemAnswer(decision.otherwise);
      }
      default:
        return problemAnswer(decision);
    }
  }

  async function evidence(decision, { poll }) {
    const { sale, turn, tag } = decision;
    return host.step("evidence", { sale, turn, tag, poll, evidence: await readAll(host, decision) });
  }

  async function process({ sale, turn, slot, header, charged, renewEvery }, input, run) {
    const beat = setInterval(() => host.step("renew", { sale, turn }).catch(() => {}), renewEvery * 1000);
    beat.unref?.();
    const mine = { sale, turn, charged };
    // Whoever was overtaken stays here until its own run is over: what it settles late must still meet the row.
    host.running.set(slot, [...(host.running.get(slot) ?? []), mine]);
    let answer;
    try {
      // Without a sign of life from here on, the next caller reads the chain once the lease is over.
      answer = await run(header, () => clearInterval(beat));
      if (mine.fault) throw mine.fault;
    } catch (error) {
      // Whether anything was broadcast stands in the row: only then may the payment be forgotten.
      const decision = await host.step("answer", { sale, turn, poll: input.poll });
      if (decision.decision === "send") throw mine.fault ?? error;
      return follow(decision, input, run);
    } finally {
      clearInterval(beat);
      const others = host.running.get(slot).filter((turn) => turn !== mine);
      if (others.length > 0) host.running.set(slot, others);
      else host.running.delete(slot);
    }
    const headers = kept(answer.headers);
    const described = { status: answer.status, headers, sha256: sha256(answer.body), length: answer.body.length };
    const decoded = await decodedBody(headers["content-encoding"], answer.body);
    const decision = await host.step("answer", { sale, turn, poll: input.poll, answer: { ...described, ...(decoded && { decoded }) } }, answer.body);
    if (input.order !== undefined) await host.carryOut(input.order).catch(() => {});
    if (decision.decision !== "send") return follow(decision, input, run);
    return { ...answer, headers: [...answer.headers, ...Object.entries(decision.headers ?? {})] };
  }

  return { read, answer };
}
