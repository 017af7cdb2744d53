// The seller's facilitator client, seen through the gateway: that a payment is about to be broadcast is durable before it is,
// and what came of it before anybody is told.

/** A client of the same shape for `x402ResourceServer`. Payments that no request of the gateway brought pass untouched. */
export function facilitatorOf(host, client) {
  const mine = (payload) => host.running.get(slotOf(payload));
  return {
    getSupported: () => client.getSupported(),
    async verify(payload, requirements, ...rest) {
      // Paid before: a spent authorization no longer verifies, and the answer is owed all the same.
      if (mine(payload)?.charged) return { isValid: true, payer: payload.payload.authorization.from };
      return client.verify(payload, requirements, ...rest);
    },
    async settle(payload, requirements, ...rest) {
      const running = mine(payload);
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

function slotOf(payload) {
  const { from, nonce } = payload?.payload?.authorization ?? {};
  return `${from}/${nonce}`.toLowerCase();
}
