"""What the protocol of CPCP measures on the test part, written from its description."""

import math

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict, train_test_split

from plcp.metrics.ert import excess_terms

ALPHA = 0.1
CLUSTERS = 10
DIRECTIONS, MASS, MEASURED = 1000, 0.2, 0.75
SEED = 42
MORE_SEEDS = range(9)  # of K-means, for a mean over clusterings: one alone is noisy


class Judge:
    """Measures sets of the same test rows, for one method after another."""

    def __init__(self, X: np.ndarray) -> None:
        self.X = X
        self.clusterings = [
            KMeans(CLUSTERS, random_state=seed).fit_predict(X) for seed in (SEED, *MORE_SEEDS)
        ]

    def __call__(self, covered: np.ndarray, size: np.ndarray) -> dict[str, float]:
        errors = [clustered_msce(clusters, covered) for clusters in self.clusterings]
        return {
            "msce": float(np.mean(errors)),
            "msce of one clustering": errors[0],
            "slab": worst_slab(self.X, covered),
            **logistic_ert(self.X, covered),
            "coverage": float(covered.mean()),
            "size": float(size.mean()),
        }


def clustered_msce(clusters: np.ndarray, covered: np.ndarray) -> float:
    """Mean over clusters of the squared gap of coverage, weighted by their shares of the rows."""
    rows = np.bincount(clusters)
    gaps = np.bincount(clusters, covered) / rows - (1 - ALPHA)
    return float(np.average(gaps**2, weights=rows))


def noise_floor(n: int) -> float:
    """Expected MSCE over clusters of n rows that are all covered with 1 - alpha."""
    return ALPHA * (1 - ALPHA) * CLUSTERS / n


def worst_slab(X: np.ndarray, covered: np.ndarray) -> float:
    """Coverage of the slab that is covered least on a quarter of the rows, measured on the others.

    ``plcp.metrics.worst_slab`` is sharper: it takes slabs of at least the mass, columns besides
    random directions, and halves the rows.
    """
    X_chosen, X_new, c_chosen, c_new = train_test_split(
        X, covered, test_size=MEASURED, random_state=SEED
    )
    directions = np.random.default_rng(SEED).normal(size=(DIRECTIONS, X.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    n_inside = math.ceil(MASS * len(c_chosen))
    lowest = (math.inf, directions[0], 0.0, 0.0)
    for direction in directions:
        position = X_chosen @ direction
        order = np.argsort(position)
        hits = np.append(0, np.cumsum(c_chosen[order]))
        inside = hits[n_inside:] - hits[:-n_inside]
        start = int(np.argmin(inside))
        if inside[start] < lowest[0]:
            ends = position[order[[start, start + n_inside - 1]]]
            lowest = (inside[start], direction, *ends)
    _, direction, low, high = lowest
    position = X_new @ direction
    return float(c_new[(position >= low) & (position <= high)].mean())


def logistic_ert(X: np.ndarray, covered: np.ndarray) -> dict[str, float]:
    """L1- and L2-ERT by logistic regression, each of five folds predicted by the others.

    ``plcp.metrics.ert`` learns from boosted trees and predicts ahead, for intervals that hold.
    """
    folds = KFold(5, shuffle=True, random_state=SEED)
    predicted = cross_val_predict(
        LogisticRegression(max_iter=1000), X, covered, cv=folds, method="predict_proba"
    )
    return {
        norm.lower(): float(excess_terms(predicted[:, 1], covered, ALPHA, norm).mean())
        for norm in ("L1", "L2")
    }
