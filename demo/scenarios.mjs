// One purchase of a 0.01 USDC weather report, and one thing that goes wrong with it.
//
//   story      what happens, in plain words
//   fault      entry of faults.mjs; keeps: the seller has the gateway, which keeps its answers by payment id
//   official   transfers that the official client makes for this one purchase;
//              any other number means that the fault did not bite, and the run fails
//   cost       a word on that number, where it needs one
//   ends       how a purchase with counterfoil may end
//   act        the plot, when it is more than "buy it once"; returns the result of the last agent
export const SCENARIOS = [
  {
    name: "cut_after_settlement", fault: "cut_after_settlement", keeps: true, official: 2, ends: ["delivered"],
    story: "The money moves, then the connection breaks. The seller keeps its answers.",
  },
  {
    name: "cut_after_settlement_not_kept", fault: "cut_after_settlement", official: 2, ends: ["paid_not_delivered"],
    story: "The money moves, then the connection breaks. The seller keeps nothing.",
  },
  {
    name: "facilitator_dies", fault: "facilitator_dies", official: 2, ends: ["paid_not_delivered"],
    story: "The money moves, but the seller's payment service dies before saying so, and the seller calls it unpaid.",
  },
  {
    name: "error_5xx", fault: "error_5xx", keeps: true, official: 2, ends: ["delivered"],
    story: "The money moves, and the answer is \"500 Internal Server Error\".",
  },
  {
    name: "settlement_pending", fault: "settlement_pending", official: 2, ends: ["delivered", "paid_not_delivered"],
    story: "The chain is slow: the seller says \"payment pending\", and the money moves a moment later.",
  },
  {
    name: "second_402", fault: "second_402", official: 2, ends: ["paid_not_delivered"],
    story: "The money moves, and the answer is a new demand for payment.",
  },
  {
    name: "kill_before_send", fault: "none", official: 1, ends: ["delivered"],
    cost: "costs it nothing: it keeps no record, but the lost payment had not left the machine",
    story: "The agent is killed with a signed payment in hand, before it is sent, and started again.",
    act: async ({ start, buy, strike }) => {
      const first = start({ "stall-before-send": true });
      await first.event("about_to_send");
      await first.kill();
      strike();
      return buy();
    },
  },
  {
    name: "kill_after_send", fault: "announce", keeps: true, official: 2, ends: ["delivered"],
    story: "The agent is killed right after it sent the payment, and started again while the seller is still at work.",
    act: killedAt("payment"),
  },
  {
    name: "kill_while_streaming", fault: "slow_stream", keeps: true, official: 2, ends: ["delivered"],
    story: "The agent is killed with half of the answer received, and started again.",
    act: killedAt("streaming"),
  },
  {
    name: "two_processes_race", fault: "meet", official: 2, ends: ["delivered"],
    story: "Two processes that share nothing make the same purchase at the same moment.",
    act: async ({ buy }) => {
      const both = await Promise.all([buy({ journal: "a" }), buy({ journal: "b" })]);
      return { ...(both.find((end) => end.delivered) ?? both[0]), processes: both.map((end) => end.outcome) };
    },
  },
  {
    name: "expires_unused_paid_later", fault: "sit_on_it", maxTimeoutSeconds: 15, official: 1, ends: ["delivered"],
    story: "The seller takes the payment and does nothing until it has run out. Later the purchase is made again, and then the seller presents every payment it ever got.",
    act: async ({ buy, seller, chain }) => {
      const first = await buy({ tries: 1 });
      await chain.finalizedAt(Math.max(...first.sent.map((cheque) => Number(cheque.validBefore))) + 1);
      seller.lift();
      const end = await buy();
      await seller.presentAll();
      return end;
    },
  },
  {
    name: "journal_deleted", fault: "none", official: 2, ends: ["paid_not_delivered"],
    story: "The report is bought and delivered. Then the agent's folder is deleted, and the same purchase is tried again.",
    act: async ({ buy, forget, strike }) => {
      const first = await buy();
      if (!first.delivered) return first;
      await forget();
      strike();
      return { ...(await buy()), deliveredBefore: true };
    },
  },
];

/** The agent is killed when the seller reports `event`; the seller goes on when it is dead. */
function killedAt(event) {
  return async ({ start, buy, at }) => {
    const first = start();
    const killed = new Promise((done) => at(event, async () => { await first.kill(); done(); }));
    await Promise.race([killed, first.ended]);
    return buy();
  };
}
