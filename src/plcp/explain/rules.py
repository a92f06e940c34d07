"""Rules in words: a tree whose leaves are rules, and how well they describe groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, rankdata
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp._base import Estimator
from plcp._options import check_count
from plcp._rows import count, take
from plcp._validation import check_lengths, check_scores, check_weights, drop_weightless
from plcp.explain.columns import Column, read_columns
from plcp.explain.profile import Difference
from plcp.quantiles import FloatArray, IntArray

ALL_ROWS = "all rows"


@dataclass(frozen=True)
class Condition:
    """What a rule requires of one column: low ≤ x < high, or that it is missing, or either.

    Parameters
    ----------
    column : Column
        Whose values.
    low, high : float or None
        Ends of the range; None where it is open.
    present : bool
        Whether any value will do that is there and in the range.
    missing : bool
        Whether a missing value will do.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.explain import RuleTree
    >>> X = np.arange(250.0)[:, None]
    >>> low, high = RuleTree(max_leaves=2).fit(X, X[:, 0] > 120).rules_
    >>> [condition] = high.conditions
    >>> condition.text, float(condition.low), condition.high
    ('x0 ≥ 121', 121.0, None)
    >>> condition.holds([[7.0], [190.0]])
    array([False,  True])
    """

    column: Column
    low: float | None = None
    high: float | None = None
    present: bool = True
    missing: bool = True

    def holds(self, X: Any) -> NDArray[np.bool_]:
        """Whether each row meets the condition."""
        return self.admits(self.column.read(X))

    def admits(self, values: FloatArray) -> NDArray[np.bool_]:
        """Whether each value meets the condition."""
        gaps = np.isnan(values)
        inside = ~gaps & self.present
        if self.low is not None:
            inside &= values >= self.low
        if self.high is not None:
            inside &= values < self.high
        return inside | (gaps & self.missing)

    def narrowed(self, other: Condition) -> Condition:
        """Both conditions on the same column as one."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return replace(
            self,
            low=max(lows, default=None),
            high=min(highs, default=None),
            present=self.present and other.present,
            missing=self.missing and other.missing,
        )

    @property
    def text(self) -> str:
        """The condition in words; "or missing" only where values have been missing."""
        label, has_missing = self.column.label, self.column.has_missing
        if not self.present:
            return f"{label} is missing"
        if self.low is None and self.high is None:
            return f"{label} is not missing"
        words = self.column.words(self.low, self.high)
        return f"({words} or missing)" if has_missing and self.missing else words


@dataclass(frozen=True)
class Rule:
    """Conditions that all must hold: one leaf of a `RuleTree`.

    Parameters
    ----------
    conditions : tuple of Condition
        One for each column in the rule.
    n : int
        Rows of the table it was learned from that it holds for.
    mean : float
        Their mean of y.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.explain import RuleTree
    >>> X = np.arange(250.0)[:, None]
    >>> low, high = RuleTree(max_leaves=2).fit(X, X[:, 0] > 120).rules_
    >>> print(low)
    x0 ≤ 120
    >>> low.holds([[7.0], [190.0]]), low.n, low.mean
    (array([ True, False]), 121, 0.0)
    """

    conditions: tuple[Condition, ...]
    n: int
    mean: float

    def holds(self, X: Any) -> NDArray[np.bool_]:
        """Whether the rule holds for each row."""
        rows = np.ones(count(X), dtype=bool)
        for condition in self.conditions:
            rows &= condition.holds(X)
        return rows

    @property
    def text(self) -> str:
        """The rule in words."""
        return " and ".join(condition.text for condition in self.conditions) or ALL_ROWS

    def __str__(self) -> str:
        return self.text


Path = dict[int, Condition]  # the condition on each column on the way to a leaf


@dataclass(frozen=True)
class Split:
    """Two sides of one column: each row is on one of them.

    Parameters
    ----------
    place : int
        Place of the column in the table.
    sides : pair of Condition
        The condition on the rows of each side.
    ends : pair of Split or None
        What follows on each side; None is a leaf.
    number : int
        Number of splits made before it, best first.
    """

    place: int
    sides: tuple[Condition, Condition]
    ends: tuple[Split | None, Split | None]
    number: int


