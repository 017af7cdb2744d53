// counterfoil/node: what needs a file system, and the reader of chain evidence.
export {};
