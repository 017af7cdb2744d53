// counterfoil explain: what an error means, what is known about the money, and the one thing that is safe to do.

import { call } from "counterfoil/raw";
import { pair, paint, print, printJson, usageError } from "./output.mjs";

export const options = { json: { type: "boolean" } };

/** Explains one code. Gives the exit status. */
export async function run(code, given) {
  const known = call("errorCodes", {}).find((known) => known.code === code);
  if (!known) throw usageError("there is no such code: docs/codes.md lists all of them");
  const words = call("errorWords", {});
  const told = { ...known, toDo: words.next[known.next], aboutMoney: words.money[known.money] };
  if (given.json) {
    printJson(told);
    return 0;
  }
  print(paint("strong", told.code));
  print(pair("means", told.meaning));
  print(pair("money", `${told.money}: ${told.aboutMoney}`));
  print(pair("what to do", `${told.next}: ${told.toDo}`));
  return 0;
}
