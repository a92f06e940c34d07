"""Partition Learning Conformal Prediction: learned groups, and a threshold for each."""

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.utils import check_random_state

from plcp._folds import given_folds, is_number_of_folds, is_splitter
from plcp._options import check_alpha, check_option, check_share, too_few, warn_infinite
from plcp._rows import is_frame
from plcp._validation import (
    check_features,
    check_pairs,
    drop_weightless,
    effective_rows,
    effective_sizes,
    takes_images,
    takes_nan,
)
from plcp.out_of_core import Passes, RowDraws
from plcp.partitions.base import (
    Partition,
    check_group_count,
    group_masses,
    merge_columns,
    one_hot,
    warn_if_collapsed,
)
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import FloatArray, IntArray, conformal_quantile
from plcp.regressors.base import one_seed, seeded
from plcp.regressors.encoding import warning_of_unseen
from plcp.thresholds._plcp_calibration import (
    Corrections,
    GroupedBlocks,
    calibrate,
    chosen_cells,
    count_rows,
    cut_by_counting,
    factor_between,
    group_corrections,
    join_small_groups,
    least_threshold,
    mean_correction,
    merge_small,
    middle_alpha,
)
from plcp.thresholds._plcp_learning import (
    NO_ROWS,
    History,
    Learned,
    Pairs,
    RowsInPartition,
    learn,
    learn_split,
    most_groups,
    place,
)
from plcp.thresholds.base import (
    Alpha,
    Assigned,
    Members,
    ThresholdRule,
    members_of_codes,
    side_by_side,
)
from plcp.thresholds.guarantees import Guarantee, plcp_guarantee

CALIBRATIONS = ("joint", "split", "cross")
ASSIGNMENTS = ("sample", "mode", "mean")
WITHIN = ("auto", "constant", "regressor")


def given_partition(rule: Any) -> Partition:
    """Return the partition that a rule was given, or the one used in its place."""
    return OrderedPartition() if rule.partition is None else rule.partition


