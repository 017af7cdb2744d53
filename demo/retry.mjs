// The retry loop that every program has: three tries, again after an exception or an answer that is not a success.
// Both agents run under this one, so that nothing but the paying part differs between them.
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

export async function withRetries(call, { tries = 3, pause = 1000 } = {}) {
  let last;
  for (let n = 1; n <= tries; n += 1) {
    if (n > 1) await wait(pause);
    try {
      const response = await call();
      const body = Buffer.from(await response.arrayBuffer());
      last = { tries: n, status: response.status, headers: Object.fromEntries(response.headers), body };
      if (response.ok) return { ...last, delivered: true };
    } catch (error) {
      last = { tries: n, error };
    }
  }
  return { ...last, delivered: false };
}

/** `--name value` pairs of the command line; a name without a value is true. */
export function options(argv = process.argv.slice(2)) {
  const found = {};
  for (let i = 0; i < argv.length; i += 1) {
    if (!argv[i].startsWith("--")) throw new Error(`not an option: ${argv[i]}`);
    const name = argv[i].slice(2);
    found[name] = argv[i + 1] === undefined || argv[i + 1].startsWith("--") ? true : argv[(i += 1)];
  }
  return found;
}

/** One line of the protocol between an agent and whoever started it. */
export const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/**
 * Notes each cheque that is about to leave, and with `stall` never lets it leave: the moment in which
 * a crash finds everything signed and nothing sent.
 */
export function watchedFetch({ stall = false } = {}) {
  const send = globalThis.fetch;
  const seen = [];
  const watched = async (input, init) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    const value = headers.get("payment-signature") ?? headers.get("x-payment");
    if (value) {
      const { payload } = JSON.parse(Buffer.from(value, "base64").toString("utf8"));
      seen.push({ nonce: payload.authorization.nonce, validBefore: payload.authorization.validBefore, signature: payload.signature });
      if (stall) {
        say({ event: "about_to_send" });
        await new Promise((done) => setTimeout(done, 60_000));
      }
    }
    return send(input, init);
  };
  return { fetch: watched, seen };
}
