"""Which columns the groups depend on: what happens when one of them is shuffled."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.utils import check_random_state

from plcp.quantiles import FloatArray, IntArray
from plcp.rows import count, is_frame, take

MOST_ROWS, REPEATS = 2_000, 5


class Importance(NamedTuple):
    """How far rows move between groups when one column is shuffled.

    Zero: nowhere. One: as far as if all columns were. ``error`` is the standard error of the mean
    over shuffles.
    """

    feature: str
    value: float
    error: float


def partition_importance(
    place: Callable[[Any], IntArray], X: Any, random_state: Any = 0, *, n_repeats: int = REPEATS
) -> tuple[Importance, ...]:
    """Permutation importance of each column for an ordered partition, largest first.

    The mean number of groups by which rows move, relative to that between two rows drawn at random.

    Parameters
    ----------
    place : callable
        Place of the group of each row of a table, in the order of thresholds.
    X : DataFrame or array
        Features; at most 2,000 of its rows are shuffled.
    random_state : int, RandomState or None
        Seed of rows and shuffles.
    n_repeats : int
        Shuffles of each column.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> first, second = partition_importance(lambda X: (X[:, 1] > 0).astype(int), X)
    >>> first.feature, second.value
    ('x1', 0.0)
    """
    rng = check_random_state(random_state)
    if count(X) > MOST_ROWS:
        X = take(X, np.sort(rng.choice(count(X), MOST_ROWS, replace=False)))
    if hasattr(X, "to_pandas"):  # scikit-learn shuffles columns of pandas and numpy alone
        X = X.to_pandas()
    names = list(X.columns) if is_frame(X) else [f"x{i}" for i in range(np.shape(X)[1])]
    places = place(X)
    scale = _mean_distance(places)
    if scale == 0:  # one group: nothing depends on anything
        return tuple(Importance(str(name), 0.0, 0.0) for name in names)

    def nearness(_: Any, shuffled: Any, known: IntArray) -> float:
        return -float(np.abs(place(shuffled) - known).mean()) / scale

    found = permutation_importance(
        _Placed(), X, places, scoring=nearness, n_repeats=n_repeats, random_state=rng
    )
    errors = found.importances.std(axis=1, ddof=1) / np.sqrt(n_repeats)
    order = np.argsort(-found.importances_mean, kind="stable")
    means: FloatArray = found.importances_mean
    return tuple(Importance(str(names[i]), float(means[i]), float(errors[i])) for i in order)


class _Placed:
    """Stands for the rule: the scorer asks ``place`` itself."""

    def fit(self) -> None: ...


def _mean_distance(places: IntArray) -> float:
    """Mean of |a - b| over all pairs of rows."""
    shares = np.bincount(places) / len(places)
    below = np.cumsum(shares)[:-1]
    return float(2 * (below * (1 - below)).sum())
