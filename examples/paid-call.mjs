// What a durable workflow keeps of a paid call: its own input and the small result, never the answer's stream, the payment or the journal.
import { createHash } from "node:crypto";

/** The steps after which the same call, under the same intent id, may be made again. Which of them an error allows, the error says. */
const AGAIN = new Set(["wait", "read_chain", "resend_same", "read_order"]);
/** Bytes of an answer that a result carries. A larger one stays in the journal: the same call hands it out again. */
const LARGEST = 16 << 10;

/**
 * @typedef {{ intentId: string, url: string }} Call
 * @typedef {{ intentId: string, status: number, bytes: number, sha256: string, body?: string }} Bought `bytes` and `sha256` are of the answer
 * @typedef {{ code: string, money: string, next: string, retryAfter?: number }} Refusal
 */

/**
 * One paid call. It may be made again with the same input after anything at all: the intent id makes it the same purchase.
 * @param {import("counterfoil").Payer} payer
 * @param {Call} call
 * @param {AbortSignal} [signal]
 * @returns {Promise<Bought>}
 */
export async function paidCall(payer, { intentId, url }, signal) {
  const response = await payer.fetch(url, { intent: { id: intentId }, signal });
  const answer = new Uint8Array(await response.arrayBuffer());
  const kept = answer.length <= LARGEST && { body: new TextDecoder().decode(answer) };
  return { intentId, status: response.status, bytes: answer.length, sha256: createHash("sha256").update(answer).digest("hex"), ...kept };
}

/**
 * What an error of counterfoil says, as plain values that survive a workflow's history. Other errors are thrown on: a request that
 * failed before there was a price, an abort, a mistake in the program.
 * @param {any} error
 * @returns {Refusal & { again: boolean }}
 */
export function refusal(error) {
  if (error?.name !== "CounterfoilError") throw error;
  const { code, money, next, retryAfter } = error;
  return { code, money, next, again: AGAIN.has(next), ...(retryAfter !== undefined && { retryAfter }) };
}

/**
 * How many bytes a workflow's history holds of a value, as JSON.
 * @param {unknown} value
 */
export const size = (value) => Buffer.byteLength(JSON.stringify(value));
