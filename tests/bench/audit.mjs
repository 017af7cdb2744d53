// Auditing: what a whole line costs, against those who put the same together from parts; how many lines a second the command takes, and how much memory.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { secp256k1 as noble } from "@noble/curves/secp256k1.js";
import jcs from "canonicalize";
import { auditLines } from "counterfoil/verify";
import * as viem from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { authorization as authorizationOf, domain, key, keyHex, types } from "./fixture.mjs";
import { digest } from "./noble.mjs";
import { peakOf, TELLS_PEAK } from "../audit/peak.mjs";
import { target } from "../../xtask/packed.mjs";

// The addon itself: the package's own entry falls back to JavaScript without a word.
const native = createRequire(import.meta.url)("secp256k1/bindings.js");
const { address } = privateKeyToAccount(keyHex);
const publicKey = noble.getPublicKey(key, true);
const sha256 = (data) => createHash("sha256").update(data).digest("hex");
const hex = (bytes) => `0x${Buffer.from(bytes).toString("hex")}`;

/** One line of about a kilobyte: a receipt, the answer, and, where `signed`, what the payer signed. */
function line(number, signed) {
  const authorization = { ...authorizationOf(address), nonce: `0x${sha256(`nonce ${number}`)}` };
  const text = JSON.stringify({ report: number, rows: sha256(`rows ${number}`).repeat(2) });
  const receipt = {
    network: `eip155:${domain.chainId}`, asset: domain.verifyingContract, payer: authorization.from, payTo: authorization.to, amount: String(authorization.value),
    transaction: `0x${sha256(`transaction ${number}`)}`, resource: `https://api.example.com/report?n=${number}`, responseSha256: sha256(text),
  };
  const all = { id: `order-${number}`, intent: `intent-${number}-of-the-report`, paymentId: `pay_${sha256(`${number}`).slice(0, 24)}`, receipt, response: { text } };
  return JSON.stringify(signed ? { ...all, authorization, domain, signature: signature(digest(authorization, domain)) } : all);
}

function signature(hash) {
  const { signature: scalars, recid } = native.ecdsaSign(hash, key);
  return `${hex(scalars)}${(27 + recid).toString(16)}`;
}

const COUNT = 512;

/** The questions about one line, asked of many at once. Answered with the number of lines in which nothing fails. */
export function questions() {
  const lines = Array.from({ length: COUNT }, (_, number) => line(number, true));
  const bytes = Buffer.from(lines.join("\n"));
  const digests = lines.map((text) => {
    const { authorization, domain: own } = JSON.parse(text);
    return digest(authorization, own);
  });
  // What everybody does beside the signature: the receipt's digest, the answer's, and that both speak of the same payment.
  const rest = ({ receipt, response, authorization }) => {
    const named = sha256(jcs(receipt)).length === 64;
    const same = receipt.payer === authorization.from && receipt.payTo === authorization.to && receipt.amount === authorization.value;
    return named && same && sha256(response.text) === receipt.responseSha256;
  };
  const scalars = (text) => Buffer.from(text.slice(2, 130), "hex");
  const counted = (judge) => () => String(lines.reduce((sum, text, place) => sum + Number(judge(JSON.parse(text), place)), 0));
  return [
    {
      id: "audited line",
      title: `Audit ${COUNT} lines of a kilobyte, signed by one payer: lines in, verdicts out; peers are given the public key`,
      product: () => String(auditLines(bytes).summary.verdicts.incomplete.lines),
      peers: {
        "JSON.parse + canonicalize + node:crypto + secp256k1 (native addon), digests given": counted((all, place) => rest(all) && native.ecdsaVerify(scalars(all.signature), digests[place], publicKey)),
        "the same, EIP-712 by hand with @noble/hashes": counted((all) => rest(all) && native.ecdsaVerify(scalars(all.signature), digest(all.authorization, all.domain), publicKey)),
        "JSON.parse + canonicalize + node:crypto + viem": async () => {
          let sum = 0;
          for (const text of lines) {
            const all = JSON.parse(text);
            const typed = { domain: all.domain, types, primaryType: "TransferWithAuthorization", message: all.authorization };
            sum += Number(rest(all) && (await viem.recoverTypedDataAddress({ ...typed, signature: all.signature })) === all.authorization.from);
          }
          return String(sum);
        },
      },
    },
  ];
}

