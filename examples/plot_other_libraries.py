"""
Working with other libraries
============================

Models, rules and partitions of plcp are scikit-learn estimators. This page combines them with
LightGBM, pandas and polars, with pipelines and ``GridSearchCV``, with a network of skorch whose own
layers the rule reads, hands learned groups to crepes and MAPIE, and predicts quantiles as skpro has
them.

It needs the extras ``boosting``, ``frames``, ``plot``, ``skpro`` and ``torch``
(:doc:`/start/install`), and ``pip install skorch crepes 'mapie[conditional]'``.
"""

import lightgbm
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import torch
from crepes import WrapRegressor
from mapie.conditional_conformal_prediction import ConditionalSplitConformalRegressor
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer
from skorch import NeuralNetClassifier
from skpro.metrics import PinballLoss
from torch import nn

from plcp import (
    PLCP,
    ConformalClassifier,
    ConformalRegressor,
    LinearQuantile,
    OrderedPartition,
    SplitConformal,
)
from plcp.datasets import load_wages, make_nonlinear
from plcp.interop import as_feature_map, bins
from plcp.interop.skpro import SkproConformal
from plcp.metrics import coverage_by_group, quantile_bins

# %%
# LightGBM, pandas and polars
# ---------------------------
# LightGBM reads the categories of pandas. So does the default rule: it needs no encoding.

wages = load_wages()
X, y = wages[["age", "education", "job"]].copy(), wages["wage"]
for column in ("education", "job"):
    X[column] = X[column].astype("category")
X_learn, X_new, y_learn, y_new = train_test_split(X, y, test_size=1_000, random_state=0)

trees = lightgbm.LGBMRegressor(n_estimators=60, learning_rate=0.05, verbose=-1, n_jobs=1)
model = ConformalRegressor(trees, random_state=0).fit(X_learn, y_learn)
sets = model.predict_set(X_new)
print(f"covered {sets.contains(y_new).mean():.3f}")

# %%
# Sets become a frame. Of a pandas frame they keep the index, so that a join brings each row its own
# interval.

print(X_new.join(sets.to_pandas()).head(3))

# %%
# A polars frame goes in and comes out alike.

people = pl.from_pandas(wages[["age", "education", "job"]])
encode = make_column_transformer(
    (OneHotEncoder(sparse_output=False), ["education", "job"]), remainder="passthrough"
)
by_ridge = make_pipeline(encode, Ridge())
model = ConformalRegressor(by_ridge, random_state=0).fit(people[:2_000], y[:2_000])
print(pl.concat([people[2_000:], model.predict_set(people[2_000:]).to_polars()], how="horizontal"))

# %%
# A pipeline inside, or outside
# -----------------------------
# Inside a conformal estimator, a pipeline belongs to the model, and the rule reads ``X`` as it is,
# beside the prediction. Most of the time this is what you want: the groups are then found, and can
# be described, in the columns that you know. If the pipeline ends in the conformal estimator, the
# rule reads what the steps before it make of ``X``.

task = make_nonlinear(3_000, random_state=0)
learn, new = slice(0, 2_000), slice(2_000, None)

inside = ConformalRegressor(make_pipeline(SplineTransformer(), Ridge()), random_state=0)
inside.fit(task.X[learn], task.y[learn])
print(inside.predict_set(task.X[new]))

outside = make_pipeline(SplineTransformer(), ConformalRegressor(Ridge(), random_state=0))
outside.fit(task.X[learn], task.y[learn])
print(outside[-1].predict_set(outside[:-1].transform(task.X[new])))

# %%
# A search over rules
# -------------------
# A rule is a regressor of scores: ``fit(X, scores)``. Its ``score`` is the negative pinball loss of
# the thresholds, which is best where coverage is right for every ``X``. So ``GridSearchCV``
# compares rules and their parameters.

train, cal, more, new = (make_nonlinear(2_000, random_state=seed) for seed in range(4))
ridge = make_pipeline(SplineTransformer(), Ridge()).fit(train.X, train.y)
scores = np.abs(cal.y - ridge.predict(cal.X))

search = GridSearchCV(
    PLCP(calibration="held-out", random_state=0),
    {"partition": [None, OrderedPartition(LinearQuantile())], "n_groups": [2, 4]},
    cv=3,
)
search.fit(cal.X, scores)
results = search.cv_results_
for params, score in zip(results["params"], results["mean_test_score"], strict=True):
    print(f"{-score:.4f} {params}")

# %%
# The winner has seen these rows, so take its parameters and calibrate on others.

winner = PLCP(**search.best_params_, random_state=0)
chosen = ConformalRegressor(FrozenEstimator(ridge), threshold=winner).fit(more.X, more.y)
print(f"covered {chosen.predict_set(new.X).contains(new.y).mean():.3f}")

# %%
# crepes and MAPIE with learned groups
# ------------------------------------
# crepes calibrates within Mondrian categories, and MAPIE under a feature map. Both want the groups
# from you. :func:`plcp.interop.bins` and :func:`plcp.interop.as_feature_map` hand them learned
# ones. Give crepes and MAPIE other rows to calibrate on than the rule was fitted to.

