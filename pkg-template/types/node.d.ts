/** counterfoil/node: what needs a file system. */
export {};
