"""The contract of a partition, and how its groups are put in order."""

import warnings
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp._base import Estimator
from plcp._options import check_count, check_rate
from plcp._validation import check_pairs, drop_weightless, takes_nan
from plcp.exceptions import CollapseWarning
from plcp.quantiles import FloatArray, IntArray

COLLAPSE_SHARE = 0.95
ROUNDING = 1e-9  # memberships so close are the same, added in another order


class Partition(Estimator, ABC):
    """A learned map h from covariates to the simplex: memberships of ``n_groups`` groups.

    ``fit(X, scores)`` learns h, and with it a threshold for each group; ``predict_proba(X)`` gives
    memberships, ``predict(X)`` the likeliest group, ``predict_quantile(X)`` the mean threshold
    Σ h_i(x) q_i. Groups are numbered by rising threshold; dead groups and groups of equal
    threshold are merged, so ``n_groups_`` may be below ``n_groups``.

    Attributes
    ----------
    thresholds_ : ndarray of shape (``n_groups_``,)
        Threshold of each group on the data it was learned from, rising. They are too optimistic:
        ``PLCP`` reads its own off other data unless ``calibration="joint"``.
    group_sizes_ : ndarray of shape (``n_groups_``,)
        Membership mass of each group in the data.
    history_ : list of dict
        What each iteration reached.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import TreePartition
    >>> from plcp.partitions import Partition
    >>> X = np.repeat([[0.0], [1.0]], 100, axis=0)
    >>> partition = TreePartition(n_groups=2).fit(X, np.repeat([1.0, 3.0], 100))
    >>> isinstance(partition, Partition), partition.thresholds_
    (True, array([1., 3.]))
    >>> partition.predict([[1.0], [0.0]]), partition.predict_proba([[1.0]])
    (array([1, 0]), array([[0., 1.]]))
    """

    thresholds_: FloatArray
    group_sizes_: FloatArray
    history_: list[dict[str, Any]]

    @abstractmethod
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn groups from features ``X`` and scores ``y``."""

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Memberships h(x), shape (n, ``n_groups_``)."""

    def predict(self, X: Any) -> IntArray:
        """Likeliest group of each row."""
        return likeliest(self.predict_proba(X))

    def predict_quantile(self, X: Any) -> FloatArray:
        """Mean threshold Σ h_i(x) q_i of each row."""
        return self.predict_proba(X) @ self.thresholds_

    def spelled_out(self) -> "Partition":
        """Return the partition this one is short for: itself, unless a class defines another."""
        return self

    @property
    def n_groups_(self) -> int:
        """Number of groups that are alive and distinct."""
        return len(self.thresholds_)

    def _check_fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, FloatArray, FloatArray | None]:
        """Validate the arguments of ``fit``, and drop rows of weight zero."""
        check_rate(self.alpha)
        X, scores, weights = check_pairs(self, X, y, sample_weight, allow_nan=takes_nan(self))
        X, scores, weights = drop_weightless(X, scores, weights)
        check_group_count(self.n_groups, len(scores))
        return X, scores, weights

    def store_groups(self, thresholds: FloatArray, masses: FloatArray, least: float = 0.0) -> None:
        """Store the groups by rising threshold; those of at most the mass ``least`` join others."""
        alive = masses > least * (1 - ROUNDING)  # else one row could leave no group at all
        self.thresholds_, self._group_of = order_groups(thresholds, alive)
        self.group_sizes_ = group_masses(self._group_of, masses, self.n_groups_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def check_group_count(n_groups: Any, n: int) -> None:
    """Refuse a number of groups that n points cannot fill."""
    if check_count("n_groups", n_groups, 1) > n:
        raise ValueError(f"n_groups must be at most the n_samples = {n} points, got {n_groups}")


def order_groups(thresholds: FloatArray, alive: NDArray[np.bool_]) -> tuple[FloatArray, IntArray]:
    """Increasing thresholds of distinct nonempty groups, and the new number of each old group.

    A dead group joins the one with the nearest threshold.

    Examples
    --------
    >>> order_groups(np.array([3.0, 1.0, 2.6, 3.0]), np.array([True, True, False, True]))
    (array([1., 3.]), array([1, 0, 1, 1]))
    """
    distinct = np.unique(thresholds[alive])
    rank = nearest(distinct, thresholds)
    rank[alive] = np.searchsorted(distinct, thresholds[alive])  # one of them may be infinite
    return distinct, rank


def nearest(sorted_values: FloatArray, values: FloatArray) -> IntArray:
    """Position of the nearest of ``sorted_values`` to each of ``values``."""
    middles = (sorted_values[1:] + sorted_values[:-1]) / 2
    return np.searchsorted(middles, values)


def group_masses(groups: IntArray, weights: NDArray[Any] | None, n_groups: int) -> FloatArray:
    """Total weight of the rows in each group; their number if nothing is weighted."""
    return np.bincount(groups, weights, minlength=n_groups).astype(float)


def merge_columns(memberships: FloatArray, group_of: IntArray, n_groups: int) -> FloatArray:
    """Memberships of the merged groups: the sum of those that became one."""
    merged = np.zeros((len(memberships), n_groups))
    for column, group in enumerate(group_of):
        merged[:, group] += memberships[:, column]
    return merged


def likeliest(memberships: FloatArray) -> IntArray:
    """Likeliest group of each row; of several equally likely ones, the middle one.

    With a tie between the votes of fold models, the lowest threshold would cover too
    little; of two groups the higher is taken.

    Examples
    --------
    >>> likeliest(np.array([[0.2, 0.8, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.0, 0.5]]))
    array([1, 1, 2])
    """
    groups = np.argmax(memberships, axis=1)
    tied = memberships >= memberships.max(axis=1, keepdims=True) - ROUNDING
    counts = tied.sum(axis=1)
    rows = np.flatnonzero(counts > 1)
    passed = np.cumsum(tied[rows], axis=1)
    groups[rows] = np.argmax(passed > counts[rows, None] // 2, axis=1)
    return groups


def one_hot(groups: IntArray, n_groups: int) -> FloatArray:
    """Memberships of rows that each belong to one group."""
    return np.eye(n_groups)[groups]


def warn_if_collapsed(
    masses: FloatArray, n_groups: int, remedy: str = "try more restarts or OrderedPartition()"
) -> None:
    """Warn when several groups were requested and one holds nearly all rows."""
    share = masses.max() / masses.sum()
    if n_groups > 1 and share > COLLAPSE_SHARE:
        warnings.warn(
            f"one group of {n_groups} holds {share:.0%} of the points: the partition has collapsed "
            f"or there is nothing to learn; {remedy}",
            CollapseWarning,
            stacklevel=3,
        )
