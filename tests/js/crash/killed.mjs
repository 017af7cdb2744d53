// A process that is run to its end, or killed at the point that it names.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { KEYS } from "../../../demo/chain.mjs";

const LONGEST = 120_000; // ms, of one process

/**
 * Runs `file` with `options` to its end, or to the point at which it says that it is to be killed: then it is, by a signal that can't be
 * caught. `about` names it in failures.
 */
export async function runKilled(file, options, about) {
  const child = spawn(process.execPath, [file, JSON.stringify(options)], { env: { ...process.env, AGENT_KEY: KEYS.payer }, stdio: ["ignore", "pipe", "pipe"] });
  const late = setTimeout(() => child.kill("SIGKILL"), LONGEST);
  const said = {};
  let errors = "";
  child.stderr.on("data", (chunk) => (errors += chunk));
  const exit = new Promise((done) => child.once("close", (code, signal) => done(signal ?? code)));
  for await (const line of createInterface({ input: child.stdout })) {
    const told = JSON.parse(line);
    said[told.event] = told;
    if (told.event === "here") child.kill("SIGKILL");
  }
  const ended = await exit;
  clearTimeout(late);
  if (said.here) assert.equal(ended, "SIGKILL", `${about}: the kill at ${said.here.label} came too late`);
  else assert.ok(said.end, `${about}: the process ended with ${ended}: ${errors.slice(0, 2000)}`);
  return { killedAt: said.here?.label, end: said.end };
}
