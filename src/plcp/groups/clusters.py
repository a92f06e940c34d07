"""Rows that belong together, such as those of one patient: they are divided and counted as one.

Rows of one group, in scikit-learn's word for it, are alike, so that only groups are exchangeable.
With weight 1 / (rows of its group) for each row, and a new row for which infinity has weight one,
conformal quantiles are exact for a row drawn at random from a new group. The code says cluster,
since a group elsewhere is a kind of input.

References
----------
Lee, Barber, Willett (2023). Distribution-free inference with hierarchical data.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plcp._folds import Fold
from plcp._options import check_same_rows, shown
from plcp._rows import count, to_plain_array
from plcp._validation import check_at_hand, effective_rows, effective_sizes
from plcp.groups.groups import check_present, check_sortable
from plcp.quantiles import FloatArray, IntArray


def cluster_numbers(
    groups: ArrayLike | None, X: Any, sample_weight: ArrayLike | None = None
) -> IntArray | None:
    """Number of the group of each row, in the order they occur; None where no groups are given.

    Examples
    --------
    >>> cluster_numbers(["b", "a", "b"], [[1.0], [2.0], [3.0]])
    array([0, 1, 0])
    """
    if groups is None:
        return None
    check_at_hand(groups=groups)
    check_same_rows(X, groups=groups)
    labels = np.asarray(to_plain_array(groups))
    if labels.shape != (count(X),):
        raise ValueError(
            f"groups must give the group of each row, shape ({count(X)},), got {labels.shape}"
        )
    check_present(labels, "")
    check_sortable(labels)
    distinct, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    if len(distinct) == 1:
        raise ValueError(
            f"groups has one group alone, {shown(distinct.tolist()[0])}: give those of rows that "
            "belong together, such as the patient of each row, or leave groups out"
        )
    if sample_weight is not None:
        raise ValueError(
            "groups are not supported with sample_weight: each group counts as one, whatever its "
            "rows would weigh; leave one of them out"
        )
    return np.argsort(np.argsort(first))[numbers]


def cluster_weights(clusters: IntArray) -> FloatArray | None:
    """Weight of each row, such that each cluster weighs one; None if all have a single row.

    Examples
    --------
    >>> cluster_weights(np.array([1, 0, 1, 1])).round(2)
    array([0.33, 1.  , 0.33, 0.33])
    """
    sizes = np.bincount(clusters)
    return None if sizes.max() == 1 else 1 / sizes[clusters]


def check_enough(n_clusters: int, n_folds: int) -> None:
    """Refuse folds that outnumber the clusters."""
    if n_clusters < n_folds:
        fewer = f"cv={n_clusters}, or " if n_clusters > 1 else ""
        raise ValueError(
            f"too few groups of rows, {n_clusters}, for {n_folds} folds, which hold one at least: "
            f"give {fewer}rows of more groups"
        )


def check_whole(clusters: IntArray | None, folds: list[Fold] | None) -> None:
    """Refuse folds that learn from one row of a cluster, and hold out another."""
    if clusters is None or folds is None:
        return
    for learn, hold in folds:
        if np.isin(clusters[hold], clusters[learn]).any():
            raise ValueError(
                "cv gives a fold that holds out rows of a group it also learns from: give a "
                "number, or a splitter that keeps groups whole, such as GroupKFold(5)"
            )


def independent_rows(n: int, weights: FloatArray | None, clusters: IntArray | None) -> float:
    """Number of clusters that n rows make, or of rows by their weights (Kish)."""
    return effective_rows(n, weights) if clusters is None else float(len(np.unique(clusters)))


def independent_sizes(
    groups: IntArray, n_groups: int, weights: FloatArray | None, clusters: IntArray | None
) -> FloatArray | None:
    """Number of clusters with rows in each group, or of rows by their weights (Kish).

    None where each row counts as one.

    Examples
    --------
    >>> groups, clusters = np.array([0, 0, 1]), np.array([5, 5, 5])
    >>> independent_sizes(groups, 2, None, clusters)
    array([1., 1.])
    """
    if clusters is not None:
        cells = np.unique(np.column_stack([groups, clusters]), axis=0)
        return np.bincount(cells[:, 0], minlength=n_groups).astype(float)
    return None if weights is None else effective_sizes(groups, weights, n_groups)
