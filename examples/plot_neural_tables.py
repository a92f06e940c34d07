"""
Networks on tables: when do they find better groups?
====================================================

The default rule learns groups with boosted trees, which cut one column at a time. That suits most
tables. Where the difficulty of a row depends on a *direction* across many columns, as in embeddings
or measurements of a spectrum, trees need very many cuts, and a small network sees it at once. This
page shows one table of each kind, and how to choose without knowing the truth.

It needs the extras ``torch`` and ``plot`` (:doc:`/start/install`).
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from plcp import PLCP, OrderedPartition, SplitConformal
from plcp.datasets import make_nonlinear
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp

torch.set_num_threads(1)

# %%
# Two tables
# ----------
# In the first the noise depends on single columns. In the second it grows with the distance from a
# plane that is oblique to all 16 columns. The score of a row is its absolute error.


def columns_matter(n, seed):
    task = make_nonlinear(n, random_state=seed)
    return task.X, task.scores, task.sigma


def a_direction_matters(n, seed):
    direction = np.random.default_rng(0).normal(size=16) / 4
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 16))
    sigma = 0.3 + 1.5 * np.abs(X @ direction)
    return X, sigma * np.abs(rng.normal(size=n)), sigma


# %%
# Rules
# -----
# :class:`~plcp.partitions.torch.TorchQuantile` is a regressor of scores like any other: it takes
# the place of the boosted trees in an :class:`~plcp.OrderedPartition`. Any ``torch.nn.Module`` will
# do; ``mlp(64, 64)`` has two layers of 64 units. Columns are standardised unless you say otherwise.
# :class:`~plcp.partitions.torch.TorchPartition` with ``structure="softmax"`` is Algorithm 1 of the
# paper on the same network.

network = TorchQuantile(mlp(64, 64), epochs=40)
softmax = TorchPartition(mlp(64, 64), structure="softmax", epochs=40)
rules = {
    "Split": SplitConformal(),
    "trees (default)": PLCP(random_state=0),
    "network": PLCP(OrderedPartition(network), random_state=0),
    "network, softmax": PLCP(softmax, n_groups=6, calibration="split", random_state=0),
}
TABLES = {
    "noise depends on single columns": columns_matter,
    "noise depends on a direction": a_direction_matters,
}

# %%
# ``score`` is the negative pinball loss of the thresholds on new rows. It needs no knowledge of the
# truth, and is what to choose by: its excess over the smallest possible loss bounds the mean
# squared error of conditional coverage.

coverage = {}
for title, make in TABLES.items():
    X_cal, scores_cal, _ = make(5_000, seed=1)
    X_new, scores_new, sigma = make(10_000, seed=2)
    quarters = np.array_split(np.argsort(sigma), 4)
    print(title)
    for name, rule in rules.items():
        rule.fit(X_cal, scores_cal)
        covered = scores_new <= rule.predict(X_new)
        coverage[title, name] = [covered[rows].mean() for rows in quarters]
        loss = -rule.score(X_new, scores_new)
        print(f"  {name:17s} covered {covered.mean():.3f}, pinball loss {loss:.4f}")

# %%
# Coverage by noise
# -----------------
# Left, the trees are ahead of the network; right, the network is ahead of the trees.

STYLES = {
    "Split": ("#6e6e6e", "s-"),
    "trees (default)": ("#1f6fb4", "o-"),
    "network": ("#b85c00", "^-"),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
figure.subplots_adjust(left=0.08, right=0.84, bottom=0.16, top=0.83, wspace=0.12)
figure.suptitle("Trees find noise of single columns, networks that of a direction", y=0.98)
for ax, title in zip(axes, TABLES, strict=True):
    for name, (color, style) in STYLES.items():
        ax.plot(coverage[title, name], style, color=color, label=name)
    ax.axhline(0.9, color="black", linewidth=1, linestyle=":")
    ax.set_xticks(range(4), ["quiet", "", "", "noisy"])
    ax.set_xlabel("quarters of the rows, by noise")
    ax.set_title(title, fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("coverage")
axes[0].text(0, 0.893, "target 90 %", va="top")
for name, (color, _) in STYLES.items():
    end = coverage["noise depends on a direction", name][-1]
    axes[1].text(3.12, end, name, color=color, va="center", fontweight="bold")
plt.show()

# %%
# Which one for your table?
# -------------------------
# Fit both and compare ``rule.score`` on rows that neither has seen, or let
# :class:`~sklearn.model_selection.GridSearchCV` do so, as in
# :ref:`sphx_glr_tutorials_plot_other_libraries.py`. Coverage on average holds for either, since the
# guarantee does not depend on how good the groups are:

print(rules["network"].guarantee_)
