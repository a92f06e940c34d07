"""
Rows on a cluster
=================

The rows lie on the workers of a Dask cluster, more of them than any one machine holds. A trained
model is calibrated where they are; what comes back is a small fitted model and a table of coverage.
Here the cluster is two processes on this machine, and the rows are made up::

    python examples/dask_cluster.py [--rows N]

Needs ``pip install 'plcp[dask]'``, and some twenty seconds.
"""

import argparse

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client
from sklearn.linear_model import LinearRegression

from plcp.dask import DaskConformalRegressor, DaskPLCP, DaskSplitConformal

FEATURES = ["load", "age", "outside"]


# %%
# Turbines
# --------
# Power of wind turbines, in parts of one file each. Old ones under load are noisy, all others are
# not. On a real cluster this would be ``dd.read_parquet("s3://...")``.


def readings(seed, rows):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(size=(rows, 3)), columns=FEATURES)
    noise = 0.1 + 0.6 * frame["load"] * (frame["age"] > 0.7)
    frame["power"] = 2 * frame["load"] - frame["outside"] + noise * rng.normal(size=rows)
    return frame


def turbines(parts, rows):
    """Parts that exist only once they are computed."""
    return dd.from_map(readings, parts, rows=rows, meta=readings(0, 0))


# %%
# Calibration and coverage
# ------------------------
# ``fit`` computes; ``predict_interval`` is a frame of Dask like any other, with ``lower`` and
# ``upper``. Only the means of a few groups ever come here.


def coverage(model, rows):
    """Coverage and mean length for noisy turbines and for the others."""
    intervals = model.predict_interval(rows[FEATURES])
    table = dd.concat([rows, intervals], axis=1, ignore_unknown_divisions=True)
    table["covered"] = table["power"].between(table["lower"], table["upper"]).astype(float)
    table["length"] = table["upper"] - table["lower"]
    table["noisy"] = (table["age"] > 0.7) & (table["load"] > 0.5)
    return table.groupby("noisy")[["covered", "length"]].mean().compute().sort_index()


def main(rows):
    train = readings(1000, 5_000)  # any trained regressor will do, in FrozenEstimator or not
    fitted = LinearRegression().fit(train[FEATURES], train["power"])
    cal, test = turbines(range(4), rows // 4), turbines(range(4, 8), rows // 4)
    for name, rule in {"Split": DaskSplitConformal(), "PLCP": DaskPLCP()}.items():
        model = DaskConformalRegressor(fitted, threshold=rule)
        model.fit(cal[FEATURES], cal["power"])
        for noisy, row in coverage(model, test).iterrows():
            kind = "noisy" if noisy else "quiet"
            print(f"{name:6s} {kind} {row['covered']:.3f} ({row['length']:.2f})")
    print(model.guarantee_)

    # %%
    # The model without Dask
    # ----------------------
    # Small, picklable, for rows in memory, one by one if need be.

    here = model.to_local()
    print(here.predict_interval(readings(2000, 2)[FEATURES]))


if __name__ == "__main__":  # worker processes read this file too
    parser = argparse.ArgumentParser(description="Calibration where the rows lie.")
    parser.add_argument("--rows", type=int, default=40_000, help="how many to calibrate on")
    options = parser.parse_args()
    # on a real cluster: Client("tcp://scheduler:8786")
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1"):
        main(options.rows)
