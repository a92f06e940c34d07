"""Columns of categories, in the order of what they foretell."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.explain.columns import Column, alone
from plcp.indices.tables import TableEncoder
from plcp.quantiles import FloatArray, IntArray
from plcp.validation import is_missing

MOST_CATEGORIES = 12  # so that no list in a rule has more than half a dozen names
RARE = "a rare one"


class CategoryColumn(Column):
    """Categories by rising mean of y; those with few rows are one category together.

    A category that was not there in fit goes with the rare ones, if there are none, where the mean
    of all rows has its place.

    Parameters
    ----------
    name, encoder, X
        As for `Column`.
    y : array
        What orders the categories.
    min_rows : int
        A category with fewer rows is rare, and so are all beyond the 12 most frequent.
    """

    def __init__(
        self, name: Any, encoder: TableEncoder, X: Any, y: FloatArray, min_rows: int
    ) -> None:
        self.name, self.label, self._encoder = name, str(name), encoder
        self._known = np.asarray(encoder.categories_[0]).tolist()
        codes, missing = self._codes(X)
        kept = _frequent(codes[~missing], len(self._known), min_rows)
        self._names = [self._known[code] for code in kept]
        self._place = np.full(len(self._known) + 1, len(kept))  # the rare come last
        self._place[kept] = np.arange(len(kept))
        places = self._place[codes]
        self._rank = _ranks(places[~missing], y[~missing], len(kept) + 1)
        self.has_missing, self.has_rare = False, False
        self.meet(np.where(missing, np.nan, self._rank[places]))

    def meet(self, values: FloatArray) -> None:
        """Note what words must tell of these ranks too: gaps, and rare categories."""
        self.has_missing |= bool(np.isnan(values).any())
        self.has_rare |= bool((values == self._rank[-1]).any())

    def read(self, X: Any) -> FloatArray:
        """Rank of each row's category; nan is missing."""
        codes, missing = self._codes(X)
        return np.where(missing, np.nan, self._rank[self._place[codes]])

    def cut(self, below: float, above: float) -> float:
        """Half way between two ranks."""
        return (below + above) / 2

    def words(self, low: float | None, high: float | None) -> str:
        """Name the categories in a range of ranks, or those outside it if they are fewer."""
        inside = np.ones(len(self._rank), dtype=bool)
        if low is not None:
            inside &= self._rank >= low
        if high is not None:
            inside &= self._rank < high
        listed, left_out = self._listed(inside), self._listed(~inside)
        if listed and len(listed) <= len(left_out):
            return f"{self.label} is {either(listed)}"
        return f"{self.label} is not {either(left_out)}"

    def value_words(self, value: float) -> str:
        """Name the category of one rank."""
        return f"{self.label} is {dict(self.ranked())[value]}"

    def ranked(self) -> Iterator[tuple[float, str]]:
        """Rank and name of each category; the rare ones have one name together."""
        names = [*self._names, RARE] if self.has_rare else self._names
        yield from zip(self._rank.tolist(), names, strict=False)

    def _listed(self, members: NDArray[np.bool_]) -> list[str]:
        names = sorted(name for name, is_in in zip(self._names, members[:-1], strict=True) if is_in)
        return [*names, RARE] if self.has_rare and members[-1] else names

    def _codes(self, X: Any) -> tuple[IntArray, NDArray[np.bool_]]:
        """Codes, the last of all for an unseen category, and which values are missing."""
        table = alone(X, self.name)
        codes = self._encoder.transform(table)[:, 0]  # type: ignore[union-attr]
        filled = np.where(np.isnan(codes), len(self._known), codes).astype(np.intp)
        return filled, is_missing(np.asarray(table[self.name]))


def either(names: list[str]) -> str:
    """Join names by commas and an or.

    Examples
    --------
    >>> either(["CA", "NY", "TX"]), either(["CA"])
    ('CA, NY or TX', 'CA')
    """
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _frequent(codes: IntArray, n_codes: int, min_rows: int) -> IntArray:
    """Codes with enough rows, in their order, and only the most frequent of them."""
    counts = np.bincount(codes, minlength=n_codes + 1)[:n_codes]
    often = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    return np.sort(often[counts[often] >= min_rows])


def _ranks(places: IntArray, y: FloatArray, n_places: int) -> FloatArray:
    """Rank of each place by its mean of y; an empty place has the mean of all."""
    counts = np.bincount(places, minlength=n_places)
    sums = np.bincount(places, y, minlength=n_places)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), y.mean())
    ranks = np.empty(n_places)
    ranks[np.argsort(means, kind="stable")] = np.arange(n_places)
    return ranks
