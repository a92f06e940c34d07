"""Intervals of differences hold as often as they say, though folds share rows."""

from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.tree import DecisionTreeClassifier

from bands import binomial_band
from plcp import Mondrian, SplitConformal
from plcp._folds import shuffled_folds
from plcp.comparison.measures import worst_group
from plcp.comparison.recommendation import may_be_smallest
from plcp.metrics import compare
from plcp.metrics.ert import blocks_after_others, excess_risk, predict_coverage

ALPHA, FOLDS, BLOCKS, NEW = 0.1, 5, 5, 5_000


class Remembered(DecisionTreeClassifier):
    """A tree that keeps all that were fitted."""

    fitted: ClassVar[list] = []

    def fit(self, X, y):
        self.fitted.append(super().fit(X, y))
        return self


def spread(X):
    return 1.0 + 1.5 * (X[:, 0] > 0.6)


def left(X):
    return X[:, 0] > 0.6


def useless(X):
    return X[:, 1] > 0.5


RULES = {"split": SplitConformal(), "right": Mondrian(left), "wrong": Mondrian(useless)}


def world(n, seed):
    """Differences with intervals as in a comparison, and what they are on new rows."""
    rng = np.random.default_rng(seed)
    X, new = rng.random((n, 2)), rng.random((NEW, 2))
    scores = spread(X) * np.abs(rng.normal(size=n))
    folds = shuffled_folds(np.arange(n), FOLDS, seed)
    blocks = list(blocks_after_others(np.arange(n), BLOCKS, seed))
    shares = np.array([[np.isin(block, hold).sum() for _, hold in folds] for _, block in blocks])
    fifths, cuts = np.arange(5), np.quantile(X[:, 0], [0.2, 0.4, 0.6, 0.8])
    members, of_new = (np.searchsorted(cuts, rows[:, 0])[:, None] == fifths for rows in (X, new))
    errors, worst, true_errors, true_worst = {}, {}, {}, {}
    for name, rule in RULES.items():
        covered, true_coverage = np.zeros(n, dtype=bool), []
        for rest, hold in folds:
            rule.fit(X[rest], scores[rest])
            covered[hold] = scores[hold] <= rule.predict(X[hold])
            true_coverage.append(2 * norm.cdf(rule.predict(new) / spread(new)) - 1)
        Remembered.fitted.clear()
        tree = Remembered(max_depth=3, min_samples_leaf=20, random_state=0)
        predicted = predict_coverage(
            X, covered, classifier=tree, cv=BLOCKS, random_state=seed, ids=np.arange(n)
        )
        errors[name] = excess_risk(predicted, covered, ALPHA, "L1")
        risks = np.zeros((len(blocks), FOLDS))
        for i, fitted in enumerate(Remembered.fitted):
            side = np.sign(fitted.predict_proba(new)[:, -1] - (1 - ALPHA))
            risks[i] = [(side * (c - (1 - ALPHA))).mean() for c in true_coverage]
        true_errors[name] = (risks * shares).sum() / shares.sum()
        worst[name] = worst_group(covered, fifths, members, blocks)
        weights, hits = [], []
        for i, block in enumerate(blocks):
            chosen = int(worst[name].table["group"][i])
            weights.append(members[block[1], chosen].sum())
            own = of_new[:, chosen]
            hits.append(np.average([c[own].mean() for c in true_coverage], weights=shares[i]))
        true_worst[name] = np.average(hits, weights=weights)
    return errors, true_errors, worst, true_worst


def held(n, trials, seed=0):
    """How many intervals of each kind hold, and in how many trials the best is not ruled out."""
    counts = {}
    for trial in range(trials):
        errors, true_errors, worst, true_worst = world(n, 10_000 * seed + trial)
        for kind, found, truth in (("error", errors, true_errors), ("worst", worst, true_worst)):
            for name, difference in compare(found, "split").differences.items():
                true = truth[name] - truth["split"]
                key = f"{kind}, {name}"
                counts[key] = counts.get(key, 0) + (difference.low <= true <= difference.high)
        best = min(true_errors, key=lambda name: max(0.0, true_errors[name]))
        kept = best in may_be_smallest(errors, floor=0.0)
        counts["best"] = counts.get("best", 0) + kept
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("n", [600, 2_000])
def test_intervals_of_differences_hold_and_the_best_is_kept(n):
    trials = 500
    counts = held(n, trials)
    least = binomial_band(trials, 0.95)[0]
    most = binomial_band(trials, 0.95)[1]
    assert counts.pop("best") >= least
    assert all(count >= least for count in counts.values()), counts
    assert all(counts[f"error, {name}"] <= most + 0.02 * trials for name in ("right", "wrong"))
