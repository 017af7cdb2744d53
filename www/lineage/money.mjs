// Amounts as they are shown: all digits, never rounded, with the token's name. Sums come from the core; here they are only laid side by side.

import { element } from "../build.mjs";
import { callAny, inUnits, networkName, visible, visibleAscii } from "../core.mjs";

const tokens = new Map();

/** `{name, decimals}` of a token that the core knows, else undefined. */
export function tokenOf(network, asset) {
  const key = `${network} ${asset}`;
  if (!tokens.has(key)) tokens.set(key, callAny("knownToken", { network, asset }) ?? undefined);
  return tokens.get(key);
}

/** An amount in whole units, or in atomic ones where the token is not known. */
export function amountOf(atomic, network, asset) {
  const token = network && asset && tokenOf(network, asset);
  return (token && inUnits(atomic, token.decimals)) ?? visible(atomic);
}

/** The atomic units of an amount that a person typed in those units; throws for what is none. */
export function atomicOf(typed, network, asset) {
  const token = tokenOf(network, asset);
  return token ? callAny("parseUnits", { value: typed, decimals: token.decimals }) : typed;
}

/** The unit that goes with it. */
export function unitOf(network, asset) {
  const token = network && asset && tokenOf(network, asset);
  return token ? (token.name === "USD Coin" ? "USDC" : visible(token.name)) : "atomic units";
}

/** Amount and unit as an element that is never broken or cut. */
export function money(atomic, network, asset) {
  return element("span", { class: "money" }, amountOf(atomic, network, asset), " ", element("span", { class: "unit" }, unitOf(network, asset)));
}

/** Where the token lives. */
export function placeOf(network) {
  const name = networkName(network);
  return name ? name.replace(/[,:].*no real money$/, " (test money)") : visibleAscii(network);
}
