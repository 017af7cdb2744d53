// Writing to a terminal: nothing that a document holds may move the cursor, colour a line or hide.

import { visible, visibleLines } from "../display.mjs";

const NOT_ASCII = /[^\x20-\x7e\n]/g;

/** A line of data. The caller has made its parts visible. */
export function print(line = "") {
  process.stdout.write(`${line}\n`);
}

/** A value as JSON in plain ASCII, so that no reader and no terminal can stumble over it. */
export function asciiJson(value, indent) {
  return JSON.stringify(value, null, indent).replace(NOT_ASCII, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function printJson(value) {
  print(asciiJson(value, 2));
}

/** Words for a person, to standard error. */
export function say(text) {
  process.stderr.write(`${visibleLines(text)}\n`);
}

/** An error of usage that only shows once the files are read. */
export function usageError(message) {
  return Object.assign(new Error(message), { name: "Usage" });
}

const COLOURS = { good: 32, bad: 31, open: 33, soft: 2, strong: 1 };
const coloured = () => process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== "dumb";

/** Text in a colour, on a terminal that has not been asked to do without. */
export function paint(colour, text) {
  return coloured() ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text;
}

/** Name and value in two columns; the value is made visible here. */
export function pair(name, value, width = 14) {
  return `  ${name.padEnd(width)} ${visible(value)}`;
}
