// The vectors as JavaScript hands them over: a call by its name, its parameters as the text that stands in the file, and its attachments.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

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

/** `{file, call, input, bytes?, secret?, expected | error}` of every file. */
export function readVectors() {
  return files.map((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    const vector = JSON.parse(text);
    return { ...vector, file, input: vector.inputText ?? memberText(text, "input"), bytes: bytes(vector.bytes), secret: bytes(vector.secret) };
  });
}
