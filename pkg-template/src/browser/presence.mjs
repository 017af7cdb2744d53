// Who is there: each open journal holds a lock of its own, and the browser takes it back when the tab is gone, however it went. So a
// lease of a tab that died is free at once, and one of a tab that lives lasts its time.

/** Held until `end`, or until this tab is gone. Where the browser has no locks: as any error of the journal. */
export async function presence(journal) {
  const { locks } = navigator;
  const lockOf = (id) => `counterfoil/${journal}/${id}`;
  const id = crypto.randomUUID();
  let end;
  const ended = new Promise((done) => (end = done));
  await new Promise((held, fail) => {
    locks.request(lockOf(id), () => {
      held();
      return ended;
    }).catch(fail);
  });

  return {
    id,
    end,
    /** Whether the journal with this id is open somewhere. */
    async lives(id) {
      const { held } = await locks.query();
      return held.some(({ name }) => name === lockOf(id));
    },
  };
}
