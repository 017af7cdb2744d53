// Records the journals under tests/journals: real purchases on the local chain, with the public test key.
//   node tests/js/crash/record.mjs
// tests/crash.rs cuts and damages them byte by byte.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { books, openMarket, run } from "./market.mjs";

const out = fileURLToPath(new URL("../../journals/", import.meta.url));
mkdirSync(out, { recursive: true });
const market = await openMarket();
const keeping = await market.seller({ keepsAnswers: true });
const careless = await market.seller({});
const waiting = await market.seller({ fault: "sit_on_it" });

async function record(name, url, { first, pause, ...options } = {}) {
  const purchase = market.purchase(url, name);
  if (first) await run(purchase, { killAt: first, ...options });
  await pause?.();
  const ended = await run(purchase, { tries: 1, ...options });
  const commits = ended.end.points.filter((point) => /commit .* after/.test(point)).length;
  console.log(name, await books(market, purchase, ended), `${commits} commits in the last process`);
  writeFileSync(`${out}${name}.jsonl`, readFileSync(purchase.journal));
}

await record("delivered", keeping.url);
await record("answer-lost", `${keeping.url}?cut`);
await record("answer-lost-for-good", `${careless.url}?cut`);
// The seller takes the first cheque and does nothing; the process dies and its window passes. The second is for the same nonce.
const passed = async () => {
  await new Promise((done) => setTimeout(done, 22_000));
  waiting.lift();
};
await record("expired-and-signed-again", waiting.url, { maxWindow: 20, first: "commit 3 after", pause: passed });
await market.close();
process.exit(0);