class PLCP(ThresholdRule):
    """Learn groups of inputs that are alike in uncertainty, and a threshold for each.

    Minimises mean_j Σ_i h_i(x_j) ℓ_α(q_i, s_j) over a class of partitions h and thresholds q
    (Algorithm 1). The default goes beyond the paper: one learned regressor is cut into ordered
    groups, thresholds follow the regressor within each, and all of it is calibrated out of fold.
    The paper exactly:
    ``PLCP(SoftmaxPartition(), n_groups=25, calibration="joint", assignment="sample")``
    (``SoftmaxPartition(early_stopping=False)`` to descend on all rows until nothing is gained).

    Parameters
    ----------
    partition : Partition or None, default=None
        The class H. None: ``OrderedPartition()``, whose regressor mixes boosted trees, a sparse
        line and a constant by out-of-fold loss. Its ``n_groups`` and ``alpha`` are set from here.
    n_groups : int or "auto", default="auto"
        Number of groups. "auto" with constant thresholds: doubling, then bisection, on 20 % held
        out, then all rows; with thresholds that follow the regressor: one group for 200 rows, at
        most 20, since shrinkage settles how much each of them counts.
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.
    calibration : {"cross", "split", "joint"}, default="cross"
        Where thresholds are read off: out of fold, all rows used twice; held-out rows, exact in
        finite samples in every learned group; the training rows of the partition (the paper).
    assignment : {"mode", "sample", "mean"}, default="mode"
        Group of a row: the likeliest, one drawn from h(x) (the paper), or the mean of all
        thresholds weighted by h(x). All the same for ordered partitions, which leave no doubt.
    within : {"auto", "constant", "regressor"}, default="auto"
        Thresholds within a group: one constant (the paper), or the partition's regressor plus one
        correction per group. "auto": "regressor" for ordered partitions unless calibrated jointly.
    share_partition : bool, default=False
        Of several alphas: whether one partition serves all. False: each learns its own, and gives
        the thresholds it would give alone. True: the partition is learned at the alpha in the
        middle, groups are the same at every alpha, and fit and predict take as long as one does;
        where scores are no law times a scale, alphas far from it are less sharp.
    calibration_size : float, default=0.5
        Share of rows held out with ``calibration="split"``.
    cv : int, splitter of scikit-learn or iterable of (learn, hold) rows, default=3
        Folds with ``calibration="cross"``: a number of folds drawn at random, where copies of a
        row share a fold, or the folds themselves, such as
        ``list(GroupKFold(5).split(X, groups=ids))``. Inside a conformal estimator, which holds out
        rows of its own choice, give a number or a splitter.
    n_jobs : int or None
        Folds fitted at once, in threads; results do not depend on it. None: one, or as many as
        cores are free where the table is large.
    random_state : int, RandomState or None
        Seed of folds, starts and draws. A fitted rule draws groups (``assignment="sample"``) by the
        content of a row: alone it is answered as among others, and equal rows share their draw (all
        rows of a constant X do).
    verbose : bool, default=False
        Show a progress bar (needs the extra ``progress``).

    Attributes
    ----------
    partition_ : Partition
        The fitted partition.
    thresholds_ : ndarray of shape (n_groups_,), or (alphas, n_groups_) with ``share_partition``
        Threshold of each group; with ``within="regressor"`` the one of its median row. They rise,
        except that ``calibration="split"`` keeps the order in which the groups were learned:
        numbers that depend on the calibration scores would undo its guarantee.
    corrections_ : ndarray of shape (n_groups_,)
        What is added to the prediction in each group; the threshold itself where it is constant.
    n_groups_, group_sizes_ : int, ndarray
        Number of groups, and calibration mass of each.
    history_ : list of dict
        Steps of the descent and of the choice of ``n_groups``.
    rules_ : list of PLCP
        One fitted rule per alpha, where ``alpha`` lists several; without ``share_partition``,
        group attributes exist only on these rules.
    guarantee_ : Guarantee
        What holds, and when.

    Notes
    -----
    With ``calibration="cross"`` a calibration row is compared with the model of each repeat that
    was not fitted to it, a new row with the mean of all fold models, which varies less. Coverage is
    therefore slightly above 1 - alpha where the calibration set is small: at alpha = 0.1, a digit
    classifier of 95 % accuracy and 500 rows, .906 ± .003 (Split .902), with sets 15 % larger than
    Split's since hard rows are given more labels; .911 with a single repeat of the folds
    (``StackedQuantile(n_repeats=1)``).

    The same data and seed give the same thresholds, whatever ``n_jobs``. Rows are divided by their
    position, copies of a row together: in another order others are held out, which changes
    thresholds as another ``random_state`` would. The rules of ``plcp.dask`` divide rows by
    their content, and know no order.

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

    partition_: Partition
    thresholds_: FloatArray
    group_sizes_: FloatArray
    history_: History
    _reads_ranks = True
    _follow: bool  # whether thresholds follow the regressor within groups
    _factor: float  # of the regressor, where it was learned at another alpha
    _least: float  # least threshold
    _seeds: IntArray  # of draws of groups: of calibration rows, and of new ones
    _merged: IntArray | None  # of soft partitions: the calibrated group that each group joined
    _group_of: IntArray  # group of each interval of the prediction, or of each calibrated group

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
        cv: Any = 3,
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

    def _fit(self, X: Any, scores: FloatArray, weights: FloatArray | None, *groups: Any) -> None:
        pairs = self._pairs(X, scores, weights)
        if np.isinf(conformal_quantile(pairs.scores, self.alpha, pairs.weights)):
            self._fit_infinite(pairs)
            return
        learned = self._learn(pairs)
        joined = join_small_groups(self, learned, self.alpha)
        self._store(learned, joined, calibrate(self, learned, joined))
        self._warn_if_one_group_serves_all(pairs)

    def _fit_rules(self, alphas: list[float], *pairs: Any) -> list[Self]:
        if not self.share_partition:
            return super()._fit_rules(alphas, *pairs)
        rules: list[Self] = self._fit_shared(alphas, *pairs)
        first = rules[0]
        self.partition_, self.history_ = first.partition_, first.history_
        self.group_sizes_ = first.group_sizes_
        self.thresholds_ = side_by_side(rules, [rule.thresholds_ for rule in rules]).T
        return rules

    def _fit_shared(
        self, alphas: list[float], X: Any, scores: FloatArray, weights: FloatArray | None
    ) -> list[Any]:
        """Fit one rule per alpha, all with the partition that was learned at the middle one.

        Groups keep the numbers they were learned with, and are large enough for every alpha that
        has a finite threshold at all.
        """
        learner = self._rule_at(alphas[0]).set_params(random_state=one_seed(self.random_state))
        pairs = learner._pairs(X, scores, weights)
        if self.calibration == "joint":
            raise ValueError(
                'calibration="joint" reads thresholds off the descent itself, which is at one '
                'alpha: choose "cross" or "split", or share_partition=False'
            )
        finite = [
            alpha
            for alpha in alphas
            if np.isfinite(conformal_quantile(pairs.scores, alpha, pairs.weights))
        ]
        if not finite:
            rules = [learner._rule_at(alpha) for alpha in alphas]
            for rule in rules:
                rule._fit_infinite(pairs)
            return rules
        learner.set_params(alpha=middle_alpha(finite))
        learned = learner._learn(pairs)
        # the smallest alpha needs the largest groups
        joined = join_small_groups(learner, learned, min(finite))
        rules = [copy(learner).set_params(alpha=alpha) for alpha in alphas]
        for rule in rules:
            of_alpha = learned
            if rule._follow and rule.alpha != learner.alpha:
                # from training rows: a factor of calibration rows would break the guarantee
                rule._factor = factor_between(learned.training, rule.alpha)
                predicted = rule._factor * learned.calibration.predicted
                of_alpha = learned._replace(
                    calibration=replace(learned.calibration, predicted=predicted)
                )
            corrections = calibrate(rule, of_alpha, joined, keep_numbers=True)
            rule._store(of_alpha, joined, corrections)
        rules[0]._warn_if_one_group_serves_all(pairs)
        return rules

    def _pairs(self, X: Any, scores: FloatArray, weights: FloatArray | None) -> Pairs:
        """Return the rows that count, of checked ones, and their folds if ``cv`` lists any."""
        folds = None if is_splitter(self.cv) else given_folds(self.cv, X, scores, weights)
        pairs = Pairs(*drop_weightless(X, scores, weights), folds)
        if self.n_groups != "auto":
            check_group_count(self.n_groups, len(pairs.scores))
        return pairs

    def _prepare(self, rng: np.random.RandomState) -> Partition:
        """Set what does not depend on groups; return the partition to be learned."""
        m = 1 if self.n_groups == "auto" else self.n_groups
        partition = clone(given_partition(self)).set_params(alpha=self.alpha, n_groups=m)
        partition = partition.spelled_out()
        self._factor, self._follow = 1.0, self.within == "regressor"
        if self.within == "auto":
            self._follow = isinstance(partition, OrderedPartition) and self.calibration != "joint"
        # A test row must not share its draw with a calibration row.
        self._seeds = rng.randint(np.iinfo(np.int32).max, size=2)
        return partition

    def _learn(self, pairs: Pairs, hold_out: bool = True) -> Learned:
        """Learn the partition of checked pairs; with ``hold_out`` as ``calibration`` requires."""
        if len(pairs.scores) == 1:
            raise ValueError("n_samples=1: one row is too few for a partition, use SplitConformal")
        rng = check_random_state(self.random_state)
        self._least = least_threshold(pairs.scores.min())
        partition = seeded(self._prepare(rng), rng)
        if hold_out and self.calibration == "split":
            return learn_split(self, partition, pairs, rng)
        return learn(self, partition, pairs, rng)

    def _store(
        self, learned: Learned, joined: IntArray, found: Corrections, n: int | None = None
    ) -> None:
        """Keep the corrections of the groups, and the guarantee of their calibration rows.

        ``n``: their number, where they were read in blocks.
        """
        self.partition_, self.history_ = learned.partition, learned.history
        ordered = isinstance(self.partition_, OrderedPartition)
        self._merged = None if ordered else joined
        self._group_of = found.rank[joined] if ordered else found.rank
        self.corrections_, self.thresholds_ = found.values, found.thresholds
        self.group_sizes_, self._group_rows = found.sizes, None
        few = np.flatnonzero(np.isinf(self.corrections_)).tolist()
        if few:
            warn_infinite(
                f"learned groups {few} hold too few calibration points for alpha = {self.alpha}"
            )
        rows = learned.calibration
        weighted = rows.weights is not None
        if rows.weights is not None:
            groups = found.rank[chosen_cells(self, rows.merged(joined))]
            self._group_rows = effective_sizes(groups, rows.weights, len(self.group_sizes_))
        self.guarantee_ = plcp_guarantee(self, self._follow, n or len(rows.scores), weighted)

    def _fit_infinite(self, pairs: Pairs) -> None:
        """Make one group with an infinite threshold: so few points allow no other."""
        warn_infinite(too_few(pairs.weights, len(pairs.scores), self.alpha))
        self._prepare(check_random_state(self.random_state))
        self._least = least_threshold(pairs.scores.min())
        partition = OrderedPartition(DummyRegressor(), n_groups=1, alpha=self.alpha)
        self.partition_ = partition.fit(pairs.X, pairs.scores, pairs.weights)
        self._merged, self._group_of = None, np.zeros(1, dtype=np.intp)
        self.corrections_ = self.thresholds_ = np.array([np.inf])
        self.group_sizes_, self.history_ = self.partition_.group_sizes_, []
        self._group_rows = np.array([effective_rows(len(pairs.scores), pairs.weights)])
        self.guarantee_ = Guarantee(
            "exact",
            "marginal",
            self.alpha,
            len(pairs.scores),
            note="Every set holds every outcome: too few calibration points for this alpha.",
        )

    def _warn_if_one_group_serves_all(self, pairs: Pairs) -> None:
        """Soft groups may share the rows evenly, and one of them be the likeliest everywhere."""
        if self.assignment == "mode" and not isinstance(self.partition_, OrderedPartition):
            in_use = group_masses(self._groups(pairs.X), pairs.weights, self.n_groups_)
            warn_if_collapsed(in_use, self.partition_.n_groups)

    def assign(self, X: Any) -> Assigned:
        """Learned group and threshold of each row, at the price of one prediction."""
        return self._assign_alphas(X)

    def _assign(self, X: Any, *groups: Any) -> Assigned:
        return self._assign_placed(self._place(X))

    def _assign_rules(self, X: Any, *groups: Any) -> list[Assigned]:
        if not self._shares_groups():
            return super()._assign_rules(X)
        placed = self.rules_[0]._place(X)
        return [rule._assign_placed(placed) for rule in self.rules_]

    def _assign_placed(self, placed: RowsInPartition) -> Assigned:
        groups = self._group_of[placed.cells]
        base = self._factor * placed.predicted if self._follow else 0.0
        if self.assignment == "mean" and placed.memberships is not None:
            each = self.corrections_[self._group_of]
            thresholds = base + mean_correction(placed.memberships, each)
        else:
            thresholds = base + self.corrections_[groups]
        return Assigned(groups, np.maximum(thresholds, self._least))

    def groups(self, X: Any) -> IntArray:
        """Learned group of each row, as numbered in ``thresholds_``."""
        rule = self._any_alpha("groups")
        return rule._groups(check_features(rule, X, reset=False))

    def _members(self, X: Any, *groups: Any) -> Members:
        return members_of_codes(self.group_names(), self._groups(X))

    def group_names(self) -> list[str]:
        """Return the names of the learned groups, in the order of ``thresholds_``."""
        return [f"learned group {i}" for i in range(self.n_groups_)]

    def memberships(self, X: Any) -> FloatArray:
        """Memberships h(x) of the learned groups, shape (n, n_groups_)."""
        rule = self._any_alpha("memberships")
        X = check_features(rule, X, reset=False)
        if rule._merged is None:
            return one_hot(rule._groups(X), rule.n_groups_)
        with warning_of_unseen():
            memberships = rule.partition_.predict_proba(X)
        return merge_columns(memberships, rule._group_of[rule._merged], rule.n_groups_)

    @property
    def n_groups_(self) -> int:
        """Number of groups."""
        return int(self.thresholds_.shape[-1])

    def _shares_groups(self) -> bool:
        return hasattr(self, "thresholds_")  # which speak of groups that all alphas share

    def _place(self, X: Any) -> RowsInPartition:
        """Place new rows among the groups that were large enough to calibrate."""
        with (
            warning_of_unseen(),
            config_context(assume_finite=not is_frame(X)),  # an array has been checked
        ):
            placed = place(self.partition_, X)
        if self._merged is not None:
            placed = placed.merged(self._merged)
        if self.assignment != "sample":
            return placed
        return placed.drawn(lambda: RowDraws(X, self._seeds[1], "group").random())

    def _groups(self, X: Any) -> IntArray:
        return self._group_of[self._place(X).cells]

    @property
    def draws(self) -> bool:
        """Whether groups are drawn; an ordered partition leaves nothing to draw."""
        ordered = isinstance(given_partition(self), OrderedPartition)
        return self.assignment == "sample" and not ordered

    def _check_options(self) -> None:
        check_option("calibration", self.calibration, CALIBRATIONS)
        check_option("assignment", self.assignment, ASSIGNMENTS)
        check_option("within", self.within, WITHIN)
        if not isinstance(self.share_partition, bool):
            raise ValueError(f"share_partition must be True or False, got {self.share_partition!r}")
        check_share("calibration_size", self.calibration_size)
        listed = not is_number_of_folds(self.cv) and not is_splitter(self.cv)
        if listed and self.calibration == "split":
            raise ValueError(
                'cv lists folds of all rows, but calibration="split" learns from some of them: '
                "give a whole number of folds, or a splitter such as KFold(5)"
            )
        if self.partition is not None and not isinstance(self.partition, Partition):
            raise ValueError(
                f"partition must be a Partition or None, got {self.partition!r}: "
                "wrap a regressor in OrderedPartition, a classifier in ClassifierPartition"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        partition = given_partition(self)
        tags.input_tags.allow_nan = takes_nan(partition)
        tags.input_tags.three_d_array = takes_images(partition)
        return tags


def learn_without_thresholds(rule: PLCP, X: Any, scores: FloatArray) -> tuple[PLCP, FloatArray]:
    """Return a copy of the rule with its learned partition, and the predictions of these rows.

    The predictions are out of fold with ``calibration="cross"``. The copy keeps nothing of the
    rows, and has no thresholds before ``calibrate_blocks``.
    """
    rule = clone(rule)
    check_alpha(rule.alpha)
    rule._check_options()
    pairs = rule._pairs(*check_pairs(rule, X, scores, None, allow_nan=takes_nan(rule)))
    learned = rule._learn(pairs, hold_out=False)
    rule.partition_, rule.history_ = learned.partition, learned.history
    if hasattr(rule.partition_.regressor_, "forget_rows"):
        rule.partition_.regressor_.forget_rows()
    return rule, learned.training.predicted


def with_regressor(rule: PLCP, regressor: Any) -> PLCP:
    """Return a copy of the rule with a regressor that was fitted elsewhere."""
    rule = clone(rule)
    rule.partition_ = rule._prepare(check_random_state(rule.random_state))
    if rule.n_groups == "auto" and not rule._follow:
        raise ValueError(
            'n_groups="auto" with within="constant" searches the best number of groups, which '
            "needs a regressor that learns in memory: give a number"
        )
    rule.partition_.regressor_, rule.history_ = regressor, []
    return rule


def calibrate_blocks(rule: PLCP, training: Passes, calibration: Passes, least: float) -> None:
    """Cut the learned partition of a rule by its training rows, and calibrate its thresholds.

    Parameters
    ----------
    rule : PLCP
        With an ordered partition that has been learned; it is completed in place.
    training, calibration : Passes
        Blocks of prediction and score: of the training rows, or rows that stand for them, and of
        the calibration rows. The same for ``calibration="cross"``.
    least : float
        Least of all scores.
    """
    rule._least = least_threshold(least)
    m = rule.partition_.n_groups
    if rule.n_groups == "auto" and rule._follow:
        m = most_groups(training.total(count_rows))
    partition = cut_by_counting(rule.partition_, m, training)
    n = calibration.total(count_rows)
    expected = partition.group_sizes_ * (n / partition.group_sizes_.sum())
    joined = merge_small(expected, rule.alpha)[partition.interval_groups]
    grouped = GroupedBlocks(calibration, partition.cuts_, joined)
    found = group_corrections(rule, grouped, keep_numbers=False)
    rule._store(Learned(partition, rule.history_, NO_ROWS, NO_ROWS), joined, found, n)
    rule._count_blocks(n)
