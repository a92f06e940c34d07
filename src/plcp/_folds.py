"""Folds and splits of rows, in which copies of a row stay together.

A copy in another fold teaches a model the score that it is then judged by: out-of-fold scores of
copied rows are those of a model that has seen them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold, train_test_split

from plcp._options import check_count, is_whole
from plcp._rows import count, hash_content, is_dataset
from plcp.quantiles import IntArray

Fold = tuple[IntArray, IntArray]
WHAT_CV_IS = (
    "cv must be a whole number of folds, a splitter such as KFold(5), or pairs of learn and hold "
    "rows"
)
MOST_THAT_DIFFER = 0.05  # in y, of rows with equal features that are copies


def copy_ids(X: Any, y: ArrayLike) -> IntArray:
    """Return an id for each row, numbered from 0; copies of a row have the same id.

    Copies are rows with equal features, if such rows hardly ever differ in ``y``: at most a
    twentieth as often as rows at random would. Otherwise, as in a table of few categories, equal
    rows are separate observations, also when there are at most sqrt(n) distinct rows. Whether rows
    are copies is decided for the whole table, not for a row by its outcome.

    Ids follow the order in which rows first occur. Items of a PyTorch data set are not read.

    Examples
    --------
    >>> copy_ids([[1.0], [2.0], [1.0], [3.0]], [0.5, 0.5, 0.5, 0.7])
    array([0, 1, 0, 2])
    >>> len(np.unique(copy_ids([[1], [2], [1], [2], [1], [2]], [0, 1, 1, 0, 0, 1])))
    6
    """
    n = count(X)
    if is_dataset(X):
        return np.arange(n)
    if isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except ValueError as error:
            raise ValueError("X must be a table, with rows of one length") from error
    first = _first_copies(X, np.asarray(y).reshape(n, -1))
    if len(np.unique(first)) ** 2 <= n:
        first = np.arange(n)
    return np.unique(first, return_inverse=True)[1].astype(np.intp)


def mean_copies(ids: IntArray) -> float:
    """How many rows there are for each distinct one, by the id of each row.

    Where each row occurs as often as others, a conformal rank among copies is that among distinct
    rows if a new row counts as many times.

    Examples
    --------
    >>> mean_copies(np.array([0, 0, 0, 1])), mean_copies(np.array([0, 1, 2]))
    (2.0, 1.0)
    """
    return len(ids) / (int(ids.max()) + 1)


def share_of_copies(ids: IntArray) -> float:
    """Share of the rows that are copies of others, by the id of each row.

    Examples
    --------
    >>> share_of_copies(np.array([0, 1, 0, 2]))
    0.25
    """
    return 1 - (int(ids.max()) + 1) / len(ids)


def _first_copies(X: Any, y: NDArray[Any]) -> IntArray:
    """Return the first of each row's copies."""
    alone = np.arange(len(y))
    _, first, features, sizes = np.unique(hash_content(X), True, True, True)
    if len(first) == len(y):
        return alone
    _, responses, counts = np.unique(hash_content(y), return_inverse=True, return_counts=True)
    differs = np.zeros(len(first), dtype=bool)
    differs[features[responses != responses[first][features]]] = True
    # rows at random, k of them together: they all have the same y with probability Σ p^k
    together, shares = np.unique(sizes[sizes > 1]), counts / len(y)
    expected = sum(k * np.sum(sizes == k) * (1 - np.sum(shares**k)) for k in together)
    if sizes[differs].sum() > MOST_THAT_DIFFER * expected:
        return alone
    return np.where(differs[features], alone, first[features])


def shuffled_folds(ids: IntArray, n_folds: int, seed: Any) -> list[Fold]:
    """Learn and hold rows of each fold, drawn at random; rows of one id are in the same fold.

    If there are fewer ids than folds, rows are divided one by one.

    Examples
    --------
    >>> [hold.tolist() for _, hold in shuffled_folds(np.array([0, 1, 0, 1]), 2, 0)]
    [[1, 3], [0, 2]]
    """
    folds = KFold(min(n_folds, len(ids)), shuffle=True, random_state=seed)
    if ids.max() + 1 < folds.n_splits:
        ids = np.arange(len(ids))
    held = [np.isin(ids, hold) for _, hold in folds.split(np.empty(ids.max() + 1))]
    return [(np.flatnonzero(~rows), np.flatnonzero(rows)) for rows in held]


def folds_of_classes(
    ids: IntArray, y: NDArray[Any], n_folds: int, rng: np.random.RandomState
) -> list[Fold]:
    """Folds with like shares of each class, none of which lacks a class to learn from.

    So a class that a single row has, or copies of one, is held out of no fold.
    """
    codes = np.unique(y, return_inverse=True)[1]
    first = np.unique(ids, return_index=True)[1]
    of_ids, sizes = codes[first], np.bincount(codes[first])
    order = np.lexsort((rng.permutation(len(first)), of_ids))
    fold_of_id = np.empty(len(first), dtype=np.intp)
    fold_of_id[order] = np.arange(len(first)) % n_folds
    fold_of_id[sizes[of_ids] == 1] = -1
    folds = fold_of_id[ids]
    return [
        (np.flatnonzero(folds != k), np.flatnonzero(folds == k))
        for k in np.unique(folds[folds >= 0])
    ]


