// Finds single records in journals and bundles, to hand them to the core again. It believes and decides nothing.

const LINE_FEED = 10;
/** How much of a journal is a text at once. */
const PIECE = 1 << 20;

const decode = (bytes) => new TextDecoder().decode(bytes);

const parse = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * What lies in the documents about these intents: `{records: intentId → [{name, payer, record}], asked: intentId → request}`. Of a journal only the lines that name
 * one of them are read, so that a long one is never in memory a second time.
 */
export function contentsOf(documents, ids) {
  const found = { records: new Map(), asked: new Map() };
  for (const { name, bytes } of documents) {
    if (isJournal(bytes)) fromJournal(name, bytes, ids, found);
    else fromBundle(name, parse(decode(bytes)) ?? {}, ids, found);
  }
  return found;
}

/** As the core tells them apart: by the first line. */
function isJournal(bytes) {
  const end = bytes.indexOf(LINE_FEED);
  const first = parse(decode(end < 0 ? bytes : bytes.subarray(0, end)));
  return first?.ops !== undefined && first.prev !== undefined;
}

function add(found, name, payer, record, ids) {
  const id = record?.intentId;
  if (!ids.includes(id)) return;
  if (!found.records.has(id)) found.records.set(id, []);
  found.records.get(id).push({ name, payer, record });
}

function ask(found, request, ids) {
  if (ids.includes(request?.intentId) && !found.asked.has(request.intentId)) found.asked.set(request.intentId, request);
}

function fromBundle(name, { payer, intents = [], asked = [] }, ids, found) {
  for (const record of intents) add(found, name, payer, record, ids);
  for (const request of asked) ask(found, request, ids);
}

const KEYS = /"key":"((?:wallet|intent)\/[^"]+)"/g;

/** The lines of a journal, the last first. */
function* backwards(bytes) {
  for (let end = bytes.length; end > 0;) {
    const start = bytes.lastIndexOf(LINE_FEED, Math.max(0, end - PIECE)) + 1;
    yield* decode(bytes.subarray(start, end)).split("\n").reverse();
    end = start - 1;
  }
}

function fromJournal(name, bytes, ids, found) {
  // What stands last counts, so it is read from the end.
  const latest = new Map();
  const wanted = (key) => !latest.has(key) && (key.startsWith("wallet/") || ids.includes(key.slice("intent/".length)));
  for (const line of backwards(bytes)) {
    const keys = [...line.matchAll(KEYS)].map(([, key]) => key).filter(wanted);
    const ops = keys.length ? parse(line)?.ops : undefined;
    if (!Array.isArray(ops)) continue;
    for (const { key, put } of ops.reverse()) if (keys.includes(key) && !latest.has(key)) latest.set(key, put);
  }
  for (const [key, put] of latest) {
    if (typeof put !== "object" || put === null) continue;
    if (key.startsWith("intent/")) add(found, name, put.principal, put, ids);
    else for (const request of put.asked ?? []) ask(found, request, ids);
  }
}

/** A bundle of one intent, as text. */
export function bundleOf({ payer, record }) {
  return JSON.stringify({ type: "counterfoil/bundle", v: 1, payer, intents: [record] });
}
