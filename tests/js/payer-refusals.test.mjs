// Purchases that must not happen: each ends in a typed error, with the signer never asked and nothing paid sent.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createPayer } from "counterfoil";
import { fileJournal } from "counterfoil/node";
import { OFFER, PAYER, USDC, counted, folder, mount, openJournal, priced, shop, thrown } from "./payer-stage.mjs";

const ID = "purchase-0000000000000001";

/** Runs one call that must be refused: the code, nothing signed, nothing paid, nothing held back, no text of the input told. */
async function refused(t, { code, field, money = "none", seller, journal = openJournal(), policy = { perCall: "20000" }, init, url, asked = 1, ...options }) {
  const signer = options.signer ?? counted();
  const payer = createPayer({ policy, journal, ...options, signer });
  const error = await thrown(payer.fetch(url ?? seller.url, init));
  assert.equal(error.code, code, String(error));
  assert.equal(error.name, "CounterfoilError");
  if (field) assert.equal(error.field, field);
  assert.equal(error.money, money);
  assert.match(error.next, /^[a-z_]+$/);
  assert.ok(error.message.startsWith(`${code}: `));
  assert.ok(!/127\.0\.0\.1|purchase-0/.test(error.message), "the message repeats nothing of the input");
  assert.equal(signer.calls, 0, "the signer was asked");
  assert.equal(seller.paid.length, 0, "a payment was sent");
  assert.equal(seller.asked.length, asked);
  if (journal.intents) {
    assert.deepEqual(await journal.intents(), [], "a refusal leaves no intent");
    assert.deepEqual(await journal.held(), [], "a refusal holds no money back");
  }
  return error;
}

const offers = (change) => (_, res) => priced(res, { accepts: [{ ...OFFER, ...change }] });

const prices = {
  "a token that is not on the list": [{ asset: "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238" }, "unknown_asset"],
  "a network that is not on the list": [{ network: "eip155:31337" }, "no_supported_payment_option"],
  "another scheme": [{ scheme: "upto" }, "no_supported_payment_option"],
  "an amount above the cap": [{ amount: "20001" }, "over_cap"],
  "the token itself as recipient": [{ payTo: USDC }, "recipient_forbidden"],
  "nobody as recipient": [{ payTo: `0x${"0".repeat(40)}` }, "recipient_forbidden"],
  "the payer as recipient": [{ payTo: PAYER }, "recipient_forbidden"],
  "a burn address as recipient": [{ payTo: "0x000000000000000000000000000000000000dEaD" }, "recipient_forbidden"],
  "a known token under another name": [{ extra: { name: "USD Coin", version: "2" } }, "domain_mismatch_known_asset"],
  "a known token in another version": [{ extra: { name: "USDC", version: "1" } }, "domain_mismatch_known_asset"],
  "no time at all": [{ maxTimeoutSeconds: 0 }, "timeout_invalid"],
  "a negative time": [{ maxTimeoutSeconds: -60 }, "timeout_invalid"],
  "an amount that is a number": [{ amount: 10000 }, "amount_must_be_string"],
  "an amount with a fraction": [{ amount: "0.01" }, "amount_invalid"],
  "a negative amount": [{ amount: "-1" }, "amount_invalid"],
  "a recipient with a wrong checksum": [{ payTo: "0x2b5AD5c4795c026514f8317c7a215E218DcCD6cF" }, "address_checksum"],
};
for (const [what, [change, code]] of Object.entries(prices)) {
  test(`a price with ${what}: ${code}`, async (t) => {
    const seller = await shop(t, offers(change));
    await refused(t, { seller, code, init: { intent: { id: ID } } });
  });
}

test("a malformed price", async (t) => {
  for (const header of ["%%%", "e30=", Buffer.from('{"x402Version":2,"x402Version":1,"accepts":[]}').toString("base64"), Buffer.from("[]").toString("base64")]) {
    const seller = await shop(t, (_, res) => res.writeHead(402, { "payment-required": header }).end());
    const error = await thrown(createPayer({ signer: counted(), journal: openJournal(), policy: { perCall: "20000" } }).fetch(seller.url));
    assert.ok(["payment_required_invalid", "base64_invalid", "duplicate_key", "missing_field", "invalid_type", "unsupported_version"].includes(error.code), error.code);
    assert.equal(error.money, "none");
    assert.equal(seller.paid.length, 0);
  }
});

test("neither a cap nor an approval", async (t) => {
  await refused(t, { seller: await shop(t), policy: {}, code: "policy_missing" });
});

