"""
How fast do groups come near to full conditional coverage?
==========================================================

Theorem 3.6 of Kiyani, Pappas and Hassani (2024) bounds what the best m groups lack by an order of
1/√m. On populations that are known in full we find the best groups, compute what they lack, and
draw it beside the bounds of :mod:`plcp.theory`, which fall as 1/m for any law, and as 1/m² where
scores have a density. No data are drawn: this page is about the number of groups alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from plcp.quantiles import pinball_loss
from plcp.theory import (
    population_excess,
    population_msce,
    sharp_population_excess,
    sharp_population_msce,
)

ALPHA = 0.1
GROUPS = 2 ** np.arange(1, 7)

# %%
# Two populations
# ---------------
# Each x has a scale σ(x) between 1/4 and 1, large ones being rare. In the first population the
# score S is uniform on [0, σ(x)], so that its density is at most L = 4. In the second S is σ(x)
# itself, which has no density at all.

sigma = 0.25 + 0.75 * ((np.arange(2000) + 0.5) / 2000) ** 2
LIPSCHITZ = 1 / sigma.min()


class Noisy:
    """S is uniform on [0, σ]."""

    quantile = (1 - ALPHA) * sigma

    def loss(self, q, sigma):
        """E[ℓ(q, S) | σ]."""
        return ALPHA * (q - sigma / 2) + np.maximum(sigma - q, 0) ** 2 / (2 * sigma)

    def thresholds(self, group):
        """(1 - α)-quantile of the scores of each group, all at once by bisection."""
        size = np.bincount(group)
        low, high = np.zeros(len(size)), np.ones(len(size))
        for _ in range(50):
            middle = (low + high) / 2
            short = np.bincount(group, coverage(middle[group], sigma)) / size < 1 - ALPHA
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return high


class Certain:
    """S is σ."""

    quantile = sigma

    def loss(self, q, sigma):
        """E[ℓ(q, S) | σ]."""
        return pinball_loss(q, sigma, ALPHA)

    def thresholds(self, group):
        """(1 - α)-quantile of the scores of each group."""
        members = (sigma[group == i] for i in range(group.max() + 1))
        return np.array([np.quantile(s, 1 - ALPHA, method="inverted_cdf") for s in members])


def coverage(q, sigma):
    """P(S ≤ q | σ) of the first population."""
    return np.minimum(q / sigma, 1.0)


# %%
# The best groups
# ---------------
# The two principles of the paper, in turns: each group's threshold is the quantile of its scores
# (equation 5), each x joins the threshold of least expected pinball loss (equation 7).


def best_thresholds(population, m):
    group = np.arange(len(sigma)) * m // len(sigma)
    for _ in range(100):
        levels = population.thresholds(group)
        nearest = population.loss(levels, sigma[:, None]).argmin(axis=1)
        if (nearest == group).all():
            break
        group = np.unique(nearest, return_inverse=True)[1]  # a group may die
    return levels[nearest]


def excess(population, q):
    return (population.loss(q, sigma) - population.loss(population.quantile, sigma)).mean()


noisy, certain = Noisy(), Certain()
thresholds = [best_thresholds(noisy, m) for m in GROUPS]
noisy_excess = np.array([excess(noisy, q) for q in thresholds])
certain_excess = np.array([excess(certain, best_thresholds(certain, m)) for m in GROUPS])
error = np.array([np.mean((coverage(q, sigma) - (1 - ALPHA)) ** 2) for q in thresholds])

# %%
# Beside the bounds
# -----------------
# What groups lack is the *excess*: their expected pinball loss less that of the conditional
# quantile itself. The bounds depend on the variance of the conditional quantile. That of order 1/m
# holds for both populations, that of order 1/m² for the first alone.

known = {"alpha": ALPHA, "lipschitz": LIPSCHITZ}
variance = sigma.var()  # the larger of the two, so that one line bounds both
paper = population_excess(GROUPS, variance)
any_law = sharp_population_excess(GROUPS, variance, alpha=ALPHA)
density = sharp_population_excess(GROUPS, variance, **known)
paper_error = population_msce(GROUPS, noisy.quantile.var(), LIPSCHITZ)
density_error = sharp_population_msce(GROUPS, noisy.quantile.var(), **known)

print("   m   excess, no density   bound 1/m   Theorem 3.6   MSCE, density   bound 1/m²")
for row in zip(GROUPS, certain_excess, any_law, paper, error, density_error, strict=True):
    print("{:4d} {:20.2e} {:11.2e} {:13.2e} {:15.2e} {:12.2e}".format(*row))


def curves(title, lines):
    """Draw measured curves with dots and bounds with dashes, with their names at the right end."""
    _, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
    for curve, text, color, measured in lines:
        ax.plot(GROUPS, curve, "o-" if measured else "--", color=color)
        ax.annotate(
            text,
            (GROUPS[-1], curve[-1]),
            (8, 0),
            textcoords="offset points",
            va="center",
            color=color,
        )
    ax.set(xscale="log", yscale="log", xlabel="groups m", xticks=GROUPS, xticklabels=GROUPS)
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(title, loc="left")


grey, orange, blue = "#666666", "#b35806", "#1f6fb4"
curves(
    "Excess pinball loss of the best m groups falls far faster than 1/√m",
    [
        (paper, "Theorem 3.6, 1/√m", grey, False),
        (any_law, "sharper bound, any law, 1/m", orange, False),
        (certain_excess, "computed, no density", orange, True),
        (density, "sharper bound, density ≤ L, 1/m²", blue, False),
        (noisy_excess, "computed, density ≤ L", blue, True),
    ],
)

# %%
# With twice as many groups the bound of the paper falls by about 30 %, the sharper ones by a half
# and by three quarters. The computed curves fall as the sharper ones do, so both orders are
# attained: 1/m by a law without density, 1/m² by one with a density.
#
# The same for conditional coverage
# ---------------------------------
# The mean squared error of coverage given x (MSCE) is bounded by the excess where scores have a
# density of at most L (Corollary 3.7).

curves(
    "MSCE of the best m groups",
    [
        (paper_error, "Corollary 3.7, 1/√m", grey, False),
        (density_error, "sharper bound, 1/m²", blue, False),
        (error, "computed", blue, True),
    ],
)

# %%
# This is why few groups suffice. What remains is the error of learning them from finitely many
# rows, which grows with m; :doc:`/explanation/theory` has those bounds and all proofs.
plt.show()
