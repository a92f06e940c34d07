"""
Several alphas at once
======================

One interval answers one question. Planners often want more than one: a narrow interval for an
ordinary day and a wide one for the worst case. ``alpha`` may be a list, in every rule and model:
each alpha gets thresholds of its own, and a set at a small alpha always contains those at larger
ones.
"""

# %%
# Bicycles rented in an hour
# --------------------------
# One day in three trains a model, one calibrates it, and one is kept for the end. Hours of a day
# resemble each other, so whole days go to each part, and ``groups=`` tells ``fit`` which rows
# belong together.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

from plcp import PLCP, ConformalRegressor
from plcp.datasets import load_bikes

bikes = load_bikes()
bikes = bikes[bikes["weather"] != "heavy rain/snow"]  # a single hour
text = [name for name in bikes if bikes[name].dtype.kind not in "if"]
X = bikes.drop(columns=["rentals", "day", "month"])
X = X.astype({name: "category" for name in text if name in X})
y = bikes["rentals"]
learn, calibrate, new = (bikes["day"] % 3 == part for part in range(3))

trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
trees.fit(X[learn], y[learn])

# %%
# One fit, four alphas
# --------------------
# ``share_partition=True`` learns one partition for all alphas, so that the fit takes as long as
# with one. Without it each alpha learns its own, and gives the very thresholds it would give
# alone, apart from the repair of crossings.

alphas = [0.05, 0.1, 0.2, 0.5]
rule = PLCP(alpha=alphas, calibration="held-out", share_partition=True, random_state=0)
model = ConformalRegressor(FrozenEstimator(trees), threshold=rule)
model.fit(X[calibrate], y[calibrate], groups=bikes["day"][calibrate])
sets = model.predict_set(X[new])
print(sets)

# %%
# Coverage and mean length at each alpha, on the days that were kept. Hours of a day are missed
# together, so coverage varies more than that of as many independent rows.

for alpha, covered, size in zip(
    alphas, sets.contains(y[new]).mean(axis=0), sets.size.mean(axis=0), strict=True
):
    print(f"alpha = {alpha:4}: meant {1 - alpha:.2f}, covered {covered:.3f}, length {size:6.1f}")

# %%
# Sets are nested: thresholds never cross. Where two of them would, the one of the smaller
# alpha is raised, so that sets only grow and no guarantee is lost.

ends = sets.to_pandas()
for narrow, wide in [(0.5, 0.2), (0.2, 0.1), (0.1, 0.05)]:
    assert (ends[f"lower_{wide}"] <= ends[f"lower_{narrow}"]).all()
    assert (ends[f"upper_{wide}"] >= ends[f"upper_{narrow}"]).all()
print(ends.head(3).round(0))
print(model.guarantee_)

# %%
# A fan
# -----
# Six of the days that were kept, in July. Bands are narrow at night and wide in the afternoon,
# since thresholds follow what is known of the hour. Intervals are cut at zero, as rentals are not
# negative. On 4 July, a holiday unlike others, many hours are missed together.

days = bikes.loc[new, "day"].to_numpy()
july = [182, 185, 188, 191, 194, 197]
bands, rented, hour = sets.clip(lower=0), y[new].to_numpy(), bikes.loc[new, "hour"].to_numpy()
figure, axes = plt.subplots(1, len(july), figsize=(8, 3.6), sharey=True, layout="constrained")
blues = plt.colormaps["Blues"](np.linspace(0.25, 0.8, len(alphas)))
for ax, day in zip(axes, july, strict=True):
    rows = days == day
    for alpha, color in zip(alphas, blues, strict=True):
        lower, upper = bands[alpha].to_numpy()[rows].T
        label = f"{100 * (1 - alpha):g} %"
        ax.fill_between(hour[rows], lower, upper, color=color, linewidth=0, label=label)
    ax.plot(hour[rows], rented[rows], "o", color="black", markersize=3, label="rented")
    date = pd.Timestamp(2011, 1, 1) + pd.Timedelta(days=day - 1)
    ax.set_title(f"{date:%a} {date.day} July", fontsize=9)
    ax.set(xticks=[0, 12], xticklabels=["0 h", "12 h"], xlim=(0, 23))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("bicycles in the hour")
figure.legend(
    *axes[0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=5,
    frameon=False,
    title="intervals",
)
_ = figure.suptitle("One fit, four nested intervals for every hour")

# %%
# One alpha at a time
# -------------------
# ``at`` gives the model at one alpha, wherever a single one is needed: to draw, to certify, to
# explain.

print(model.at(0.2).groups(X[new][:5]))
print(model.at(0.2).guarantee_)
plt.show()
