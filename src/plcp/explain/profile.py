"""Profiles of groups: the features in which their rows differ most, and sensitive columns."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, hypergeom, mannwhitneyu

from plcp.explain.columns import CategoryColumn, Column, TruthColumn, percent, read_columns
from plcp.quantiles import FloatArray, IntArray

MOST_DIFFERENCES = 4
CHANCE = 0.05  # of reporting any difference, in any group, where there is none
# By a smaller effect at most 55 in 100 guesses are right which of two rows is the group's
LEAST_EFFECT = 0.1
# A median in the middle fifth of the others, or a mean within a fifth of their standard deviation,
# Cohen's least effect, does not tell a reader what differs
LEAST_SHIFT = 0.2


class Difference(NamedTuple):
    """A feature in which a group differs from the rest.

    ``effect`` lies in [-1, 1]. Of numbers it is P(x > z) - P(x < z) for a row x of the group and a
    row z of the rest (Cliff's delta); of categories, and of gaps, the difference of shares.

    Attributes
    ----------
    feature : str
        Name of the column.
    text : str
        The difference in words.
    effect : float
        Its size and direction.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.explain import explain_groups
    >>> X = np.repeat([[0.0, 5.0], [1.0, 5.0]], 500, axis=0)
    >>> explanation = explain_groups(None, X, groups=X[:, 0].astype(int))
    >>> [(one.feature, one.text, one.effect) for one in explanation.groups[0].profile]
    [('x0', 'median x0 0, others 1', -1.0)]
    """

    feature: str
    text: str
    effect: float


class _Tested(NamedTuple):
    difference: Difference
    p_value: float


def profile(
    columns: Sequence[Column],
    values: Sequence[FloatArray],
    inside: NDArray[np.bool_],
    *,
    tries: int = 1,
    tests: int = 0,
) -> tuple[Difference, ...]:
    """Return the features that differ most, largest effect first, beyond chance and not trivially.

    Parameters
    ----------
    columns : list of Column
        Features.
    values : list of array
        Their values, as the columns read them.
    inside : array of bool
        Which rows are in the group.
    tries : int
        Groups that are compared: the more there are, the more a difference must prove.
    tests : int
        Tests that this family has in all, where ``columns`` were chosen from more of them.
    """
    if inside.all() or not inside.any():
        return ()
    tested = [
        one
        for column, known in zip(columns, values, strict=True)
        for one in _compare(column, known, inside)
    ]
    family = max(tests, len(tested)) * tries
    sure = [
        one.difference
        for one in tested
        if one.p_value * family < CHANCE and abs(one.difference.effect) >= LEAST_EFFECT
    ]
    largest: dict[str, Difference] = {}
    # of a value and its opposite, which differ by as much, the more frequent one is reported
    for one in sorted(sure, key=lambda one: (-round(abs(one.effect), 9), -one.effect, one.text)):
        largest.setdefault(one.feature, one)
    return tuple(largest.values())[:MOST_DIFFERENCES]


def count_tests(columns: Sequence[Column]) -> int:
    """Return the most tests that a profile makes of these columns."""
    return sum(
        column.has_missing + (len([*column.ranked()]) if isinstance(column, CategoryColumn) else 1)
        for column in columns
    )


def _compare(column: Column, values: FloatArray, inside: NDArray[np.bool_]) -> Iterator[_Tested]:
    gaps = np.isnan(values)
    if column.has_missing:
        yield _shares(column.label, "missing", gaps, inside)
    if isinstance(column, TruthColumn):
        yield _shares(column.label, "true", values == 1, inside)
    elif isinstance(column, CategoryColumn):
        for rank, name in column.ranked():
            yield _shares(column.label, name, values == rank, inside)
    elif (inside & ~gaps).any() and (~inside & ~gaps).any():
        yield from _numbers(column, values[inside & ~gaps], values[~inside & ~gaps])


def _shares(label: str, value: str, has: NDArray[np.bool_], inside: NDArray[np.bool_]) -> _Tested:
    """How much commoner a value is inside, by Fisher's exact test of both sides."""
    own, others = float(has[inside].mean()), float(has[~inside].mean())
    law, hits = (len(has), int(has.sum()), int(inside.sum())), int(has[inside].sum())
    p_value = 2 * min(hypergeom.cdf(hits, *law), hypergeom.sf(hits - 1, *law))
    text = f"{label} is {value} for {percent(own)}, of others {percent(others)}"
    return _Tested(Difference(label, text, own - others), float(p_value))


def _numbers(column: Column, own: FloatArray, others: FloatArray) -> Iterator[_Tested]:
    """Whether the values inside are larger or smaller, by the test of Mann and Whitney."""
    test = mannwhitneyu(own, others, method="asymptotic")
    effect = 2 * test.statistic / (len(own) * len(others)) - 1
    word, pair = "median", (np.median(own), np.median(others))
    beyond = (others > pair[0]).mean() - (others < pair[0]).mean()
    differ = abs(beyond) >= LEAST_SHIFT and pair[0] != pair[1]
    if not differ:
        word, pair = "mean", (own.mean(), others.mean())
        with np.errstate(invalid="ignore"):  # means of infinite values do not differ
            differ = abs(pair[0] - pair[1]) >= LEAST_SHIFT * others.std()
    here, there = (column.rounded(float(value)) for value in pair)
    text = f"{word} {column.label} {here}, others {there}"
    if differ and here != there:  # a difference of spread alone has no such words
        yield _Tested(Difference(column.label, text, float(effect)), float(test.pvalue))


MOST_VALUES, BINS = 13, 5  # numbers of more values are cut into fifths


class Sensitive(NamedTuple):
    """A named column beside the groups.

    ``dependence`` is Cramér's V without its bias: zero where groups and column are independent, one
    where groups determine it. ``shares`` has a row for each group, with the share of each of
    ``values`` in it; ``overall`` has the shares in all rows.

    Attributes
    ----------
    column : str
        Name of the column.
    dependence : float
        Between 0 and 1.
    text : str
        How strong it is, in words.
    values : tuple of str
        Values of the column.
    overall, shares : tuple
        Share of each value in all rows, and in each group.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from plcp.explain import explain_groups
    >>> X = np.repeat([[0.0, 5.0], [1.0, 5.0]], 500, axis=0)
    >>> sex = pd.DataFrame({"sex": np.repeat(["f", "m"], 500)})
    >>> explanation = explain_groups(None, X, groups=X[:, 0].astype(int), sensitive=sex)
    >>> [one] = explanation.sensitive
    >>> one.column, round(one.dependence, 2), one.values, one.shares
    ('sex', 1.0, ('sex is f', 'sex is m'), ((1.0, 0.0), (0.0, 1.0)))
    """

    column: str
    dependence: float
    text: str
    values: tuple[str, ...]
    overall: tuple[float, ...]
    shares: tuple[tuple[float, ...], ...]


def compare_sensitive(table: Any, places: IntArray, labels: IntArray) -> tuple[Sensitive, ...]:
    """Compare each column of a table with the groups of its rows.

    Parameters
    ----------
    table : DataFrame
        The columns that were named.
    places : array of int
        Place of the group of each row in ``labels``.
    labels : array of int
        Numbers of the groups.
    """
    columns = read_columns(table, places.astype(float), min_rows=1)
    return tuple(
        _compare_sensitive(column, column.read(table), places, labels) for column in columns
    )


def _compare_sensitive(
    column: Column, values: FloatArray, places: IntArray, labels: IntArray
) -> Sensitive:
    counts, names = count_cells(column, values, places, len(labels))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    overall = counts.sum(axis=0) / counts.sum()
    dependence = cramers_v(counts)
    present = np.flatnonzero(counts.any(axis=1))  # of a group without rows no share is known
    apart = np.abs(shares[present] - overall)
    place, value = np.unravel_index(np.argmax(apart), apart.shape)
    group = present[place]
    text = (
        f"{names[value]}: {percent(shares[group, value])} of group {labels[group]}, "
        f"{percent(overall[value])} of all"
        if dependence
        else f"groups do not depend on {column.label} beyond chance"
    )
    rows = tuple(map(tuple, shares.tolist()))
    return Sensitive(column.label, dependence, text, names, tuple(overall.tolist()), rows)


def count_cells(
    column: Column, values: FloatArray, places: IntArray, m: int
) -> tuple[FloatArray, tuple[str, ...]]:
    """Rows of each of m groups with each value, or range of values, and the names of those."""
    codes, names = _cells(column, values)
    counts = np.bincount(places * len(names) + codes, minlength=m * len(names))
    return counts.reshape(m, len(names)).astype(float), names


def _cells(column: Column, values: FloatArray) -> tuple[IntArray, tuple[str, ...]]:
    """Code of each row's value, or range of values, and their names; the last for missing ones."""
    gaps = np.isnan(values)
    known = np.unique(values[~gaps])
    most = MOST_VALUES if len(known) <= MOST_VALUES else BINS
    cuts = column.cuts(values, most - 1).tolist()
    if len(known) <= most:  # a value each
        names = [column.value_words(value) for value in known.tolist()]
    else:
        names = [column.words(*pair) for pair in pairwise([None, *cuts, None])]
    names = names or [f"{column.label} is not missing"]
    codes = np.where(gaps, len(names), np.searchsorted(cuts, values, side="right"))
    return codes, (*names, f"{column.label} is missing") if gaps.any() else tuple(names)


def cramers_v(counts: FloatArray) -> float:
    """Dependence of rows and columns of a table of counts, without the bias of small samples.

    References
    ----------
    Bergsma (2013). A bias-correction for Cramér's V and Tschuprow's T. Journal of the Korean
    Statistical Society.

    Examples
    --------
    >>> cramers_v(np.array([[50, 0], [0, 50]])), cramers_v(np.array([[25, 25], [25, 25]]))
    (1.0, 0.0)
    """
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    n, (r, c) = counts.sum(), counts.shape
    if min(r, c) < 2:
        return 0.0
    square = chi2_contingency(counts, correction=False).statistic / n
    square = max(0.0, square - (r - 1) * (c - 1) / (n - 1))
    r, c = (size - (size - 1) ** 2 / (n - 1) for size in (r, c))
    return float(np.sqrt(square / (min(r, c) - 1))) if min(r, c) > 1 else 0.0


MOST_COLUMNS = 32  # more than a report draws; trees and shuffles of more cost as much as fits


def screen_columns(
    columns: Sequence[Column],
    values: Sequence[FloatArray],
    places: IntArray,
    most: int = MOST_COLUMNS,
) -> list[int]:
    """Places of the columns that depend most on the groups, in their order.

    The dependence is Cramér's V without its bias, of the groups and a column's values or, for
    numbers of many values, its fifths. A column that matters only together with others has none.

    Parameters
    ----------
    columns : list of Column
        Features.
    values : list of array
        Their values, as the columns read them.
    places : array of int
        Place of the group of each row.
    most : int
        How many columns are kept; all if there are no more.

    Examples
    --------
    >>> from plcp.explain.columns import read_columns
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> columns, places = read_columns(X, X[:, 0], 1), (X[:, 1] > 0).astype(int)
    >>> screen_columns(columns, X.T, places, most=1)
    [1]
    """
    if len(columns) <= most:
        return list(range(len(columns)))
    m = int(places.max()) + 1
    dependence = [
        cramers_v(count_cells(column, known, places, m)[0])
        for column, known in zip(columns, values, strict=True)
    ]
    strongest = np.argsort(-np.array(dependence), kind="stable")[:most]
    return np.sort(strongest).tolist()
