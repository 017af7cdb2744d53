import { recoverTypedDataAddress } from "viem";
import { authorization, domain, signature, types } from "./signed.mjs";

export const first = () => recoverTypedDataAddress({ domain, types, primaryType: "TransferWithAuthorization", message: authorization, signature });
