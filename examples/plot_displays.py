"""
Six displays for a notebook
===========================

``plcp.plotting`` draws as scikit-learn does: each display has ``from_estimator`` and
``from_predictions``, keeps the numbers it shows, and can be drawn again on other axes. Sets of any
library can be drawn, since ``from_predictions`` takes arrays.
"""

# %%
# Two models to draw
# ------------------
# Bicycles rented in an hour: the same regressor, with one threshold for all rows (Split) and
# with learned ones (PLCP). One day in three trains, one calibrates, one is drawn. Hours of a day
# resemble each other, so ``groups=`` says which rows belong together.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

from plcp import PLCP, ConformalRegressor, SplitConformal
from plcp.datasets import load_bikes
from plcp.plotting import (
    ComparisonDisplay,
    CoverageDisplay,
    HistoryDisplay,
    SelectionDisplay,
    SizeDisplay,
    ThresholdDisplay,
)

bikes = load_bikes()
bikes = bikes[bikes["weather"] != "heavy rain/snow"]  # a single hour
X, y = bikes.drop(columns=["rentals", "day", "month"]), bikes["rentals"]
text = [name for name in X if X[name].dtype.kind not in "if"]
X = X.astype(dict.fromkeys(text, "category"))
learn, calibrate, new = (bikes["day"] % 3 == third for third in range(3))
X_new, y_new = X[new], y[new]

trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
model = FrozenEstimator(trees.fit(X[learn], y[learn]))
rules = {"Split": SplitConformal(), "PLCP": PLCP(random_state=0)}
days = bikes["day"][calibrate]
fitted = {
    name: ConformalRegressor(model, threshold=rule).fit(X[calibrate], y[calibrate], groups=days)
    for name, rule in rules.items()
}

# %%
# Before and after
# ----------------
# ``ComparisonDisplay`` joins the coverage of two models in each group. Groups are columns,
# functions of ``X``, masks or labels; if none are named, those that the rule learned. Thin lines
# are exact intervals, for independent rows, that hold for all groups of a model at once.

groups = {
    "weather": "weather",
    "night": lambda X: X["hour"] < 7,
    "rush hour": lambda X: (X["working_day"] == "yes") & X["hour"].isin([7, 8, 17, 18]),
    "day off": lambda X: X["working_day"] == "no",
}
display = ComparisonDisplay.from_estimator(
    fitted["PLCP"], X_new, y_new, before=fitted["Split"], groups=groups
)
_ = display.figure_.suptitle("ComparisonDisplay: who gains?")

# %%
# The numbers are in ``tables``:

print(display.tables["PLCP"])

# %%
# PLCP covers a little more than 90 % here: as each day counts as one, few days calibrate each of
# its rules, and a rank among few is rounded up.

# %%
# Coverage, of any number of methods
# ----------------------------------
# ``CoverageDisplay.from_predictions`` takes nothing but what was covered, for each method. The
# thick line is the interval of one group alone, the thin one holds for all groups at once: where
# even the thin line ends left of the target, chance does not explain it.

sets = {name: conformal.predict_set(X_new) for name, conformal in fitted.items()}
covered = {name: each.contains(y_new) for name, each in sets.items()}
size = {name: each.size for name, each in sets.items()}
hours = X_new["hour"].to_numpy() // 4 * 4
parts = np.array([f"{hour:2d} to {hour + 3} h" for hour in hours])
display = CoverageDisplay.from_predictions(covered, parts)
_ = display.figure_.suptitle("CoverageDisplay: which groups are covered too seldom?")

# %%
# Length beside coverage
# ----------------------
# ``SizeDisplay`` shows what coverage costs. Split pays the same everywhere; PLCP saves at night and
# spends by day.

display = SizeDisplay.from_predictions(covered, size, parts, size_name="mean length, bicycles")
_ = display.figure_.suptitle("SizeDisplay: what does coverage cost?")

# %%
# Thresholds along the columns
# ----------------------------
# ``ThresholdDisplay`` draws the threshold of each row along one column, with the median and the
# middle 80 %:

display = ThresholdDisplay.from_estimator(fitted["PLCP"], X_new, "hour")
_ = display.figure_.suptitle("ThresholdDisplay: what do thresholds follow?")

# %%
# … or the median threshold along two:

display = ThresholdDisplay.from_estimator(fitted["PLCP"], X_new, ["hour", "temperature"])
_ = display.figure_.suptitle("ThresholdDisplay of two columns")

# %%
# How the rule was fitted
# -----------------------
# The default mixes several regressors of the score by their out-of-fold loss; ``HistoryDisplay``
# draws what they got. For a network it draws the loss by epoch.

display = HistoryDisplay.from_estimator(fitted["PLCP"])
_ = display.figure_.suptitle("HistoryDisplay: how was the rule fitted?")

# %%
# With constant thresholds their number matters. It is chosen on held-out rows:
# ``SelectionDisplay`` draws the loss of each number that was tried.

scores = np.abs(y[calibrate] - model.predict(X[calibrate]))
staircase = PLCP(within="constant", calibration="held-out", random_state=0)
display = SelectionDisplay.from_estimator(staircase.fit(X[calibrate], scores))
_ = display.figure_.suptitle("SelectionDisplay: how many groups?")

# %%
# Axes of your own
# ----------------
# All displays take ``ax`` and keep what they drew, to be changed or drawn again.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", sharey=True)
for ax, name in zip(axes, fitted, strict=True):
    display = ThresholdDisplay.from_estimator(fitted[name], X_new, "hour", ax=ax)
    ax.get_legend().remove()
    ax.set_title(name)
axes[1].set_ylabel("")
figure.suptitle("Thresholds by hour")
plt.show()