def read_splits(
    tree: Any, columns: Sequence[Column], values: Sequence[FloatArray], cuts: Sequence[FloatArray]
) -> Split | None:
    """Splits of a scikit-learn tree that was grown on ranks, with the roundest cuts that will do.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
        Grown on the number of cuts that each value has reached.
    columns : list of Column
        The columns it was grown on.
    values : list of array
        The values of each column in the rows it was grown on.
    cuts : list of array
        Where each column may be cut, rising.
    """

    def read(node: int, rows: IntArray) -> Split | None:
        if tree.children_left[node] < 0:
            return None
        place = int(tree.feature[node])
        here = values[place][rows]
        rank = tree.threshold[node]  # infinite where only missing values go to the right
        cut = float(cuts[place][int(rank)]) if np.isfinite(rank) else np.inf
        to_left = bool(tree.missing_go_to_left[node])
        sides = _sides(columns[place], here, cut, to_left)
        children = int(tree.children_left[node]), int(tree.children_right[node])
        left, right = (
            read(child, rows[side.admits(here)])
            for child, side in zip(children, sides, strict=True)
        )
        # best first, each split adds its two children behind all nodes there are
        return Split(place, sides, (left, right), (children[0] - 1) // 2)

    return read(0, np.arange(len(values[0]) if values else 0))


def _sides(
    column: Column, values: FloatArray, cut: float, missing_to_left: bool
) -> tuple[Condition, Condition]:
    """Both sides of a cut, as round as these values allow, or of "missing" against the rest."""
    below, above = values[values < cut], values[values >= cut]
    if not len(below) or not len(above):
        there = Condition(column, missing=False)
        gap = Condition(column, present=False)
        return (there, gap) if len(below) else (gap, there)
    roundest = column.cut(below.max(), above.min())
    return (
        Condition(column, high=roundest, missing=missing_to_left),
        Condition(column, low=roundest, missing=not missing_to_left),
    )


def first_splits(split: Split | None, n: int) -> Split | None:
    """Return a tree as it was after its first n splits."""
    if split is None or split.number >= n:
        return None
    left, right = split.ends
    return replace(split, ends=(first_splits(left, n), first_splits(right, n)))


def places_used(split: Split | None) -> set[int]:
    """Places of the columns that any split uses."""
    if split is None:
        return set()
    return {split.place}.union(*map(places_used, split.ends))


def paths(split: Split | None, so_far: Path | None = None) -> Iterator[Path]:
    """Conditions on the way to each leaf, from left to right, one for each column."""
    so_far = so_far or {}
    if split is None:
        yield so_far
        return
    for side, end in zip(split.sides, split.ends, strict=True):
        known = so_far.get(split.place)
        yield from paths(end, so_far | {split.place: known.narrowed(side) if known else side})


def leaves(split: Split | None, values: Mapping[int, FloatArray], rows: IntArray) -> list[IntArray]:
    """Rows of each leaf, from left to right."""
    if split is None:
        return [rows]
    to_left = split.sides[0].admits(values[split.place][rows])
    return [
        *leaves(split.ends[0], values, rows[to_left]),
        *leaves(split.ends[1], values, rows[~to_left]),
    ]


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
    columns : sequence of int or None, default=None
        Places of the columns that rules may name; None: all of them.

    Attributes
    ----------
    rules_ : list of Rule
        By rising mean of y; every row meets exactly one.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.explain import RuleTree
    >>> X = np.arange(250.0)[:, None]
    >>> tree = RuleTree(max_leaves=2).fit(X, X[:, 0] > 120)
    >>> [rule.text for rule in tree.rules_]
    ['x0 ≤ 120', 'x0 ≥ 121']
    >>> tree.apply([[7.0], [190.0]])
    array([0, 1])
    """

    def __init__(
        self,
        max_leaves: int = 8,
        min_rows: int | None = None,
        random_state: Any = 0,
        columns: Sequence[int] | None = None,
    ) -> None:
        self.max_leaves = max_leaves
        self.min_rows = min_rows
        self.random_state = random_state
        self.columns = columns

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

    def with_leaves(self, n_leaves: int, X: Any, y: ArrayLike) -> Self:
        """Return what a fit to the same rows, all of weight one, gives by ``max_leaves=n_leaves``.

        Growth is best first, so a smaller tree is a stage of a larger one: nothing is grown, and
        only columns in its rules are read.
        """
        smaller = copy(self).set_params(max_leaves=n_leaves)
        smaller._root = first_splits(self._root, n_leaves - 1)
        smaller._number(smaller._read(X), check_scores(y), None)
        return smaller

    def _read(self, X: Any) -> dict[int, FloatArray]:
        """Values of the columns that the tree uses, by their place."""
        return {place: self._columns[place].read(X) for place in places_used(self._root)}

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
        columns = read_columns(X, y, least, self.columns)
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
        conditions = [tuple(path.values()) for path in paths(self._root)]
        self.rules_ = [Rule(conditions[i], len(members[i]), means[i]) for i in order]
        self._numbers = np.argsort(order)


def _ranks(values: FloatArray, cuts: FloatArray) -> FloatArray:
    """Count the cuts that each value has reached."""
    return np.where(np.isnan(values), np.nan, np.searchsorted(cuts, values, side="right"))


MAX_NAMED_LEAVES = 4  # at most three conditions
CHANCE = 0.05  # of a rule for any group that is no better than a draw of rows
# Of precision and of recall. With precision p and recall r, the rows in both the rule and the group
# are 1 / (1/p + 1/r - 1) of those in either: at least two thirds if p and r are 0.8 or more, so a
# name is right about at least twice as many rows as it is wrong about.
FLOOR = 0.8


class Found(NamedTuple):
    """A rule that describes its group, and how well.

    ``precision`` is the share of the rule's rows that are in the group, ``recall`` the share of the
    group's rows that the rule holds for. Where no rule describes the group ``text`` is empty, and
    both are None.
    """

    text: str = ""
    precision: float | None = None
    recall: float | None = None


def find_rule(
    X: Any,
    inside: NDArray[np.bool_],
    learn: IntArray,
    judge: IntArray,
    *,
    seed: Any,
    tries: int,
    columns: Sequence[int] | None = None,
) -> Found:
    """Learn a rule for the rows inside a group, and keep it if it describes the group.

    Of the leaves of a small tree the one whose rows correlate most with the group is taken. It
    describes the group if, on the rows that judge it, precision and recall are both at least 0.8,
    and the precision is beyond that of rows drawn at random.

    Parameters
    ----------
    X : table
        Features.
    inside : array of bool
        Which rows are in the group.
    learn, judge : array of int
        Rows that fit the rule, and rows that evaluate it.
    seed : int, RandomState or None
        Seed of the tree.
    tries : int
        Number of groups that rules are searched for: the more, the smaller a p-value must be.
    columns : sequence of int or None
        Places of the columns that a rule may name; None: all of them.
    """
    known, truth = inside[learn], inside[judge]
    tree = RuleTree(MAX_NAMED_LEAVES, random_state=seed, columns=columns).fit(take(X, learn), known)
    leaf, held = tree.apply(take(X, learn)), tree.apply(take(X, judge))
    best = int(np.argmax([_phi(leaf == i, known) for i in range(len(tree.rules_))]))
    n, hits, size = int((held == best).sum()), int(truth[held == best].sum()), int(truth.sum())
    if hits == 0:
        return Found()
    precision, recall = hits / n, hits / size
    p_value = binom.sf(hits - 1, n, size / len(truth))
    if min(precision, recall) < FLOOR or p_value >= CHANCE / tries:
        return Found()
    return Found(tree.rules_[best].text, precision, recall)


def name_group(label: int, rule: str, profile: Sequence[Difference]) -> str:
    """Name a group by its number, and by its rule or else by what sets it apart most.

    Examples
    --------
    >>> older = Difference("age", "median age 61, others 42", 0.6)
    >>> name_group(3, "age ≥ 55", [older]), name_group(3, "", [older]), name_group(3, "", [])
    ('group 3: age ≥ 55', 'group 3 (median age 61, others 42)', 'group 3')
    """
    if rule:
        return f"group {label}: {rule}"
    return f"group {label} ({profile[0].text})" if profile else f"group {label}"


def _phi(rule: NDArray[np.bool_], group: NDArray[np.bool_]) -> float:
    """Correlation of two truth values; none with what is always the same."""
    spread = rule.std() * group.std()
    return float(((rule & group).mean() - rule.mean() * group.mean()) / spread) if spread else 0.0


MAX_LEAVES = 8
TAIL = 0.1  # of a kind's rows may lie below its span of groups, and as many above


class Kind(NamedTuple):
    """Rows that one rule describes.

    ``groups`` hold at least eight in ten of them, neighbours in the order of thresholds.

    Attributes
    ----------
    rule : str
        The rule in words.
    n, share : int, float
        Number of rows that it describes, and their share.
    groups : tuple of int
        Groups that hold most of them.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.explain import explain_groups
    >>> X = np.repeat([[0.0, 5.0], [1.0, 5.0]], 500, axis=0)
    >>> explanation = explain_groups(None, X, groups=X[:, 0].astype(int))
    >>> [(kind.rule, kind.n, kind.groups) for kind in explanation.kinds]
    [('x0 ≤ 0', 243, (0,)), ('x0 ≥ 1', 257, (1,))]
    """

    rule: str
    n: int
    share: float
    groups: tuple[int, ...]


class Surrogate(NamedTuple):
    """Kinds by rising threshold, and how much of the groups they describe, on rows held out.

    ``fidelity`` is the share of rows in the commonest group of their kind, ``chance`` the share of
    the largest group, ``order`` the rank correlation of a row's group and its kind's.
    """

    kinds: tuple[Kind, ...]
    fidelity: float
    chance: float
    order: float


def fit_surrogate(
    X: Any,
    places: IntArray,
    labels: IntArray,
    learn: IntArray,
    judge: IntArray,
    *,
    seed: Any,
    columns: Sequence[int] | None = None,
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
        Rows that fit the tree, and rows that evaluate it.
    seed : int, RandomState or None
        Seed of the tree.
    columns : sequence of int or None
        Places of the columns that rules may name; None: all of them.
    """
    known, truth = places[learn], places[judge]
    tree = RuleTree(MAX_LEAVES, random_state=seed, columns=columns).fit(take(X, learn), known)
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
