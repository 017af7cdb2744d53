// counterfoil audit: a verdict on every line of many files, and what only shows across lines.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { visible } from "../display.mjs";
import { auditLines, auditSummary, auditVerdicts } from "counterfoil/verify";
import { answersIn } from "./audit/answers.mjs";
import { findingsOf } from "./audit/findings.mjs";
import { totals, writers } from "./audit/formats.mjs";
import { formats, inputsOf } from "./audit/inputs.mjs";
import { Joins } from "./audit/joins.mjs";
import { judgeOf } from "./audit/judge.mjs";
import { Reports } from "./audit/merge.mjs";
import { inOrder } from "./audit/pool.mjs";
import { Progress } from "./audit/progress.mjs";
import { arriving, blocksOf } from "./audit/read.mjs";
import { Lines, Spool } from "./audit/spool.mjs";
import { profileOf, trustOf } from "./given.mjs";
import { asciiJson, usageError } from "./output.mjs";

export const options = {
  in: { type: "string" },
  responses: { type: "string" },
  trust: { type: "string" },
  "did-document": { type: "string", multiple: true },
  profile: { type: "string" },
  now: { type: "string" },
  jobs: { type: "string" },
  format: { type: "string" },
  out: { type: "string" },
  report: { type: "string" },
  part: { type: "string" },
  "max-failures": { type: "string" },
  "allow-incomplete": { type: "boolean" },
  resume: { type: "string" },
  merge: { type: "boolean" },
  worker: { type: "boolean" },
  quiet: { type: "boolean" },
  "no-color": { type: "boolean" },
};
/** As many inputs as are given. */
export const many = true;

const VERIFIED = 0;
const FAILED = 1;
const UNDECIDED = 2;
const INTERRUPTED = 130;
/** Verdicts that are made in one go by one thread, in bytes of their lines; and after how many of these it is noted how far it is. */
const PARCEL = 512 << 10;
const NOTED_EVERY = 8;
/** What decides about verdicts, and does nothing once they are made; a state of them would not hold what closes their reports. */
const MADE = ["in", "responses", "trust", "did-document", "profile", "part", "resume", "now"];
/** What is about a report, and does nothing where there is none. */
const REPORTED = ["in", "jobs", "format", "out", "report", "part", "max-failures", "allow-incomplete", "resume", "merge"];
/** A verdict that names a fault, as it is written: within a text its quotation marks have a backslash. */
const FAULT = /"verdict":"(?:failed|error)"/;

/** Audits the inputs. Gives the exit status. */
export async function run(names, given) {
  if (given.worker) refuse(given, REPORTED, "--worker writes one verdict for each line");
  if (given.merge) refuse(given, MADE, "--merge reads verdicts that were made");
  const asked = await askedOf(given);
  if (given.worker) return line(names, asked, given.responses);
  if (!names.length) throw usageError("audit wants files, folders, patterns or -");
  const inputs = inputsOf(names, given.merge ? "jsonl" : given.in);
  if (inputs.some(({ size }) => size === undefined) && (given.resume !== undefined || asked.parts > 1)) throw usageError("--resume and --part want files: standard input and pipes are not read twice");
  spare(inputs, given);
  if (given["no-color"] || given.out !== undefined) process.env.NO_COLOR = "1";
  const about = aboutOf(inputs, asked, given);
  const page = given.report === undefined ? undefined : new (await import("./audit/report.mjs")).Page(given.report);
  const spool = new Spool(given.resume, about);
  // Goes on as of the time at which it began.
  asked.given.now = spool.done?.now ?? asked.given.now;
  const findings = new Lines(join(spool.folder, "findings.jsonl"));
  const joins = new Joins(spool.folder);
  const stop = new AbortController();
  const interrupted = () => (stop.signal.aborted ? process.exit(INTERRUPTED) : stop.abort("interrupted"));
  process.on("SIGINT", interrupted);
  const out = outputOf(given.out, stop);
  const sizes = inputs.map(({ size }) => size);
  const progress = new Progress(sizes.includes(undefined) ? undefined : sizes.reduce((sum, size) => sum + size, 0), given.quiet);
  try {
    const audited = await judged({ inputs, asked, given, spool, joins, stop, out, progress });
    progress.stop();
    const report = { ...audited, ...found(joins, spool, findings), verdicts: () => spool.values(), failures: () => spool.values(FAULT), findings: () => findings.values() };
    for (const piece of writers[given.format](report)) await out.write(piece);
    await out.end();
    await page?.write(report, asked.given, process.argv.slice(2));
    if (!given.quiet && (given.format !== "text" || given.out !== undefined)) for (const piece of totals(report)) process.stderr.write(piece);
    return statusOf(report, given, stop.signal.reason);
  } finally {
    progress.stop();
    process.off("SIGINT", interrupted);
    page?.close();
    joins.close();
    findings.close();
    spool.close();
  }
}

