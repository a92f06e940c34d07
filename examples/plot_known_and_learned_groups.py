"""
Known and learned groups together
=================================

Some groups you can name: the law or common sense says who must not be failed. Others are known only
after the fact. Here are the rules for groups that are given, disjoint or overlapping, the rule that
learns groups, and a rule that holds for both at once.
"""

# %%
# Wages, by race, age and education
# ---------------------------------
# We name race and age. Education is not named, to see what becomes of groups that were
# forgotten. The groups overlap: a person has a race and an age.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from plcp import PLCP, BatchGCP, ConditionalCalibration, Groups, Mondrian, SplitConformal
from plcp.datasets import load_wages
from plcp.metrics import column_groups, coverage_by_group

wages = load_wages()
wages = wages[wages["race"] != "other"]  # 37 people are too few to speak of
X, y = wages.drop(columns="wage"), wages["wage"].to_numpy()

named = {
    "race": "race",
    "under 25": lambda X: X["age"] < 25,
    "60 and over": lambda X: X["age"] >= 60,
}
groups = Groups(named).fit(X)
print(groups.names_)
print(groups.transform(X[:3]).astype(int))

# %%
# Rules for groups that are given
# -------------------------------
# All rules have the same ``fit(X, scores)`` and ``predict(X)``. A *score* says how far off a
# prediction was, here the absolute error; a rule turns scores into a *threshold* for each
# row, and the interval is the prediction plus and minus the threshold.
#
# - ``Mondrian`` takes disjoint groups, and gives each its own conformal quantile. Exact in every
#   group in finite samples. Of several columns it takes the combinations, which soon
#   hold too few rows.
# - ``BatchGCP`` takes groups that overlap, by one quantile regression on their indicators: close to
#   90 % in each group, without being exact for a new row.
# - ``ConditionalCalibration`` takes groups that overlap, and covers each of them with at least
#   90 % in finite samples.
#
# A rule that learns groups
# -------------------------
# ``PLCP`` is given no groups.
#
# Both
# ----
# Groups may be functions of ``X``, so learned groups can be handed to ``ConditionalCalibration``
# beside the named ones. They must be learned from other rows than those that calibrate: here from
# the training rows, scored by models that did not see them.


def learned_from(rows, scores, seed):
    rule = PLCP(n_groups=4, within="constant", calibration="cross", random_state=seed)
    rule.fit(rows, scores)

    def learned(X):
        return rule.groups(X)[:, None] == np.arange(rule.n_groups_)

    return learned


text = [name for name in X if X[name].dtype.kind not in "if"]
encode = make_column_transformer((OneHotEncoder(), text), remainder="passthrough")
ridge = make_pipeline(encode, Ridge())

# %%
# Each row is tested once, in one of five folds; of the other rows half train and half
# calibrate. So the coverage of each group is an average over five calibrations, and less noisy
# than that of one.

rules = {
    "Split": SplitConformal(),
    "Mondrian\nby race": Mondrian("race"),
    "BatchGCP\nrace, age": BatchGCP(named),
    "Conditional\nrace, age": ConditionalCalibration(groups=named),
    "PLCP\nlearned": PLCP(random_state=0),
}
both = "Conditional\nboth"
covered = {name: np.zeros(len(X), dtype=bool) for name in (*rules, both)}
length = {name: np.zeros(len(X)) for name in covered}
for seed, (fit_rows, new) in enumerate(KFold(5, shuffle=True, random_state=0).split(X)):
    train, calibrate = fit_rows[::2], fit_rows[1::2]
    out_of_fold = np.abs(y[train] - cross_val_predict(ridge, X.iloc[train], y[train]))
    learned = learned_from(X.iloc[train], out_of_fold, seed)
    rules[both] = ConditionalCalibration(groups={**named, "learned": learned})

    ridge.fit(X.iloc[train], y[train])
    scores = np.abs(y[calibrate] - ridge.predict(X.iloc[calibrate]))
    errors = np.abs(y[new] - ridge.predict(X.iloc[new]))
    for name, rule in rules.items():
        thresholds = rule.fit(X.iloc[calibrate], scores).predict(X.iloc[new])
        covered[name][new], length[name][new] = errors <= thresholds, 2 * thresholds

# %%
# Who is covered?
# ---------------
# Colour is coverage beside the target: orange is too little, purple more than was asked.

kinds = column_groups(X, {**named, "education": "education"})
tables = {name: coverage_by_group(hits, kinds, length[name]) for name, hits in covered.items()}
order = [*range(5), *(5 + np.argsort(tables["Split"].coverage[5:]))]
names = [kinds.names[i].split("=")[-1] for i in order]
cells = np.array([table.coverage[order] for table in tables.values()]).T
figure, ax = plt.subplots(figsize=(8, 5.2), layout="constrained")
ax.imshow(cells, cmap="PuOr", vmin=0.74, vmax=1.06, aspect="auto")
for (i, j), value in np.ndenumerate(cells):
    dark = abs(value - 0.9) > 0.12
    ax.text(j, i, f"{value:.2f}", ha="center", va="center", color="white" if dark else "black")
ax.axhline(4.5, color="white", linewidth=6)
ax.set_xticks(range(len(tables)), tables)
sizes = tables["Split"].n[order]
ax.set_yticks(range(len(names)), [f"{one} ({n:,})" for one, n in zip(names, sizes, strict=True)])
ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
ax.spines[:].set_visible(False)
ax.text(-0.335, 0.76, "named", transform=ax.transAxes, rotation=90, va="center", weight="bold")
ax.text(-0.335, 0.26, "not named", transform=ax.transAxes, rotation=90, va="center", weight="bold")
_ = figure.suptitle("Coverage where 0.90 is meant: named groups alone leave others behind")

# %%
# Rules for named groups repair what was named, and leave advanced degrees where they were. PLCP
# raises their coverage without a name being given. The last rule does both: its promise is exact
# for the named groups and for the learned ones, and education gains since learned groups follow it.
# Coverage of a few hundred people is uncertain by two or three hundredths.
#
# What it costs, and what holds
# -----------------------------
# Mean length, in thousands of dollars, and the promise of each rule, on the last fold:

for name, rule in rules.items():
    print(f"{' '.join(name.split()):21} {length[name].mean():6.1f}  {rule.guarantee_}")
plt.show()

# %%
# Sometimes groups are known of past rows only, such as the hospital of a patient.
# :class:`~plcp.GroupProbabilities` learns to predict them, and stands in for them in
# :class:`~plcp.ConditionalCalibration`.
