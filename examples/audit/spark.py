"""Receipts in Spark: python spark.py <lines> <folder for the verdicts> [command of a worker]

Every partition goes through a worker of its own, one line in and one verdict out; the verdicts are a table of Parquet. What only shows
across lines is a grouping, whatever the partitions are.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, collect_list, count_distinct, sort_array

lines, folder = sys.argv[1:3]
worker = sys.argv[3] if len(sys.argv) > 3 else "npx counterfoil audit --worker --trust trust.json"
SCHEMA = """v INT, line BIGINT, id STRING, verdict STRING, codes ARRAY<STRING>, keys STRUCT<receipt: STRING, intent: STRING, network: STRING, asset: STRING,
payer: STRING, amount: STRING, transaction: STRING, response: STRING>"""

spark = SparkSession.builder.appName("counterfoil audit").getOrCreate()
# checkCode: a worker never ends with an error because of a line, so one that does has crashed.
piped = spark.sparkContext.textFile(lines, 4).pipe(worker, checkCode=True)
verdicts = spark.read.schema(SCHEMA).json(piped).select("*", "keys.*").drop("keys", "v")
verdicts.write.mode("overwrite").parquet(folder)

verdicts = spark.read.parquet(folder)
for row in verdicts.groupBy("verdict").count().orderBy("verdict").collect():
    print(f"{row['verdict']} {row['count']}")
claimed = (
    verdicts.filter(col("transaction").isNotNull() & col("verdict").isin("verified", "incomplete"))
    .groupBy("network", "transaction")
    .agg(count_distinct("receipt").alias("receipts"), sort_array(collect_list("id")).alias("ids"))
    .filter("receipts > 1")
)
for row in claimed.orderBy("ids").collect():
    print(f"claimed twice {' '.join(row['ids'])}")
spark.stop()
