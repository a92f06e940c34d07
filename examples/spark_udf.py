"""
Thresholds and intervals as Spark columns
=========================================

A rule or a model that was fitted anywhere, on this machine or on Dask, becomes a function of the
columns of a Spark data frame. The executors compute the same numbers as Python does, in batches::

    python spark_udf.py [--rows N]

This script needs the extra ``spark`` (:doc:`/start/install`) and Java 17 or later; it is not
executed here. The executors need plcp too.
"""

import argparse
import os
import sys

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.functions import avg, col
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from plcp import ConformalRegressor
from plcp.spark import interval_udf, threshold_udf

parser = argparse.ArgumentParser(description="A fitted model as Spark columns.")
parser.add_argument("--rows", type=int, default=20_000, help="how many to generate")
options, _ = parser.parse_known_args()  # a notebook is started with arguments of its own

# %%
# A model fitted on this machine
# ------------------------------
# How many minutes does a delivery take? Far away in the rain is hard to predict. ``features`` names
# what the rule reads. Without it, the rule of a regressor would also read the prediction, and
# ``threshold_udf`` would want it as a column; ``interval_udf`` computes it.

rng = np.random.default_rng(0)
n = options.rows
table = pd.DataFrame({"distance": rng.uniform(0, 10, n), "rain": rng.choice(["no", "yes"], n)})
noise = 1 + table["distance"] * (table["rain"] == "yes")
table["minutes"] = 5 + 3 * table["distance"] + noise * rng.normal(size=n)
learn, cal, new = (table[start::3] for start in range(3))
features = ["distance", "rain"]

by_distance = make_column_transformer(("passthrough", ["distance"]))
fitted = make_pipeline(by_distance, LinearRegression()).fit(learn[features], learn["minutes"])
model = ConformalRegressor(FrozenEstimator(fitted), features=features, random_state=0)
model.fit(cal[features], cal["minutes"])

# %%
# Columns of Spark
# ----------------
# Columns are found by the names with which the model was fitted, in any order.

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")  # of this machine; a cluster has more
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .getOrCreate()
)
rows = spark.createDataFrame(new)
threshold = threshold_udf(model.tail_rules_[0])
interval = interval_udf(model)
answered = rows.withColumn("threshold", threshold("distance", "rain")).withColumn(
    "set", interval("rain", "distance")
)
answered.select(*features, "threshold", "set.lower", "set.upper").show(5)

# %%
# Coverage and length by rain, for deliveries of some distance.

inside = col("minutes").between(col("set.lower"), col("set.upper")).cast("double")
length = col("set.upper") - col("set.lower")
far = answered.where("distance > 5").groupBy("rain")
for row in (
    far.agg(avg(inside).alias("covered"), avg(length).alias("length")).orderBy("rain").collect()
):
    print(f"rain {row['rain']:3s} {row['covered']:.3f} ({row['length']:.2f})")
spark.stop()
