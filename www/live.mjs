// A page that `npx counterfoil inspect` serves: it shows the journals as they grow. The server is the page's own, on this machine.

import { show } from "./views.mjs";

/** Shows what the server at `path` has, now and whenever it says that there is more. */
export function follow(path, lineage) {
  show("lineage");
  const told = document.querySelector("[data-part=brought]");
  let first = true;
  const got = async (what) => {
    const answer = await fetch(`${path}/${what}`, { cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer;
  };
  const read = async () => {
    const names = await (await got("documents")).json();
    const documents = await Promise.all(names.map(async (name, at) => ({ name, bytes: new Uint8Array(await (await got(`documents/${at}`)).arrayBuffer()) })));
    await (first ? lineage.open(documents) : lineage.refresh(documents));
    first = false;
  };
  const changes = new EventSource(`${path}/changes`);
  // One reading at a time, and one more where something changed meanwhile.
  let reading = false;
  let again = false;
  changes.addEventListener("message", async () => {
    again = true;
    if (reading) return;
    reading = true;
    while (again) {
      again = false;
      try {
        await read();
        told.textContent = "Live: what is written to the journals shows here.";
      } catch {
        told.textContent = "The journals can't be read now.";
      }
    }
    reading = false;
  });
  changes.addEventListener("error", () => { told.textContent = "No longer live: counterfoil inspect has ended. What is shown is the last that it told."; });
}
