"""Partition Learning Conformal Prediction: a learned partition with a threshold per group."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp.indices.levels import seeded
from plcp.partitions.base import Partition, check_group_count, merge_columns, order_groups
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import FloatArray, IntArray, conformal_rank, group_conformal_quantiles
from plcp.thresholds.base import ThresholdRule
from plcp.thresholds.calibration import merge_small, shrunken_levels
from plcp.thresholds.guarantees import plcp_guarantee
from plcp.thresholds.learning import Evidence, Pairs, learn_crosswise, learn_jointly, observe
from plcp.thresholds.selection import choose_by_evidence, choose_by_refitting, most_groups
from plcp.validation import (
    check_alpha,
    check_features,
    check_lengths,
    check_option,
    check_scores,
    check_weights,
    takes_nan,
    warn_if_infinite,
)

CALIBRATIONS = ("joint", "split", "cross")
ASSIGNMENTS = ("sample", "mode", "mean")
WITHIN = ("auto", "constant", "index")


class PLCP(ThresholdRule):
    """Learn groups of inputs that are alike in uncertainty, and a threshold for each.

    Minimises mean_j Σ_i h_i(x_j) ℓ_α(q_i, s_j) over a class of partitions h and thresholds q
    (Algorithm 1). The default goes beyond the paper: one learned index is cut into ordered groups,
    thresholds follow the index within each, and all of it is calibrated out of fold. The paper
    exactly: ``PLCP(SoftmaxPartition(), n_groups=25, calibration="joint", assignment="sample")``.

    Parameters
    ----------
    partition : Partition or None, default=None
        The class H. None: ``OrderedPartition()``, whose index mixes boosted trees, a sparse line
        and a constant by out-of-fold loss. Its ``n_groups`` and ``alpha`` are set from here.
    n_groups : int or "auto", default="auto"
        Number of groups. "auto" with constant thresholds: doubling, then bisection, on 20 % held
        out, then all rows; with thresholds that follow the index: one group for 200 rows, at most
        20, since shrinkage settles how much each of them counts.
    alpha : float, default=0.1
        Miscoverage rate.
    calibration : {"cross", "split", "joint"}, default="cross"
        Where thresholds are read off: out of fold, all rows used twice; held-out rows, exact in
        finite samples in every learned group; the very rows that taught the partition (the paper).
    assignment : {"mode", "sample", "mean"}, default="mode"
        Group of a row: the likeliest, one drawn from h(x) (the paper), or the mean of all
        thresholds weighted by h(x). All the same for ordered partitions, which leave no doubt.
    within : {"auto", "constant", "index"}, default="auto"
        Thresholds within a group: one constant (the paper), or the partition's index plus one
        correction a group. "auto": "index" for ordered partitions unless calibrated jointly.
    calibration_size : float, default=0.5
        Share of rows held out with ``calibration="split"``.
    cv : int, default=3
        Folds with ``calibration="cross"``.
    n_jobs : int or None
        Folds fitted at once, in threads; results do not depend on it.
    random_state : int, RandomState or None
        Seed of folds, starts and draws.
    verbose : bool, default=False
        Show a progress bar (needs the extra ``progress``).

    Attributes
    ----------
    partition_ : Partition
        The fitted partition.
    thresholds_ : ndarray of shape (n_groups_,)
        Threshold of each group, rising; with ``within="index"`` the one of its median row.
    n_groups_, group_sizes_ : int, ndarray
        Number of groups, and calibration mass of each.
    history_ : list of dict
        Steps of the descent and of the choice of ``n_groups``.
    guarantee_ : str
        What holds, and when.

    References
    ----------
    Kiyani, Pappas, Hassani (2024). Conformal Prediction with Learned Features. ICML.

    Examples
    --------
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(4000, random_state=0)
    >>> rule = PLCP(random_state=0).fit(task.X, task.scores)
    >>> left, right = rule.predict([[-0.5], [0.5]])  # the noise is √2 times as large on the right
    >>> bool(1.2 < right / left < 1.7)
    True
    """

    def __init__(
        self,
        partition: Any = None,
        n_groups: int | str = "auto",
        alpha: float = 0.1,
        *,
        calibration: str = "cross",
        assignment: str = "mode",
        within: str = "auto",
        calibration_size: float = 0.5,
        cv: int = 3,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.partition = partition
        self.n_groups = n_groups
        self.alpha = alpha
        self.calibration = calibration
        self.assignment = assignment
        self.within = within
        self.calibration_size = calibration_size
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn groups and thresholds from features ``X`` and scores ``y``.

        ``sample_weight`` counts rows: weight 2 stands for two rows, weight 0 for none, and a test
        point has weight one. For covariate shift, give likelihood ratios relative to a typical
        test point; coverage then holds approximately under the shifted law.
        """
        pairs = self._check(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        self._draws = rng.randint(np.iinfo(np.int32).max)
        if conformal_rank(len(pairs.scores), self.alpha) > len(pairs.scores):
            warn_if_infinite(len(pairs.scores), self.alpha)
            self.partition_ = self._template(DummyRegressor()).fit(pairs.X, pairs.scores)
            evidence = observe(self.partition_, pairs)
        else:
            self.partition_, evidence = self._learn(seeded(self._template(), rng), pairs, rng)
        self._calibrate(evidence)
        self.guarantee_ = plcp_guarantee(self, len(evidence.scores))
        return self

    def predict(self, X: Any) -> FloatArray:
        """Thresholds q(x), one a row."""
        index, groups = self._locate(X)
        base = index if self._follows_index() else 0.0
        if groups.ndim == 2:
            return base + groups @ self.levels_
        return base + self.levels_[groups]

    def groups(self, X: Any) -> IntArray:
        """Learned group of each row, numbered by rising threshold."""
        _, groups = self._locate(X)
        return groups if groups.ndim == 1 else np.argmax(groups, axis=1)

    def memberships(self, X: Any) -> FloatArray:
        """Memberships h(x) of the learned groups, shape (n, n_groups_)."""
        X = self._check_new(X)
        return merge_columns(self.partition_.predict_proba(X), self._group_of, self.n_groups_)

    @property
    def n_groups_(self) -> int:
        """Number of groups."""
        return len(self.thresholds_)

    def _check(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Pairs:
        """Validate options and data; rows without weight are not there."""
        check_alpha(self.alpha)
        check_option("calibration", self.calibration, CALIBRATIONS)
        check_option("assignment", self.assignment, ASSIGNMENTS)
        check_option("within", self.within, WITHIN)
        if not 0 < self.calibration_size < 1:
            raise ValueError(f"calibration_size must lie in (0, 1), got {self.calibration_size!r}")
        X = check_features(self, X, reset=True, allow_nan=takes_nan(self))
        scores = check_scores(y)
        check_lengths(X, scores)
        if len(scores) == 1:
            raise ValueError("n_samples=1: one row teaches no partition, use SplitConformal")
        weights = check_weights(sample_weight, X)
        pairs = Pairs(X, scores, weights)
        if weights is not None and (weights == 0).any():
            pairs = pairs.take(np.flatnonzero(weights))
        if self.n_groups != "auto":
            check_group_count(self.n_groups, len(pairs.scores))
        return pairs

    def _template(self, index: Any = None) -> Partition:
        """Return the unfitted partition at this alpha, or an ordered one on a given index."""
        plain = OrderedPartition(index) if index is not None else self.partition
        partition = OrderedPartition() if plain is None else clone(plain)
        partition.set_params(alpha=self.alpha)
        if self.n_groups != "auto":
            partition.set_params(n_groups=self.n_groups)
        elif index is not None:
            partition.set_params(n_groups=1)
        return partition

    def _learn(
        self, partition: Partition, pairs: Pairs, rng: np.random.RandomState
    ) -> tuple[Partition, Evidence]:
        """Learn the partition, and find the evidence to calibrate it with."""
        self.history_: list[dict[str, float]] = []
        held_out = None
        if self.calibration == "split":
            pairs, held_out = pairs.cut(self.calibration_size, rng)
        search = self.n_groups == "auto" and not self._follows_index()
        by_evidence = self.calibration == "cross" and isinstance(partition, OrderedPartition)
        if search and not by_evidence:
            m, self.history_ = choose_by_refitting(partition, pairs, rng)
            partition.set_params(n_groups=m)
        elif self.n_groups == "auto":
            partition.set_params(n_groups=most_groups(len(pairs.scores)))
        if self.calibration == "cross":
            partition, evidence = learn_crosswise(
                partition, pairs, rng, cv=self.cv, n_jobs=self.n_jobs, verbose=self.verbose
            )
        else:
            partition, evidence = learn_jointly(partition, pairs)
        if search and by_evidence:
            partition, evidence, self.history_ = choose_by_evidence(partition, evidence, pairs, rng)
        self.history_ = self.history_ + partition.history_
        return partition, evidence if held_out is None else observe(partition, held_out)

    def _follows_index(self) -> bool:
        if self.within != "auto":
            return self.within == "index"
        ordered = self.partition is None or isinstance(self.partition, OrderedPartition)
        return ordered and self.calibration != "joint"

    def _calibrate(self, evidence: Evidence) -> None:
        """Set one level a group: thresholds, or corrections of the index."""
        share = len(evidence.scores) / self.partition_.group_sizes_.sum()
        owner = merge_small(self.partition_.group_sizes_ * share, self.alpha)
        groups = owner[self._assign(evidence.groups, evidence.memberships)]
        m, weights = owner.max() + 1, evidence.weights
        follow = self._follows_index()
        values = evidence.scores - evidence.index if follow else evidence.scores
        if self.calibration == "joint" and not follow:
            owner, levels = np.arange(self.partition_.n_groups_), self.partition_.thresholds_
            groups, m = self._assign(evidence.groups, evidence.memberships), len(levels)
        elif self.calibration == "split" or not follow:
            levels = group_conformal_quantiles(values, groups, m, self.alpha, weights)
        else:
            levels = shrunken_levels(values, groups, m, self.alpha, weights)
        typical = levels + (_medians(evidence.index, groups, m) if follow else 0.0)
        masses = np.bincount(groups, weights, minlength=m)
        self._store(levels, typical, masses, owner)

    def _store(
        self, levels: FloatArray, typical: FloatArray, masses: FloatArray, owner: IntArray
    ) -> None:
        """Number the groups by rising threshold; those of equal threshold are one."""
        self.thresholds_, rank = order_groups(typical, masses + 1.0)
        self._group_of = rank[owner]
        self.levels_ = np.zeros(len(self.thresholds_))
        self.levels_[rank] = levels
        self.group_sizes_ = np.bincount(rank, masses, minlength=len(self.thresholds_))

    def _assign(self, groups: IntArray, memberships: FloatArray | None) -> IntArray:
        """Group of each row: the likeliest, or one drawn."""
        if memberships is None or self.assignment != "sample":
            return groups
        rng = np.random.RandomState(self._draws)
        return np.minimum(
            (memberships.cumsum(axis=1) < rng.uniform(size=(len(memberships), 1))).sum(axis=1),
            memberships.shape[1] - 1,
        )

    def _locate(self, X: Any) -> tuple[FloatArray, IntArray | FloatArray]:
        """Index of each row, and its group; its memberships where thresholds are averaged."""
        X = self._check_new(X)
        if isinstance(self.partition_, OrderedPartition):
            index = self.partition_.predict_index(X)
            return index, self._group_of[self.partition_.group_of(index)]
        memberships = self.partition_.predict_proba(X)
        index = memberships @ self.partition_.thresholds_
        if self.assignment == "mean":
            return index, merge_columns(memberships, self._group_of, self.n_groups_)
        return index, self._group_of[self._assign(np.argmax(memberships, axis=1), memberships)]

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self, "thresholds_")
        return check_features(self, X, reset=False, allow_nan=takes_nan(self))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_nan(
            OrderedPartition() if self.partition is None else self.partition
        )
        tags.non_deterministic = self.assignment == "sample"
        return tags


def _medians(values: FloatArray, groups: IntArray, n_groups: int) -> FloatArray:
    """Median of ``values`` in each group; of all where a group is empty."""
    return np.array(
        [
            np.median(values[groups == g]) if (groups == g).any() else np.median(values)
            for g in range(n_groups)
        ]
    )
