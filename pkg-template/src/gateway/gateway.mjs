// createGateway: admission in front of a seller's own payment middleware. What a request is answered with is decided by the
// core, over rows that the store locks; this side reads requests, carries out what was decided, and moves bytes.

import { call, isBytes, object } from "../boundary.mjs";
import { CounterfoilError } from "../errors.mjs";
import { trustOf } from "../trust.mjs";
import "../whole.mjs";
import { facilitatorOf } from "./facilitator.mjs";
import { expressOf } from "./express.mjs";
import { honoOf } from "./hono.mjs";
import { ordersOf } from "./orders.mjs";
import { routesOf } from "./routes.mjs";
import { saleOf } from "./sale.mjs";
import { theirs } from "./thrown.mjs";
import { wrapOf } from "./web.mjs";

/**
 * A gateway over one store. Nothing is read or written until the first request. Errors, at once: `missing_field`,
 * `invalid_type`, `secret_invalid`, `number_out_of_range` and those of the cap's values.
 */
export function createGateway(options) {
  const host = hostOf(options);
  const sale = saleOf(host);
  const orders = ordersOf(host);
  const handle = routesOf(host, sale);
  return {
    express: () => expressOf(handle),
    hono: () => honoOf(handle),
    wrap: (handler) => wrapOf(handle, handler),
    facilitator: (client) => {
      host.watched = true;
      return facilitatorOf(host, client);
    },
    ...orders,
  };
}

function hostOf(options) {
  const { store, secret, rpc, base = "/counterfoil", origin, clock = now, onAlert, onEffect, late, order, call: callOf, keyId = "k1", older = [], ...settings } = object(options, "options");
  for (const name of ["update", "read", "scan"]) wants(object(store, "store")[name], "function", `store.${name}`);
  if (!isBytes(secret)) throw new CounterfoilError(secret === undefined ? "missing_field" : "invalid_type", { field: "secret" });
  for (const [name, value] of Object.entries({ clock, onAlert, onEffect, late, order, call: callOf })) {
    if (value !== undefined) wants(value, "function", name);
  }
  if (!/^\/[A-Za-z0-9._~/-]*[A-Za-z0-9._~-]$/.test(base)) throw new CounterfoilError("invalid_type", { field: "base" });
  const keys = [{ keyId, secret: Uint8Array.from(secret) }, ...older.map((key) => ({ keyId: key.keyId, secret: Uint8Array.from(key.secret) }))];
  if (origin !== undefined && !(URL.canParse(origin) && new URL(origin).origin === origin)) throw new CounterfoilError("url_invalid", { field: "origin" });
  const { trustedBlocks, layouts, ...plain } = settings;
  const trust = trustOf({ trustedBlocks, layouts });
  const config = call("saleConfig", { config: { ...plain, base } });
  call("saleConfig", { config: { ...plain, ...trust.config() } });
  const host = {
    store, config, trust, base, clock, order: theirs(order), callOf: theirs(callOf), late: theirs(late),
    rpcs: (network) => [object(rpc, "rpc")[network] ?? []].flat(),
    /** The address that a request is bound to: whatever name of the shop it came under, when `origin` says which. */
    address(url) {
      const { pathname, search } = new URL(url);
      return origin === undefined ? url : `${origin}${pathname}${search}`;
    },
    /** Turns of sales that requests of this process are working on, the newest last, by their payment's place in the token contract. */
    running: new Map(),
    watched: false,
    /** The id under which the store knows a payment id: a keyed hash, newest key first. */
    ids: (id) => keys.map((key) => call("saleId", { id, keyId: key.keyId }, undefined, key.secret)),
    /** Never rejects: what a hook throws, at once or later, is not the buyer's trouble. */
    async alert(finding) {
      try {
        await onAlert?.(finding);
      } catch {}
    },
    onEffect,
    /** One step of the core over rows that stay locked until its writes are durable. */
    async step(name, input, body) {
      const params = { step: name, now: host.clock(), config: { ...config, ...host.trust.config(), watched: host.watched }, input };
      for (let keys = call("saleKeys", params), tries = 0; ; tries++) {
        const result = await store.update(keys, (rows) => {
          const values = rows.map((row) => row?.value ?? null);
          const { puts, result } = call("saleStep", { ...params, keys, rows: values });
          return { puts: puts.map(({ body: carries, ...put }) => (carries ? { ...put, body: body ?? new Uint8Array() } : put)), result };
        });
        if (!result.again) {
          for (const finding of result.alerts ?? []) host.alert(finding);
          if (result.decision !== "late") return result;
          // A payment landed after its order was closed: the seller's rule is asked for, and without one the money is owed back.
          return host.step(name, { ...input, late: (await host.late?.(result.order)) ?? "refund" }, body);
        }
        // Each round follows one more pointer; rows that move in between can make it some more.
        if (tries === 16) throw new CounterfoilError("store_unavailable");
        keys = result.again;
      }
    },
  };
  call("saleId", { id: "0000000000000000", keyId }, undefined, secret);
  return host;
}

function wants(value, type, field) {
  if (typeof value !== type) throw new CounterfoilError(value === undefined ? "missing_field" : "invalid_type", { field });
}

function now() {
  return Math.floor(Date.now() / 1000);
}
