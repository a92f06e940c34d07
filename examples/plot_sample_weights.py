"""
Weights, shifts, and rows that belong together
==============================================

Coverage is promised for new rows that are drawn as the calibration rows were. Here are two ways in
which they are not, and what to do: a survey that reached some people more often than others, which
needs *weights*; and several rows of the same patient, which need *groups of rows*.
"""

# %%
# A survey that reached some people less often
# --------------------------------------------
# Suppose that only one in eight people with a college degree or more answered, and everybody else.
# The intervals are meant for the whole population.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from plcp import PLCP, ConformalRegressor, SplitConformal
from plcp.datasets import load_wages

wages = load_wages()
X, y = wages.drop(columns="wage"), wages["wage"]
text = [name for name in X if X[name].dtype.kind not in "if"]
encode = make_column_transformer((OneHotEncoder(), text), remainder=StandardScaler())
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=600, random_state=0)
model = FrozenEstimator(make_pipeline(encode, Ridge()).fit(X_train, y_train))

answers = np.where(X_rest["education"].isin(["college", "advanced degree"]), 1 / 8, 1)

# %%
# A calibration row that stands for w people of the population gets the weight w: here one over the
# probability that such a person answered. ``fit`` takes it as ``sample_weight``. It counts rows: a
# weight of 2 is a row that stands there twice, and a new row has weight one. The
# guarantee asks for a scale on which no new row would have a weight above one; with hundreds of
# rows the scale hardly matters. If ``fit`` trains the model as well, the model gets the
# weights too. You get a warning if it takes none; scikit-learn's metadata routing is followed where
# it is on.
#
# Often the probabilities are not known, but there are unlabelled rows of the population. A
# classifier that separates them from calibration rows gives odds p / (1 - p), which estimate the
# same ratio up to a factor.


def estimated_weights(X_cal, X_population):
    both = encode.fit(X).transform(X_population), encode.transform(X_cal)
    is_population = np.repeat([1, 0], [len(X_population), len(X_cal)])
    classifier = LogisticRegression(C=10, max_iter=1_000).fit(np.vstack(both), is_population)
    odds = np.exp(classifier.decision_function(both[1]))
    return odds / odds.mean()


# %%
# Twelve surveys, each with other people. The intervals are tested on rows of the whole population
# that were not in the survey.

coverage = {}
for seed in range(12):
    rng = np.random.default_rng(seed)
    is_new = rng.uniform(size=len(X_rest)) < 0.4
    asked = ~is_new & (rng.uniform(size=len(X_rest)) < answers)
    X_cal, y_cal, X_new, y_new = X_rest[asked], y_rest[asked], X_rest[is_new], y_rest[is_new]
    weights = {
        "no weights": None,
        "known weights": 1 / answers[asked],
        "estimated weights": estimated_weights(X_cal, X_new),
    }
    for name, weight in weights.items():
        split = ConformalRegressor(model, threshold=SplitConformal(alpha=0.1))
        split.fit(X_cal, y_cal, sample_weight=weight)
        hits = split.predict_set(X_new).contains(y_new)
        coverage.setdefault(f"Split, {name}", []).append(hits.mean())

# %%
# A picture for both parts of this page: a dot for each repetition, a bar for their mean.


def draw(coverage, title):
    _, ax = plt.subplots(figsize=(8, 0.9 + 0.55 * len(coverage)), layout="constrained")
    for row, (name, values) in enumerate(coverage.items()):
        good = name.split(", ")[-1] not in ("no weights", "rows divided at random")
        color = "#1f6fb4" if good else "#e08214"
        ax.plot(values, np.full(len(values), row), "o", color=color, alpha=0.4, markersize=5)
        mean = np.mean(values)
        ax.plot([mean, mean], [row - 0.3, row + 0.3], color=color, linewidth=3)
        label = {"ha": "center", "color": color, "bbox": {"color": "white", "pad": 0.5}}
        ax.text(mean, row - 0.4, f"{mean:.2f}", **label)
    ax.axvline(0.9, color="black", linewidth=1, linestyle="--")
    ax.set_yticks(range(len(coverage)), coverage)
    ax.set_ylim(len(coverage) - 0.5, -0.75)
    ax.set_xlabel("coverage of new rows (dashed: target)")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_title(title, loc="left")


draw(coverage, "Without weights, the people who did not answer are missed")

# %%
# What does the guarantee say? It holds as far as weights are likelihood ratios: how much likelier
# such a row is among new rows than among calibration rows. So it is called approximate:

print(split.guarantee_)

# %%
# ``PLCP`` takes weights in the same way, and learns with them too. It often needs them less: its
# thresholds depend on x, so a shift of x alone disturbs it less than one threshold for all rows.
# The last of the surveys:

for name, weight in weights.items():
    rule = PLCP(alpha=0.1, random_state=0)
    plcp = ConformalRegressor(model, threshold=rule).fit(X_cal, y_cal, sample_weight=weight)
    hits = plcp.predict_set(X_new).contains(y_new)
    print(f"PLCP, {name}: {hits.mean():.2f}")

# %%
# Weights do not correct a change of y given x. To detect that, use a monitor
# (:mod:`plcp.monitoring`).
#
# Rows that belong together
# -------------------------
# Eighty patients come twenty times each. Each has an effect of their own. The columns do not
# explain it, but they identify the patient, so that a flexible model can memorise it.


def visits(n_patients, n_visits, rng):
    patient = np.repeat(np.arange(n_patients), n_visits)
    traits = rng.normal(size=(n_patients, 4))
    effect = rng.normal(size=n_patients)
    y = traits[patient, 0] + effect[patient] + 0.5 * rng.normal(size=len(patient))
    visit = rng.normal(size=(len(patient), 1))
    return np.hstack([traits[patient], visit]), y, patient


# %%
# If rows are divided at random, patients of calibration rows are known to the model. Their errors
# are small, and so are the thresholds: too small for new patients. With ``groups=patient`` all
# visits of a patient stay on one side of each division, and each patient counts as one.

coverage = {"rows divided at random": [], "patients kept together, groups=": []}
for seed in range(12):
    rng = np.random.default_rng(seed)
    rows, y_rows, patient = visits(80, 20, rng)
    new_rows, y_new_rows, _ = visits(1_000, 1, rng)
    for name, groups in zip(coverage, [None, patient], strict=True):
        conformal = ConformalRegressor(
            DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
            threshold=SplitConformal(),
            alpha=0.1,
            random_state=0,
        ).fit(rows, y_rows, groups=groups)
        coverage[name].append(conformal.predict_set(new_rows).contains(y_new_rows).mean())
draw(coverage, "A model that knows its patients misses new ones")
print(conformal.guarantee_)

# %%
# The promise then is for a visit drawn at random from a new patient. It does not hold for a chosen
# one, such as the first visit, which may be harder to predict than the others. What counts is the
# number of patients, not of rows: with fewer than nine calibration patients the threshold at
# alpha = 0.1 is infinite.
plt.show()
