// The evidence reader on a chain made of a few blocks: what it asks, at which block, and what it does with endpoints that refuse,
// lag, lie, hang or answer too much. Its evidence is judged by the core's `resolve`.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { resolve } from "counterfoil/core";
import { readEvidence } from "counterfoil/node";

const used = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const word = (hex) => `0x${hex.slice(2).padStart(64, "0")}`;
const hex = (value) => `0x${value.toString(16)}`;
const asset = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const [payer, payTo] = [`0x${"11".repeat(20)}`, `0x${"22".repeat(20)}`];
const nonce = `0x${"ab".repeat(32)}`;
const network = "eip155:84532";
const what = { network, asset, payer, nonce };
const unreachable = { nonce, error: "unreachable" };
const authorization = { from: payer, to: payTo, value: "10000", validAfter: "0", validBefore: "1700000600", nonce };
const verdict = (evidence) => resolve(authorization, { network, asset }, evidence);

const hashOf = (number) => word(hex(number + 0xb10c0000));
const blockOf = (number) => ({ number: hex(number), hash: hashOf(number), timestamp: hex(1_700_000_000 + 2 * number), transactions: [], stateRoot: word("0x5") });

/** A source: `final` is its finalized block, `paidAt` the block of the payment. `over` replaces methods. */
function chain({ final = 1000, paidAt, over = {} } = {}) {
  const calls = [];
  const at = { blockNumber: hex(paidAt ?? 0), blockHash: hashOf(paidAt ?? 0), transactionHash: word("0x7a"), transactionIndex: "0x0", removed: false };
  const logs = [
    { ...at, address: asset, topics: [used, word(payer), nonce], data: "0x", logIndex: "0x0" },
    { ...at, address: asset, topics: [transfer, word(payer), word(payTo)], data: word(hex(10000)), logIndex: "0x1" },
  ];
  const methods = {
    eth_chainId: () => "0x14a34",
    eth_getBlockByNumber: (tag) => blockOf(tag === "finalized" ? final : tag === "latest" ? final + 100 : Number(tag)),
    eth_call: (_, { blockHash }) => word(paidAt !== undefined && BigInt(blockHash) >= BigInt(hashOf(paidAt)) ? "0x1" : "0x0"),
    eth_getLogs: ({ fromBlock, toBlock }) => (paidAt !== undefined && Number(fromBlock) <= paidAt && paidAt <= Number(toBlock) ? [logs[0]] : []),
    eth_getTransactionReceipt: (transactionHash) => ({ transactionHash, blockNumber: at.blockNumber, blockHash: at.blockHash, status: "0x1", logs }),
    ...over,
  };
  const rpc = async (method, params) => {
    calls.push([method, ...params]);
    if (!(method in methods)) throw new Error("the method does not exist");
    return methods[method](...params);
  };
  return { rpc, calls, methods, of: (method) => calls.filter(([name]) => name === method).map(([, ...params]) => params) };
}

const refuse = () => {
  throw new Error("refused");
};

test("paid: the log, its receipt and the state of one finalized block", async () => {
  const { rpc, of } = chain({ paidAt: 700 });
  const [evidence] = await readEvidence(rpc, what);
  assert.deepEqual(evidence.block, { number: hex(1000), hash: hashOf(1000), timestamp: hex(1_700_002_000), tag: "finalized", stateRoot: word("0x5") });
  assert.deepEqual([evidence.chainId, evidence.authorizationState, evidence.logs.length], ["0x14a34", word("0x1"), 1]);
  const { verdict: kind, transaction, reasons } = verdict(evidence);
  assert.deepEqual([kind, transaction, reasons], ["paid", word("0x7a"), []]);
  // authorizationState(address,bytes32), at the block by its hash
  assert.deepEqual(of("eth_call"), [[{ to: asset, data: `0xe94a0102${word(payer).slice(2)}${nonce.slice(2)}` }, { blockHash: hashOf(1000), requireCanonical: true }]]);
  const [[filter]] = of("eth_getLogs");
  assert.deepEqual(filter.topics.slice(1), [word(payer), nonce]);
  assert.ok(filter.topics[0].includes(used) && filter.topics[0].length === 2);
});

test("unused at a finalized block past the window: dead", async () => {
  assert.equal(verdict(await readEvidence(chain().rpc, what)).verdict, "dead");
  assert.equal(verdict(await readEvidence(chain({ final: 200 }).rpc, what)).verdict, "not_yet");
  const { rpc, of } = chain({ paidAt: 1050 });
  assert.deepEqual((await readEvidence(rpc, what))[0].logs, []);
  assert.equal(of("eth_getTransactionReceipt").length, 0);
});

