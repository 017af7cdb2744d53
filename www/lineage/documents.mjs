// Finds single records in journals and bundles, to hand them to the core again. It believes and decides nothing.

const parse = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** What lies in the documents: `{records: intentId → [{name, payer, record}], asked: intentId → request}`. */
export function contentsOf(documents) {
  const found = { records: new Map(), asked: new Map() };
  for (const { name, text } of documents) {
    const bundle = parse(text);
    if (bundle?.type === "counterfoil/bundle") fromBundle(name, bundle, found);
    else fromJournal(name, text, found);
  }
  return found;
}

function add(found, name, payer, record) {
  const id = record?.intentId;
  if (typeof id !== "string") return;
  if (!found.records.has(id)) found.records.set(id, []);
  found.records.get(id).push({ name, payer, record });
}

function ask(found, request) {
  if (typeof request?.intentId === "string" && !found.asked.has(request.intentId)) found.asked.set(request.intentId, request);
}

function fromBundle(name, { payer, intents = [], asked = [] }, found) {
  for (const record of intents) add(found, name, payer, record);
  for (const request of asked) ask(found, request);
}

function fromJournal(name, text, found) {
  const latest = new Map();
  for (const line of text.split("\n")) {
    const ops = parse(line)?.ops;
    if (!Array.isArray(ops)) continue;
    for (const { key, put } of ops) {
      if (typeof key === "string") latest.set(key, put);
    }
  }
  for (const [key, put] of latest) {
    if (typeof put !== "object" || put === null) continue;
    if (key.startsWith("intent/")) add(found, name, put.principal, put);
    else if (key.startsWith("wallet/")) for (const request of put.asked ?? []) ask(found, request);
  }
}

/** A bundle of one intent, as text. */
export function bundleOf({ payer, record }) {
  return JSON.stringify({ type: "counterfoil/bundle", v: 1, payer, intents: [record] });
}
