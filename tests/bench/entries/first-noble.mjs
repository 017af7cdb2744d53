import { recover } from "../noble.mjs";
import { authorization, domain, payer, signature } from "./signed.mjs";

// EIP-55 is a hash more; the addresses are compared and the known spelling is told.
export const first = () => (recover(authorization, domain, signature) === payer.toLowerCase() ? payer : "another address");
