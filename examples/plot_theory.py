"""
Theory: how fast m groups come near to full conditional coverage
================================================================

Theorem 3.6 of Kiyani, Pappas and Hassani (2024) bounds what the best m groups lack by an order of
1/√m. On a population that we know we shall find the best groups, measure what they lack, and set it
beside the bounds of ``plcp.theory``, which fall as 1/m, or as 1/m² where scores have a density::

    python examples/plot_theory.py [--output DIR]

Needs ``pip install 'plcp[plot]'``, and a few seconds.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")  # no window, but a notebook shows figures as ever

import matplotlib.pyplot as plt
import numpy as np

from plcp.quantiles import pinball_loss
from plcp.theory import (
    population_excess,
    population_msce,
    sharp_population_excess,
    sharp_population_msce,
)

parser = argparse.ArgumentParser(description="Measured error of the best m groups, and bounds.")
parser.add_argument("--output", type=Path, default=Path(), help="directory of the figure")
options, _ = parser.parse_known_args()  # a notebook is started with arguments of its own

ALPHA = 0.1
GROUPS = 2 ** np.arange(1, 7)

# %%
# Two populations
# ---------------
# Each x has a scale σ(x) between 1/4 and 1, large ones being rare. In the first population S is
# uniform on [0, σ(x)], so that its density is at most L = 4; in the second S is σ(x) itself, which
# has no density at all.

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
# (equation 5), each x joins the threshold of least expected loss (equation 7).


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
# The variance is that of the conditional quantile. The bound of order 1/m holds for both
# populations, that of order 1/m² for the first alone.

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

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.plot(GROUPS, paper, "--", color="#9a9a9a", label=r"Theorem 3.6: $2\sqrt{var/(m-1)}$")
left.plot(GROUPS, any_law, "--", color="#c05a1f", label="sharp, any law: order 1/m")
left.plot(GROUPS, certain_excess, "o-", color="#c05a1f", label="measured, no density")
left.plot(GROUPS, density, "--", color="#1f6fb4", label="sharp, density ≤ L: order 1/m²")
left.plot(GROUPS, noisy_excess, "o-", color="#1f6fb4", label="measured, density ≤ L")
left.set(title="excess pinball loss of the best m groups")
right.plot(GROUPS, paper_error, "--", color="#9a9a9a", label="Corollary 3.7")
right.plot(GROUPS, density_error, "--", color="#1f6fb4", label="sharp, density ≤ L")
right.plot(GROUPS, error, "o-", color="#1f6fb4", label="measured, density ≤ L")
right.set(title="MSCE of the best m groups")
for axes in (left, right):
    axes.set(xscale="log", yscale="log", xlabel="groups m", xticks=GROUPS, xticklabels=GROUPS)
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
options.output.mkdir(parents=True, exist_ok=True)
figure.savefig(options.output / "theory.png", dpi=120)