/** No report is written over what is read for it. */
function spare(inputs, given) {
  const reports = ["out", "report"].filter((name) => given[name] !== undefined && given[name] !== "-");
  if (!reports.length) return;
  const same = (path) => {
    const { dev, ino } = statSync(path, { throwIfNoEntry: false }) ?? {};
    return ino === undefined ? resolve(path) : `${dev} ${ino}`;
  };
  const taken = new Set([...inputs.map(({ path }) => path), given.trust, given.profile, given.responses, ...(given["did-document"] ?? [])].filter((path) => path !== undefined).map(same));
  for (const name of reports) {
    const own = same(given[name]);
    if (taken.has(own)) throw usageError(`--${name} names a file that is read, or written already`);
    taken.add(own);
  }
}

/** An option that would do nothing is a mistake, of which whoever gave it must hear. */
function refuse(given, options, why) {
  const name = options.find((name) => given[name] !== undefined);
  if (name) throw usageError(`${why}: --${name} does nothing there`);
}

async function askedOf(given) {
  given.format ??= "text";
  const whole = (name, least, otherwise) => {
    if (given[name] === undefined) return otherwise;
    if (!/^\d{1,15}$/.test(given[name]) || Number(given[name]) < least) throw usageError(`--${name} wants a whole number from ${least}`);
    return Number(given[name]);
  };
  if (!Object.hasOwn(writers, given.format)) throw usageError(`--format is one of ${Object.keys(writers).join(", ")}`);
  if (given.in !== undefined && !formats.includes(given.in)) throw usageError(`--in is one of ${formats.join(", ")}`);
  if (given.responses !== undefined) answersIn(given.responses);
  const [, part, parts] = /^(\d{1,6})\/(\d{1,6})$/.exec(given.part ?? "1/1") ?? [];
  if (!(Number(part) >= 1 && Number(part) <= Number(parts))) throw usageError("--part wants the number of a part and of all parts, such as 2/8");
  const asked = {
    given: { trust: await trustOf({}, given), profile: await profileOf(given), now: whole("now", 0, Math.floor(Date.now() / 1000)) },
    jobs: whole("jobs", 1, availableParallelism()),
    most: whole("max-failures", 1, Infinity),
    part: Number(part) - 1,
    parts: Number(parts),
  };
  // Said here and once, not by every line.
  auditLines(Buffer.alloc(0), { given: asked.given });
  return asked;
}

/** What makes two audits the same one. */
function aboutOf(inputs, { given: { trust, profile }, part, parts, most }, { responses, merge, now }) {
  const files = inputs.map(({ name, format, size, mtime }) => [name, format, size, mtime]);
  return createHash("sha256").update(JSON.stringify([1, files, trust, profile, part, parts, most === Infinity ? 0 : most, responses, merge, now])).digest("hex");
}

/** Phase one: every line judged, in order, into the spool and the joins. */
async function judged({ inputs, asked, given, spool, joins, stop, out, progress }) {
  let summary = auditSummary([]);
  let [sums, parcels, failures] = [[], 0, 0];
  const read = spool.done?.inputs ?? [];
  const take = async ({ verdicts, keys, summary: sum }) => {
    for (const [at, text] of verdicts.entries()) {
      const from = spool.append(text);
      joins.add(keys[at], placesIn(text, from));
      if (given.format === "jsonl") await out.write(Buffer.from(text.buffer, text.byteOffset, text.byteLength));
    }
    count(sum);
  };
  const count = (sum) => {
    sums.push(sum);
    if (sums.length >= 64) [summary, sums] = [auditSummary([summary, ...sums]), []];
    progress.lines += sum.lines;
    failures += sum.verdicts.failed.lines + sum.verdicts.error.lines;
  };
  let from = 0;
  for (const piece of spool.done ? spool.pieces() : []) {
    const { verdicts, keys, summary: sum } = auditVerdicts(piece.subarray(0, piece.length - 1));
    joins.add(keys, placesIn(verdicts, from));
    from += piece.length;
    if (given.format === "jsonl") await out.write(Buffer.from(piece));
    count(sum);
  }
  const skip = spool.done?.parcels ?? 0;
  const note = () => spool.note({ parcels: skip + parcels, inputs: read, now: asked.given.now });
  const reports = given.merge ? new Reports(inputs) : undefined;
  const sizes = [];
  const broken = [];
  const source = parcelsOf(inputs, { asked, read, skip, sizes, broken, passed: (bytes) => (progress.bytes += bytes) });
  const judging = reports?.read(source) ?? inOrder(source, asked.jobs, { given: asked.given, responses: given.responses }, stop.signal);
  for await (const parcel of judging) {
    await take(parcel);
    progress.bytes += sizes.shift() ?? 0;
    if (++parcels % NOTED_EVERY === 0) note();
    if (failures >= asked.most) stop.abort("as many failures as --max-failures says");
    if (stop.signal.aborted) break;
  }
  summary = auditSummary([summary, ...sums], reports?.audited ?? read);
  note();
  const why = stop.signal.reason ?? reports?.missing() ?? (broken.length ? `${visible(broken[0])} could not be read to its end` : undefined);
  const part = asked.parts > 1 ? `${asked.part + 1}/${asked.parts}` : undefined;
  return { summary, complete: why === undefined, ...(why && { why }), ...(part && { part }) };
}

