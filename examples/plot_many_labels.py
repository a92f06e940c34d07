"""
Many labels: common and rare, by day and by night
=================================================

A classifier of 30 animal species gets pictures of camera traps, by day and by night. Sets of labels
that contain the true species 90 % of the time can fail in two ways: for a kind of *input* (pictures
in the dark) or for a *label* (a rare species). The two have different remedies, and this page shows
both, together with the choice of the score. The data are simulated.

This page needs the extras ``frames`` and ``plot`` (:doc:`/start/install`).
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from plcp import (
    PLCP,
    ConformalClassifier,
    CumulativeProbability,
    LabelProbability,
    SplitConformal,
)
from plcp.metrics import coverage_by_group

# %%
# Thirty species
# --------------
# Species k occurs in proportion to 1 / k, so the first is thirty times as common as the last. The
# darker the picture, the noisier its features. Darkness is one of the columns.

rng = np.random.default_rng(0)
N_SPECIES = 30
centres = 1.6 * rng.normal(size=(N_SPECIES, 8))
shares = 1 / np.arange(1, N_SPECIES + 1)
shares /= shares.sum()


def take_pictures(n):
    species, darkness = rng.choice(N_SPECIES, n, p=shares), rng.random(n)
    noise = (0.5 + 1.5 * darkness)[:, None] * rng.normal(size=(n, 8))
    return np.column_stack([centres[species] + noise, darkness]), species


(X_train, y_train), (X_cal, y_cal), (X_new, y_new) = map(take_pictures, (4_000, 4_000, 8_000))
classifier = LogisticRegression(max_iter=500).fit(X_train, y_train)
trained = FrozenEstimator(classifier)
print(f"accuracy {classifier.score(X_new, y_new):.2f}")

# %%
# Which score?
# ------------
# A score says how badly a label fits.
#
# - ``LabelProbability``, the default, is one minus the predicted probability of the label.
#   With one threshold for all, its sets tend to be the smallest on average. A set may be empty.
# - ``LabelProbability(never_empty=True)`` keeps the likeliest label in every set.
# - ``CumulativeProbability`` adds up the probabilities of the likelier labels. Its sets grow more
#   evenly with the difficulty of the input, and are never empty by default.
#
# Each score goes with any rule. With many labels ``CumulativeProbability`` suits rules whose
# thresholds vary with the input, since a threshold near the largest score admits all labels at once
# in ``LabelProbability``.

rules = {"Split": SplitConformal(), "PLCP": PLCP(random_state=0)}
scores = {
    "LabelProbability()": LabelProbability(),
    "LabelProbability(never_empty=True)": LabelProbability(never_empty=True),
    "CumulativeProbability()": CumulativeProbability(),
}
table, sets = [], {}
for score_name, score in scores.items():
    for rule_name, rule in rules.items():
        model = ConformalClassifier(trained, score, rule).fit(X_cal, y_cal)
        found = sets[score_name, rule_name] = model.predict_set(X_new)
        facts = found.contains(y_new).mean(), found.size.mean(), found.is_empty.mean()
        table.append([score_name, rule_name, *facts])
columns = ["score", "rule", "covered", "labels", "empty"]
print(pd.DataFrame(table, columns=columns).round(3).to_string(index=False))

# %%
# Which promise?
# --------------
# ``label_conditional=True`` fits one rule for each label. With ``SplitConformal()`` each species is
# covered 90 % of the time, in finite samples, and whatever the shares of the species are where the
# model is used. It makes no promise for dark pictures. ``PLCP()`` does the opposite: it learns
# which inputs are hard, and rare species remain harder than common ones.

score = CumulativeProbability()
by_label = ConformalClassifier(trained, score, SplitConformal(), label_conditional=True)
by_label.fit(X_cal, y_cal)
print(by_label.guarantee_)

methods = {
    "Split": sets["CumulativeProbability()", "Split"],
    "PLCP": sets["CumulativeProbability()", "PLCP"],
    "per label": by_label.predict_set(X_new),
}
darkness = np.digitize(X_new[:, -1], [0.25, 0.5, 0.75])
rarity = np.digitize(y_new, [3, 10])
results = {
    name: [
        coverage_by_group(found.contains(y_new), groups, found.size)
        for groups in (darkness, rarity)
    ]
    for name, found in methods.items()
}
for name, found in methods.items():
    print(f"{name:10s} {found.contains(y_new).mean():.3f} covered, {found.size.mean():.2f} labels")

# %%
# Grey squares away from the line are those that Split fails. The learned groups of PLCP (blue)
# repair the left picture, one rule per label (orange) the right one.

COLORS = {"Split": "#6e6e6e", "PLCP": "#1f6fb4", "per label": "#b85c00"}
MARKERS = {"Split": "s", "PLCP": "o", "per label": "^"}
KINDS = [
    ["daylight", "dusk", "dark", "darkest"],
    ["3 most common", "7 next", "20 rarest"],
]
figure, axes = plt.subplots(1, 2, figsize=(9, 4.1))
figure.subplots_adjust(left=0.1, right=0.98, wspace=0.4, top=0.77, bottom=0.13)
for side, (ax, kinds) in enumerate(zip(axes, KINDS, strict=True)):
    rows = np.arange(len(kinds))
    for name, tables in results.items():
        label = name if side == 0 else None
        style = {"color": COLORS[name], "markersize": 10, "label": label, "zorder": 3}
        ax.plot(tables[side].coverage, rows, MARKERS[name], **style)
    ax.axvline(0.9, color="black", linewidth=1, linestyle=":")
    ax.text(0.896, -0.38, "target", ha="right", fontsize=9)
    ax.set_yticks(rows, kinds)
    ax.set(ylim=(len(kinds) - 0.5, -0.5), xlim=(0.73, 1.01), xlabel="coverage")
    ax.grid(axis="y", color="#dddddd")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
axes[0].set_title("by darkness of the picture:\nlearned groups help", fontsize=11)
axes[1].set_title("by rarity of the species:\none rule per label helps", fontsize=11)
figure.legend(frameon=False, loc="upper center", ncols=3, fontsize=11)
plt.show()

# %%
# Both at once
# ------------
# ``ConformalClassifier(..., threshold=PLCP(), label_conditional=True)`` learns groups within each
# label. That needs hundreds of calibration rows per label; a label with fewer gets Split's
# threshold, and one with fewer than nine (at alpha = 0.1) is in every set, with a warning.
#
# More about rare labels, empty sets and hundreds of classes is in :doc:`/guides/many_classes`.
