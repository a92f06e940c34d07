"""
Displays of coverage, length and thresholds
===========================================

Incomes of generated people, drawn as scikit-learn draws: each display has ``from_estimator`` and
``from_predictions``, keeps the numbers it shows, and can be drawn again on other axes::

    python examples/plot_displays.py [--output DIR]

Needs ``pip install 'plcp[plot,frames]'``, and some seconds.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")  # no window, but a notebook shows figures as ever

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

from plcp import PLCP, ConformalRegressor, SplitConformal
from plcp.plotting import (
    ComparisonDisplay,
    CoverageDisplay,
    HistoryDisplay,
    SelectionDisplay,
    SizeDisplay,
    ThresholdDisplay,
)

parser = argparse.ArgumentParser(description="Pictures of two sets of intervals.")
parser.add_argument("--output", type=Path, default=Path(), help="directory of the picture")
options, _ = parser.parse_known_args()  # a notebook is started with arguments of its own

# %%
# People and their incomes
# ------------------------
# Incomes spread more with age and schooling, and most among those with a business of their own.


def make_people(n, seed):
    rng = np.random.default_rng(seed)
    age, school = rng.integers(20, 80, n), rng.integers(8, 22, n)
    work = rng.choice(["own business", "private firm", "public service"], n, p=[0.1, 0.65, 0.25])
    spread = 2 + 0.2 * (age - 20) + 8 * (school >= 18) + 15 * (work == "own business")
    income = 10 + 0.4 * age + 2 * school + spread * rng.standard_normal(n)
    return pd.DataFrame({"age": age, "school": school, "work": pd.Categorical(work)}), income


train, cal, (X, y) = (make_people(n, seed) for seed, n in enumerate((4_000, 6_000, 20_000)))
trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
model = FrozenEstimator(trees.fit(*train))
split = ConformalRegressor(model, threshold=SplitConformal()).fit(*cal)
learned = ConformalRegressor(model, threshold=PLCP(random_state=0)).fit(*cal)

# %%
# Where does Split fail, and what does PLCP do there?
# ---------------------------------------------------
# Groups are columns, functions of X, masks, labels, or, if none are named, those that were learned.

figure, axes = plt.subplots(3, 2, figsize=(12, 12), layout="constrained")
groups = {
    "work": "work",
    "over 60": lambda X: X["age"] > 60,
    "under 30": lambda X: X["age"] < 30,
    "18 years of school or more": lambda X: X["school"] >= 18,
}
before_after = ComparisonDisplay.from_estimator(
    learned, X, y, before=split, groups=groups, ax=axes[0, 0]
)
for name, table in before_after.tables.items():
    print(f"{name}\n{table}\n")

# %%
# Sets of any library, several methods side by side
# -------------------------------------------------

fitted = {"Split": split, "PLCP": learned}
sets = {name: conformal.predict_set(X) for name, conformal in fitted.items()}
covered = {name: intervals.contains(y) for name, intervals in sets.items()}
size = {name: intervals.size for name, intervals in sets.items()}
decades = np.char.add((X["age"].to_numpy() // 10 * 10).astype(str), "s")
CoverageDisplay.from_predictions(covered, decades, ax=axes[0, 1])
SizeDisplay.from_predictions(
    covered, size, decades, size_name="mean length, thousand dollars", ax=axes[1, 0]
)

# %%
# What the thresholds follow
# --------------------------

ThresholdDisplay.from_estimator(learned, X, ["age", "school"], ax=axes[1, 1])

# %%
# How the rule was fitted
# -----------------------
# The default mixes regressors by their out-of-fold loss. With one constant threshold per group,
# their number is chosen on held-out rows.

HistoryDisplay.from_estimator(learned, ax=axes[2, 0])
scores = np.abs(cal[1] - model.predict(cal[0]))
staircase = PLCP(within="constant", calibration="held-out", random_state=0).fit(cal[0], scores)
SelectionDisplay.from_estimator(staircase, ax=axes[2, 1])

options.output.mkdir(parents=True, exist_ok=True)
figure.savefig(options.output / "displays.png", dpi=110)