/** Where each line of a text begins, and where the last one ends. */
function placesIn(text, from) {
  const places = [from];
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) places.push(from + at + 1);
  return places;
}

/**
 * Parcels of blocks: those of this part, without those that were judged before. `sizes` gets what was read for each, `passed` is told of the others, and `broken` gets the
 * inputs that could not be read to their end.
 */
async function* parcelsOf(inputs, { asked: { part, parts }, read, skip, sizes, broken, passed }) {
  let [parcel, size, number, whole, bytes] = [[], 0, 0, [], 0];
  const mine = () => {
    const own = number % parts === part && Math.floor(number / parts) >= skip;
    number++;
    const one = parcel;
    if (own) sizes.push(bytes);
    else passed(bytes);
    [parcel, size, bytes] = [[], 0, 0];
    return own ? one : undefined;
  };
  for (const input of inputs) {
    for await (const block of blocksOf(input, { seen: (read) => (bytes += read), done: (file) => whole.push(file) })) {
      if (block.broken) broken.push(block.input);
      parcel.push(block);
      size += block.lines.length;
      if (size >= PARCEL || parcel.length >= 512) {
        const one = mine();
        if (one) yield one;
      }
    }
  }
  const one = parcel.length ? mine() : undefined;
  if (one) yield one;
  read.splice(0, read.length, ...whole);
}

/** Phase two: the findings, into a spool of their own. */
function found(joins, spool, findings) {
  const counts = {};
  let alerts = 0;
  for (const finding of findingsOf(joins, spool)) {
    counts[finding.code] = (counts[finding.code] ?? 0) + 1;
    if (finding.severity === "alert") alerts++;
    findings.append(Buffer.from(`${asciiJson(finding)}\n`));
  }
  const sorted = Object.fromEntries(Object.entries(counts).sort(([one], [other]) => (one < other ? -1 : 1)));
  return { counts: sorted, alerts };
}

/** Where the report goes. Whoever reads it may stop before its end. */
function outputOf(path, stop) {
  const stream = path === undefined || path === "-" ? process.stdout : createWriteStream(path);
  let failure;
  stream.on("error", (error) => {
    failure = error;
    stop.abort("nobody reads the report");
  });
  return {
    async write(piece) {
      if (failure) return;
      if (!stream.write(piece)) await readOn(stream);
    },
    async end() {
      if (failure && failure.code !== "EPIPE") throw failure;
      if (stream === process.stdout || failure) return;
      stream.end();
      await once(stream, "close");
      if (failure) throw failure;
    },
  };
}

/** Until the stream takes more, or will never. */
function readOn(stream) {
  const events = ["drain", "close", "error"];
  return new Promise((resolve) => {
    const done = () => {
      for (const event of events) stream.off(event, done);
      resolve();
    };
    for (const event of events) stream.on(event, done);
  });
}

function statusOf({ summary: { verdicts, lines }, alerts, complete }, given, reason) {
  if (reason === "interrupted") return INTERRUPTED;
  if (verdicts.failed.lines || alerts) return FAILED;
  const undecided = verdicts.error.lines || (verdicts.incomplete.lines && !given["allow-incomplete"]);
  return undecided || !lines || !complete ? UNDECIDED : VERIFIED;
}

/** One verdict for each line of standard input, as the lines come. */
async function line(names, { given }, responses) {
  if (names.length) throw usageError("--worker reads standard input");
  const judge = judgeOf({ given, responses, blank: true });
  let gone = false;
  process.stdout.on("error", () => (gone = true));
  for await (const { lines, first } of arriving(process.stdin)) {
    if (gone) break;
    const { verdicts } = judge({ lines, input: "-", first });
    if (!process.stdout.write(verdicts)) await once(process.stdout, "drain").catch(() => {});
  }
  return VERIFIED;
}
