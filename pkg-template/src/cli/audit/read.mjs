// Inputs as blocks of lines: `{input, first | numbers, lines: Buffer}`, and `broken` where an input could not be read to its end. A block is some
// hundred kilobytes and ends with a line, so that an input of any size takes the memory of a few blocks.

import { createHash } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { csvRows } from "./csv.mjs";
import { jsonItems } from "./items.mjs";
import { parquetRows } from "./parquet.mjs";

const BLOCK = 512 << 10;
/** As the core has it: of a longer line the rest is not kept. */
const LONGEST_LINE = 16 << 20;
const READERS = { jsonl: jsonlBlocks, json: (chunks) => recordBlocks(jsonItems(chunks, LONGEST_LINE)), csv: (chunks) => recordBlocks(csvRows(chunks, LONGEST_LINE)) };

/** The blocks of one input. `done` is called at its end with `{name, sha256, bytes, lines}`, and `seen` with every number of bytes read. */
export async function* blocksOf({ name, path, format, size }, { done, seen }) {
  const hash = createHash("sha256");
  let [bytes, lines] = [0, 0];
  const hashed = async function* () {
    // A stream for every one of very many small files would cost more than all the rest.
    const chunks = path === undefined ? process.stdin : size <= BLOCK ? [readFileSync(path)] : createReadStream(path, { highWaterMark: BLOCK });
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
      seen(chunk.length);
      yield chunk;
    }
  };
  try {
    const blocks = format === "parquet" ? recordBlocks(parquetRows(size === undefined ? undefined : path, hashed)) : READERS[format](hashed());
    for await (const block of blocks) {
      lines = block.last;
      yield { input: name, ...block };
    }
  } catch (error) {
    // A format that needs what is not installed is the caller's; anything else is this input's.
    if (error.name === "Usage") throw error;
    yield { input: name, first: 1, lines: Buffer.alloc(0), broken: lines + 1, last: lines };
    return;
  }
  done({ name, sha256: `0x${hash.digest("hex")}`, bytes, lines });
}

async function* jsonlBlocks(chunks) {
  let [kept, size, number, dropping] = [[], 0, 1, false];
  const take = () => {
    const lines = Buffer.concat(kept, size);
    [kept, size] = [[], 0];
    return lines;
  };
  for await (let chunk of chunks) {
    if (dropping) {
      const end = chunk.indexOf(10);
      if (end < 0) continue;
      // The line that was too long ends here; so does its block.
      [chunk, dropping] = [chunk.subarray(end + 1), false];
      yield block(take(), number);
      number++;
    }
    const end = chunk.lastIndexOf(10);
    if (end < 0) {
      kept.push(chunk);
      size += chunk.length;
      if (size > LONGEST_LINE) {
        kept = [take().subarray(0, LONGEST_LINE + 1)];
        [size, dropping] = [kept[0].length, true];
      }
      continue;
    }
    kept.push(chunk.subarray(0, end));
    size += end;
    const one = block(take(), number);
    yield one;
    number = one.last + 1;
    const rest = chunk.subarray(end + 1);
    [kept, size] = [rest.length ? [rest] : [], rest.length];
  }
  if (size) yield block(take(), number);
}

function block(lines, first) {
  let last = first;
  for (let at = lines.indexOf(10); at >= 0; at = lines.indexOf(10, at + 1)) last++;
  return { first, last, lines };
}

/** Blocks of `{number, text}`, whose text holds no line feed. */
async function* recordBlocks(records) {
  let [texts, numbers, size] = [[], [], 0];
  const take = () => {
    const one = { numbers, last: numbers.at(-1), lines: Buffer.from(texts.join("\n")) };
    [texts, numbers, size] = [[], [], 0];
    return one;
  };
  for await (const { number, text } of records) {
    texts.push(text);
    numbers.push(number);
    size += text.length;
    if (size >= BLOCK) yield take();
  }
  if (size || texts.length) yield take();
}

/** The lines of a stream as they arrive, for whoever waits for an answer to each: a block is what is whole of a chunk. */
export function arriving(stream) {
  return jsonlBlocks(stream);
}