def split_rows(ids: IntArray, share: float, rng: Any) -> Fold:
    """Rows of two parts, drawn at random: ``share`` of the ids are in the second.

    Examples
    --------
    >>> first, second = split_rows(np.array([0, 0, 1, 1, 2, 2]), 0.5, np.random.RandomState(0))
    >>> len(first) % 2, len(second) % 2
    (0, 0)
    """
    if ids.max() == 0:  # all rows are copies of one
        ids = np.arange(len(ids))
    every = np.unique(ids)
    learn, hold = train_test_split(every, test_size=share, random_state=rng)
    if len(every) == len(ids):
        return learn, hold
    return rows_of(learn, ids), rows_of(hold, ids)


def rows_of(chosen: IntArray, ids: IntArray) -> IntArray:
    """Rows of the chosen ids."""
    return np.flatnonzero(np.isin(ids, chosen))


def is_number_of_folds(cv: Any) -> bool:
    """Whether ``cv`` is a number of folds; else it must be a splitter, or list folds."""
    if is_whole(cv):
        return check_count("cv", cv, 2) > 0
    if is_splitter(cv) or (isinstance(cv, Iterable) and not isinstance(cv, str | bytes | Mapping)):
        return False
    raise ValueError(f"{WHAT_CV_IS}, got {cv!r}")


def is_splitter(cv: Any) -> bool:
    """Whether ``cv`` divides rows, as ``KFold`` does."""
    return hasattr(cv, "split") and hasattr(cv, "get_n_splits")


def check_splitter_groups(cv: Any, groups: IntArray | None) -> None:
    """Refuse a splitter that divides rows by groups, if there are none."""
    if groups is not None or not hasattr(cv, "get_metadata_routing"):
        return
    if cv.get_metadata_routing().split.requests.get("groups") is True:
        raise ValueError(
            f"cv={cv} divides rows by groups, and none are given: give the group of each row as "
            "groups= to fit, or another cv, such as 5"
        )


def given_folds(
    cv: Any,
    X: Any,
    y: ArrayLike,
    weights: ArrayLike | None = None,
    groups: IntArray | None = None,
) -> list[Fold] | None:
    """Folds of a splitter, or those that ``cv`` lists; None where it is a number of folds.

    With weights, rows of weight zero are dropped and the others are renumbered. ``groups`` are for
    splitters that ask for them.

    Examples
    --------
    >>> [hold.tolist() for _, hold in given_folds(KFold(2), np.zeros((4, 1)), np.zeros(4))]
    [[0, 1], [2, 3]]
    """
    if is_number_of_folds(cv):
        return None
    check_splitter_groups(cv, groups)
    folds = [_fold(pair, count(X)) for pair in (cv.split(X, y, groups) if is_splitter(cv) else cv)]
    if not folds:
        raise ValueError("cv gives no folds: give a number, or a splitter such as KFold(3)")
    held = np.bincount(np.concatenate([hold for _, hold in folds]), minlength=count(X))
    if (held == 0).any():
        raise ValueError(
            f"cv holds out only {np.count_nonzero(held)} of {len(held)} rows: each row needs a "
            "model that has not seen it, as by KFold or GroupKFold"
        )
    return folds if weights is None else remaining_folds(folds, np.flatnonzero(weights))


def _fold(pair: Any, n: int) -> Fold:
    """Learn and hold rows of one fold, checked."""
    if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
        raise ValueError(f"{WHAT_CV_IS}, got a list with {pair!r}")
    learn, hold = (np.asarray(rows) for rows in pair)
    for rows in (learn, hold):
        if rows.dtype.kind not in "iu" or rows.ndim != 1 or len(rows) == 0:
            raise ValueError(f"cv must give pairs of arrays of row numbers, got {rows!r}")
        if rows.min() < 0 or rows.max() >= n:
            raise ValueError(
                f"cv gives row {rows.max() if rows.max() >= n else rows.min()} of {n} rows: give "
                "a splitter such as KFold(3), or the folds of these rows"
            )
    if np.isin(hold, learn).any():
        raise ValueError("cv gives a fold that holds out rows it also learns from")
    return learn, hold


def remaining_folds(folds: list[Fold], kept: IntArray) -> list[Fold]:
    """Folds of the rows that are kept, by their new numbers.

    Examples
    --------
    >>> [part.tolist() for part in remaining_folds([(np.array([0, 2]), np.array([1]))], [1, 2])[0]]
    [[1], [0]]
    """
    left = [[np.flatnonzero(np.isin(kept, rows)) for rows in fold] for fold in folds]
    if any(len(hold) and not len(learn) for learn, hold in left):
        raise ValueError("cv gives a fold that learns only from rows of weight zero")
    return [(learn, hold) for learn, hold in left if len(hold)]