test("more than the intent's budget, and an approval that is not given or fails", async (t) => {
  await refused(t, { seller: await shop(t), code: "over_cap", field: "intent.budget", init: { intent: { budget: "9999" } } });
  const requests = [];
  const approve = (r) => requests.push(r) > 100;
  const error = await refused(t, { seller: await shop(t), policy: { perCall: "9999", approve }, code: "approval_denied", init: { intent: { id: ID } } });
  assert.equal(requests.length, 1);
  const { intentId, reason, amount, asset, spent } = requests[0];
  assert.deepEqual({ intentId, reason, amount, asset, spent }, { intentId: error.intentId, reason: "over_cap", amount: "10000", asset: USDC, spent: "0" });
  // Only `true` is a yes; and who can't be asked has not said yes.
  await refused(t, { seller: await shop(t), policy: { approve: () => "yes" }, code: "approval_denied" });
  const asking = new Error("nobody there");
  const failed = await refused(t, { seller: await shop(t), policy: { approve: () => Promise.reject(asking) }, code: "approval_denied" });
  assert.equal(failed.cause, asking);
});

test("the intent is named in the error as soon as it is known", async (t) => {
  const seller = await shop(t, offers({ amount: "99999" }));
  const named = await refused(t, { seller, code: "over_cap", init: { intent: { id: ID } } });
  assert.match(named.intentId, /^0x[0-9a-f]{64}$/);
  const unnamed = await refused(t, { seller: await shop(t, offers({ amount: "99999" })), code: "over_cap" });
  assert.match(unnamed.intentId, /^0x[0-9a-f]{64}$/);
  assert.notEqual(named.intentId, unnamed.intentId);
});

test("an id that is too short, and inputs that are no request: nothing is sent at all", async (t) => {
  const seller = await shop(t);
  const none = { seller, asked: 0 };
  await refused(t, { ...none, code: "intent_id_invalid", init: { intent: { id: "only-15-letters" } } });
  await refused(t, { ...none, code: "intent_id_invalid", init: { intent: { id: "" } } });
  await refused(t, { ...none, code: "amount_must_be_string", field: "start.intent.budget", init: { intent: { budget: 1 } } });
  await refused(t, { ...none, code: "url_invalid", url: "no url" });
  await refused(t, { ...none, code: "url_invalid", url: "ftp://example.org/" });
  await refused(t, { ...none, code: "url_invalid", url: "http://user:secret@example.org/" });
  await refused(t, { ...none, code: "invalid_type", field: "init", init: { method: "GET", body: "a body" } });
  await refused(t, { ...none, code: "invalid_type", field: "init", init: { headers: { "not a name": "x" } } });
  const used = new Request(seller.url, { method: "POST", body: "x" });
  await used.text();
  await refused(t, { ...none, code: "request_body_unsupported", url: used });
});

test("a price that came from another URL", async (t) => {
  const other = await shop(t);
  const seller = await shop(t, (_, res) => res.writeHead(302, { location: other.url }).end());
  await refused(t, { seller, code: "redirected" });
  assert.equal(other.asked.length, 1);
  assert.equal(other.paid.length, 0);
});

test("an endpoint of another chain", async (t) => {
  const rpc = async (method) => ({
    eth_chainId: "0x1",
    eth_getBlockByNumber: { number: "0x10", hash: `0x${"11".repeat(32)}`, timestamp: "0x1", stateRoot: `0x${"22".repeat(32)}` },
    eth_call: `0x${"0".repeat(64)}`,
    eth_getLogs: [],
  })[method];
  await refused(t, { seller: await shop(t), code: "chain_mismatch", rpc: { [OFFER.network]: rpc } });
});

test("a chain that can't be read, or whose sources disagree: nothing is signed", async (t) => {
  const rpc = (state) => async (method) => ({
    eth_chainId: "0x14a34",
    eth_getBlockByNumber: { number: "0x10", hash: `0x${"11".repeat(32)}`, timestamp: "0x1", stateRoot: `0x${"22".repeat(32)}` },
    eth_call: `0x${state.padStart(64, "0")}`,
    eth_getLogs: [],
    eth_getTransactionReceipt: null,
  })[method];
  const down = async () => {
    throw new Error("down");
  };
  await refused(t, { seller: await shop(t), code: "evidence_unreadable", rpc: { [OFFER.network]: down } });
  await refused(t, { seller: await shop(t), code: "evidence_unreadable", rpc: { [OFFER.network]: [rpc("0"), down] } });
  await refused(t, { seller: await shop(t), code: "evidence_unreadable", rpc: { [OFFER.network]: [rpc("0"), rpc("1")] } });
  // Used, and no log tells by what.
  await refused(t, { seller: await shop(t), code: "used_or_cancelled", money: "possible", rpc: { [OFFER.network]: rpc("1") } });
});

test("a journal on a full disk", async (t) => {
  const path = mount(t);
  if (!path) return t.skip("needs a file system of its own");
  const journal = fileJournal(join(path, "journal.jsonl"));
  await journal.read("open");
  try {
    for (let i = 0; ; i++) writeFileSync(join(path, `fill-${i}`), Buffer.alloc(4096));
  } catch (error) {
    assert.equal(error.code, "ENOSPC");
  }
  const error = await refused(t, { seller: await shop(t), journal, code: "journal_unavailable" });
  assert.match(error.intentId, /^0x/);
  assert.equal(error.cause.cause.code, "ENOSPC");
  await journal.close();
});

