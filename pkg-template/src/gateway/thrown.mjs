// What the seller's own code throws is the seller's, also where it is a CounterfoilError: a handler that buys upstream must not have its
// error told to the buyer as the gateway's word about the buyer's money.

export class Thrown extends Error {
  constructor(cause) {
    super("thrown by the seller's code", { cause });
  }
}

/** The seller's function, with whatever it throws or rejects with as the cause of a `Thrown`. */
export function theirs(call) {
  return call && (async (...args) => {
    try {
      return await call(...args);
    } catch (error) {
      throw new Thrown(error);
    }
  });
}
