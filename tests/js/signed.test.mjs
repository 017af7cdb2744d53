// Signed offers and receipts beside what the official packages, viem and jose say of the same bytes. Where the official verifier accepts what ours refuses, the
// case names why; nowhere is it the other way round, but for a transaction that is absent, at which it throws.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { auditLines, verifyReceipt } from "counterfoil/verify";

const require = createRequire(new URL("../../demo/package.json", import.meta.url));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const official = await load("@x402/extensions/offer-receipt");
const { privateKeyToAccount } = await load("viem/accounts");
const { exportJWK, generateKeyPair, CompactSign } = await import(pathToFileURL(createRequire(require.resolve("@x402/extensions")).resolve("jose")));

const { base, cases } = JSON.parse(readFileSync(new URL("../receipts/signed.json", import.meta.url), "utf8"));

/** What the official verifier says of an artifact. */
async function verdictOf(artifact, keyless) {
  const eip712 = artifact.format === "eip712";
  const offer = eip712 ? "scheme" in (artifact.payload ?? {}) : false;
  try {
    if (!eip712) return { accepted: Boolean(await official.verifyReceiptSignatureJWS(artifact, keyless)) };
    const verify = offer ? official.verifyOfferSignatureEIP712 : official.verifyReceiptSignatureEIP712;
    return { recovered: (await verify(artifact)).signer };
  } catch {
    return { error: true };
  }
}

test("the official verifier says of its own artifacts what the cases have it say", async () => {
  let seen = 0;
  for (const { id, receipt, material, official: expected } of cases.filter((one) => one.official)) {
    const artifact = JSON.parse(receipt);
    const jwk = material.trust.didDocuments?.[0].verificationMethod[0].publicKeyJwk;
    // A did:web document would be fetched.
    assert.deepEqual(await verdictOf(artifact, jwk && (await importKey(jwk))), expected, id);
    seen += 1;
  }
  assert.ok(seen > 100, `${seen} cases`);
});

const importKey = async (jwk) => (await import("node:crypto")).createPublicKey({ key: jwk, format: "jwk" });

test("what official issuers sign now is verified, whatever key they have", async () => {
  const now = Math.floor(Date.now() / 1000);
  const receipt = { version: 1, network: "eip155:84532", resourceUrl: "https://api.example.com/a", payer: base.authorization.from, issuedAt: now, transaction: "" };
  const account = privateKeyToAccount(`0x${"42".repeat(32)}`);
  const { transaction, ...input } = receipt;
  const signature = await official.signReceiptEIP712(receipt, (typed) => account.signTypedData(typed));
  const states = (report) => Object.fromEntries(report.checks.map(({ id, state }) => [id, state]));
  const eip712 = states(verifyReceipt(JSON.stringify({ format: "eip712", payload: input, signature }), { trust: { signers: [account.address] }, now }));
  assert.deepEqual([eip712.signature, eip712["signer.authorized"], eip712["receipt.time"]], ["pass", "pass", "pass"]);

  for (const alg of ["EdDSA", "ES256"]) {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: "did:web:api.example.com#key-1" };
    const sign = async (bytes) => {
      const [header, payload] = new TextDecoder().decode(bytes).split(".");
      const made = await new CompactSign(Buffer.from(payload, "base64url")).setProtectedHeader(JSON.parse(Buffer.from(header, "base64url"))).sign(privateKey);
      return made.split(".")[2];
    };
    for (let round = 0; round < 4; round++) {
      const jws = await official.createJWS({ ...input, issuedAt: now - round }, { algorithm: alg, kid: jwk.kid, sign });
      const found = states(verifyReceipt(JSON.stringify({ format: "jws", signature: jws }), { trust: { keys: [jwk] }, now }));
      assert.deepEqual([found.signature, found["signer.authorized"]], ["pass", "pass"], `${alg} ${round}`);
    }
  }
});

test("where the official verifier accepts what ours refuses, the case says why", () => {
  const looser = cases.filter(({ official, states }) => (official?.accepted || official?.recovered) && states?.signature === "fail");
  for (const { id, source, official, material } of looser.filter(({ material, official }) => official.accepted || material.trust.signers.includes(official.recovered))) {
    assert.match(source, /;/, `${id}: ${JSON.stringify(official)} ${JSON.stringify(material.trust)}`);
  }
});

test("a line of an audit has its JWS checked, whatever the algorithm", () => {
  const of = (id) => cases.find((one) => one.id === `official-jws-${id}`);
  for (const [id, wrong] of ["ES256K-key-0", "EdDSA-key-0", "ES256-key-1"].flatMap((key) => [[`${key}-receipt`, false], [`${key}-receipt-signature-first-byte-flipped`, true]])) {
    const { receipt, material: { trust, now } } = of(id);
    const { verdicts } = auditLines(new TextEncoder().encode(JSON.stringify({ receipt: JSON.parse(receipt) })), { given: { trust, now } });
    const { verdict, codes } = JSON.parse(new TextDecoder().decode(verdicts));
    assert.deepEqual([verdict, codes.includes("signature")], [wrong ? "failed" : "incomplete", wrong], `${id} ${codes}`);
  }
});
