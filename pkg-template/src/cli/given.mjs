// What the command line names by files: whom to trust, and the form of a receipt.

import { readFile } from "node:fs/promises";
import { usageError } from "./output.mjs";

/** Whom to trust: a JWKS is such a file, and so is one that names signers, DID documents, controllers and block hashes. Undefined where nobody is named. */
export async function trustOf(named, given) {
  const trust = { ...named, ...(given.trust === undefined ? {} : await jsonOf(given.trust, "--trust")) };
  const documents = await Promise.all((given["did-document"] ?? []).map((file) => jsonOf(file, "--did-document")));
  if (documents.length) trust.didDocuments = [...(trust.didDocuments ?? []), ...documents];
  return Object.keys(trust).length ? trust : undefined;
}

/** The description of a form that is not known here. */
export async function profileOf(given) {
  return given.profile === undefined ? undefined : jsonOf(given.profile, "--profile");
}

/** A JSON object in a file. */
export async function jsonOf(file, option) {
  try {
    const value = JSON.parse(await readFile(file, "utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw usageError(`${option} wants a file with a JSON object`);
}
