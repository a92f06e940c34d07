"""A partition fitted on all folds but one, over and over, and averaged."""

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from plcp._folds import Fold
from plcp._parallel import in_threads
from plcp._rows import count, take
from plcp._validation import takes_images, takes_nan
from plcp.partitions.base import Partition, merge_columns, nearest
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.base import seeded
from plcp.regressors.crossfit import histories, make_folds


class CrossFittedPartition(Partition):
    """Mean memberships of a partition's fold models, with out-of-fold ones on the fitted rows.

    Groups of different folds are matched by their order, since each numbers its own by rising
    threshold; those of a fold that found fewer join the nearest threshold.

    Parameters
    ----------
    partition : Partition
        Refitted on each fold's complement.
    cv : int, splitter of scikit-learn or iterable of (learn, hold) rows, default=3
        Number of folds drawn at random, where copies of a row share a fold; or the folds.
    n_jobs : int or None
        Folds fitted at once, in threads.
    verbose : bool, default=False
        Show a progress bar (needs the extra ``progress``).
    random_state : int, RandomState or None
        Seed of the folds.
    """

    _of_rows = ("out_of_fold_",)  # what files leave out

    def __init__(
        self,
        partition: Any,
        *,
        cv: Any = 3,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.partition = partition
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @property
    def n_groups(self) -> int:
        """Number of groups requested."""
        return int(self.partition.n_groups)

    @property
    def alpha(self) -> float:
        """Miscoverage rate."""
        return float(self.partition.alpha)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit one partition for each fold."""
        X, scores, weights = self._check_fit(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        folds = make_folds(X, scores, self.cv, 1, rng)
        template = seeded(self.partition, rng)
        jobs = [partial(_fit_fold, template, X, scores, weights, fold) for fold in folds]
        fitted = in_threads(jobs, self.n_jobs, self.verbose, type(template).__name__)
        self.partitions_ = [partition for partition, _ in fitted]
        self.thresholds_, self._owners = match_groups([p.thresholds_ for p in self.partitions_])
        self.out_of_fold_ = np.zeros((len(scores), self.n_groups_))
        for (_, hold), (_, memberships), joined in zip(folds, fitted, self._owners, strict=True):
            self.out_of_fold_[hold] = merge_columns(memberships, joined, self.n_groups_)
        counts = np.ones(len(scores)) if weights is None else weights
        self.group_sizes_ = counts @ self.out_of_fold_
        self.history_ = histories(self.partitions_)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Mean memberships, shape (n, ``n_groups_``)."""
        total = np.zeros((count(X), self.n_groups_))
        for partition, joined in zip(self.partitions_, self._owners, strict=True):
            total += merge_columns(partition.predict_proba(X), joined, self.n_groups_)
        return total / len(self.partitions_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_nan(self.partition)
        tags.input_tags.three_d_array = takes_images(self.partition)
        return tags


def _fit_fold(
    partition: Any, X: Any, scores: FloatArray, weights: FloatArray | None, fold: Fold
) -> tuple[Any, FloatArray]:
    learn, hold = fold
    own = None if weights is None else weights[learn]
    fitted = clone(partition).fit(take(X, learn), scores[learn], own)
    return fitted, fitted.predict_proba(take(X, hold))


def match_groups(found: list[FloatArray]) -> tuple[FloatArray, list[IntArray]]:
    """Mean thresholds of the groups of several folds, and the group that each fold's group joins.

    Folds that found as many groups as the richest one are matched by rank, others by threshold.

    Examples
    --------
    >>> match_groups([np.array([1.0, 2.0, 8.0]), np.array([1.2, 7.0])])
    (array([1.1, 2. , 7.5]), [array([0, 1, 2]), array([0, 2])])
    """
    richest = max(found, key=len)
    m = len(richest)
    joined = [np.arange(m) if len(q) == m else nearest(richest, q) for q in found]
    groups, thresholds = np.concatenate(joined), np.concatenate(found)
    return np.bincount(groups, thresholds) / np.bincount(groups), joined