test("the tag is asked for as given, and paid before finality says so", async () => {
  const [evidence] = await readEvidence(chain({ paidAt: 1050 }).rpc, { ...what, tag: "latest" });
  assert.equal(evidence.block.tag, "latest");
  assert.deepEqual(verdict(evidence).reasons, ["not_final"]);
});

test("several sources are read at the lowest of their finalized blocks", async () => {
  const sources = [chain({ final: 1000, paidAt: 700 }), chain({ final: 990, paidAt: 700 }), chain({ final: 1200, paidAt: 700 })];
  const evidence = await readEvidence(sources.map(({ rpc }) => rpc), what);
  assert.deepEqual(evidence.map(({ block }) => block.number), [990, 990, 990].map(hex));
  assert.equal(verdict(evidence).verdict, "paid");
});

test("sources that found the same log agree, however narrow their queries must be", async () => {
  const narrow = (limit) => ({ eth_getLogs: (filter) => (Number(filter.toBlock) - Number(filter.fromBlock) >= limit ? refuse() : chain({ paidAt: 29_990 }).methods.eth_getLogs(filter)) });
  const sources = [chain({ final: 30_000, paidAt: 29_990 }), ...[10_000, 1_000, 10].map((limit) => chain({ final: 30_000, paidAt: 29_990, over: narrow(limit) }))];
  const evidence = await readEvidence(sources.map(({ rpc }) => rpc), what);
  assert.equal(verdict(evidence).verdict, "paid");
});

test("the search goes back in stretches, and ends", async () => {
  const paidAt = 123_456;
  const limit = (filter) => (Number(filter.toBlock) - Number(filter.fromBlock) >= 10_000 ? refuse() : chain({ paidAt }).methods.eth_getLogs(filter));
  const far = chain({ final: 300_000, paidAt, over: { eth_getLogs: limit } });
  const [evidence] = await readEvidence(far.rpc, what);
  assert.equal(verdict(evidence).verdict, "paid");
  const stretches = far.of("eth_getLogs").slice(1).map(([{ fromBlock, toBlock }]) => [Number(fromBlock), Number(toBlock)]);
  assert.equal(stretches[0][1], 300_000);
  for (const [i, [, to]] of stretches.entries()) if (i > 0) assert.equal(to, stretches[i - 1][0] - 1);

  const lost = chain({ final: 50_000_000, paidAt: 5, over: { eth_getLogs: limit } });
  const [nothing] = await readEvidence(lost.rpc, what);
  assert.ok(lost.of("eth_getLogs").length <= 60);
  assert.deepEqual(nothing.logs, []);
  assert.equal(verdict(nothing).verdict, "used_or_cancelled");
});

test("logs that are refused are null, and null is never dead", async () => {
  for (const paidAt of [undefined, 700]) {
    const [evidence] = await readEvidence(chain({ paidAt, over: { eth_getLogs: refuse } }).rpc, what);
    assert.equal(evidence.logs, null);
    assert.equal(verdict(evidence).verdict, paidAt ? "used_or_cancelled" : "unreadable");
  }
});

test("without EIP-1898 the state is read by number, and the block looked at again", async () => {
  const byNumber = (call, block) => (typeof block === "object" ? refuse() : word("0x0"));
  const plain = chain({ over: { eth_call: byNumber } });
  assert.equal(verdict(await readEvidence(plain.rpc, what)).verdict, "dead");
  assert.equal(plain.of("eth_call").at(-1)[1], hex(1000));
  let asked = 0;
  const moved = chain({ over: { eth_call: byNumber, eth_getBlockByNumber: () => ({ ...blockOf(1000), hash: hashOf(2000 + asked++) }) } });
  assert.deepEqual(await readEvidence(moved.rpc, what), [unreachable]);
});

test("a source that can't be read is reported and never thrown", async () => {
  const broken = [refuse, async () => null, async () => undefined, async () => "0x", async () => ({}), async () => ({ number: "1000" }), async () => ({ number: 1000 }), undefined, "not a url", "http://127.0.0.1:1", 7];
  for (const rpc of broken) {
    const evidence = await readEvidence(rpc, what);
    assert.deepEqual(evidence, [unreachable]);
    assert.equal(verdict(evidence).verdict, "unreadable");
  }
  const some = await readEvidence([chain().rpc, refuse], what);
  assert.deepEqual(some[1], unreachable);
  assert.equal(verdict(some).verdict, "unreadable");
  assert.deepEqual(await readEvidence([], what), []);
  for (const method of ["eth_chainId", "eth_getBlockByNumber", "eth_call", "eth_getTransactionReceipt"]) {
    assert.deepEqual(await readEvidence(chain({ paidAt: 700, over: { [method]: refuse } }).rpc, what), [unreachable], method);
  }
});

