// What goes wrong between buyer and seller. Each fault is a set of places to act in; it strikes the first paid
// request only, except where it says so, and reports through `strike()` that it really happened.
//
//   settle(run)             around the facilitator's settle call, after which the money has moved
//   before(seller)          a paid request arrived and the seller has not seen it yet; an answer returned here ends it
//   after(answer, res, s)   the seller has answered; true: this fault answered in its place
const plain = (status, text) => ({ status, headers: { "content-type": "text/plain" }, body: Buffer.from(text) });

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

export const FAULTS = {
  none: () => ({}),

  /** The connection breaks after the money moved and before a byte of the answer arrives. */
  cut_after_settlement: ({ once }) => ({
    after: (answer, res) => answer.status === 200 && once() && (res.socket.destroy(), true),
  }),

  /** The seller's call to its facilitator dies after the transfer was mined: the seller believes in a failure. */
  facilitator_dies: ({ once }) => ({
    settle: async (run) => {
      const result = await run();
      if (result.success && once()) throw new Error("socket hang up");
      return result;
    },
  }),

  /** A gateway in front of the seller answers 500 in place of the answer that was paid for. */
  error_5xx: ({ once }) => ({
    after: (answer, res, seller) => answer.status === 200 && once() && (seller.write(res, plain(500, "Internal Server Error")), true),
  }),

  /** The transfer is sent, but the chain is slower than the facilitator's patience. It is mined soon after the answer. */
  settlement_pending: ({ once, chain }) => {
    let held = false;
    return {
      patience: 700,
      before: async () => { if (once()) { held = true; await chain.hold(); } },
      after: () => {
        if (held) setTimeout(() => chain.release(), 400);
        held = false;
      },
    };
  },

  /** After the money moved, a gateway that lost its memory asks for payment again. */
  second_402: ({ once }) => ({
    after: async (answer, res, seller) => {
      if (answer.status !== 200 || !once()) return false;
      seller.write(res, await seller.challenge());
      return true;
    },
  }),

  /** Half of the answer arrives; the rest would take very long. */
  slow_stream: ({ once, emit }) => ({
    after: async (answer, res) => {
      if (answer.status !== 200 || !once()) return false;
      res.writeHead(answer.status, answer.headers);
      res.write(answer.body.subarray(0, answer.body.length / 2));
      await wait(200);
      await emit("streaming");
      await wait(30_000).then(() => res.destroy());
      return true;
    },
  }),

  /** The paid request has arrived; the harness may end the buyer before the seller looks at it. */
  announce: ({ once, emit }) => ({
    before: async () => { if (once()) await emit("payment"); },
  }),

  /** Two paid requests of one purchase meet at the seller before either is settled. */
  meet: ({ strike }) => {
    let arrived = 0, open;
    const both = new Promise((done) => { open = done; });
    return {
      before: async () => {
        arrived += 1;
        if (arrived === 2) { strike(); open(); }
        await Promise.race([both, wait(8_000)]);
      },
    };
  },

  /** The seller takes cheques and does nothing with them, until the harness says `seller.lift()`. Strikes every time. */
  sit_on_it: ({ strike }) => ({
    before: (seller) => {
      if (seller.lifted) return;
      strike();
      return plain(503, "Busy, try later");
    },
  }),
};
