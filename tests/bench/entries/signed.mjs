// One signed authorization, with the address that signed it. Made by viem with the key of ../fixture.mjs, which a cold start must not pay for.
import { authorization as authorizationOf, domain, types } from "../fixture.mjs";

export const payer = "0x7a4349788396169CD75eA9562EF54d288879b138";
export const authorization = authorizationOf(payer);
export const signature = "0xb695738e20b45efe7d16fbb0fcb2b9f8817a290ba58b0d3ba8e1c89bc68f2a345b83aec5f3548399729907e18a6fc681ee28af20d076b739e736a7da7b85d4091c";
export { domain, types };
