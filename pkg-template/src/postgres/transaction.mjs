// One transaction: all its statements or none, and the truth about a COMMIT whose answer was lost.

import { CounterfoilError } from "../errors.mjs";

/** A worker that stops in the middle keeps its rows from the others for at most this long. */
const IDLE_LIMIT = "10s";
/** How often a lost COMMIT is asked after, and the pause before each further time. */
const QUESTIONS = 20;
const PAUSE_MS = 100;

/** `use(client)` with a client of the pool. One that failed is not used again. */
export async function connected(pool, use) {
  const client = await pool.connect();
  // A connection that breaks tells the statement under way; nobody else need hear of it.
  const ignore = () => {};
  client.on?.("error", ignore);
  let failure;
  try {
    return await use(client);
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    client.removeListener?.("error", ignore);
    client.release(failure);
  }
}

/**
 * Runs `work(run)` in a transaction and gives its result once it is durable; `run(at, text, values)` runs a statement, and `hook(at)`
 * comes before each. A result `{ ok: false }` rolls back. Errors: `journal_unavailable`, nothing was written; `journal_unknown`.
 */
export async function inTransaction(pool, hook, work) {
  let pending; // { id, result } from the moment the transaction may stand
  try {
    return await connected(pool, async (client) => {
      const run = async (at, text, values) => {
        await hook(at);
        return client.query(text, values);
      };
      // Whatever the database's own settings: a commit that is told is on the disk, and each statement sees what is committed.
      await run("begin", `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = on; SET LOCAL idle_in_transaction_session_timeout = '${IDLE_LIMIT}'`);
      const result = await work(run);
      if (result?.ok === false) {
        await run("rollback", "ROLLBACK");
        return result;
      }
      const { rows } = await run("number", "SELECT pg_current_xact_id_if_assigned()::text AS id");
      pending = { id: rows[0].id, result };
      await run("commit", "COMMIT");
      return result;
    });
  } catch (error) {
    // Without a number nothing was written.
    if (!pending?.id) throw fault(error);
    const stands = await stood(pool, pending.id);
    if (stands) return pending.result;
    if (stands === false) throw fault(error);
    throw new CounterfoilError("journal_unknown", { cause: error });
  }
}

/** Whether the transaction of this number was committed, as the server knows; undefined when it can't be asked. */
async function stood(pool, id) {
  for (let asked = 0; asked < QUESTIONS; asked++) {
    if (asked > 0) await new Promise((done) => setTimeout(done, PAUSE_MS));
    const answer = await connected(pool, (client) => client.query("SELECT pg_xact_status($1::xid8) AS status", [id])).catch(() => undefined);
    const status = answer?.rows[0].status;
    if (status === "committed" || status === "aborted") return status === "committed";
  }
  return undefined;
}

/** An error of the server or of the way to it as one of ours. */
export function fault(cause) {
  return cause instanceof CounterfoilError ? cause : new CounterfoilError("journal_unavailable", { cause });
}