rule = PLCP(n_groups=8, random_state=0).fit(cal.X, scores)

alone = WrapRegressor(ridge)
alone.calibrate(more.X, more.y)
mondrian = WrapRegressor(ridge)
mondrian.calibrate(more.X, more.y, mc=bins(rule))
mapie = ConditionalSplitConformalRegressor(as_feature_map(rule), ridge, 0.9)
mapie.conformalize(more.X, more.y)

intervals = {
    "crepes": alone.predict_int(new.X, confidence=0.9),
    "crepes, learned groups": mondrian.predict_int(new.X, confidence=0.9),
    "MAPIE, learned groups": mapie.predict_interval(new.X)[1][:, :, 0],
}
noise = quantile_bins(new.sigma, 5)  # the true noise, which no method is given
tables = {}
for name, ends in intervals.items():
    covered = (ends[:, 0] <= new.y) & (new.y <= ends[:, 1])
    tables[name] = coverage_by_group(covered, noise, ends[:, 1] - ends[:, 0])
    print(f"{name:24s}", *[f"{value:.2f}" for value in tables[name].coverage])

# %%
# Without groups crepes covers too many of the predictable rows and too few of the noisy ones. With
# learned groups both libraries come closer to 90 % at either end.

STYLES = {
    "crepes": ("#6e6e6e", "s-"),
    "crepes, learned groups": ("#1f6fb4", "o-"),
    "MAPIE, learned groups": ("#b85c00", "^--"),
}
figure, ax = plt.subplots(figsize=(8.5, 3.8))
figure.subplots_adjust(right=0.7, bottom=0.15)
for (name, table), shift in zip(tables.items(), (0, -0.018, 0.018), strict=True):
    color, style = STYLES[name]
    ax.plot(range(5), table.coverage, style, color=color)
    ax.text(4.15, table.coverage[-1] + shift, name, color=color, va="center", fontweight="bold")
ax.axhline(0.9, color="black", linewidth=1, linestyle=":")
ax.text(0, 0.893, "target 90 %", va="top")
ax.set_xticks(range(5), ["quiet", "", "noise of the row", "", "loud"])
ax.set(ylabel="coverage", title="With learned groups, crepes and MAPIE miss fewer noisy rows")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Quantiles and intervals as skpro has them
# -----------------------------------------
# skpro has one interface for everything that predicts intervals, quantiles or distributions, with
# pipelines, searches and metrics around it. :class:`plcp.interop.skpro.SkproConformal` is a
# conformal regressor of this kind. Each tail of its score has a threshold of its own, so that a
# label lies below the quantile at 0.95 with that probability at least, and below the one at 0.05
# with that probability at most.

regressor = SkproConformal(Ridge(), random_state=0).fit(more.X, more.y)
quantiles = regressor.predict_quantiles(new.X, alpha=[0.05, 0.25, 0.75, 0.95])
for (_, p), column in quantiles.items():
    print(f"below the quantile at {p:.2f}: {(new.y < column).mean():.3f}")
print(f"pinball loss of all four: {PinballLoss()(new.y, quantiles):.3f}")

# %%
# ``fit`` calibrated the coverages 0.5 and 0.9, whose ends these are. Any other coverage is
# calibrated for the call that requests it, around the same trained model.

print(regressor.predict_interval(new.X[:3], coverage=[0.5, 0.8, 0.9]).round(2))

# %%
# A skorch network that lends its layers
# --------------------------------------
# ``features`` is what the rule reads in place of ``X``: some columns, a function, or a network cut
# before its last layer. The groups are then learned from what the network makes of a row, be it of
# a table, an image or a text. Here six kinds of parts are recognised from ten measurements; three
# in ten rows come from a worn sensor, which is noisier and not recorded.

torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
n = 9_000
y = rng.integers(6, size=n)
worn = rng.random(n) < 0.3
noise = np.where(worn, 1.5, 0.5)[:, None] * rng.standard_normal((n, 10))
X = (rng.standard_normal((6, 10))[y] + noise).astype(np.float32)
train, cal, test = np.array_split(np.arange(n), 3)

network = NeuralNetClassifier(
    nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 6)),
    criterion=nn.CrossEntropyLoss,
    optimizer=torch.optim.Adam,
    lr=3e-3,
    max_epochs=10,
    batch_size=64,
    train_split=None,
    verbose=0,
)
network.fit(X[train], y[train])
backbone = network.module_[:-1]  # 16 numbers per row

sensor = np.where(worn, "worn sensor", "new sensor")[test]
for name, rule in {"Split": SplitConformal(), "PLCP": PLCP(random_state=0)}.items():
    model = ConformalClassifier(FrozenEstimator(network), threshold=rule, features=backbone)
    sets = model.fit(X[cal], y[cal]).predict_set(X[test])
    print(name, coverage_by_group(sets.contains(y[test]), sensor, sets.size), sep="\n")

# %%
# ``features`` may also name columns, for a rule that should read fewer of them than the model does:
# ``ConformalRegressor(model, features=["age", "hours"])``.
