"""A shallow tree whose leaves are rules in the words of the table."""

from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp.explain.reading import read_columns
from plcp.explain.rules import Rule
from plcp.explain.splits import Split, leaves, paths, places_asked, read_splits
from plcp.quantiles import FloatArray, IntArray
from plcp.rows import count
from plcp.validation import check_count, check_lengths, check_scores, check_weights, drop_weightless

MOST_ROWS = 100_000  # more rows would not move the cuts of a shallow tree
LEAST_ROWS, LEAST_SHARE = 30, 0.01


class RuleTree(BaseEstimator):
    """Rules of few conditions that part a table by the mean of y.

    A regression tree grown best first. Every cut is the roundest value that parts the two
    neighbours it lies between, so that a rule as printed is the rule as applied. A missing value
    goes to the side that it resembles, and the rule says so; one in a column that had none in fit
    goes to the larger side.

    Parameters
    ----------
    max_leaves : int, default=8
        Most rules.
    min_rows : int or None, default=None
        Fewest rows of a rule. None: one in a hundred, at least 30.
    random_state : int, RandomState or None, default=0
        Seed of the rows the tree is grown on, if there are more than 100,000, and of the choice
        between cuts that are equally good.

    Attributes
    ----------
    rules_ : list of Rule
        By rising mean of y; every row meets exactly one.

    Examples
    --------
    >>> X = np.arange(200.0)[:, None]
    >>> tree = RuleTree(max_leaves=2).fit(X, X[:, 0] > 120)
    >>> [rule.text for rule in tree.rules_]
    ['x0 ≤ 120', 'x0 ≥ 121']
    >>> tree.apply([[7.0], [190.0]])
    array([0, 1])
    """

    def __init__(
        self, max_leaves: int = 8, min_rows: int | None = None, random_state: Any = 0
    ) -> None:
        self.max_leaves = max_leaves
        self.min_rows = min_rows
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn rules from a table and one number, or truth value, for each row."""
        check_count("max_leaves", self.max_leaves, 1)
        target = check_scores(y)
        check_lengths(X, target)
        X, target, weights = drop_weightless(X, target, check_weights(sample_weight, X))
        n, rng = len(target), check_random_state(self.random_state)
        least = self._least(n)
        self._columns = read_columns(X, target, least)
        values = [column.read(X) for column in self._columns]
        rows = np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, MOST_ROWS, replace=False))
        self._root = self._grow(
            [column[rows] for column in values],
            target[rows],
            None if weights is None else weights[rows],
            ceil(least * len(rows) / n),
            rng,
        )
        self._number(values, target, weights)
        return self

    def apply(self, X: Any) -> IntArray:
        """Place in ``rules_`` of the rule that holds for each row."""
        check_is_fitted(self, "rules_")
        asked = {place: self._columns[place].read(X) for place in places_asked(self._root)}
        found = np.empty(count(X), dtype=np.intp)
        members = leaves(self._root, asked, np.arange(len(found)))
        for number, rows in zip(self._numbers, members, strict=True):
            found[rows] = number
        return found

    def _least(self, n: int) -> int:
        """Fewest rows of a rule."""
        if self.min_rows is None:
            return max(LEAST_ROWS, ceil(LEAST_SHARE * n))
        return check_count("min_rows", self.min_rows, 1)

    def _grow(
        self,
        values: list[FloatArray],
        y: FloatArray,
        weights: FloatArray | None,
        least: int,
        rng: Any,
    ) -> Split | None:
        """Grow on ranks of the values, which single precision, in which trees think, can hold."""
        if self.max_leaves == 1 or 2 * least > len(y):
            return None
        levels = [np.unique(column[~np.isnan(column)]) for column in values]
        ranks = np.column_stack([_ranks(*pair) for pair in zip(values, levels, strict=True)])
        tree = DecisionTreeRegressor(
            max_leaf_nodes=self.max_leaves, min_samples_leaf=least, random_state=rng
        ).fit(ranks, y, sample_weight=weights)
        return read_splits(tree.tree_, self._columns, values, levels)

    def _number(self, values: list[FloatArray], y: FloatArray, weights: FloatArray | None) -> None:
        """Number the leaves by rising mean of y, and put each in words."""
        members = leaves(self._root, dict(enumerate(values)), np.arange(len(y)))
        counts = np.ones(len(y)) if weights is None else weights
        means = [float(np.average(y[rows], weights=counts[rows])) for rows in members]
        order = np.argsort(means, kind="stable")
        asked = [tuple(path.values()) for path in paths(self._root)]
        self.rules_ = [Rule(asked[i], len(members[i]), means[i]) for i in order]
        self._numbers = np.argsort(order)


def _ranks(values: FloatArray, levels: FloatArray) -> FloatArray:
    return np.where(np.isnan(values), np.nan, np.searchsorted(levels, values))
