// Whom the reader of the page trusts: files of keys beside a receipt. They only count as the reader's own word because the reader put them here.

const TRUST = ["signers", "keys", "didDocuments", "controllers", "blockHashes"];
const has = (value, name) => typeof value === "object" && value !== null && Object.hasOwn(value, name);

/** One of "profile", "did" and "trust", or undefined for any other value. */
export function trusting(value) {
  if (has(value, "type") && value.type === "counterfoil/profile") return "profile";
  if (has(value, "id") && /^did:/.test(value.id) && has(value, "verificationMethod")) return "did";
  const names = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
  return names.length && names.every((name) => TRUST.includes(name)) ? "trust" : undefined;
}

/** `{trust?, profile?}` of what these files hold, and of a signer that was typed in. */
export function trusted(values, signer) {
  const trust = {};
  let profile;
  const add = (name, more) => (trust[name] = Array.isArray(more) ? [...(trust[name] ?? []), ...more] : more);
  for (const value of values) {
    const kind = trusting(value);
    if (kind === "profile") profile = value;
    else if (kind === "did") add("didDocuments", [value]);
    else if (kind === "trust") for (const [name, more] of Object.entries(value)) add(name, more);
  }
  if (signer) add("signers", [signer]);
  return { trust: Object.keys(trust).length ? trust : undefined, profile };
}
