"""Partition Learning Conformal Prediction: a learned partition with a threshold per group."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from plcp.indices.levels import seeded
from plcp.partitions.base import check_group_count
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import conformal_quantile
from plcp.thresholds.guarantees import plcp_guarantee
from plcp.thresholds.learned.evidence import Pairs
from plcp.thresholds.learned.groups import LearnedGroups
from plcp.thresholds.learned.learning import learn
from plcp.thresholds.learned.options import check_options, given_partition
from plcp.thresholds.levels import Alpha
from plcp.thresholds.several import fits_each_level, side_by_side
from plcp.thresholds.shared import fit_shared
from plcp.validation import check_pairs, drop_weightless, takes_images, takes_nan


class PLCP(LearnedGroups):
    """Learn groups of inputs that are alike in uncertainty, and a threshold for each.

    Minimises mean_j Σ_i h_i(x_j) ℓ_α(q_i, s_j) over a class of partitions h and thresholds q
    (Algorithm 1). The default goes beyond the paper: one learned index is cut into ordered groups,
    thresholds follow the index within each, and all of it is calibrated out of fold. The paper
    exactly: ``PLCP(SoftmaxPartition(), n_groups=25, calibration="joint", assignment="sample")``
    (``SoftmaxPartition(early_stopping=False)`` to descend on all rows until nothing is gained).

    Parameters
    ----------
    partition : Partition or None, default=None
        The class H. None: ``OrderedPartition()``, whose index mixes boosted trees, a sparse line
        and a constant by out-of-fold loss. Its ``n_groups`` and ``alpha`` are set from here.
    n_groups : int or "auto", default="auto"
        Number of groups. "auto" with constant thresholds: doubling, then bisection, on 20 % held
        out, then all rows; with thresholds that follow the index: one group for 200 rows, at most
        20, since shrinkage settles how much each of them counts.
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.
    calibration : {"cross", "split", "joint"}, default="cross"
        Where thresholds are read off: out of fold, all rows used twice; held-out rows, exact in
        finite samples in every learned group; the very rows that taught the partition (the paper).
    assignment : {"mode", "sample", "mean"}, default="mode"
        Group of a row: the likeliest, one drawn from h(x) (the paper), or the mean of all
        thresholds weighted by h(x). All the same for ordered partitions, which leave no doubt.
    within : {"auto", "constant", "index"}, default="auto"
        Thresholds within a group: one constant (the paper), or the partition's index plus one
        correction a group. "auto": "index" for ordered partitions unless calibrated jointly.
    share_partition : bool, default=False
        Of several levels: whether one partition serves all. False: each learns its own, and gives
        the thresholds it would give alone. True: the level in the middle teaches, groups are the
        same at every level, and fit and predict take as long as one does; where scores are no law
        times a scale, levels far from it are less sharp.
    calibration_size : float, default=0.5
        Share of rows held out with ``calibration="split"``.
    cv : int, default=3
        Folds with ``calibration="cross"``.
    n_jobs : int or None
        Folds fitted at once, in threads; results do not depend on it.
    random_state : int, RandomState or None
        Seed of folds, starts and draws. A fitted rule draws groups (``assignment="sample"``) from
        the same stream in every call of ``predict``.
    verbose : bool, default=False
        Show a progress bar (needs the extra ``progress``).

    Attributes
    ----------
    partition_ : Partition
        The fitted partition.
    thresholds_ : ndarray of shape (n_groups_,), or (levels, n_groups_) with ``share_partition``
        Threshold of each group; with ``within="index"`` the one of its median row. They rise,
        except that ``calibration="split"`` keeps the order in which the groups were learned:
        numbers given after a look at the calibration scores would undo its guarantee.
    n_groups_, group_sizes_ : int, ndarray
        Number of groups, and calibration mass of each.
    history_ : list of dict
        Steps of the descent and of the choice of ``n_groups``.
    rules_ : list of PLCP
        One fitted rule a level, where ``alpha`` lists several; without ``share_partition`` all
        that speaks of groups is there.
    guarantee_ : str
        What holds, and when.

    Notes
    -----
    The same data and seed give the same thresholds, whatever ``n_jobs``. Rows are divided by their
    position: in another order others are held out (``calibration="split"``) or share a fold
    ("cross", and the default index wherever it learns), which changes thresholds as another
    ``random_state`` would. Order within the held-out part does not matter, nor does any order with
    ``calibration="joint"`` and a number of groups that is given, but for what the index makes of
    it: one that draws nothing, such as ``LinearQuantile``, only adds up in another order. The rules
    of ``plcp.dask`` divide rows by their content, and know no order.

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

    _reads_ranks = True

    def __init__(
        self,
        partition: Any = None,
        n_groups: int | str = "auto",
        alpha: Alpha = 0.1,
        *,
        calibration: str = "cross",
        assignment: str = "mode",
        within: str = "auto",
        share_partition: bool = False,
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
        self.share_partition = share_partition
        self.calibration_size = calibration_size
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fits_each_level
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn groups and thresholds from features ``X`` and scores ``y``.

        ``sample_weight`` counts rows: weight 2 stands for two rows, weight 0 for none, and a test
        point has weight one. For covariate shift, give likelihood ratios relative to a typical
        test point; coverage then holds approximately under the shifted law.
        """
        pairs = self._check(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        partition = self._begin(pairs.scores.min(), rng)
        if np.isinf(conformal_quantile(pairs.scores, self.alpha, pairs.weights)):
            self._give_up(pairs)
            return self
        learned = learn(self, seeded(partition, rng), pairs, self._follow, rng)
        found = self._reading().levels(learned.partition, learned.seen, learned.honest)
        self._settle(learned.partition, learned.history, *found)
        self._count_telling(learned.honest)
        weighted = pairs.weights is not None
        self.guarantee_ = plcp_guarantee(self, self._follow, len(learned.honest.scores), weighted)
        self._warn_if_one_group_serves_all(partition, pairs)
        return self

    def _fit_levels(self, levels: list[float], *given: Any, **named: Any) -> list[Self]:
        if not self.share_partition:
            return super()._fit_levels(levels, *given, **named)
        return fit_shared(self, levels, *given, **named)

    def _take_levels(self, rules: list[Self]) -> None:
        super()._take_levels(rules)
        if self.share_partition:
            first = rules[0]
            self.partition_, self.history_ = first.partition_, first.history_
            self.group_sizes_ = first.group_sizes_
            self.thresholds_ = side_by_side(rules, [rule.thresholds_ for rule in rules]).T

    def _check(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Pairs:
        """Validate options and data; rows without weight are not there."""
        self.check_options()
        checked = check_pairs(self, X, y, sample_weight, allow_nan=takes_nan(self))
        pairs = Pairs(*drop_weightless(*checked))
        if len(pairs.scores) == 1:
            raise ValueError("n_samples=1: one row teaches no partition, use SplitConformal")
        if self.n_groups != "auto":
            check_group_count(self.n_groups, len(pairs.scores))
        return pairs

    def check_options(self) -> None:
        """Refuse options that mean nothing, before any row is looked at."""
        check_options(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        partition = given_partition(self)
        tags.input_tags.allow_nan = takes_nan(partition)
        tags.input_tags.three_d_array = takes_images(partition)
        ordered = isinstance(partition, OrderedPartition)  # which leaves nothing to draw
        tags.non_deterministic = self.assignment == "sample" and not ordered
        return tags
