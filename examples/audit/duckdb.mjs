// Verdicts in DuckDB: node duckdb.mjs <verdicts.jsonl>. Gives the answers to the questions of verdicts.sql, by their names.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DuckDBInstance } from "@duckdb/node-api";

const statements = readFileSync(new URL("verdicts.sql", import.meta.url), "utf8").split(/;\s*$/m).filter((text) => text.trim());

export async function ask(file) {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    const [table, ...questions] = statements;
    // A parameter can't stand in a CREATE.
    await connection.run(table.replace("read_json($1", `read_json('${file.replaceAll("'", "''")}'`));
    const answers = {};
    for (const question of questions) {
      const [, name] = /^-- (\w+):/m.exec(question);
      const reader = await connection.runAndReadAll(question);
      answers[name] = reader.getRowObjectsJson();
    }
    return answers;
  } finally {
    connection.closeSync();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(JSON.stringify(await ask(process.argv[2]), null, 2));
