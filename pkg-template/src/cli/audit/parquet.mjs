// Parquet, by hyparquet, which is installed by whoever needs it.

import { open } from "node:fs/promises";
import { usageError } from "../output.mjs";
import { value } from "./csv.mjs";

const VERSION = "1.31.5";
const ROWS = 1000;

/** `{number, text}` for each row: as of CSV, its columns are the members of a line. `hashed` reads the file for its digest. */
export async function* parquetRows(path, hashed) {
  if (path === undefined) throw usageError("Parquet is read from files, not from standard input or a pipe");
  const { parquetMetadataAsync, parquetReadObjects } = await import("hyparquet").catch(() => {
    throw usageError(`Parquet wants one more package: npm install hyparquet@${VERSION}`);
  });
  for await (const _ of hashed());
  const handle = await open(path);
  try {
    const file = await bufferOf(handle);
    const metadata = await parquetMetadataAsync(file);
    const rows = Number(metadata.num_rows);
    for (let rowStart = 0; rowStart < rows; rowStart += ROWS) {
      const read = await parquetReadObjects({ file, metadata, rowStart, rowEnd: Math.min(rowStart + ROWS, rows) });
      for (const [at, row] of read.entries()) yield { number: rowStart + at + 1, text: line(row) };
    }
  } finally {
    await handle.close();
  }
}

async function bufferOf(handle) {
  const { size } = await handle.stat();
  return {
    byteLength: size,
    async slice(start, end = size) {
      const bytes = new Uint8Array(end - start);
      await handle.read(bytes, 0, bytes.length, start);
      return bytes.buffer;
    },
  };
}

function line(row) {
  const members = Object.entries(row).flatMap(([name, cell]) => (cell === null || cell === undefined ? [] : [`${JSON.stringify(name)}:${text(cell)}`]));
  return `{${members.join(",")}}`;
}

function text(cell) {
  if (typeof cell === "string") return value(cell);
  // A whole number of 64 bits: an amount is a text, and what stands inside a structure is a length.
  if (typeof cell === "bigint") return `"${cell}"`;
  return JSON.stringify(cell, (_, part) => (typeof part === "bigint" ? Number(part) : part));
}
