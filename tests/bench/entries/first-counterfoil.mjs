import { recoverPayer } from "counterfoil/core";
import { authorization, domain, signature } from "./signed.mjs";

export const first = () => recoverPayer(authorization, domain, signature);
