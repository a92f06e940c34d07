"""One short rule for each group, judged by rows it was not learned from."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from plcp.explain.rule_tree import RuleTree
from plcp.quantiles import IntArray
from plcp.rows import take

MAX_LEAVES = 4  # at most three conditions
CHANCE = 0.05  # of a rule for any group that is no better than a draw of rows


class Found(NamedTuple):
    """A rule and how well it finds its group.

    ``text`` is empty where no rule was better than chance. ``precision`` is the share of the rule's
    rows that are in the group, ``recall`` the share of the group's rows that the rule holds for.
    """

    text: str
    precision: float
    recall: float


def find_rule(
    X: Any, inside: NDArray[np.bool_], learn: IntArray, judge: IntArray, *, seed: Any, tries: int
) -> Found:
    """Learn which rule tells the rows inside a group from the rest, and judge it.

    Of the leaves of a small tree the one whose rows correlate most with the group is taken.

    Parameters
    ----------
    X : table
        Features.
    inside : array of bool
        Which rows are in the group.
    learn, judge : array of int
        Rows that teach the rule, and rows that judge it.
    seed : int, RandomState or None
        Seed of the tree.
    tries : int
        Groups that are looked at: the more there are, the more a rule must prove.
    """
    known, truth = inside[learn], inside[judge]
    tree = RuleTree(MAX_LEAVES, random_state=seed).fit(take(X, learn), known)
    leaf, held = tree.apply(take(X, learn)), tree.apply(take(X, judge))
    best = int(np.argmax([_phi(leaf == i, known) for i in range(len(tree.rules_))]))
    n, hits, size = int((held == best).sum()), int(truth[held == best].sum()), int(truth.sum())
    told = binom.sf(hits - 1, n, size / len(truth)) < CHANCE / tries if len(tree.rules_) > 1 else 0
    text = tree.rules_[best].text if told else ""
    return Found(text, hits / n if n else 0.0, hits / size if size else 0.0)


def _phi(rule: NDArray[np.bool_], group: NDArray[np.bool_]) -> float:
    """Correlation of two truth values; none with what is always the same."""
    spread = rule.std() * group.std()
    return float(((rule & group).mean() - rule.mean() * group.mean()) / spread) if spread else 0.0
