"""
Diagnostics: where do prediction sets fail, and how sure are we?
================================================================

Two sets of intervals for the same rows, by split conformal and by PLCP. Both cover 90 % on average.
We find which kinds of rows they fail, whether anything in x predicts a miss, and whether the
difference between the two could be chance; and we write a certificate for a colleague::

    python examples/plot_diagnostics.py [--output DIR]

Everything here takes arrays: intervals of any library will do. Needs ``pip install 'plcp[plot]'``,
and some seconds.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")  # no window, but a notebook shows figures as ever

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

from plcp import PLCP, ConformalRegressor, SplitConformal, certify, metrics
from plcp.datasets import make_nonlinear

parser = argparse.ArgumentParser(description="Diagnostics of two sets of intervals.")
parser.add_argument("--output", type=Path, default=Path(), help="directory of the results")
options, _ = parser.parse_known_args()  # a notebook is started with arguments of its own

ALPHA = 0.1

# %%
# Two conformal regressors
# ------------------------
# The noise depends on x, and the rule is not given how.

train, cal, test = (make_nonlinear(n, random_state=n) for n in (4_000, 5_000, 20_000))
model = FrozenEstimator(HistGradientBoostingRegressor(random_state=0).fit(train.X, train.y))
rules = {"Split": SplitConformal(ALPHA), "PLCP": PLCP(alpha=ALPHA, random_state=0)}
fitted = {
    name: ConformalRegressor(model, threshold=rule).fit(cal.X, cal.y)
    for name, rule in rules.items()
}
sets = {name: conformal.predict_set(test.X) for name, conformal in fitted.items()}
covered = {name: intervals.contains(test.y) for name, intervals in sets.items()}

# %%
# Groups that we can name
# -----------------------
# Exact bounds for each group and for all at once, and an exact test of which groups are below 0.9.
# Groups may be labels, masks that overlap, columns of a frame, or learned.

noise = metrics.quantile_bins(test.sigma, 8)
tables = {
    name: metrics.coverage_by_group(covered[name], noise, sets[name].size, alpha=ALPHA)
    for name in sets
}
for name, table in tables.items():
    print(f"{name}: coverage by noise\n{table}\n")

# %%
# Groups that we cannot name
# --------------------------
# A classifier learns to predict misses from x. Its success is a lower bound on how far
# coverage given x is from 0.9: the excess risk of the target coverage. Paired over the same rows,
# the difference between two methods is known far better than either.

risks = {name: metrics.ert(test.X, mask, ALPHA) for name, mask in covered.items()}
print(metrics.compare(risks), "\n")
scores = {name: metrics.interval_score(each, test.y, ALPHA) for name, each in sets.items()}
print(metrics.compare(scores), "\n")
worst = metrics.worst_slab(test.X, covered["Split"])
print(worst)

# %%
# Figures
# -------
# Left: coverage by noise. Right: what the classifier predicted, and what was observed.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for color, name in zip(("#9a9a9a", "#1f6fb4"), sets, strict=True):
    table, predicted = tables[name], risks[name].table
    reach = np.array([table.coverage - table.low_all, table.high_all - table.coverage])
    left.errorbar(np.arange(len(noise)), table.coverage, reach, fmt="o-", color=color, label=name)
    reach = np.array(
        [predicted["coverage"] - predicted["low"], predicted["high"] - predicted["coverage"]]
    )
    right.errorbar(
        predicted["predicted"], predicted["coverage"], reach, fmt="o", color=color, label=name
    )
left.set(title="coverage by noise, 95 % at once", xlabel="eighth of the rows, by noise")
right.plot([0.6, 1], [0.6, 1], ":", color="black", linewidth=1, label="predicted as observed")
right.set(title="observed coverage and prediction from x", xlabel="predicted coverage")
for axes in (left, right):
    axes.axhline(1 - ALPHA, color="black", linewidth=0.8)
    axes.set(ylim=(0.6, 1.01))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="lower left" if axes is left else "lower right")
options.output.mkdir(parents=True, exist_ok=True)
figure.savefig(options.output / "diagnostics.png", dpi=120)

# %%
# To hand on
# ----------
# A page of exact bounds, what was assumed, on which data, when, with which versions.

certificate = certify(fitted["PLCP"], test.X, test.y, groups=noise)
certificate.to_json(options.output / "certificate.json")
print(certificate)