test("a journal in a folder that can only be read", async (t) => {
  const path = mount(t);
  if (!path) return t.skip("needs a file system of its own");
  mkdirSync(join(path, "journal"));
  execFileSync("mount", ["-o", "remount,ro", path]);
  const journal = fileJournal(join(path, "journal", "journal.jsonl"));
  await refused(t, { seller: await shop(t), journal, code: "journal_unavailable", asked: 0 });
});

test("a journal that another process holds", async (t) => {
  const path = join(folder(t), "journal.jsonl");
  const worker = fileURLToPath(new URL("./journal-worker.mjs", import.meta.url));
  const child = spawn(process.execPath, [worker, path], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.stdin.end());
  await once(child.stdout, "data");
  const seller = await shop(t);
  const journal = fileJournal(path);
  const error = await refused(t, { seller, journal, code: "journal_locked", asked: 0 });
  assert.equal(error.next, "wait");
  // Once the other has ended, the same payer goes on.
  child.stdin.end();
  await once(child, "exit");
  const signer = counted();
  const response = await createPayer({ signer, journal, policy: { perCall: "20000" } }).fetch(seller.url);
  assert.equal(await response.text(), "the report");
  assert.equal(signer.calls, 1);
  await journal.close();
});

test("a store of someone else's that fails, in its own words", async (t) => {
  const down = new Error("connection refused by 10.0.0.1");
  const store = openJournal();
  const failing = (name) => ({ ...store, [name]: () => Promise.reject(down), intents: undefined });
  for (const [name, asked] of [["read", 0], ["commit", 1]]) {
    const error = await refused(t, { seller: await shop(t), journal: failing(name), code: "journal_unavailable", asked });
    assert.equal(error.cause, down);
    assert.ok(!error.message.includes("10.0.0.1"));
  }
});

test("a payer that was closed", async (t) => {
  const seller = await shop(t);
  const signer = counted();
  const payer = createPayer({ signer, journal: openJournal(), policy: { perCall: "20000" } });
  await payer.close();
  for (const use of [() => payer.fetch(seller.url), () => payer.resume(), () => payer.release("0x00", ""), () => payer.export()]) {
    assert.equal((await thrown(use())).code, "journal_closed");
  }
  // One that is closed while a price is being asked for signs nothing any more.
  const late = createPayer({ signer, journal: openJournal(), policy: { perCall: "20000" } });
  const running = thrown(late.fetch(seller.url));
  await new Promise((done) => setTimeout(done, 1));
  await late.close();
  assert.equal((await running).code, "journal_closed");
  assert.equal(signer.calls, 0);
  assert.equal(seller.paid.length, 0);
});

test("settings that are wrong are refused at once", () => {
  const good = { signer: counted(), journal: openJournal(), policy: { perCall: "1" } };
  const wrong = (change, code, field) => assert.throws(() => createPayer({ ...good, ...change }), (error) => {
    assert.equal(error.code, code, String(error));
    if (field) assert.equal(error.field, field);
    return true;
  });
  assert.throws(() => createPayer(), { code: "missing_field", field: "journal" });
  wrong({ journal: undefined }, "missing_field", "journal");
  wrong({ signer: undefined }, "missing_field", "signer");
  wrong({ signer: {} }, "missing_field");
  wrong({ signer: { signTypedData: async () => "0x" } }, "missing_field", "signer.address");
  wrong({ signer: { address: 7n, signTypedData: async () => "0x" } }, "invalid_type", "signer.address");
  wrong({ signer: { address: "0x12", signTypedData: async () => "0x" } }, "address_invalid");
  wrong({ signer: { address: PAYER } }, "missing_field");
  wrong({ signer: { privateKey: "0x00" } }, "private_key_invalid");
  wrong({ signer: { privateKey: new Uint8Array(32) } }, "private_key_invalid");
  wrong({ secret: "a secret as text" }, "secret_invalid", "secret");
  wrong({ secret: new Uint8Array(15) }, "secret_invalid");
  wrong({ policy: { perCall: 1 } }, "amount_must_be_string");
  wrong({ policy: { percall: "1" } }, "policy_invalid");
  wrong({ policy: { perCall: "1", perTree: "1" } }, "policy_invalid");
  wrong({ policy: { approve: true } }, "policy_invalid", "policy.approve");
  wrong({ rpc: null }, "invalid_type", "rpc");
  wrong({ policy: null }, "invalid_type", "policy");
  wrong({ rpc: { base: "http://127.0.0.1" } }, "network_invalid");
});
