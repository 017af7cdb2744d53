// Leases as rows. A row stays when its lease ends, so that tokens only rise; the server's clock alone says when that is.

/** The statements over the table `leases`. Each runs in a transaction of its own, `stands` in that of a commit. */
export function leasesIn(leases) {
  const until = (ttl) => `clock_timestamp() + ${ttl}::double precision * interval '1 millisecond'`;

  return {
    /** The token, or undefined while somebody holds it. Of many at once exactly one gets it: the row is locked, then judged. */
    async take(run, name, ttlMs) {
      const { rows } = await run(
        "lease",
        `INSERT INTO ${leases} AS held (name, token, until) VALUES ($1, 1, ${until("$2")})
         ON CONFLICT (name) DO UPDATE SET token = held.token + 1, until = ${until("$2")} WHERE held.until <= clock_timestamp()
         RETURNING token`,
        [name, ttlMs],
      );
      return rows.length === 0 ? undefined : Number(rows[0].token);
    },

    async renew(run, name, token, ttlMs) {
      const { rowCount } = await run(
        "renew",
        `UPDATE ${leases} SET until = ${until("$3")} WHERE name = $1 AND token = $2 AND until > clock_timestamp()`,
        [name, token, ttlMs],
      );
      return rowCount === 1;
    },

    async release(run, name, token) {
      await run("release", `UPDATE ${leases} SET until = '-infinity' WHERE name = $1 AND token = $2`, [name, token]);
    },

    /** Whether this token is the newest and lives. Nobody can take the lease before the transaction has ended. */
    async stands(run, { lease, token }) {
      const { rowCount } = await run(
        "fence",
        `SELECT 1 FROM ${leases} WHERE name = $1 AND token = $2 AND until > clock_timestamp() FOR SHARE`,
        [lease, token],
      );
      return rowCount === 1;
    },
  };
}
