// node journal-worker.mjs <path> [<file to wait for>]: opens the journal, says `open` or the error's code, holds it until its input ends.

import { existsSync } from "node:fs";
import { fileJournal } from "counterfoil/node";

const [path, go] = process.argv.slice(2);
if (go) {
  console.log("ready");
  while (!existsSync(go)) await new Promise((resolve) => setTimeout(resolve, 1));
}
const store = fileJournal(path);
try {
  const held = await store.read("held");
  await store.commit([{ key: "held", expect: held?.rev ?? "absent", put: new TextEncoder().encode("by worker") }]);
  console.log("open");
} catch (error) {
  console.log(error.code);
  process.exit(0);
}
process.stdin.resume();
process.stdin.on("end", async () => {
  await store.close();
  process.exit(0);
});
