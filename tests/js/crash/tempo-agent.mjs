// A buyer on Tempo that can be killed at one exact point; without one it tells all its points at the end.
//   node tempo-agent.mjs '{"url","intent","journal","rpc","killAt"?}'

import { createHash } from "node:crypto";
import { createPayer } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { NETWORK, TOKEN, clientOf, privateKeyToAccount, tempoSigner } from "../tempo-chain.mjs";
import { say, watch } from "./points.mjs";

const o = JSON.parse(process.argv[2]);
const account = privateKeyToAccount(process.env.AGENT_KEY);
const send = globalThis.fetch;
const watched = watch(o);
const sign = tempoSigner(clientOf(o.rpc, send), account);
const signed = [];
globalThis.fetch = (input, init) => {
  const paid = new Headers(init?.headers).has("authorization");
  return watched.around(paid ? "send paid" : "send unpaid", () => send(input, init));
};
const payer = createPayer({
  signer: { address: account.address, signTypedData: () => Promise.reject(new Error("no typed data is signed")) },
  signTempo: (transaction) => watched.around("sign", async () => {
    signed.push(await sign(transaction));
    return signed.at(-1);
  }),
  secret: createHash("sha256").update("tempo crash test").digest(),
  journal: watched.journal(fileJournal(o.journal)),
  rpc: { [NETWORK]: watched.rpc(o.rpc) },
  policy: { perCall: "60000", assets: [{ network: NETWORK, asset: TOKEN }] },
});
const resumed = await payer.resume();
const told = await payer.fetch(o.url, { intent: { id: o.intent } }).then(
  async (response) => ({ answer: await response.text() }),
  ({ code, money, message }) => ({ code, money, message }),
);
const { intents } = JSON.parse(await payer.export());
await payer.close();
say({ event: "end", ...told, resumed: resumed.map(({ outcome }) => outcome), intents, signed: signed.length, points: watched.points });
process.exit(0);
