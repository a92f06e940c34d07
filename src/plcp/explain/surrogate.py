"""A shallow tree in place of the learned groups: kinds of rows, and where in the order they lie."""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from plcp.explain.rule_tree import RuleTree
from plcp.quantiles import IntArray
from plcp.rows import take

MAX_LEAVES = 8
TAIL = 0.1  # of a kind's rows may lie below its span of groups, and as many above


class Kind(NamedTuple):
    """Rows that one rule describes.

    ``groups`` hold at least eight in ten of them, neighbours in the order of thresholds.
    """

    rule: str
    n: int
    share: float
    groups: tuple[int, ...]


class Surrogate(NamedTuple):
    """Kinds by rising threshold, and how much of the groups they tell, on rows held out.

    ``fidelity`` is the share of rows in the commonest group of their kind, ``chance`` the share of
    the largest group, ``order`` the rank correlation of a row's group and its kind's.
    """

    kinds: tuple[Kind, ...]
    fidelity: float
    chance: float
    order: float


def fit_surrogate(
    X: Any, places: IntArray, labels: IntArray, learn: IntArray, judge: IntArray, *, seed: Any
) -> Surrogate:
    """Learn kinds from some rows, and judge them by others.

    Parameters
    ----------
    X : table
        Features.
    places : array of int
        Place of each row's group in the order of thresholds: 0, 1, …
    labels : array of int
        Number of the group at each place.
    learn, judge : array of int
        Rows that teach the tree, and rows that judge it.
    seed : int, RandomState or None
        Seed of the tree.
    """
    known, truth = places[learn], places[judge]
    tree = RuleTree(MAX_LEAVES, random_state=seed).fit(take(X, learn), known)
    leaf, held = tree.apply(take(X, learn)), tree.apply(take(X, judge))
    counts = np.zeros((len(tree.rules_), len(labels)))
    np.add.at(counts, (leaf, known), 1)
    kinds = [
        Kind(rule.text, int((held == i).sum()), float((held == i).mean()), _span(row, labels))
        for i, (rule, row) in enumerate(zip(tree.rules_, counts, strict=True))
    ]
    return Surrogate(
        tuple(kinds),
        fidelity=float((counts.argmax(axis=1)[held] == truth).mean()),
        chance=float(np.bincount(truth).max() / len(truth)),
        order=_rank_correlation(np.array([rule.mean for rule in tree.rules_])[held], truth),
    )


def _span(counts: Any, labels: IntArray) -> tuple[int, ...]:
    """Groups between the first and last tenth of the rows."""
    below = np.cumsum(counts) / counts.sum()
    low, high = np.searchsorted(below, [TAIL, 1 - TAIL])
    return tuple(labels[low : high + 1].tolist())


def _rank_correlation(a: Any, b: Any) -> float:
    """Spearman's; zero with what is always the same."""
    a, b = rankdata(a), rankdata(b)
    spread = a.std() * b.std()
    return float(np.mean((a - a.mean()) * (b - b.mean())) / spread) if spread else 0.0
