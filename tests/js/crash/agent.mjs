// A buyer that can be killed at one exact point; without one it tells all its points at the end.
//   node agent.mjs '{"url","intent","journal","rpc","payer","signed", "killAt"?, "maxWindow"?, "tries"?}'

import { createHash } from "node:crypto";
import { createPayer } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { say, watch } from "./points.mjs";

const NETWORK = "eip155:84532";
const o = JSON.parse(process.argv[2]);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const watched = watch(o);
globalThis.fetch = watched.fetch;
const payer = createPayer({
  signer: watched.signer(process.env.AGENT_KEY),
  secret: createHash("sha256").update("crash test").digest(),
  journal: watched.journal(fileJournal(o.journal)),
  rpc: { [NETWORK]: watched.rpc(o.rpc) },
  policy: { perCall: "5000", maxWindow: o.maxWindow ?? 300, approve: () => watched.around("ask", () => true) },
});
const resumed = await payer.resume();
let answer;
let error;
for (let n = 0; n < (o.tries ?? 4) && !answer; n += 1) {
  if (n > 0) await pause(1000);
  try {
    const response = await payer.fetch(o.url, { intent: { id: o.intent } });
    const body = Buffer.from(await response.arrayBuffer());
    if (response.ok) answer = createHash("sha256").update(body).digest("hex");
    else error = { code: `status ${response.status}` };
  } catch (thrown) {
    error = { code: thrown.code, money: thrown.money, next: thrown.next, message: String(thrown) };
  }
}
const { intents } = JSON.parse(await payer.export());
await payer.close();
say({ event: "end", answer, error: answer ? undefined : error, resumed: resumed.map(({ outcome }) => outcome), intents, points: watched.points });
process.exit(0);