test("another chain, and sources that disagree, are for the core to see", async () => {
  const other = await readEvidence(chain({ over: { eth_chainId: () => "0x1" } }).rpc, what);
  assert.equal(other[0].chainId, "0x1");
  assert.equal(verdict(other).verdict, "unreadable");
  const two = await readEvidence([chain({ paidAt: 700 }).rpc, chain().rpc], what);
  assert.equal(verdict(two).verdict, "unreadable");
});

test("a source that never answers is given up after the timeout", async () => {
  const started = performance.now();
  assert.deepEqual(await readEvidence(() => new Promise(() => {}), { ...what, timeout: 50 }), [unreachable]);
  assert.ok(performance.now() - started < 5_000);
});

async function served(respond, read) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    await respond(JSON.parse(body), response, request);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    return await read(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("an endpoint named by its URL is asked in JSON-RPC 2.0", async () => {
  const { rpc } = chain({ paidAt: 700 });
  const answer = async ({ jsonrpc, id, method, params }, response, { headers }) => {
    assert.deepEqual([jsonrpc, headers["content-type"]], ["2.0", "application/json"]);
    response.end(JSON.stringify({ jsonrpc, id, result: await rpc(method, params) }));
  };
  const [evidence] = await served(answer, (url) => readEvidence(url, what));
  assert.equal(verdict(evidence).verdict, "paid");
});

test("errors, other formats, redirects, silence and floods of an endpoint are unreachable", async () => {
  const answers = {
    "JSON-RPC error": (_, response) => response.end('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}'),
    "no result": (_, response) => response.end('{"jsonrpc":"2.0","id":1}'),
    "HTML": (_, response) => response.writeHead(429).end("<html>"),
    "not UTF-8": (_, response) => response.end(Buffer.from([0x22, 0xff, 0x22])),
    "empty": (_, response) => response.end(),
    "redirect": (_, response) => response.writeHead(307, { location: "/elsewhere" }).end(),
    "cut off": (_, response) => response.writeHead(200, { "content-length": "100" }).write('{"jsonrpc"', () => response.destroy()),
    "silence": () => {},
    "half an answer": (_, response) => response.write('{"jsonrpc"'),
    "a flood": (_, response) => {
      response.on("error", () => {});
      response.end(`{"jsonrpc":"2.0","id":1,"result":"${"0".repeat(40 << 20)}"}`);
    },
  };
  for (const [title, respond] of Object.entries(answers)) {
    assert.deepEqual(await served(respond, (url) => readEvidence(url, { ...what, timeout: 1_000 })), [unreachable], title);
  }
});

// The second method: a nonce of Permit2, whose use is found by the state.
const permit2 = "0x000000000022d473030f116ddee9f6b43ac78ba3";
const bitNonce = (0xabcdn << 8n) | 5n;
const spender = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
const permit = { from: payer, permitted: { token: asset, amount: "10000" }, spender, nonce: String(bitNonce), deadline: "1700000600", witness: { to: payTo, validAfter: "0" } };
const ofPermit = { network, asset, payer, nonce: String(bitNonce), method: "permit2" };
const permitVerdict = (evidence) => resolve(permit, { network, asset }, evidence);

/** `kept` is the oldest block whose state the source still has. */
function permitChain({ final = 1000, usedAt, kept = 0, deployedAt = 0 } = {}) {
  const bitmap = (block) => {
    if (block < kept) refuse();
    if (block < deployedAt) return "0x";
    return word(usedAt !== undefined && block >= usedAt ? "0x21" : "0x1");
  };
  const at = { blockNumber: hex(usedAt ?? 0), blockHash: hashOf(usedAt ?? 0), transactionHash: word("0x7a"), removed: false };
  const logs = [{ ...at, address: asset, topics: [transfer, word(payer), word(payTo)], data: word(hex(10000)), logIndex: "0x1" }];
  return chain({ final, over: {
    eth_call: (_, block) => bitmap(typeof block === "string" ? Number(block) : Number(BigInt(block.blockHash) - 0xb10c0000n)),
    eth_getLogs: ({ fromBlock, toBlock }) => (usedAt !== undefined && Number(fromBlock) <= usedAt && usedAt <= Number(toBlock) ? logs : []),
    eth_getTransactionReceipt: (transactionHash) => ({ transactionHash, blockNumber: at.blockNumber, blockHash: at.blockHash, status: "0x1", logs }),
  } });
}

test("permit2: the block in which the bit was set is found wherever it is", async () => {
  for (const [final, usedAt] of [[1000, 1000], [1000, 999], [1000, 1], [1000, 700], [30_000_000, 12_345_678]]) {
    const { rpc, of } = permitChain({ final, usedAt });
    const [evidence] = await readEvidence(rpc, ofPermit);
    assert.deepEqual([evidence.usedWithin.after.number, evidence.usedWithin.by.number], [usedAt - 1, usedAt].map(hex));
    assert.deepEqual([permitVerdict(evidence).verdict, permitVerdict(evidence).reasons], ["paid", []]);
    assert.ok(of("eth_call").length < 60, `${of("eth_call").length} reads`);
  }
});

test("permit2: what is asked", async () => {
  const { rpc, of } = permitChain({ usedAt: 700 });
  await readEvidence(rpc, ofPermit);
  // nonceBitmap(address,uint256), at the block by its hash first
  assert.deepEqual(of("eth_call")[0], [{ to: permit2, data: `0x4fe02b44${word(payer).slice(2)}${word("0xabcd").slice(2)}` }, { blockHash: hashOf(1000), requireCanonical: true }]);
  const [[filter]] = of("eth_getLogs");
  assert.deepEqual([filter.fromBlock, filter.toBlock, filter.address], [hex(700), hex(700), [asset, permit2]]);
  assert.deepEqual(filter.topics, [[transfer, "0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d"], word(payer)]);
});

test("permit2: unused past the deadline is dead, a decimal nonce and a hex one are one nonce", async () => {
  for (const nonce of [String(bitNonce), hex(bitNonce)]) {
    const [evidence] = await readEvidence(permitChain().rpc, { ...ofPermit, nonce });
    assert.equal(permitVerdict(evidence).verdict, "dead");
  }
  assert.equal(permitVerdict(await readEvidence(permitChain({ final: 300 }).rpc, ofPermit)).verdict, "not_yet");
});

test("permit2: a source that keeps no state so far back can't tell, one that was deployed in between can", async () => {
  const [short] = await readEvidence(permitChain({ usedAt: 700, kept: 950 }).rpc, ofPermit);
  assert.deepEqual([short.logs, permitVerdict(short).verdict, permitVerdict(short).reasons], [null, "used_or_cancelled", ["logs_missing"]]);
  const [young] = await readEvidence(permitChain({ usedAt: 700, deployedAt: 650 }).rpc, ofPermit);
  assert.equal(permitVerdict(young).verdict, "paid");
});

test("permit2: sources that differ are not counted against each other", async () => {
  const sources = [permitChain({ usedAt: 700 }), permitChain({ usedAt: 700, kept: 950 })];
  assert.equal(permitVerdict(await readEvidence(sources.map(({ rpc }) => rpc), ofPermit)).verdict, "unreadable");
});

test("on Tempo the window is searched whole or not at all, in so many calls at the most", async () => {
  const limit = (filter) => (Number(filter.toBlock) - Number(filter.fromBlock) >= 10 ? refuse() : []);
  // Blocks half a second apart, as they are; then a hundred in a second, by which a source would keep its reader busy.
  for (const [perSecond, told] of [[2, true], [100, false]]) {
    const final = 100_000;
    const at = (number) => ({ ...blockOf(number), timestamp: hex(1_700_000_000 + Math.floor((number - final) / perSecond)) });
    const narrow = chain({ final, over: { eth_getLogs: limit, eth_getBlockByNumber: (tag) => at(tag === "finalized" ? final : Number(tag)) } });
    const [evidence] = await readEvidence(narrow.rpc, { ...what, method: "tempo", recipient: payTo, validBefore: 1_699_999_900 });
    const calls = narrow.of("eth_getLogs");
    assert.ok(calls.length <= 120, `${calls.length} calls`);
    assert.equal(evidence.logs !== undefined, told, `${perSecond} a second`);
    if (told) assert.equal(Number(calls.at(-1)[0].toBlock), Number(evidence.searchedTo.number));
  }
});