/** Lines a second on the wall and megabytes at most, of the command on files of these many lines. */
export async function runs({ folder, quick }) {
  const place = mkdtempSync(join(tmpdir(), "counterfoil-bench-audit-"));
  const results = [];
  try {
    const [some, many] = quick ? [2_000, [20_000, 80_000]] : [100_000, [1_000_000, 4_000_000]];
    const signed = await written(join(place, "signed.jsonl"), some, true);
    for (const jobs of [1, 2]) results.push(await audited({ folder, file: signed, lines: some, jobs, name: `signed, ${jobs} ${jobs === 1 ? "thread" : "threads"}` }));
    results.push(...(await agreements({ folder, file: signed, lines: some, place })));
    for (const lines of many) {
      const file = await written(join(place, `${lines}.jsonl`), lines, false);
      results.push(await audited({ folder, file, lines, jobs: 2, name: "unsigned, five keys a line, 2 threads" }));
      rmSync(file);
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
  return results;
}

/** Whether the engines of the examples, where they are installed, add up the same verdicts to the same sums. */
async function agreements({ folder, file, lines, place }) {
  const command = join(folder, "src/cli/main.mjs");
  const [verdicts, trust] = [join(place, "verdicts.jsonl"), join(place, "trust.json")];
  writeFileSync(trust, "{}");
  spawnSync(process.execPath, [command, "audit", file, "--trust", trust, "--format", "jsonl", "--out", verdicts, "--quiet"]);
  const { summary } = JSON.parse(readFileSync(verdicts, "utf8").trimEnd().split("\n").at(-1));
  const sums = Object.entries(summary.verdicts).flatMap(([verdict, { amounts }]) => amounts.map(({ network, asset, lines, amount }) => [verdict, network, asset, String(lines), amount].join(" ")));
  const told = [];
  const duckdb = await import("../../examples/audit/duckdb.mjs").catch(() => undefined);
  if (duckdb) {
    const { standing } = await duckdb.ask(verdicts);
    const theirs = standing.map(({ verdict, network, asset, lines, amount }) => [verdict, network, asset, lines, amount].join(" "));
    told.push({ name: "DuckDB", lines, agrees: theirs.sort().join("\n") === sums.sort().join("\n") });
  }
  const python = join(target, "spark/bin/python");
  if (existsSync(python)) {
    const submit = ["spark.master=local[2]", "spark.ui.enabled=false", "spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.driver.memory=1g"].map((one) => `--conf ${one}`).join(" ");
    const { stdout } = spawnSync(python, [fileURLToPath(new URL("../../examples/audit/spark.py", import.meta.url)), file, join(place, "parquet"), `${process.execPath} ${command} audit --worker --trust ${trust}`], {
      encoding: "utf8", env: { ...process.env, SPARK_LOCAL_IP: "127.0.0.1", PYSPARK_PYTHON: python, PYSPARK_SUBMIT_ARGS: `${submit} pyspark-shell` },
    });
    const counts = Object.entries(summary.verdicts).filter(([, { lines }]) => lines).map(([verdict, { lines }]) => `${verdict} ${lines}`);
    told.push({ name: "Spark", lines, agrees: counts.sort().join("\n") === stdout.trim().split("\n").sort().join("\n") });
  }
  return told;
}

async function written(file, count, signed) {
  const out = createWriteStream(file);
  for (let number = 0; number < count; ) {
    const lines = [];
    for (const end = Math.min(count, number + 1000); number < end; number++) lines.push(line(number, signed));
    if (!out.write(`${lines.join("\n")}\n`)) await once(out, "drain");
  }
  out.end();
  await once(out, "close");
  return file;
}

async function audited({ folder, file, lines, jobs, name }) {
  const started = performance.now();
  const args = [...TELLS_PEAK, join(folder, "src/cli/main.mjs"), "audit", file, "--jobs", String(jobs), "--format", "jsonl", "--out", "/dev/null", "--quiet"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "pipe"] });
  let told = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (told += text));
  const [status] = await once(child, "close");
  // Nothing in these lines is proven by a chain, and nothing in them fails.
  if (status !== 2) throw new Error(`the audit ended with ${status}: ${told}`);
  const seconds = (performance.now() - started) / 1000;
  const result = { name, lines, rate: lines / seconds, megabytes: peakOf(told) };
  // At once: the next one may take half an hour.
  process.stderr.write(`${name}: ${lines} lines, ${Math.round(result.rate)} a second, ${Math.round(result.megabytes)} MB\n`);
  return result;
}
