"""
Compare methods on your own data
================================

Every method of the library is a rule with ``fit(X, scores)`` and ``predict(X)``, so a loop
compares them on your data. Four questions: is coverage right on average and in the groups you care
about, can misses be predicted from x, how long are the intervals, and how long does it take?
"""

# %%
# Your data, your model, your groups
# ----------------------------------
# Bicycles rented in an hour. A third of the hours trains the model, a third calibrates the rules, a
# third tests them. Hours are drawn at random, so that calibration and test rows are exchangeable,
# as all rules assume. All get the same *scores*: absolute errors of one model on the
# calibration rows. Some rules measure distances or draw lines, so all columns are numbers.

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

import plcp
from plcp import PLCP, metrics
from plcp.datasets import load_bikes

ALPHA = 0.1
bikes = load_bikes()
X = pd.DataFrame(
    {
        "hour": bikes["hour"],
        "working": (bikes["working_day"] == "yes").astype(int),
        "rain": bikes["weather"].str.contains("rain").astype(int),
        "temperature": bikes["temperature"],
        "humidity": bikes["humidity"],
        "wind": bikes["wind_speed"],
    }
)
y = bikes["rentals"].to_numpy()
learn, calibrate, new = np.array_split(np.random.default_rng(0).permutation(len(X)), 3)
X_learn, X_cal, X_new = X.iloc[learn], X.iloc[calibrate], X.iloc[new]

trees = HistGradientBoostingRegressor(random_state=0).fit(X_learn, y[learn])
scores = np.abs(y[calibrate] - trees.predict(X_cal))
errors = np.abs(y[new] - trees.predict(X_new))

named = {
    "night": lambda X: X["hour"] < 7,
    "rush hour": lambda X: (X["working"] == 1) & X["hour"].isin([7, 8, 17, 18]),
    "day off": lambda X: X["working"] == 0,
    "rain": lambda X: X["rain"] == 1,
}

# %%
# The rules
# ---------
# Rules with a star are given the named groups.

rules = {
    "Split": plcp.SplitConformal(ALPHA),
    "Mondrian by hour": plcp.Mondrian("hour", ALPHA),
    "BatchGCP*": plcp.BatchGCP(named, ALPHA),
    "BatchMVP*": plcp.BatchMVP(named, ALPHA),
    "Conditional, groups*": plcp.ConditionalCalibration(groups=named, alpha=ALPHA),
    "Conditional, linear": plcp.ConditionalCalibration(alpha=ALPHA),
    "Conditional, kernel": plcp.ConditionalCalibration(
        kernel=plcp.KernelShifts(), alpha=ALPHA, random_state=0
    ),
    "RLCP": plcp.RLCP(alpha=ALPHA, random_state=0),
    "LocalCP": plcp.LocalCP(alpha=ALPHA, random_state=0),
    "Posterior": plcp.PosteriorConformal(alpha=ALPHA, random_state=0),
    "Rectified": plcp.Rectified(alpha=ALPHA, random_state=0),
    "LOCART (tree)": PLCP(plcp.TreePartition(), alpha=ALPHA, calibration="split", random_state=0),
    "PLCP, as published": PLCP(
        plcp.SoftmaxPartition(),
        n_groups=10,
        alpha=ALPHA,
        calibration="joint",
        assignment="sample",
        random_state=0,
    ),
    "PLCP, split": PLCP(alpha=ALPHA, calibration="split", random_state=0),
    "PLCP": PLCP(alpha=ALPHA, random_state=0),
}

covered, length, seconds = {}, {}, {}
with warnings.catch_warnings():
    # some rules have no finite threshold for rows that are unlike all others
    warnings.simplefilter("ignore", plcp.InfiniteThresholdWarning)
    for name, rule in rules.items():
        start = time.perf_counter()
        thresholds = rule.fit(X_cal, scores).predict(X_new)
        seconds[name] = time.perf_counter() - start
        covered[name], length[name] = errors <= thresholds, 2 * thresholds

# %%
# Conformalised quantile regression (CQR) needs two quantile models in place of one model. It is a
# score, and goes with any rule: with one threshold, or with those of PLCP.

