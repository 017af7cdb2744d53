// counterfoil/postgres: what many machines share.

export { postgresJournal } from "./journal.mjs";
