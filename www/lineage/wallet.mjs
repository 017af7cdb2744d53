// The browser's wallet (EIP-1193), asked only when a person presses a button: for its account, and to sign an EIP-712 document.

/** Whether one is there. A page from a disk may not have one. */
export const hasWallet = () => typeof globalThis.ethereum?.request === "function";

/** The account that signs. */
export async function account() {
  const [first] = await globalThis.ethereum.request({ method: "eth_requestAccounts" });
  if (typeof first !== "string") throw new Error("The wallet gave no account.");
  return first;
}

/** The account's signature of a document. */
export function signed(address, typedData) {
  return globalThis.ethereum.request({ method: "eth_signTypedData_v4", params: [address, JSON.stringify(typedData)] });
}
