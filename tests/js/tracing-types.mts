// Compiled against the packed package and @opentelemetry/api, never run. Each @ts-expect-error is a line that must not compile.

import { trace } from "@opentelemetry/api";
import { createPayer, memoryJournal, type Refusal } from "counterfoil";

declare const privateKey: Uint8Array;
declare const refusal: Refusal;

const options = { signer: { privateKey }, journal: memoryJournal() };
// A tracer of OpenTelemetry is one as it is.
const payer = createPayer({ ...options, tracer: trace.getTracer("types") });
createPayer({ ...options, tracer: { startSpan: () => ({ spanContext: () => ({ traceId: "", spanId: "", traceFlags: 0 }), setAttributes() {}, setStatus() {}, end() {} }) } });
// @ts-expect-error a tracer starts spans
createPayer({ ...options, tracer: { startSpan: 1 } });
payer.refuse(refusal);
// @ts-expect-error a no is signed
payer.refuse({ type: "counterfoil/refusal", v: 1, at: 1, request: "0x00", payer: "0x00", intentId: "i", hash: "0x00" });
