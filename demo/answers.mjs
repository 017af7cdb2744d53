// What a careful seller keeps: the answer it gave for each payment id, so that a buyer who lost it can have it again.
// The id is looked up before the payment is verified, because a spent payment no longer verifies. Payer and
// request bind the id; a fresh signature of the same request by the same payer is the same purchase.
import { recoverTypedDataAddress } from "viem";

const TYPES = {
  TransferWithAuthorization: [
    { name: "from", type: "address" }, { name: "to", type: "address" }, { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" }, { name: "validBefore", type: "uint256" }, { name: "nonce", type: "bytes32" },
  ],
};

export function paymentId(payment) {
  return payment.extensions?.["payment-identifier"]?.info?.id;
}

async function payerOf(payment) {
  const { accepted, payload } = payment;
  const domain = {
    name: accepted.extra.name, version: accepted.extra.version,
    chainId: Number(accepted.network.split(":")[1]), verifyingContract: accepted.asset,
  };
  const { authorization: message, signature } = payload;
  return recoverTypedDataAddress({ domain, types: TYPES, primaryType: "TransferWithAuthorization", message, signature });
}

function problem(code, detail, extra = {}, headers = {}) {
  const body = { type: "about:blank", title: "Conflict", status: 409, detail, code, ...extra };
  return { status: 409, headers: { "content-type": "application/problem+json", ...headers }, body: Buffer.from(JSON.stringify(body)) };
}

export function answerStore() {
  const kept = new Map();
  return {
    /** Runs `process` for a new payment id, and answers a known one from the store. */
    async once(request, payment, process) {
      const id = paymentId(payment);
      if (!id) return process();
      const payer = await payerOf(payment);
      const what = `${request.method} ${request.url} ${request.body.toString("base64")}`;
      const known = kept.get(id);
      if (known && (known.payer !== payer || known.what !== what)) {
        return problem("payment_identifier_conflict", "This payment id belongs to another request.");
      }
      if (known?.answer) {
        return { ...known.answer, headers: { ...known.answer.headers, "idempotency-replayed": "true" } };
      }
      if (known) {
        return problem("payment_in_flight", "This payment is being worked on. Ask again with the same id.", { retryable: true }, { "retry-after": "1" });
      }
      kept.set(id, { payer, what });
      const answer = await process();
      if (answer.status >= 200 && answer.status < 300) kept.get(id).answer = answer;
      else kept.delete(id);
      return answer;
    },
  };
}
