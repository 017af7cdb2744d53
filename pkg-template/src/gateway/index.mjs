// counterfoil/gateway: the selling side, and the stores that it keeps its rows in.

export { createGateway } from "./gateway.mjs";
export { postgresStore } from "./postgres-store.mjs";
export { updateSteps } from "./rows.mjs";
export { sqliteStore } from "./sqlite-store.mjs";
