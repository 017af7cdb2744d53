-- The verdicts of `counterfoil audit --format jsonl`, or of many of its workers, as a table; and what an auditor asks of it. Their file is the parameter.
CREATE TABLE verdicts AS
SELECT input, line, id, verdict, codes, keys.*
FROM read_json($1, format = 'newline_delimited', columns = {
  v: 'INTEGER', input: 'VARCHAR', line: 'BIGINT', id: 'VARCHAR', verdict: 'VARCHAR', codes: 'VARCHAR[]',
  keys: 'STRUCT(receipt VARCHAR, intent VARCHAR, "paymentId" VARCHAR, network VARCHAR, asset VARCHAR, payer VARCHAR, "payTo" VARCHAR, amount VARCHAR,
         nonce VARCHAR, "transaction" VARCHAR, response VARCHAR, resource VARCHAR, shown BOOLEAN)'
})
-- Findings and the summary stand among the verdicts, and are none.
WHERE v = 1 AND verdict IS NOT NULL;

-- standing: lines and atomic units by verdict, network and token. Amounts have up to 78 digits; 38 hold everything that is no attack.
SELECT verdict, network, asset, count(*) AS lines, sum(TRY_CAST(amount AS DECIMAL(38, 0)))::VARCHAR AS amount
FROM verdicts GROUP BY ALL ORDER BY ALL;

-- failures: what failed, by the check that failed
SELECT verdict, code, count(*) AS lines, min(id) AS first
FROM (SELECT verdict, id, unnest(codes) AS code FROM verdicts WHERE verdict IN ('failed', 'error')) GROUP BY ALL ORDER BY ALL;

-- claimed: transactions that several receipts name, as `transaction_claimed_twice` has it before the chain is asked
SELECT network, "transaction", list(id ORDER BY line) AS ids
FROM verdicts WHERE "transaction" IS NOT NULL AND verdict IN ('verified', 'incomplete')
GROUP BY ALL HAVING count(DISTINCT receipt) > 1 ORDER BY ALL;

-- charged: intents that were paid more than once
SELECT intent, count(DISTINCT "transaction") AS payments, list(id ORDER BY line) AS ids
FROM verdicts WHERE intent IS NOT NULL AND verdict IN ('verified', 'incomplete')
GROUP BY intent HAVING count(DISTINCT "transaction") > 1 ORDER BY intent;
