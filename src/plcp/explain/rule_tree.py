"""A shallow tree whose leaves are rules in the words of the table."""

from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp.estimator import Estimator
from plcp.explain.columns import Column
from plcp.explain.reading import read_columns
from plcp.explain.rules import Rule
from plcp.explain.splits import Split, leaves, paths, places_asked, read_splits
from plcp.quantiles import FloatArray, IntArray
from plcp.rows import count, take
from plcp.validation import check_count, check_lengths, check_scores, check_weights, drop_weightless

MOST_ROWS = 100_000  # more rows would not move the cuts of a shallow tree
LEAST_ROWS, LEAST_SHARE = 30, 0.01


class RuleTree(Estimator):
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
        Fewest rows of a rule, of those it is grown on. None: one in a hundred, at least 30.
    random_state : int, RandomState or None, default=0
        Seed of the rows the tree is grown on, if there are more than 100,000, and of the choice
        between cuts that are equally good.

    Attributes
    ----------
    rules_ : list of Rule
        By rising mean of y; every row meets exactly one.

    Examples
    --------
    >>> X = np.arange(250.0)[:, None]
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
        rows = np.sort(rng.choice(n, MOST_ROWS, replace=False)) if n > MOST_ROWS else np.arange(n)
        few = None if weights is None else weights[rows]
        self._columns, self._root = self._grow(take(X, rows), target[rows], few, rng)
        self._number(self._read(X), target, weights)
        return self

    def apply(self, X: Any) -> IntArray:
        """Place in ``rules_`` of the rule that holds for each row."""
        check_is_fitted(self, "rules_")
        found = np.empty(count(X), dtype=np.intp)
        members = leaves(self._root, self._read(X), np.arange(len(found)))
        for number, rows in zip(self._numbers, members, strict=True):
            found[rows] = number
        return found

    def _read(self, X: Any) -> dict[int, FloatArray]:
        """Values of the columns that the tree asks about, by their place."""
        return {place: self._columns[place].read(X) for place in places_asked(self._root)}

    def _least(self, n: int) -> int:
        """Fewest rows of a rule among those it is grown on."""
        if self.min_rows is None:
            return max(LEAST_ROWS, ceil(LEAST_SHARE * n))
        return check_count("min_rows", self.min_rows, 1)

    def _grow(
        self, X: Any, y: FloatArray, weights: FloatArray | None, rng: Any
    ) -> tuple[list[Column], Split | None]:
        """Grow on ranks: trees round to single precision, and would confuse close values."""
        least = self._least(len(y))
        columns = read_columns(X, y, least)
        if self.max_leaves == 1 or 2 * least > len(y):
            return columns, None
        values = [column.read(X) for column in columns]
        cuts = [column.cuts(known) for column, known in zip(columns, values, strict=True)]
        ranks = np.column_stack([_ranks(*pair) for pair in zip(values, cuts, strict=True)])
        tree = DecisionTreeRegressor(
            max_leaf_nodes=self.max_leaves, min_samples_leaf=least, random_state=rng
        ).fit(ranks, y, sample_weight=weights)
        return columns, read_splits(tree.tree_, columns, values, cuts)

    def _number(
        self, values: dict[int, FloatArray], y: FloatArray, weights: FloatArray | None
    ) -> None:
        """Number the leaves by rising mean of y, and put each in words."""
        for place, known in values.items():  # the tree may have been grown on a sample
            self._columns[place].meet(known)
        members = leaves(self._root, values, np.arange(len(y)))
        counts = np.ones(len(y)) if weights is None else weights
        means = [float(np.average(y[rows], weights=counts[rows])) for rows in members]
        order = np.argsort(means, kind="stable")
        asked = [tuple(path.values()) for path in paths(self._root)]
        self.rules_ = [Rule(asked[i], len(members[i]), means[i]) for i in order]
        self._numbers = np.argsort(order)


def _ranks(values: FloatArray, cuts: FloatArray) -> FloatArray:
    """Count the cuts that each value has reached."""
    return np.where(np.isnan(values), np.nan, np.searchsorted(cuts, values, side="right"))
