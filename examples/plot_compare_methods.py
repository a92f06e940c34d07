"""
Compare methods on your own data
================================

Which method should you use? ``compare_methods`` fits every rule of the library to your rows, and
CQR, MAPIE and crepes beside them, and answers four questions: can misses be predicted from x, how
is the worst group covered, how long are the intervals, and how long does it take?

It needs ``pip install 'plcp[frames,plot]' crepes 'mapie[conditional]'``; without crepes or MAPIE
their methods are left out.
"""

# %%
# Your data, your model, your groups
# ----------------------------------
# Bicycles rented in an hour. Groups that you care about are named by functions of the table.

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingRegressor

import plcp
from plcp.comparison import ROSTER
from plcp.datasets import load_bikes

bikes = load_bikes().sample(3_000, random_state=0)
X = bikes[["hour", "working_day", "weather", "temperature", "humidity", "wind_speed"]].copy()
for column in ("working_day", "weather"):
    X[column] = X[column].astype("category")
y = bikes["rentals"].to_numpy()
groups = {
    "night": lambda X: X["hour"] < 7,
    "rush hour": lambda X: (X["working_day"] == "yes") & X["hour"].isin([7, 8, 17, 18]),
    "day off": lambda X: X["working_day"] == "no",
    "rain": lambda X: X["weather"].str.contains("rain"),
}
trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)

# %%
# All of them, on the same rows
# -----------------------------
# Rows are divided into folds. Each fold trains the model once on one part of the other rows, and
# every method calibrates on the rest. The sets of the fold's own rows are measured, so that each
# row is judged by sets that it had no part in.

found = plcp.compare_methods(X, y, trees, groups=groups, cv=3)
print(found)

# %%
# The table begins with the smallest conditional error: how far coverage given x is from 90 %, at
# least, as boosted trees predict it from x. Methods with a star may be the best in this respect:
# with 95 % confidence the best is among them, however many were compared.
#
# Where the error is left of zero, trees predicted no misses better than a constant does.

_ = found.plot()

# %%
# Could it be chance?
# -------------------
# Hours that are hard for one method are hard for all, so differences on the same rows are known
# better than each number. They are there for every metric, from any method.

print(found.differences("worst group", reference="split"))

# %%
# Which steps decided
# -------------------
# The recommendation takes the methods that may be the best by conditional error. Of these it takes
# those without infinite sets, then those that cover their worst group best, then the strongest kind
# of guarantee, then the smallest sets to within 5 %, then a guarantee in groups, then the simplest.
# Times never decide.

print(found.reason)

# %%
# Your priorities may differ. All numbers are in a frame: here, the shortest of those that may be
# the best.

table = found.to_pandas().set_index("method")
print(table[table["may_be_best"]].sort_values("size")[["size", "worst_group", "seconds"]].round(2))

# %%
# What the recommended method promises, and how it is made:

print(found.methods[found.recommended].guarantee)
print(found.methods[found.recommended].how)
print(ROSTER[found.recommended].about)

# %%
# Methods of your own
# -------------------
# A mapping adds rules, which are fitted around the same model, and estimators with
# ``predict_set`` or ``predict_interval``, which get all rows outside the fold.

mine = {
    "split": "split",
    "by hour": plcp.Mondrian("hour"),
    "tails apart": plcp.ConformalRegressor(trees, plcp.SignedResidual(), random_state=0),
}
print(plcp.compare_methods(X, y, trees, mine, groups=groups, cv=3).reason)

# %%
# This is one table of data. Rules that learn from x how large errors are leave the least to
# predict, without being given a group; :doc:`/explanation/benchmarks` has more data sets, and
# :doc:`/guides/which_method` says which rule promises what you need.

plt.show()
