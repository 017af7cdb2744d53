// Every vector through the packed package: the same files and the same dispatch that the Rust tests run.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { callText } from "counterfoil/raw";

const folder = fileURLToPath(new URL("../vectors", import.meta.url));
const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".json")).sort();

/** The text of one member of a JSON object, exactly as it stands: number literals and doubled names included. */
function memberText(text, wanted) {
  let [depth, start, name, key] = [0, -1, undefined, undefined];
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '"') {
      const from = i;
      for (i++; text[i] !== '"'; i++) if (text[i] === "\\") i++;
      if (depth === 1 && start < 0) key = JSON.parse(text.slice(from, i + 1));
    } else if ("{[".includes(char)) depth++;
    else if (char === ":" && depth === 1 && start < 0) [name, start] = [key, i + 1];
    if ((char === "," && depth === 1) || (char === "}" && depth === 1)) {
      if (name === wanted) return text.slice(start, i);
      start = -1;
    }
    if ("}]".includes(char)) depth--;
  }
  throw new Error(`no member ${wanted}`);
}

const bytes = (hex) => (hex === undefined ? undefined : Uint8Array.from(Buffer.from(hex.slice(2), "hex")));

test(`${files.length} vectors`, () => assert.notEqual(files.length, 0));

for (const file of files) {
  test(relative(folder, join(folder, file)), () => {
    const text = readFileSync(join(folder, file), "utf8");
    const vector = JSON.parse(text);
    const input = vector.inputText ?? memberText(text, "input");
    const run = () => callText(vector.call, input, bytes(vector.bytes), bytes(vector.secret));
    if ("error" in vector) {
      const { code, field } = typeof vector.error === "string" ? { code: vector.error } : vector.error;
      assert.throws(run, (error) => {
        assert.equal(error.name, "CounterfoilError");
        assert.equal(error.code, code);
        if (field !== undefined) assert.equal(error.field ?? "", field);
        return true;
      });
    } else {
      assert.deepStrictEqual(run(), vector.expected);
    }
  });
}
