"""Posterior conformal prediction: weights by how alike two points are in their memberships."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from plcp._folds import copy_ids, rows_of
from plcp._options import check_rate, check_share
from plcp._rows import take
from plcp._validation import drop_weightless, takes_images, takes_nan
from plcp.kernels import MultinomialKernel, check_precision, precision_for_size
from plcp.partitions.base import Partition
from plcp.partitions.softmax import SoftmaxPartition
from plcp.quantiles import FloatArray
from plcp.regressors.base import seeded
from plcp.regressors.encoding import warning_of_unseen
from plcp.thresholds.base import Alpha
from plcp.thresholds.guarantees import Guarantee, weighted_or_exact
from plcp.thresholds.local import LARGEST_SEED, WeightedRule, target_size

DEFAULT_GROUPS = 4
LEAST = 1e-12  # membership below which groups are not distinguished: its logarithm must be finite


class PosteriorConformal(WeightedRule):
    """Quantile of the scores, weighted by the likelihood of a sample from x's memberships.

    Let π(x) be memberships of a few groups. Draw counts L ~ Multinomial(precision, π(x)); q is the
    (1 - alpha)-quantile of Σ_i w_i δ(s_i) + w δ(∞) with w_i = Π_k π_k(x_i)^L_k and w the same at x,
    normalised: points count as far as their memberships explain the sample. It is ``RLCP`` in the
    space of memberships, with the multinomial likelihood as kernel. If calibration and test points
    are exchangeable, P(covered) ≥ 1 - alpha, and P(covered | L) ≥ 1 - alpha; as the precision
    grows L determines π(x), and coverage holds for each mix of groups.

    The paper learns π by splitting the estimated law of the score into a mixture, again for every
    test point and on all rows; here a ``Partition`` learns it, once, on rows set apart. The paper
    takes one effective size for the mean of all points, here nine points of ten reach it.

    Parameters
    ----------
    partition : Partition or None, default=None
        Gives the memberships. None: ``SoftmaxPartition(n_groups=4)``. Its ``alpha`` is set from
        here.
    precision : int or "auto", default="auto"
        Size of the sample. "auto": the largest, up to 500, at which nine points of ten see
        ``effective_size`` calibration points. Zero: split conformal prediction.
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.
    learning_size : float, default=0.5
        Share of the rows that memberships and precision are learned from; the others calibrate.
    effective_size, n_jobs, verbose :
        As in ``LocalCP``.
    random_state : int, RandomState or None
        Seed of the division of rows, of the partition and of the draws. A fitted rule draws
        by a hash of a row's values: a row gets the same draw alone and in a batch, and rows with
        equal values share it.

    Attributes
    ----------
    partition_ : Partition
        The fitted partition.
    precision_ : int
        Size of the sample.
    scores_ : ndarray
        The calibration scores that thresholds are taken from, rising.
    guarantee_ : Guarantee
        What holds, and when.

    References
    ----------
    Zhang, Candès (2024). Posterior conformal prediction. arXiv 2409.19712.

    Examples
    --------
    >>> from plcp import PosteriorConformal
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(4000, random_state=0)
    >>> rule = PosteriorConformal(random_state=0).fit(task.X, task.scores)
    >>> left, right = rule.predict([[-0.5], [0.5]])  # the noise is √2 times as large on the right
    >>> bool(right > left)
    True
    """

    def __init__(
        self,
        partition: Any = None,
        precision: int | str = "auto",
        alpha: Alpha = 0.1,
        *,
        learning_size: float = 0.5,
        effective_size: float | str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.partition = partition
        self.precision = precision
        self.alpha = alpha
        self.learning_size = learning_size
        self.effective_size = effective_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, scores: FloatArray, weights: FloatArray | None, *groups: Any) -> None:
        """Learn memberships from some rows, and sort the scores of the others."""
        self._alpha = check_rate(self.alpha)
        X, scores, weights = drop_weightless(X, scores, weights)
        n = len(scores)
        if n < 4:
            raise ValueError(f"n_samples={n}: too few rows to learn groups, use SplitConformal")
        rng = check_random_state(self.random_state)
        ids = copy_ids(X, scores)
        every = np.unique(ids)
        n_learning = min(max(2, int(self.learning_size * len(every))), len(every) - 1)
        learning, rows = (
            rows_of(part, ids) for part in np.split(rng.permutation(every), [n_learning])
        )
        own = None if weights is None else weights[learning]
        partition = seeded(self._template(len(learning)), rng)
        self.partition_ = partition.fit(take(X, learning), scores[learning], own)
        rows = rows[np.argsort(scores[rows], kind="stable")]
        self.scores_, self._X = scores[rows], self._memberships(take(X, rows))
        self._weights = None if weights is None else weights[rows]
        self._seed = int(rng.randint(LARGEST_SEED))
        self.precision_ = self._choose_precision(self._memberships(take(X, learning)), rng)
        self.kernel_ = MultinomialKernel(self.precision_)
        self.guarantee_ = Guarantee(
            scope="marginal",
            alpha=self.alpha,
            n=len(rows),
            note="The same given the sample of groups; for a mix of groups it holds as far as the "
            "sample shows it.",
            **weighted_or_exact(weights is not None),
        )

    def _check_options(self) -> None:
        check_share("learning_size", self.learning_size)
        if self.precision != "auto":
            check_precision(self.precision)
        if self.partition is not None and not isinstance(self.partition, Partition):
            raise ValueError(
                f"partition must be a Partition or None, got {self.partition!r}: "
                "wrap a regressor in OrderedPartition, a classifier in ClassifierPartition"
            )

    def _template(self, n: int) -> Partition:
        """Return the unfitted partition at this alpha."""
        if self.partition is None:  # of at least two rows per group
            return SoftmaxPartition(min(DEFAULT_GROUPS, n // 2), alpha=self.alpha)
        partition: Partition = clone(self.partition).set_params(alpha=self.alpha)
        return partition

    def _choose_precision(self, learned: FloatArray, rng: np.random.RandomState) -> int:
        n = len(self.scores_)
        target = target_size(self.effective_size, n, self.alpha)
        if self.precision != "auto":
            return int(self.precision)
        if target >= n:
            return 0
        return precision_for_size(learned, n, target, int(rng.randint(LARGEST_SEED)))

    def _memberships(self, X: Any) -> FloatArray:
        memberships = np.maximum(self.partition_.predict_proba(X), LEAST)
        return memberships / memberships.sum(axis=1, keepdims=True)

    def _points(self, X: Any) -> FloatArray:
        with warning_of_unseen():
            return self._memberships(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        partition = SoftmaxPartition() if self.partition is None else self.partition
        tags.input_tags.allow_nan = takes_nan(partition)
        tags.input_tags.three_d_array = takes_images(partition)
        return tags
