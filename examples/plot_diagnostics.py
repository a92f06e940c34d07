"""
Where do sets fail, and how sure are we?
========================================

Two sets of intervals for the same rows, both of which cover 90 % on average. Which kinds of rows do
they fail, can a miss be predicted from x, and could the difference between the two be chance?
Everything here takes arrays, so intervals of any library can be measured.
"""

# %%
# Two sets of intervals
# ---------------------
# The data are generated, so that the truth is known: the noise depends on x, in a way that the
# rules are not given. *Split* has one threshold for all rows, *PLCP* learns where it must be
# larger.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

from plcp import PLCP, ConformalRegressor, SplitConformal, metrics
from plcp.datasets import make_nonlinear

ALPHA = 0.1
train, cal, test = (make_nonlinear(n, random_state=n) for n in (4_000, 5_000, 10_000))
model = FrozenEstimator(HistGradientBoostingRegressor(random_state=0).fit(train.X, train.y))
rules = {"Split": SplitConformal(ALPHA), "PLCP": PLCP(alpha=ALPHA, random_state=0)}
fitted = {
    name: ConformalRegressor(model, threshold=rule).fit(cal.X, cal.y)
    for name, rule in rules.items()
}
sets = {name: conformal.predict_set(test.X) for name, conformal in fitted.items()}
covered = {name: intervals.contains(test.y) for name, intervals in sets.items()}

# %%
# A number, its interval, and what the interval holds
# ---------------------------------------------------
# Each metric returns a :class:`plcp.metrics.Measure`. ``meaning`` says what its interval is meant
# to hold, and which way the estimate errs.

print(metrics.coverage(covered["Split"]))
print(metrics.coverage(covered["PLCP"]))
print(metrics.coverage(covered["PLCP"]).meaning)

# %%
# Groups that we can name
# -----------------------
# Bounds for each group are exact (Clopper and Pearson), those for all at once are wider. The last
# columns test whether a group is below 0.9, corrected by Holm for the number of groups.
# Groups may be labels, masks that overlap, or bins of a number, as here of the true noise.

noise = metrics.quantile_bins(test.sigma, 8)
tables = {
    name: metrics.coverage_by_group(covered[name], noise, sets[name].size, alpha=ALPHA)
    for name in sets
}
print(tables["Split"])

# %%
# Split covers nearly everything where the noise is small and fails where it is large:

colors = {"Split": "#7f7f7f", "PLCP": "#1f6fb4"}
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name, table in tables.items():
    reach = [table.coverage - table.low_all, table.high_all - table.coverage]
    eighths = np.arange(1, len(table.n) + 1)
    ax.errorbar(eighths, table.coverage, reach, fmt="o-", color=colors[name], linewidth=2)
ax.text(7.4, tables["Split"].coverage[-1], "Split", color=colors["Split"], ha="right")
ax.text(4.5, 0.85, "PLCP", color=colors["PLCP"])
ax.axhline(1 - ALPHA, color="black", linewidth=1, linestyle="--")
ax.text(1, 0.89, "target", va="top")
ax.set(xlabel="eighth of the rows, from little noise to much", ylabel="coverage", ylim=(0.55, 1.02))
ax.spines[["top", "right"]].set_visible(False)
_ = ax.set_title("Split: right on average, wrong in most groups (bars: 95 % at once)", loc="left")

# %%
# Groups that we cannot name
# --------------------------
# A classifier learns to predict misses from x, out of fold. If it can, coverage depends on x. Its
# success is the *excess risk of the target coverage* (ERT), a lower bound on the mean distance
# between coverage given x and 0.9.

risks = {name: metrics.ert(test.X, hits, ALPHA) for name, hits in covered.items()}
for name, risk in risks.items():
    print(f"{name}: {risk}")

# %%
# The table of the measure has bins of predicted coverage. For Split predictions range
# widely, and what is observed follows them: the misses have a pattern. For PLCP nearly all
# predictions are at the target.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
for ax, (name, risk) in zip(axes, risks.items(), strict=True):
    table = risk.table
    reach = [table["coverage"] - table["low"], table["high"] - table["coverage"]]
    ax.plot([0.4, 1], [0.4, 1], color="0.75", linewidth=1)
    ax.axhline(1 - ALPHA, color="black", linewidth=1, linestyle="--")
    ax.errorbar(table["predicted"], table["coverage"], reach, fmt="o", color=colors[name])
    ax.set(title=name, xlabel="coverage predicted from x", xlim=(0.4, 1.02), ylim=(0.4, 1.02))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("coverage observed")
axes[0].text(0.42, 0.91, "target", va="bottom")
axes[0].text(0.5, 0.46, "as predicted", color="0.45")
_ = figure.suptitle("Split's misses can be predicted, PLCP's hardly")

# %%
# The worst slab
# --------------
# ``worst_slab`` searches the rows between two parallel planes that are covered least. It chooses
# them on one half of the rows and measures on the other, so that it does not mistake noise for
# failure.

for name, hits in covered.items():
    print(f"{name}: {metrics.worst_slab(test.X, hits, random_state=0)}")

# %%
# Could it be chance?
# -------------------
# Paired over the same rows, a difference is known far better than either number.

print(metrics.compare(risks))
scores = {name: metrics.interval_score(each, test.y, ALPHA) for name, each in sets.items()}
print(metrics.compare(scores))

# %%
# Does coverage depend on the size of the set?
# --------------------------------------------
# Sets of some sizes may cover too little. Of one threshold all sets have one size, so this
# says nothing of Split.

print(metrics.size_stratified_coverage(covered["PLCP"], sets["PLCP"].size))
print(metrics.size_correlation(covered["PLCP"], sets["PLCP"].size))

# %%
# The truth, where it is known
# ----------------------------
# The mean squared error of coverage given x (MSCE) needs the law of y given x. Here it is normal
# with the known mean and noise. ERT in L2 estimates a lower bound on it, and needs no law.

law = norm(loc=test.mean, scale=test.sigma)
for name, each in sets.items():
    lower, upper = each.to_numpy().T
    given_x = law.cdf(upper) - law.cdf(lower)
    bound = metrics.ert(test.X, covered[name], ALPHA, norm="L2")
    print(f"{name}: {metrics.msce(given_x, ALPHA)}; lower bound, {bound}")
plt.show()
