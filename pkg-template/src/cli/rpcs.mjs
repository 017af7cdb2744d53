// --rpc [<network>=]<url>: the nodes that the caller names and trusts.

import { usageError } from "./output.mjs";

const NAMED = /^([-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32})=(.+)$/;

/** `[{network?, url}]`. The error never repeats a URL: many carry a key. */
export function parseRpcs(texts) {
  return texts.map((text) => {
    const [, network, named] = NAMED.exec(text) ?? [];
    const url = named ?? text;
    if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw usageError("--rpc wants an http or https URL, or <network>=<url>");
    return { network, url };
  });
}

/** The nodes for a network: those named for it, and those named for any. */
export function forNetwork(rpcs, network) {
  return rpcs.filter((rpc) => rpc.network === undefined || rpc.network === network).map(({ url }) => url);
}
