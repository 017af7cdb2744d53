// Compiled against the packed package, never run. Each @ts-expect-error is a line that must not compile.

import { CounterfoilError, createPayer, load, signAuthorization, verifySignatures, type Authorization, type Eip712Domain } from "counterfoil";
import { admit, advanceOrder, authorizationNonce, callKey, classify, handOverDigest, refundClosed, resolve, type AdmissionRecord, type AdmissionRequest, type ChainEvidence, type Order } from "counterfoil/core";
import { postgresStore, sqliteStore, type GatewayStore } from "counterfoil/gateway";
import { fileJournal, memoryJournal, readEvidence } from "counterfoil/node";
import { call } from "counterfoil/raw";
import { findConflicts, verifyReceipt, type Report } from "counterfoil/verify";

declare const authorization: Authorization;
declare const domain: Eip712Domain;
declare const key: Uint8Array;
declare const evidence: ChainEvidence;

const signature: `0x${string}` = signAuthorization(authorization, domain, key);
// @ts-expect-error a key is bytes, never text
signAuthorization(authorization, domain, "0x01");
// @ts-expect-error amounts are text
const amount: Authorization["value"] = 10000;
// @ts-expect-error bigint is not
const big: Authorization["value"] = 10000n;

const many: boolean[] = verifySignatures([{ digest: "0x00", signature, signer: "0x00" }]);
const packed: Uint8Array = verifySignatures(new Uint8Array(117));
// @ts-expect-error no 0x
verifySignatures([{ digest: "00", signature, signer: "0x00" }]);

const verdict = resolve(authorization, { network: "eip155:8453", asset: "0x00" }, [evidence, { error: "unreachable" }]).verdict;
if (verdict === "dead" || verdict === "paid") void 0;
// @ts-expect-error there is no such verdict
if (verdict === "maybe") void 0;

const nonce: `0x${string}` = authorizationNonce({ intentId: "i", payer: "0x00", network: "eip155:8453", asset: "0x00", generation: 0 });
const money: "none" | "possible" | "proven" | "proven_twice" = classify({ status: 200 }).money;
const keyed: string | undefined = callKey({ tool: "t", args: { q: 1 }, scope: "run", rule: { effect: "write", volatile: ["/ts"] } })?.key;
// @ts-expect-error reads have no key
callKey({ tool: "t", args: {}, scope: "run" }).key;
const report: Report = verifyReceipt("{}", { body: key, evidence: [evidence] });
// @ts-expect-error a body is bytes
verifyReceipt("{}", { body: "text" });

const owed: string | undefined = findConflicts(["{}", key])[0]?.amount;
const gone: string | undefined = findConflicts([key], { refunds: [] })[0]?.refunded;
// @ts-expect-error a refund comes with its evidence
findConflicts([key], { refunds: [{ refund: { payer: "0x00", network: "eip155:8453", asset: "0x00", amount: "1", transaction: "0x00" } }] });
// @ts-expect-error bundles come as texts or bytes
findConflicts([{}]);

const raw: unknown = call("errorCodes", {});
try {
  await load();
} catch (error) {
  if (error instanceof CounterfoilError) {
    const code: string = error.code;
    // @ts-expect-error read only
    error.code = code;
  }
}

const journal = fileJournal({ path: "journal.jsonl" });
const done = await memoryJournal().commit([{ key: "k", expect: "absent", put: key }]);
// @ts-expect-error which key it was is told only when it failed
done.key;
for await (const { key, rev, value } of journal.scan("intent/")) [key satisfies string, rev satisfies number, value satisfies Uint8Array];
const read = await readEvidence([async () => null], { network: "eip155:8453", asset: "0x00", payer: "0x00", nonce });

declare const record: AdmissionRecord;
declare const paid: AdmissionRequest;
const admission = admit(null, paid, 1790000000, { lease: 60, poll: "/orders/1" });
if (admission.decision === "in_flight") admission.problem.retryAfter satisfies number | undefined;
// @ts-expect-error a conflict holds no record
if (admission.decision === "conflict") admission.record;
// @ts-expect-error a request is no record
admit(paid, paid, 1790000000);
declare const order: Order;
advanceOrder(order, { type: "pay", paymentId: record.paymentId, quoteHash: record.quoteHash }, 1790000000).effects satisfies string[];

declare const pool: Parameters<typeof postgresStore>[0]["pool"];
const store: GatewayStore = postgresStore({ pool });
const counted: number = await store.update(["k"], ([row]) => ({ puts: [{ key: "k", value: { n: 1 }, body: row?.body }], result: 1 }));
// @ts-expect-error decide answers at once
await store.update(["k"], async () => ({ puts: [] }));
// @ts-expect-error a row is an object
await store.update(["k"], () => ({ puts: [{ key: "k", value: "text" }] }));
// @ts-expect-error the database is handed in
sqliteStore({ file: "gateway.db" });

declare const journal2: Parameters<typeof createPayer>[0]["journal"];
const payer = createPayer({ signer: { privateKey: key }, journal: journal2 });
const claim: string = await payer.claim("i", { receipt: "{}" });
(await payer.cancel("i")).data satisfies `0x${string}`;
// @ts-expect-error a claim is about one intent
await payer.claim();

const given = await payer.handOver("i", "worker-b", "1000", { expiresIn: 60 });
given.signature satisfies `0x${string}` | undefined;
handOverDigest(given).signer satisfies string | undefined;
await payer.takeOver(given);
// @ts-expect-error a budget is decimal text
await payer.handOver("i", "worker-b", 1000);

const back = { chainId: "0x1", block: { number: "0x1", hash: "0x00", timestamp: "0x1", tag: "finalized" }, receipt: null, charge: null } as const;
const told = refundClosed({ payer: "0x00", network: "eip155:8453", asset: "0x00", amount: "1", transaction: "0x00" }, back);
if (told.closed) told.logIndexes satisfies number[];
else told.reason satisfies string;
// @ts-expect-error what is open names no transfer
if (!told.closed) told.logIndexes;

export { claim, counted, amount, big, many, money, packed, raw, read, report };
