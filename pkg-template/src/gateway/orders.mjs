// Quotes and orders, and what time alone changes.

import { object } from "../boundary.mjs";
import { readRefund } from "../rpc.mjs";
import { readAll } from "./chain.mjs";

export function ordersOf(host) {
  /** Tells the host what has to be done, one after the other, and strikes it off when it is done; what failed is told again by `sweep`. */
  async function carryOut(told) {
    for (let now = told; now.effects.length > 0; ) {
      const [{ number, effect, transaction }] = now.effects;
      const moved = (move) => host.step("effect", { order: told.order.id, number, move });
      now = await moved("begin");
      if (!now.mine && now.effects[0]?.number === number) break;
      if (!now.mine) continue;
      try {
        await host.onEffect?.({ effect, number, order: now.order, about: now.about, ...(transaction && { transaction }) });
      } catch (error) {
        await moved("failed");
        throw error;
      }
      now = await moved("done");
    }
    const { effects, ...known } = told;
    return known;
  }

  async function recheck(sale) {
    let told = await host.step("due", { sale });
    while (told.decision === "read") {
      const { turn, tag } = told;
      told = await host.step("evidence", { sale, turn, tag, idle: true, evidence: await readAll(host, told) });
    }
  }

  async function readBack(network, transaction, charge) {
    return host.trust.meet(network, await readRefund(host.rpcs(network), { transaction, charge, proofs: Boolean(host.trust.proofs) }));
  }

  async function evidenceOf(id, { transaction }) {
    const known = await orders.order(id);
    const charge = known?.order.transaction;
    return charge && transaction ? readBack(known.terms.network, transaction, charge) : [];
  }

  async function* every(prefix) {
    for (let after; ; ) {
      const rows = await host.store.scan(prefix, { after });
      yield* rows.map((row) => row.value);
      if (rows.length === 0) return;
      after = rows.at(-1).key;
    }
  }

  // Where the last sweep stopped: rows that stay due must not keep those behind them waiting for ever.
  const reached = new Map();

  const orders = {
    /** Opens a quote, or finds the one opened before under the same key. */
    async quote(input) {
      const told = await host.step("quote", input);
      try {
        return await carryOut(told);
      } catch (error) {
        // Nothing could be set aside for it: there is nothing to offer.
        if (!told.replayed) await host.step("order", { order: told.order.id, event: { type: "cancel" } });
        throw error;
      }
    },

    /** An order as it stands; undefined for none. */
    async order(id) {
      const row = await host.store.read(`order/${id}`);
      if (!row) return undefined;
      const { order, terms, about, buyer } = row.value;
      return { order, terms, about, ...(buyer && { buyer }) };
    },

    /** Moves an order: fulfilled, cancel, refund, refunded. That money went back is read from the chain. */
    async moveOrder(id, event) {
      return carryOut(await host.step("order", { order: id, event, ...(event?.type === "refunded" && { evidence: await evidenceOf(id, event) }) }));
    },

    /** Money that is owed back. */
    refundsOwed: () => every("refund/"),

    /** What buyers owe for answers that were delivered on a payment whose block was replaced. */
    paymentsOwed: () => every("unpaid/"),

    /**
     * Closes a record of money owed back, when the chain shows that `transaction` gave it back. What `refundsOwed` gives is what `refund` takes.
     */
    async refunded({ refund, transaction }) {
      const { sale, transaction: owed, network } = object(refund, "refund");
      const evidence = await readBack(network, transaction, owed);
      const { decision, reason, refund: now } = await host.step("refunded", { refund: { sale, transaction: owed }, evidence });
      return { closed: decision === "closed", ...(reason && { reason }), refund: now };
    },

    /**
     * Reads the sales that were left behind, ends quotes that are over, and drops what is past its time. To be called now and then;
     * what it does not reach is done when somebody asks.
     */
    async sweep({ limit = 100 } = {}) {
      const dueBefore = host.clock() + 1;
      const due = async (prefix) => {
        const scan = (after, limit) => host.store.scan(prefix, { after, limit, expiredBefore: dueBefore });
        const after = reached.get(prefix);
        const rows = await scan(after, limit);
        if (after !== undefined && rows.length < limit) {
          const first = await scan(undefined, limit - rows.length);
          rows.push(...first.filter(({ key }) => key <= after));
        }
        reached.set(prefix, rows.length < limit ? undefined : rows.at(-1).key);
        return rows;
      };
      const count = { sales: 0, orders: 0, dropped: 0, failed: 0 };
      // What one row or one effect does wrong must not keep the others waiting.
      const each = async (kind, work) => {
        try {
          await work();
          count[kind] += 1;
        } catch {
          count.failed += 1;
        }
      };
      for (const { key } of await due("sale/")) {
        await each("sales", () => recheck(key.slice("sale/".length)));
      }
      for (const { key } of await due("order/")) {
        await each("orders", async () => carryOut(await host.step("orderDue", { order: key.slice("order/".length) })));
      }
      for (const prefix of ["call/", "calls/", "wallet/"]) {
        for (const { key } of await due(prefix)) {
          const drop = ([row]) => ({ puts: row?.expiresAt < dueBefore ? [{ key, value: null }] : [], result: undefined });
          await host.store.update([key], drop);
          count.dropped += 1;
        }
      }
      return count;
    },
  };
  host.carryOut = async (id) => {
    const row = await host.store.read(`order/${id}`);
    if (row) await carryOut(row.value);
  };
  return orders;
}
