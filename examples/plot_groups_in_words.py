"""
Learned groups in words
=======================

A rule that learned groups can say who is in them: in rules where short rules exist, by what is
typical of a group where they do not, and by the columns that move rows between groups. We read the
groups of two models: one predicts how many bicycles are rented in an hour, the other wages.
"""

# %%
# Bicycles: when are predictions uncertain?
# -----------------------------------------
# Hours of one day resemble each other, so whole days go to training, calibration and the words, and
# ``groups=`` tells ``fit`` which rows belong together.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

from plcp import PLCP, ConformalRegressor
from plcp.datasets import load_bikes, load_wages
from plcp.explain import explain_groups, partition_importance


def with_categories(table):
    text = [name for name in table if table[name].dtype.kind not in "if"]
    return table.astype(dict.fromkeys(text, "category"))


bikes = load_bikes()
bikes = bikes[bikes["weather"] != "heavy rain/snow"]  # a single hour
X, y = with_categories(bikes.drop(columns=["rentals", "day", "month"])), bikes["rentals"]
learn, calibrate, new = (bikes["day"] % 3 == third for third in range(3))

trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
trees.fit(X[learn], y[learn])
rule = PLCP(n_groups=4, within="constant", calibration="cross", random_state=0)
model = ConformalRegressor(FrozenEstimator(trees), threshold=rule)
model.fit(X[calibrate], y[calibrate], groups=bikes["day"][calibrate])

# %%
# Four groups of hours, each with an interval of its own length: prediction ± threshold.

thresholds = model.tail_rules_[0].thresholds_
print(", ".join(f"group {i}: ± {each:.0f} bicycles" for i, each in enumerate(thresholds)))

# %%
# :func:`plcp.explain.explain_groups` says who they are. Give it rows that the rule did not learn
# from: rules are found on one half of them and judged by the other.

explanation = explain_groups(model, X[new])
print(explanation)

# %%
# The first part divides all rows into a few *kinds*, from short intervals to long ones. The second
# describes each group: by a rule, if at least 80 % of the rule's rows are in the group and at least
# 80 % of the group follow the rule; otherwise by what is typical. Group 3 reads: its hours
# are mostly warm and windy afternoons, and seldom in winter. The third has the importance of each
# column. These groups are calibrated asymptotically (``calibration="cross"``); the groups of the
# default rule around a frozen model carry no promise of their own. The objects hold the same as
# numbers:

first = explanation.groups[0]
print(first.name, f"({first.n} hours)", sep=" ")
print(pd.DataFrame(explanation.importance).round(3).head(3))

# %%
# Rules name hours, so we draw hours: the share of each group in every hour of the day. Predictions
# are least certain in the rush hours of working days and from noon to evening on days off.

groups, hours = model.groups(X[new]), bikes.loc[new, "hour"].to_numpy()
colors = plt.colormaps["Blues"](np.linspace(0.2, 0.95, len(thresholds)))
figure, axes = plt.subplots(2, 1, figsize=(8, 5.5), sharex=True, layout="constrained")
for ax, (answer, title) in zip(
    axes, [("yes", "working days"), ("no", "days off: weekends and holidays")], strict=True
):
    days = (bikes.loc[new, "working_day"] == answer).to_numpy()
    shares = pd.crosstab(hours[days], groups[days], normalize="index")
    bottom = np.zeros(24)
    for group, color in enumerate(colors):
        share = shares.get(group, pd.Series(0.0, index=range(24))).to_numpy()
        label = f"± {thresholds[group]:.0f}"
        ax.bar(range(24), share, bottom=bottom, width=0.92, color=color, label=label)
        bottom += share
    ax.set_title(title, loc="left", fontsize=10)
    ax.set(yticks=[0, 1], yticklabels=["0", "100 %"], xlim=(-0.6, 23.6))
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(length=0)
axes[1].set(xlabel="hour of the day", xticks=range(0, 24, 3))
figure.legend(
    *axes[0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=4,
    frameon=False,
    title="learned groups: prediction ± so many bicycles",
)
_ = figure.suptitle("Rentals are hard to predict in rush hours and on days off, easy at night")

# %%
# Wages: does a group stand for a sensitive column?
# -------------------------------------------------
# The columns named as ``sensitive`` are compared with the groups, whether the rule uses them
# or not. Cramér's V is 0 where groups and column are independent, and 1 where groups determine it.

wages = load_wages()
X, y = with_categories(wages.drop(columns="wage")), wages["wage"]
used = X.drop(columns=["race", "year"])
model = ConformalRegressor(
    HistGradientBoostingRegressor(
        categorical_features="from_dtype", max_iter=50, max_leaf_nodes=8, random_state=0
    ),
    threshold=PLCP(n_groups=4, within="constant"),
    random_state=0,
).fit(used[:2_000], y[:2_000])
new = X[2_000:]
explanation = explain_groups(model, used[2_000:], sensitive=new[["race"]])
for one in explanation.sensitive:
    print(f"{one.dependence:.2f}", one.text)

# %%
# Which columns do?
# -----------------
# Importance is how far rows move between groups when the column is shuffled, relative to shuffling
# all columns: 0 where they stay, 1 where they move as far as if all columns were shuffled.
# :func:`plcp.explain.partition_importance` computes it alone, for any function that gives groups.

importance = partition_importance(model.groups, used[2_000:])
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
names = [each.feature.replace("_", " ") for each in importance][::-1]
ax.barh(names, [each.value for each in importance][::-1], color="#1f6fb4", height=0.65)
ax.errorbar(
    [each.value for each in importance][::-1],
    names,
    xerr=[each.error for each in importance][::-1],
    fmt="none",
    ecolor="black",
    elinewidth=1,
)
ax.spines[["top", "right", "left"]].set_visible(False)
ax.tick_params(axis="y", length=0)
ax.set_xlabel("how far rows move between groups when the column is shuffled (1: as if all were)")
_ = ax.set_title("What makes wages hard to predict", loc="left")
plt.show()
