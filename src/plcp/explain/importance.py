"""Importance of columns for learned groups, by permutation."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from plcp._rows import count, is_frame, take
from plcp.quantiles import FloatArray, IntArray

MOST_ROWS, REPEATS = 500, 5
MOST_CELLS = 2**23  # of the rows predicted at once: 64 MB of numbers

Shuffle = tuple[int, IntArray]  # place of a column, and the rows that its values come from


class Importance(NamedTuple):
    """How far rows move between groups when one column is shuffled.

    Zero: nowhere. One: as far as if all columns were. ``error`` is the standard error of the mean
    over shuffles.

    Attributes
    ----------
    feature : str
        Name of the column.
    value, error : float
        How far rows move, and its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.explain import partition_importance
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> first, second = partition_importance(lambda X: (X[:, 0] > 0).astype(int), X)
    >>> first.feature, first.value > 0.5, second.value
    ('x0', True, 0.0)
    """

    feature: str
    value: float
    error: float


def partition_importance(
    place: Callable[[Any], IntArray],
    X: Any,
    random_state: Any = 0,
    *,
    n_repeats: int = REPEATS,
    columns: Sequence[int] | None = None,
) -> tuple[Importance, ...]:
    """Permutation importance of each column for an ordered partition, largest first.

    The mean number of groups by which rows move, relative to that between two rows drawn at random.
    Rows of many shuffles are predicted together: one prediction of many rows costs far less than
    many of a few.

    Parameters
    ----------
    place : callable
        Place of the group of each row of a table, in the order of thresholds.
    X : DataFrame or array
        Features; at most 500 of its rows, drawn at random, are shuffled.
    random_state : int, RandomState or None
        Seed of rows and shuffles.
    n_repeats : int
        Shuffles of each column.
    columns : sequence of int or None
        Places of the columns to shuffle; None: all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.explain import partition_importance
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> first, second = partition_importance(lambda X: (X[:, 1] > 0).astype(int), X)
    >>> first.feature, second.value
    ('x1', 0.0)
    """
    rng = check_random_state(random_state)
    if count(X) > MOST_ROWS:
        X = take(X, np.sort(rng.choice(count(X), MOST_ROWS, replace=False)))
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    elif not is_frame(X):
        X = np.asarray(X)
    names = list(X.columns) if is_frame(X) else [f"x{i}" for i in range(X.shape[1])]
    chosen = range(len(names)) if columns is None else columns
    places = place(X)
    scale = _mean_distance(places)
    if scale == 0:  # one group: nothing depends on anything
        return tuple(Importance(str(names[i]), 0.0, 0.0) for i in chosen)
    shuffles = [(i, rng.permutation(len(places))) for i in chosen for _ in range(n_repeats)]
    moved = np.concatenate([*_distances(place, X, places, shuffles)]).reshape(-1, n_repeats) / scale
    means = moved.mean(axis=1)
    errors = moved.std(axis=1, ddof=1) / np.sqrt(n_repeats)
    order = np.argsort(-means, kind="stable")
    return tuple(
        Importance(str(names[chosen[i]]), float(means[i]), float(errors[i])) for i in order
    )


def _distances(
    place: Callable[[Any], IntArray], X: Any, places: IntArray, shuffles: Sequence[Shuffle]
) -> Iterator[FloatArray]:
    """Mean number of groups that rows move by in each shuffle."""
    n, d = X.shape
    at_once = max(1, MOST_CELLS // (n * d))
    for start in range(0, len(shuffles), at_once):
        part = shuffles[start : start + at_once]
        moved = place(_shuffled(X, part)).reshape(len(part), n)
        yield np.abs(moved - places).mean(axis=1)


def _shuffled(X: Any, shuffles: Sequence[Shuffle]) -> Any:
    """Return the rows of X once for each shuffle, one below the other, with its column shuffled."""
    n = len(X)
    same = np.tile(np.arange(n), len(shuffles))
    table = take(X, same)
    sources: dict[int, IntArray] = {}
    for k, (column, rows) in enumerate(shuffles):
        sources.setdefault(column, same.copy())[k * n : (k + 1) * n] = rows
    if not is_frame(X):
        for column, rows in sources.items():
            table[:, column] = X[rows, column]
        return table
    table = table.reset_index(drop=True)
    for column, rows in sources.items():
        name = X.columns[column]
        table[name] = X[name].array.take(rows)
    return table


def _mean_distance(places: IntArray) -> float:
    """Mean of |a - b| over all pairs of rows."""
    shares = np.bincount(places) / len(places)
    below = np.cumsum(shares)[:-1]
    return float(2 * (below * (1 - below)).sum())
