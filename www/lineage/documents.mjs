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

/** The records of these intents in the documents: intentId → `[{name, payer, record}]`. */
export function recordsOf(documents, ids) {
  const found = new Map();
  const add = (name, payer, record) => {
    const id = record?.intentId;
    if (!ids.includes(id)) return;
    if (!found.has(id)) found.set(id, []);
    found.get(id).push({ name, payer, record });
  };
  for (const { name, bytes } of documents) {
    if (isJournal(bytes)) for (const record of latest(bytes, new Set(ids.map((id) => `intent/${id}`)))) add(name, record?.principal, record);
    else {
      const { payer, intents = [] } = parse(decode(bytes)) ?? {};
      for (const record of intents) add(name, payer, record);
    }
  }
  return found;
}

/** What a person is asked about an intent, in the first of the documents that asks. */
export function requestOf(documents, id) {
  const about = ({ bytes }) => (isJournal(bytes) ? latest(bytes).flatMap((wallet) => wallet?.asked ?? []) : (parse(decode(bytes))?.asked ?? []));
  for (const one of documents) {
    const request = about(one).find((request) => request?.intentId === id);
    if (request) return request;
  }
  return undefined;
}

/** As the core tells them apart: by the first line. */
function isJournal(bytes) {
  const end = bytes.indexOf(LINE_FEED);
  const first = parse(decode(end < 0 ? bytes : bytes.subarray(0, end)));
  return first?.ops !== undefined && first.prev !== undefined;
}

/** The pieces of a journal, whole lines, the last first. */
function* backwards(bytes) {
  for (let end = bytes.length; end > 0;) {
    const start = bytes.lastIndexOf(LINE_FEED, Math.max(0, end - PIECE)) + 1;
    yield decode(bytes.subarray(start, end));
    end = start - 1;
  }
}

/** The values of these keys of a journal that stand last; of all wallets where none are named. Of a long one most is never looked at. */
function latest(bytes, keys) {
  const found = new Map();
  const texts = keys ? [...keys] : ['"key":"wallet/'];
  const wanted = (key) => !found.has(key) && (keys ? keys.has(key) : key.startsWith("wallet/"));
  for (const piece of backwards(bytes)) {
    if (!texts.some((text) => piece.includes(text))) continue;
    for (const line of piece.split("\n").reverse()) {
      const ops = texts.some((text) => line.includes(text)) ? parse(line)?.ops : undefined;
      if (!Array.isArray(ops)) continue;
      for (const op of ops.reverse()) if (typeof op?.key === "string" && wanted(op.key)) found.set(op.key, op.put);
    }
    if (keys && found.size === keys.size) break;
  }
  return [...found.values()];
}

/** A bundle of one intent, as text. */
export function bundleOf({ payer, record }) {
  return JSON.stringify({ type: "counterfoil/bundle", v: 1, payer, intents: [record] });
}
