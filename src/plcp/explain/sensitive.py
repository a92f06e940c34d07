"""How strongly groups depend on a column that somebody named."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2_contingency

from plcp.explain.columns import Column
from plcp.explain.reading import read_columns
from plcp.explain.words import percent
from plcp.quantiles import FloatArray, IntArray

MOST_VALUES, BINS = 13, 5  # numbers of more values are told by fifths


class Sensitive(NamedTuple):
    """A named column beside the groups.

    ``dependence`` is Cramér's V without its bias: zero where groups tell nothing of the column, one
    where they tell all. ``shares`` has a row for each group, with the share of each of ``values``
    in it; ``overall`` has the shares in all rows.
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
    return tuple(_compare(column, column.read(table), places, labels) for column in columns)


def _compare(column: Column, values: FloatArray, places: IntArray, labels: IntArray) -> Sensitive:
    codes, names = _cells(column, values)
    counts = np.zeros((len(labels), len(names)))
    np.add.at(counts, (places, codes), 1)
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