pair = plcp.QuantilePair(
    *(
        FrozenEstimator(
            HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=0).fit(
                X_learn, y[learn]
            )
        )
        for q in (ALPHA / 2, 1 - ALPHA / 2)
    )
)
for name, rule in {"CQR": rules["Split"], "PLCP on CQR": rules["PLCP"]}.items():
    start = time.perf_counter()
    model = plcp.ConformalRegressor(pair, plcp.QuantileResidual(), rule).fit(X_cal, y[calibrate])
    sets = model.predict_set(X_new)
    seconds[name] = time.perf_counter() - start
    covered[name], length[name] = sets.contains(y[new]), sets.size

# %%
# Measure
# -------
# - ``ert`` trains a classifier to predict misses from x. The better it can, the farther is
#   coverage given x from 90 %, at least. Here it is the mean distance, in L1.
# - ``worst_slab`` searches the rows between two parallel planes, a tenth of all at least, that are
#   covered least. It chooses on one half of the rows and measures on the other.
# - ``coverage_by_group`` has exact intervals for each group.
#
# Some lengths are infinite, so we compare medians.

groups = metrics.column_groups(X_new, named)
risk = {name: metrics.ert(X_new, hits, alpha=ALPHA) for name, hits in covered.items()}
table = pd.DataFrame(
    {
        "ert": {name: each.estimate for name, each in risk.items()},
        "worst slab": {
            name: metrics.worst_slab(X_new, hits, random_state=0).estimate
            for name, hits in covered.items()
        },
        "coverage": {name: hits.mean() for name, hits in covered.items()},
        "length": {name: np.median(each) for name, each in length.items()},
        "seconds": seconds,
    }
)
by_group = pd.DataFrame(
    {
        name: metrics.coverage_by_group(hits, groups, alpha=ALPHA).coverage
        for name, hits in covered.items()
    },
    index=groups.names,
).T
table = table.join(by_group).sort_values("ert")
print(table.drop(columns="seconds").round(3).to_string())

# %%
# All at a glance: on the left how far coverage given x is from the target, in the middle
# the named groups, on the right the price in length.

figure, axes = plt.subplots(1, 3, figsize=(8.4, 6), sharey=True, layout="constrained")
rows = np.arange(len(table))
colors = ["#1f6fb4" if name.startswith("PLCP") else "0.55" for name in table.index]
axes[0].barh(rows, table["ert"], color=colors, height=0.6)
axes[0].set_title("Can misses be predicted?\nERT, lower is better", fontsize=10)
marks = dict(zip(groups.names, ["o", "D", "s", "^"], strict=True))
shown = table[groups.names]
axes[1].hlines(rows, shown.min(axis=1), shown.max(axis=1), color="0.8")
for group, mark in marks.items():
    axes[1].plot(table[group], rows, mark, markersize=5, label=group, alpha=0.85)
axes[1].axvline(1 - ALPHA, color="black", linewidth=1, linestyle="--")
axes[1].set_title("Who is failed?\ncoverage of named groups", fontsize=10)
axes[2].barh(rows, table["length"], color=colors, height=0.6)
axes[2].set_title("What does it cost?\nmedian length", fontsize=10)
axes[0].set_yticks(rows, table.index)
axes[0].invert_yaxis()
for ax in axes:
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
figure.legend(
    *axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
)
_ = figure.suptitle("Rules that learn from x leave fewer predictable misses (blue: PLCP)")

# %%
# Could it be chance?
# -------------------
# Hours that are hard for one rule are hard for all, so differences on the same rows are known
# better than each number. ``compare`` pairs them, and corrects p-values for their number.

best = ["Split", "Rectified", "CQR", "PLCP", "PLCP on CQR"]
print(metrics.compare({name: risk[name] for name in best}, reference="PLCP"))

# %%
# This is one experiment on one table. Rules that are given the groups come near 90 % in these very
# groups, and leave misses predictable elsewhere. Rules that learn from x how large errors are
# (PLCP, rectified, CQR) leave least to predict, without being given a group.
#
# A small risk is no promise. What is promised is printed by ``guarantee_``, and
# :doc:`/guides/which_method` says which rule promises what you need:

for name in ("Rectified", "PLCP, split", "PLCP"):
    print(f"{name}: {rules[name].guarantee_}")

# %%
# Seconds to fit and to predict, for those who have millions of rows:

print(table["seconds"].sort_values(ascending=False).head(4).round(1).to_string())
plt.show()
