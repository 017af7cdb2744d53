// Showing values that somebody else wrote, on a page or in a terminal: nothing in them may hide, move other text or pretend.
// No part of the core: no decision rests on what is written here.

// Controls, formats, private and unassigned characters, what renderers leave out, line breaks and every space but the plain one.
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;
const UNSEEN_IN_LINES = /(?![\n\t])(?:[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs})/gu;
// More marks on one letter than any writing system stacks would cover the lines around it.
const STACKED = /(?<=\p{M}{3})\p{M}/gu;
const NOT_ASCII = /[^\x20-\x7e]/gu;

const escape = (char) => `\\u{${char.codePointAt(0).toString(16)}}`;

/** The text with everything that can't be seen, or that moves other text, written out as `\u{…}`. */
export function visible(text) {
  return String(text).replace(UNSEEN, escape).replace(STACKED, escape);
}

/** The same for text of many lines, whose line breaks and tabs stay. */
export function visibleLines(text) {
  return String(text).replace(UNSEEN_IN_LINES, escape).replace(STACKED, escape);
}

/** The same for what is ASCII by its format, such as addresses and URLs: a letter that only looks like one shows itself. */
export function visibleAscii(text) {
  return String(text).replace(NOT_ASCII, escape);
}

/** The same as `visible` for the cell of a table, which no spreadsheet takes for a formula. Where a semicolon parts cells, what stands behind one begins a cell as well. */
export function visibleCell(text) {
  return visible(text).replace(/(^|;)(?=\s*[=+\-@|%＝＋－＠])/g, "$1'");
}

/** Head and tail of a long text, and how much is left out between them. What is hardly longer stays whole. */
export function cut(text, limit = 160) {
  if (text.length <= limit * 1.5) return text;
  const tail = Math.floor(limit / 4);
  const head = limit - tail;
  return `${whole(text.slice(0, head))} … ${text.length - limit} more characters … ${whole(text.slice(-tail))}`;
}

// Half a surrogate pair at a cut would show as a replacement character.
function whole(text) {
  return text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
}

/** An amount of atomic units in whole units: all of its digits, none of them rounded. Undefined for what is no amount. */
export function inUnits(amount, decimals) {
  if (typeof amount !== "string" || !/^(0|[1-9][0-9]{0,77})$/.test(amount)) return undefined;
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 77) return undefined;
  const digits = amount.padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const part = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return part ? `${whole}.${part}` : whole;
}

const NETWORKS = new Map([
  ["eip155:1", "Ethereum"],
  ["eip155:14", "Flare"],
  ["eip155:137", "Polygon"],
  ["eip155:143", "Monad"],
  ["eip155:988", "Stable"],
  ["eip155:1328", "Sei testnet: no real money"],
  ["eip155:1329", "Sei"],
  ["eip155:8453", "Base"],
  ["eip155:42161", "Arbitrum One"],
  ["eip155:42220", "Celo"],
  ["eip155:43114", "Avalanche C-Chain"],
  ["eip155:84532", "Base Sepolia, a test network: no real money"],
  ["eip155:421614", "Arbitrum Sepolia, a test network: no real money"],
]);

/** The usual name of a CAIP-2 network, where it is known here. */
export function networkName(network) {
  return NETWORKS.get(network);
}
