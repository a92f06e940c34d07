"""Bins of a number, as groups of rows."""

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from plcp.metrics.grouping import Grouping
from plcp.metrics.outcomes import check_counts, check_numbers
from plcp.quantiles import FloatArray, IntArray
from plcp.validation import check_count


def quantile_bins(
    values: ArrayLike, n_bins: int = 10, *, sample_weight: ArrayLike | None = None
) -> Grouping:
    """Bins of a number that hold about as many rows each.

    Equal values stay in one bin, so ties make bins uneven or fewer. Infinite values are allowed.
    Bins of a frame's column carry its name.

    Examples
    --------
    >>> quantile_bins([1, 2, 3, 4, 5, 6], 3).names.tolist()
    ['[1, 2]', '(2, 4]', '(4, 6]']
    >>> quantile_bins([0, 0, 0, 0, 5, 6], 3).names.tolist()
    ['[0, 0]', '(0, 6]']
    """
    n_bins = check_count("n_bins", n_bins, least=1)
    numbers = check_numbers("values", values, finite=False)
    counts = check_counts(sample_weight, len(numbers))
    least, *rest = count_quantiles(numbers, np.arange(n_bins + 1), n_bins, counts)
    edges = np.unique(rest)
    first, *others = _texts(np.array([least, *edges]))
    names = [f"[{first}, {others[0]}]", *_between(others)]
    return _binned(numbers, edges[:-1], _titled(values, names))


def cut_bins(values: ArrayLike, edges: ArrayLike) -> Grouping:
    """Bins of a number between given edges, each with its right edge; some may hold no row.

    Examples
    --------
    >>> cut_bins([1, 1, 2, 7], [1, 3]).names.tolist()
    ['<= 1', '(1, 3]', '> 3']
    """
    cuts = np.asarray(edges, dtype=float)
    finite = cuts.ndim == 1 and len(cuts) > 0 and np.isfinite(cuts).all()
    if not finite or (np.diff(cuts) <= 0).any():
        raise ValueError(
            f"edges must be finite and rising, got {edges!r}: leave out the open ends, as in "
            "[1, 3, 10]"
        )
    texts = _texts(cuts)
    names = [f"<= {texts[0]}", *_between(texts), f"> {texts[-1]}"]
    return _binned(check_numbers("values", values, finite=False), cuts, _titled(values, names))


def count_quantiles(
    values: FloatArray, parts: IntArray, whole: int, counts: FloatArray | None
) -> FloatArray:
    """Smallest value that parts / whole of the rows do not exceed; the smallest of all for 0.

    Examples
    --------
    >>> count_quantiles(np.array([3.0, 1.0, 2.0, 4.0]), np.array([0, 1, 2]), 2, None)
    array([1., 2., 4.])
    """
    if counts is None:
        ordered, total = np.sort(values), len(values)
        ranks = -(-parts * total // whole)  # in whole numbers: 0.7 · 10 is above 7 in floats
        return ordered[np.maximum(ranks, 1) - 1]
    order = np.argsort(values)
    reached = np.cumsum(counts[order]).astype(np.int64)
    ranks = -(-parts * reached[-1] // whole)
    return values[order[np.searchsorted(reached, np.maximum(ranks, 1))]]


def _binned(values: FloatArray, edges: FloatArray, names: list[str]) -> Grouping:
    codes = np.searchsorted(edges, values, side="left")
    return Grouping(np.array(names), codes, None, len(values))


def _titled(values: ArrayLike, names: list[str]) -> list[str]:
    """Names after that of the column, if the values are one."""
    title = getattr(values, "name", None)
    return [f"{title} {name}" for name in names] if title else names


def _between(texts: list[str]) -> list[str]:
    return [f"({low}, {high}]" for low, high in pairwise(texts)]


def _texts(edges: FloatArray) -> list[str]:
    """Edges with as few digits as tell them apart, from four on."""
    for digits in range(4, 18):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len({*texts}) == len({*edges.tolist()}):
            break
    return texts
