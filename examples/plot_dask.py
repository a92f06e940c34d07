"""
Rows on a Dask cluster
======================

A fitted rule is small: a regressor, some cuts and as many thresholds. So the rows can stay where
they are. ``plcp.dask`` calibrates a trained model on data frames and arrays of Dask, on threads,
processes or a cluster. What comes back is a small model and a table of coverage.

Here the cluster is two threads of this machine and the rows are simulated. How to run on Slurm,
Kubernetes or Coiled, what travels over the network and what a billion rows take, is on the page
:doc:`/explanation/scale`. This page needs the extras ``dask`` and ``plot``
(:doc:`/start/install`).
"""

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from dask.distributed import Client
from sklearn.linear_model import LinearRegression

from plcp.dask import DaskConformalRegressor, DaskPLCP, DaskSplitConformal

# %%
# A client
# --------
# On a real cluster this line is ``Client("tcp://scheduler:8786")``. Nothing below changes.

client = Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)

# %%
# Rows in parts
# -------------
# Power of wind turbines: old ones under load are noisy, all others are not. Each part of the data
# frame exists only while it is computed. In practice this is ``dd.read_parquet("s3://...")``.

FEATURES = ["load", "age", "outside"]


def readings(seed, rows=10_000):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.uniform(size=(rows, 3)), columns=FEATURES)
    noise = 0.1 + 0.6 * table["load"] * (table["age"] > 0.7)
    table["power"] = 2 * table["load"] - table["outside"] + noise * rng.normal(size=rows)
    return table


cal = dd.from_map(readings, range(4), meta=readings(0, 0))
new = dd.from_map(readings, range(4, 8), meta=readings(0, 0))
print(f"{cal.npartitions} parts, columns {list(cal.columns)}")

# %%
# Calibration where the rows lie
# ------------------------------
# The model may be any trained regressor. At most ``sample_size`` rows (a million by default; fewer
# here, to be quick) learn the groups. Thresholds are exact conformal ranks of *all* rows, found by
# counting, so they do not depend on how the rows are cut into parts or on the number of workers.

train = readings(1000, 5_000)
fitted = LinearRegression().fit(train[FEATURES], train["power"])

models = {
    "Split": DaskConformalRegressor(fitted, threshold=DaskSplitConformal()),
    "PLCP": DaskConformalRegressor(fitted, threshold=DaskPLCP(sample_size=8_000)),
}
for model in models.values():
    model.fit(cal[FEATURES], cal["power"])
print(models["PLCP"].guarantee_)

# %%
# Coverage of each kind of turbine
# --------------------------------
# ``predict_interval`` is lazy: a data frame of Dask with the columns ``lower`` and ``upper``, which
# could go straight to ``to_parquet``. Only the means of three kinds are brought home.

KINDS = ["young", "old, light load", "old, heavy load"]


def kind(table):
    old = table["age"] > 0.7
    return old.astype(int) + (old & (table["load"] > 0.5)).astype(int)


found = {}
for name, model in models.items():
    intervals = model.predict_interval(new[FEATURES])
    table = dd.concat([new, intervals], axis=1, ignore_unknown_divisions=True)
    table["covered"] = table["power"].between(table["lower"], table["upper"]).astype(float)
    table["length"] = table["upper"] - table["lower"]
    table["kind"] = table.map_partitions(kind, meta=("kind", int))
    found[name] = table.groupby("kind")[["covered", "length"]].mean().compute().sort_index()
    print(name, found[name].set_axis(KINDS).round(3), sep="\n")

# %%
# Split gives all turbines the same length. It covers nearly all of the quiet ones and fails the old
# ones under load. PLCP gives each kind the length that it needs.

COLORS = {"Split": "#6e6e6e", "PLCP": "#1f6fb4"}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for (name, table), marker in zip(found.items(), "so", strict=True):
    for ax, column in zip(axes, ["covered", "length"], strict=True):
        ax.plot(table[column], range(3), marker, markersize=10, color=COLORS[name])
        ax.annotate(
            name,
            (table[column][2], 2.36),
            ha="center",
            color=COLORS[name],
            fontweight="bold",
            backgroundcolor="white",
        )
axes[0].axvline(0.9, color="black", linewidth=1, linestyle=":")
axes[0].text(0.89, -0.42, "target 90 %", ha="right")
axes[0].set(title="coverage", xlim=(0.45, 1.03), ylim=(2.6, -0.7))
axes[0].set_yticks(range(3), KINDS)
axes[1].set(title="mean length of the interval", xlim=(0, 2))
for ax in axes:
    ax.grid(axis="y", color="#dddddd")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
figure.suptitle("Split fails old turbines under heavy load; PLCP covers every kind")
plt.show()

# %%
# The model without Dask
# ----------------------
# ``to_local`` returns an ordinary :class:`~plcp.ConformalRegressor`: for rows in memory, for
# :func:`plcp.save`, for a web service.

local = models["PLCP"].to_local()
print(local.predict_interval(readings(2000, 3)[FEATURES]).round(2))
client.close()

# %%
# A folder of Parquet files that is larger than memory needs no cluster at all: ``plcp calibrate``
# and ``plcp apply`` read it in blocks. Columns of Spark are in
# :ref:`sphx_glr_tutorials_spark_udf.py`.
