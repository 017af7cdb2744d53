// The seller's facilitator client, seen through the gateway: that a payment is about to be broadcast is durable before it is,
// and what came of it before anybody is told.

import { call } from "../boundary.mjs";

/** A client of the same shape for `x402ResourceServer`. Payments that no request of the gateway brought pass untouched. */
export function facilitatorOf(host, client) {
  // One that was overtaken may still be at work beside the one that took over: at most the last of them holds the row, which says so.
  const mine = (slot) => host.running.get(slot)?.at(-1);
  /** A payment that is settled when its request is over has a row all the same, and nobody's turn is it. */
  const over = async (slot) => {
    const row = slot ? await host.store.read(slot) : undefined;
    return row && { sale: row.value.sale, turn: 0 };
  };
  return {
    getSupported: () => client.getSupported(),
    async verify(payload, requirements, ...rest) {
      // Paid before: a spent authorization no longer verifies, and the answer is owed all the same.
      if (mine(slotOf(payload, requirements))?.charged) return { isValid: true, payer: payload.payload.authorization.from };
      return client.verify(payload, requirements, ...rest);
    },
    async settle(payload, requirements, ...rest) {
      const slot = slotOf(payload, requirements);
      const running = mine(slot) ?? (await over(slot));
      if (!running) return client.settle(payload, requirements, ...rest);
      const { sale, turn } = running;
      // The middleware makes a 402 of whatever is thrown here; the sale's own answer says what it was.
      const step = (name, more) => host.step(name, { sale, turn, ...more }).catch((error) => { running.fault = error; throw error; });
      const leave = await step("settling");
      if (leave.decision === "settled") return leave.settlement;
      if (leave.decision !== "settle") return { success: false, errorReason: leave.reason, transaction: "", network: requirements.network };
      // When this throws, the row stays as it is: broadcast, with an unknown end.
      const result = await client.settle(payload, requirements, ...rest);
      await step("settled", { settlement: result });
      return result;
    },
  };
}

function slotOf(payload, requirements) {
  const { from, nonce } = payload?.payload?.authorization ?? {};
  const { network, asset } = requirements ?? {};
  return call("saleSlot", { from, nonce, network, asset });
}
