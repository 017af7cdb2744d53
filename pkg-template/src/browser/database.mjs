// The database of a journal: entries by key, leases by name, and the last revision. Requests and transactions as promises.

import { CounterfoilError } from "../errors.mjs";

/** Opens the database and makes what is missing. */
export function openDatabase(name) {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => {
    const database = request.result;
    database.createObjectStore("entries", { keyPath: "key" });
    database.createObjectStore("leases", { keyPath: "name" });
    database.createObjectStore("revisions");
  };
  return answered(request);
}

/**
 * One transaction over the stores: all that `body` asks for, or nothing. Over when the browser says that it is complete, which under
 * "strict" it does not say before the operating system has it on the disk. `body` may wait for its requests and for nothing else.
 */
export async function transact(database, mode, stores, body) {
  try {
    const transaction = database.transaction(stores, mode, { durability: "strict" });
    // A commit that failed is told by `abort` alone, never by the `error` of a request.
    const complete = new Promise((done, fail) => {
      transaction.oncomplete = done;
      transaction.onabort = () => fail(transaction.error);
    });
    complete.catch(() => {});
    try {
      const answer = await body(Object.fromEntries(stores.map((store) => [store, requests(transaction.objectStore(store))])));
      await complete;
      return answer;
    } catch (error) {
      if (transaction.error === null) abort(transaction);
      throw transaction.error ?? error;
    }
  } catch (cause) {
    throw fault(cause);
  }
}

/** Of a body that failed half way nothing stays. */
function abort(transaction) {
  try {
    transaction.abort();
  } catch {
    // It is over already.
  }
}

function requests(store) {
  const ask = (name) => (...args) => answered(store[name](...args));
  // What is put is not waited for: where it fails the transaction does.
  const tell = (name) => (...args) => void store[name](...args);
  return { get: ask("get"), getAll: ask("getAll"), put: tell("put"), delete: tell("delete") };
}

function answered(request) {
  return new Promise((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
}

/** An error of the browser as one of ours. Nothing was written. */
export function fault(cause) {
  return cause instanceof CounterfoilError ? cause : new CounterfoilError("journal_unavailable", { cause });
}
