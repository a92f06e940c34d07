"""What is special about the rows of a group: the features in which they differ most."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom, mannwhitneyu

from plcp.explain.categories import CategoryColumn
from plcp.explain.columns import Column, TruthColumn
from plcp.explain.words import percent
from plcp.quantiles import FloatArray

MOST_TOLD = 4
CHANCE = 0.05  # of any difference told, in any group, that is none


class Difference(NamedTuple):
    """A feature in which a group differs from the rest.

    ``effect`` lies in [-1, 1]. Of numbers it is P(x > z) - P(x < z) for a row x of the group and a
    row z of the rest (Cliff's delta); of categories, and of gaps, the difference of shares.
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
) -> tuple[Difference, ...]:
    """Return the features that differ most, largest effect first, only those beyond chance.

    Parameters
    ----------
    columns : list of Column
        Features.
    values : list of array
        Their values, as the columns read them.
    inside : array of bool
        Which rows are in the group.
    tries : int
        Groups that are looked at: the more there are, the more a difference must prove.
    """
    if inside.all() or not inside.any():
        return ()
    tested = [
        one
        for column, known in zip(columns, values, strict=True)
        for one in _compare(column, known, inside)
    ]
    sure = [one.difference for one in tested if one.p_value * len(tested) * tries < CHANCE]
    largest: dict[str, Difference] = {}
    # of a value and its opposite, which differ by as much, the commoner one is told
    for one in sorted(sure, key=lambda one: (-round(abs(one.effect), 9), -one.effect, one.text)):
        largest.setdefault(one.feature, one)
    return tuple(largest.values())[:MOST_TOLD]


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
    if pair[0] == pair[1]:
        word, pair = "mean", (own.mean(), others.mean())
    here, there = (column.rounded(float(value)) for value in pair)
    text = f"{word} {column.label} {here}, others {there}"
    if here != there:  # a difference of spread alone has no such words
        yield _Tested(Difference(column.label, text, float(effect)), float(test.pvalue))
