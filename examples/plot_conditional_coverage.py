"""
Marginal and conditional coverage
=================================

Intervals that hold 90 % of all outcomes may hold all of them in one place and few in
another. One variable and a known law are enough to see what *conditional coverage* means, how near
one can come to it, and why no method gives it exactly.
"""

# %%
# Noise that depends on x
# -----------------------
# y scatters around a line. The scatter is four times as wide on the right as on the left, and we
# take the line itself as known, so that only the scatter is left to learn.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from plcp import PLCP, SplitConformal

ALPHA = 0.1


def scatter(x):
    return 0.5 + 1.5 / (1 + np.exp(-12 * (x - 0.6)))


def draw(n, rng):
    x = rng.uniform(size=n)
    return x[:, None], np.abs(scatter(x) * rng.normal(size=n))  # scores: absolute errors


rng = np.random.default_rng(0)
X, scores = draw(5_000, rng)

# %%
# The same average, another picture
# ---------------------------------
# An interval reaches from the line up and down by a threshold q(x). It covers where the error is at
# most q(x). *Marginal* coverage is the probability of being covered over all rows. *Conditional*
# coverage is that probability at one x. We can compute it, as the law is known.
#
# - *Split conformal* has one threshold for every x.
# - ``PLCP`` learns where the scatter is alike, and thresholds that follow it.
# - The *oracle* knows the scatter.

rules = {
    "Split": SplitConformal(ALPHA),
    "PLCP": PLCP(alpha=ALPHA, calibration="held-out", random_state=0),
}
x = np.linspace(0, 1, 2_001)
thresholds = {"oracle": norm.ppf(1 - ALPHA / 2) * scatter(x)}
thresholds |= {name: rule.fit(X, scores).predict(x[:, None]) for name, rule in rules.items()}


def coverage_given_x(q):
    return 2 * norm.cdf(q / scatter(x)) - 1


for name, q in thresholds.items():
    given_x = coverage_given_x(q)
    print(f"{name:6}: {given_x.mean():.2f} on average, {given_x.min():.2f} at the worst x")

# %%

colors = {"oracle": "#4d9a52", "Split": "#7f7f7f", "PLCP": "#1f6fb4"}
figure, (above, below) = plt.subplots(2, 1, figsize=(8, 6.2), sharex=True, layout="constrained")
some = rng.uniform(size=600)
above.plot(some, scatter(some) * rng.normal(size=600), ".", color="0.75", markersize=4)
for name, q in thresholds.items():
    style = {"color": colors[name], "linewidth": 2, "linestyle": "--" if name == "oracle" else "-"}
    above.plot(x, q, **style)
    above.plot(x, -q, **style)
    if name != "oracle":
        below.plot(x, coverage_given_x(q), **style)
above.set_ylabel("y minus the line, and intervals")
above.text(0.01, 2.2, "Split", color="#555555")
above.text(0.01, 1.0, "PLCP and oracle", color=colors["PLCP"])
below.set(ylabel="coverage given x", xlabel="x", xlim=(0, 1), ylim=(0.6, 1.03))
below.axhline(1 - ALPHA, color=colors["oracle"], linewidth=2, linestyle="--")
below.text(0.01, 0.88, "target, and oracle", va="top", color=colors["oracle"])
below.text(0.2, 0.975, "Split covers too much here …", color="#555555", ha="center")
below.text(0.83, 0.655, "… and too little here", color="#555555", ha="center")
below.text(0.3, 0.79, "PLCP stays near the target", color=colors["PLCP"], ha="center")
for ax in (above, below):
    ax.spines[["top", "right"]].set_visible(False)
_ = figure.suptitle("90 % on average is not 90 % for every x")

# %%
# More groups come nearer
# -----------------------
# In the paper each group has one constant threshold. Coverage given x then rises and falls within a
# group as the scatter changes: the more groups, the less. But each group needs rows of its own to
# calibrate on, and a row near the edge may be put into the neighbouring group. Both errors are
# estimation errors, and shrink with more rows.

figure, axes = plt.subplots(1, 4, figsize=(8, 2.8), sharey=True, layout="constrained")
for ax, m in zip(axes, (1, 2, 4, 12), strict=True):
    rule = PLCP(n_groups=m, alpha=ALPHA, within="constant", calibration="cross", random_state=0)
    given_x = coverage_given_x(rule.fit(X, scores).predict(x[:, None]))
    ax.fill_between(x, 1 - ALPHA, given_x, color=colors["PLCP"], alpha=0.3, linewidth=0)
    ax.plot(x, given_x, color=colors["PLCP"], linewidth=1)
    ax.axhline(1 - ALPHA, color="black", linewidth=1, linestyle="--")
    error = np.sqrt(np.mean((given_x - 0.9) ** 2))
    ax.set_title(f"{m} group{'s' * (m > 1)}\nerror {error:.3f}", fontsize=10)
    ax.set(xlabel="x", xticks=[0, 1], xlim=(0, 1), ylim=(0.6, 1.03))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("coverage given x")
_ = figure.suptitle("Constant thresholds in more and more groups")

# %%
# The error is the root of the mean squared error of coverage given x, the *MSCE*
# (:func:`plcp.metrics.msce_of_law`), which the theory of the paper bounds.
#
# Why not exactly?
# ----------------
# Suppose a method covered with at least 90 % at *every* x, whatever the law, from n rows. Take any
# law, and a strip around some x that holds a share 1/(100 n) of all rows (drawn wider below, to be
# seen). With probability 0.99 none of the n rows lies in it.

n = 200
sample = rng.uniform(size=n)
sample = sample[np.abs(sample - 0.3) > 0.012]
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
ax.plot(sample, scatter(sample) * rng.normal(size=len(sample)), ".", color="0.5", markersize=5)
ax.axvspan(0.29, 0.31, color="#e08214", alpha=0.35, linewidth=0)
ax.annotate(
    "no row is in this strip:\nhere y could be anything",
    (0.31, 4.2),
    (0.35, 4.2),
    va="center",
    arrowprops={"arrowstyle": "-", "color": "#b35806"},
    color="#b35806",
)
ax.set(xlim=(0, 1), ylim=(-6, 6), xlabel="x", ylabel="y minus the line", yticks=[-5, 0, 5])
ax.spines[["top", "right"]].set_visible(False)
_ = ax.set_title("What happens in a strip without rows, no method can know", loc="left")

# %%
# So the rows look the same if y in the strip is a number v, any v at all. The
# method must cover that law too. Hence each v, however far away, is in the interval at x with
# probability of at least about 0.9, and the mean length of the interval is infinite. The argument
# needs only that no single x has a mass of its own (Vovk 2012; Lei and Wasserman 2014; Foygel
# Barber, Candès, Ramdas and Tibshirani 2021).
#
# Groups are what can be had: a group of positive probability has rows to calibrate on, and a
# threshold calibrated on rows that had no part in learning the group covers it with at least 90 %
# in finite samples (``PLCP(calibration="split")``).
plt.show()
