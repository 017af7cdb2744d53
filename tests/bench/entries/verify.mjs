import { load, verifyReceipt } from "counterfoil/verify";

await load();
export const check = (receipt) => verifyReceipt(receipt).verdict;
