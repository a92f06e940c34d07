"""Partition Learning Conformal Prediction: learned groups, and a threshold for each."""

from collections.abc import Iterable
from copy import copy
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.utils import _safe_indexing, check_random_state

from plcp._folds import Fold, given_folds, is_number_of_folds, is_splitter
from plcp._options import (
    check_option,
    check_share,
    shown,
    too_few,
    too_few_in,
    warn_infinite,
)
from plcp._rows import count, is_frame, take
from plcp._validation import (
    check_features,
    check_lengths,
    check_scores,
    check_weights,
    drop_weightless,
    takes_images,
    takes_nan,
)
from plcp.groups.clusters import (
    check_enough,
    check_whole,
    cluster_numbers,
    cluster_weights,
    independent_rows,
    independent_sizes,
)
from plcp.out_of_core import RowDraws
from plcp.partitions.base import (
    Partition,
    check_group_count,
    group_masses,
    merge_columns,
    one_hot,
    warn_if_collapsed,
)
from plcp.partitions.ordered import OrderedPartition, equal_mass_cuts, interval_of
from plcp.quantiles import FloatArray, IntArray, conformal_quantile
from plcp.regressors.base import one_seed, seeded
from plcp.regressors.crossfit import SharedModels, sharing_fits
from plcp.regressors.encoding import unseen_in_other_rows, warning_of_unseen
from plcp.regressors.stacking import StackedQuantile
from plcp.thresholds._plcp_calibration import (
    Corrections,
    calibrate,
    chosen_cells,
    corrected,
    factor_between,
    join_small_groups,
    least_threshold,
    middle_alpha,
)
from plcp.thresholds._plcp_learning import (
    BLOCKS,
    History,
    Learned,
    Pairs,
    RowsInPartition,
    held_out_part,
    learn_apart,
    place,
    rotated_blocks,
    too_few_to_learn,
    without_block,
)
from plcp.thresholds.base import (
    Alpha,
    Assigned,
    ClusteredRule,
    Members,
    members_of_codes,
    side_by_side,
)
from plcp.thresholds.guarantees import (
    Guarantee,
    despite_copies,
    plcp_guarantee,
    weighted_or_exact,
)

CALIBRATIONS = ("rotate", "held-out", "split", "cross", "joint")
ASSIGNMENTS = ("sample", "mode", "mean")
WITHIN = ("auto", "constant", "regressor")
FEW_ROWS = 500  # up to which to predict them by all rules at once takes less time than apart


def given_partition(rule: Any) -> Partition:
    """Return the partition that a rule was given, or the one used in its place."""
    return OrderedPartition() if rule.partition is None else rule.partition


class PLCP(ClusteredRule):
    """Learn groups of inputs that are alike in uncertainty, and a threshold for each.

    Minimises mean_j Σ_i h_i(x_j) ℓ_α(q_i, s_j) over a class of partitions h and thresholds q
    (Algorithm 1). The default goes beyond the paper: one learned regressor is cut into ordered
    groups, thresholds follow the regressor within each, and rows that nothing was learned from
    calibrate them.
    Closest to the paper:
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
    calibration : {"rotate", "held-out", "split", "cross", "joint"}, default="rotate"
        How thresholds are calibrated, and so what holds:

        - "rotate": rows are divided into blocks. Each block gives one conformal number to a rule
          that was learned from all others, and a hash of a new row's values chooses one of these
          rules. Exact in finite samples, on average over all inputs, and all rows are used.
        - "held-out": one rule, learned from most rows, and one conformal number read off the
          others. Exact as above, and all rows have the same rule. Its conditional error is larger
          than the mean over the rules of a rotation, and mostly smaller than that of each.
        - "split": one conformal number for each group, read off half of the rows. Exact in every
          learned group, with the largest conditional error.
        - "cross": all rows learn and calibrate, out of fold. Asymptotic; one rule without a draw.
        - "joint": the thresholds of the optimisation itself (the paper). Nothing holds.
    assignment : {"mode", "sample", "mean"}, default="mode"
        Group of a row: the likeliest, one drawn from h(x) (the paper), or the mean of all
        thresholds weighted by h(x). All the same for ordered partitions, whose groups are not soft.
        With ``calibration="rotate"``, "mean" also takes the mean over its rules in place of a draw.
    within : {"auto", "constant", "regressor"}, default="auto"
        Thresholds within a group: one constant (the paper), or the partition's regressor plus one
        correction per group. "auto": "regressor" for ordered partitions unless calibrated jointly.
    share_partition : bool, default=False
        Of several alphas: whether one partition serves all, which needs ``calibration`` other than
        "rotate" and "joint". False: each learns its own, and gives
        the thresholds it would give alone. True: the partition is learned at the alpha in the
        middle, groups are the same at every alpha, and fit and predict take as long as one does;
        where scores are not one distribution times a scale, alphas far from it have larger
        conditional errors.
    calibration_size : float or "auto", default="auto"
        Share of rows held out with ``calibration="split"`` (half of them) or "held-out"
        (n^(4/5) of n rows: a third of 300, a tenth of 50,000).
    confidence : float or None, default=None
        With ``calibration="held-out"`` or "split": share of calibration sets that cover 1 - alpha
        at least, in all learned groups at once with "split", as in ``Mondrian``, whose groups are
        then larger, and fewer.
    cv : int, splitter of scikit-learn, iterable of (learn, hold) rows or "auto", default="auto"
        Folds with ``calibration="cross"``, blocks with "rotate": a number drawn at random, where
        copies of a row stay together, or the folds themselves. Blocks must be drawn at random, as
        by ``KFold(6, shuffle=True)``, or the guarantee is approximate; for rows that belong
        together give ``groups`` to ``fit``. Inside a conformal estimator, which holds out rows of
        its own choice, give a number or a splitter. "auto": three folds; six blocks, fewer where
        they would be small, five or four where six take longer than "cross".
    n_jobs : int or None
        Folds fitted at once, in threads; results do not depend on it. None: one, or as many as
        cores are free where the table is large.
    random_state : int, RandomState or None
        Seed of folds, starts and draws. A fitted rule draws rules (``calibration="rotate"``) and
        groups (``assignment="sample"``) by a hash of a row's values: a row gets the same draw alone
        and in a batch, and rows with equal values share it.
    verbose : bool, default=False
        Show a progress bar (needs the extra ``progress``).

    Attributes
    ----------
    partition_ : Partition
        The fitted partition; with ``calibration="rotate"`` each rule of ``rotation_`` has its own.
    rotation_ : list of PLCP
        With ``calibration="rotate"``, a rule for each block of rows, which calibrate it alone.
        Groups are then intervals of the threshold, of equal mass.
    thresholds_ : ndarray of shape (``n_groups_``,), or (alphas, ``n_groups_``)
        Threshold of each group, with ``share_partition`` a row of them for each of several alphas;
        with ``within="regressor"`` the one of its median row. They rise, except that
        ``calibration="split"`` keeps the order in which the groups were learned: numbers that
        depend on the calibration scores would undo its guarantee.
    corrections_ : ndarray of shape (``n_groups_``,)
        What is added to the prediction in each group; the threshold itself where it is constant.
    shift_ : float
        What is added to all thresholds in the end, read off rows held out for it; else 0.
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
    >>> from plcp import PLCP
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
    _taught: bool = False  # whether other rows taught the partition
    _follow: bool  # whether thresholds follow the regressor within groups
    _factor: float  # of the regressor, where it was learned at another alpha
    _least: float  # least threshold
    _seeds: IntArray  # of draws of groups: of calibration rows, and of new ones
    _n_undrawn: int = 0  # last columns of X that draws do not follow from: predictions of a model
    _merged: IntArray | None  # of soft partitions: the calibrated group that each group joined
    _group_of: IntArray  # group of each interval of the prediction, or of each calibrated group

    def __init__(
        self,
        partition: Any = None,
        n_groups: int | str = "auto",
        alpha: Alpha = 0.1,
        *,
        calibration: str = "rotate",
        assignment: str = "mode",
        within: str = "auto",
        share_partition: bool = False,
        calibration_size: float | str = "auto",
        confidence: float | None = None,
        cv: Any = "auto",
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
        self.confidence = confidence
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        teachers: tuple[Any, ...] | None = None,
    ) -> Self:
        """Learn groups and thresholds from features ``X`` and scores ``y``.

        ``sample_weight`` and ``groups``, which tell the rows that belong together, are those of
        ``SplitConformal``. Not the groups that are learned: rows of one patient, say, are folded
        and held out together, and coverage holds for a row drawn at random from a new patient.

        ``teachers`` are other rows, a tuple of features and scores, and weights and groups if they
        have them, such as out-of-fold scores of the rows that trained the model. They teach the
        partition, and all rows of ``X`` calibrate: each group on its own with "rotate" and "split",
        of which there are then at most five; one number for all with "held-out".
        """
        clusters = cluster_numbers(groups, X, sample_weight)
        given = () if teachers is None else (teachers,)
        return self._fit_alphas(X, y, sample_weight, *given, clusters=clusters)

    def _fit(
        self,
        X: Any,
        scores: FloatArray,
        weights: FloatArray | None,
        *given: Any,
        clusters: IntArray | None = None,
    ) -> None:
        for name in ("partition_", "rotation_", "corrections_", "shift_", "_shared_models"):
            self.__dict__.pop(name, None)  # of an earlier fit, with another calibration perhaps
        pairs, teachers = self._pairs(X, scores, weights, clusters), self._taught_by(*given)
        if not self._has_finite(self.alpha, pairs) or too_few_to_learn(self, self.alpha, pairs):
            self._fit_one_threshold(pairs)
        elif self._mode == "rotate":
            self._rotate(pairs)
        else:
            learned = self._learn(*((pairs,) if teachers is None else (teachers, pairs)))
            joined = join_small_groups(self, learned, self.alpha)
            self._store(learned, joined, calibrate(self, learned, joined))
            self._warn_if_one_group_serves_all(pairs)
        self._allow_for_copies(pairs)

    def _allow_for_copies(self, pairs: Pairs) -> None:
        """Weaken the guarantee where copies of rows were kept on one side of a division."""
        is_divided = hasattr(self, "rotation_") or self.guarantee_.n < len(pairs.scores)
        if is_divided and not self._taught and pairs.folds is None:
            self.guarantee_ = despite_copies(self.guarantee_, pairs.share_of_copies)

    def _fit_rules(self, alphas: list[float], *pairs: Any, **given: Any) -> list[Self]:
        if not self.share_partition:
            return super()._fit_rules(alphas, *pairs, **given)
        rules: list[Self] = self._fit_shared(alphas, *pairs, **given)
        first = rules[0]
        self.partition_, self.history_ = first.partition_, first.history_
        self.group_sizes_ = first.group_sizes_
        self.thresholds_ = side_by_side(rules, [rule.thresholds_ for rule in rules]).T
        return rules

    def _fit_shared(
        self,
        alphas: list[float],
        X: Any,
        scores: FloatArray,
        weights: FloatArray | None,
        *given: Any,
        clusters: IntArray | None = None,
    ) -> list[Any]:
        """Fit one rule per alpha, all with the partition that was learned at the middle one.

        Groups keep the numbers they were learned with, and are large enough for every alpha that
        has a finite threshold at all.
        """
        learner = self._rule_at(alphas[0]).set_params(random_state=one_seed(self.random_state))
        pairs = learner._pairs(X, scores, weights, clusters)
        teachers = learner._taught_by(*given)
        reasons = {
            "joint": "reads thresholds off the descent itself, which is at one alpha",
            "rotate": "learns a partition for each block of rows",
        }
        if learner._mode in reasons:
            raise ValueError(
                f'calibration="{self.calibration}" {reasons[learner._mode]}: choose "held-out", '
                '"split" or "cross", or share_partition=False'
            )
        finite = [alpha for alpha in alphas if learner._has_finite(alpha, pairs)]
        rules = [learner._rule_at(alpha) for alpha in alphas]
        if not finite or too_few_to_learn(learner, min(finite), pairs):
            for rule in rules:
                rule._fit_one_threshold(pairs)
        else:
            learner.set_params(alpha=middle_alpha(finite))
            parts = (pairs,) if teachers is None else (teachers, pairs)
            learned = learner._learn(*parts, least_alpha=min(finite))
            # the smallest alpha needs the largest groups
            joined = join_small_groups(learner, learned, min(finite))
            rules = [copy(learner).set_params(alpha=alpha) for alpha in alphas]
            for rule in rules:
                of_alpha = learned
                if rule._follow and rule.alpha != learner.alpha:
                    # from training rows: a factor of calibration rows would break the guarantee
                    rule._factor = factor_between(learned.training, rule.alpha)
                    of_alpha = learned.times(rule._factor)
                corrections = calibrate(rule, of_alpha, joined, keep_numbers=True)
                rule._store(of_alpha, joined, corrections)
            rules[0]._warn_if_one_group_serves_all(pairs)
            for rule in rules:
                rule._allow_for_copies(pairs)
        return rules

    def _rotate(self, pairs: Pairs) -> None:
        """Fit a rule for each block of rows, calibrated on it and learned from all others."""
        rng = check_random_state(self.random_state)
        partition = self._prepare(rng)
        seed = rng.randint(np.iinfo(np.int32).max)  # the same for all blocks: they share models
        blocks = rotated_blocks(partition, pairs, self.alpha, self.cv, seed)
        rule = copy(self).set_params(calibration="held-out", cv="auto", random_state=seed)
        with sharing_fits():
            rotation = [rule._on_block(pairs, blocks, k) for k in range(len(blocks))]
            self._store_rotation(rotation, [hold for _, hold in blocks], pairs)

    def _on_block(self, pairs: Pairs, blocks: list[Fold], k: int) -> Self:
        """Return a copy of the rule, calibrated on block k."""
        rule = copy(self)
        learned = rule._learn(*without_block(pairs, blocks, k))
        joined = join_small_groups(rule, learned, rule.alpha)
        rule._store(learned, joined, calibrate(rule, learned, joined))
        return rule

    def _store_rotation(self, rotation: list[Self], held: list[IntArray], pairs: Pairs) -> None:
        """Keep one rule per block, and groups of rows with similar thresholds."""
        self.rotation_, self._merged = rotation, None
        self._shared_models = shared_models(rotation)  # now: predict changes nothing
        own = np.empty(len(pairs.scores))
        for rule, rows in zip(rotation, held, strict=True):
            own[rows] = rule._assign_placed(rule._place(take(pairs.X, rows))).thresholds
        most = max(rule.n_groups_ for rule in rotation)
        self._cuts = equal_mass_cuts(
            own, pairs.weights, most if self.n_groups == "auto" else int(self.n_groups)
        )
        groups, m = interval_of(own, self._cuts), len(self._cuts) + 1
        self.thresholds_ = np.array([np.median(own[groups == group]) for group in range(m)])
        self.group_sizes_ = group_masses(groups, pairs.weights, m)
        self._group_rows = independent_sizes(groups, m, pairs.weights, pairs.clusters)
        self.history_ = [
            {"block": k, **step} for k, rule in enumerate(rotation) for step in rule.history_
        ]
        weighted = pairs.weights is not None
        self.guarantee_ = plcp_guarantee(self, False, len(own), weighted, pairs.clusters)

    def _pairs(
        self,
        X: Any,
        scores: FloatArray,
        weights: FloatArray | None,
        clusters: IntArray | None = None,
    ) -> Pairs:
        """Return the rows that count, of checked ones, and their folds if ``cv`` lists any."""
        later = self.cv == "auto" or (is_splitter(self.cv) and self.calibration != "rotate")
        folds = None if later else given_folds(self.cv, X, scores, weights, clusters)
        check_whole(clusters, folds)
        pairs = Pairs(*drop_weightless(X, scores, weights), folds, clusters)
        if clusters is not None and isinstance(self.cv, Integral):
            check_enough(int(pairs.independent), int(self.cv))
        if self.n_groups != "auto":
            check_group_count(self.n_groups, len(pairs.scores))
        return pairs

    def _taught_by(self, teachers: Any = None) -> Pairs | None:
        """Return the pairs that teach the partition, checked against the columns of fit."""
        self._taught = teachers is not None
        if teachers is None:
            return None
        if not self._takes_teachers:
            raise ValueError(
                f'calibration="{self.calibration}" learns from the rows it calibrates, and has no '
                'use for teachers: choose "rotate", "held-out" or "split"'
            )
        if not isinstance(teachers, tuple) or len(teachers) not in (2, 3, 4):
            raise ValueError(
                "teachers must be a tuple of features and scores, and weights and groups if they "
                f"have them, got {shown(teachers)}"
            )
        X, scores, weights, groups = (*teachers, None, None)[:4]
        try:
            X, scores = check_features(self, X, reset=False), check_scores(scores)
            check_lengths(X, scores)
            clusters, weights = cluster_numbers(groups, X, weights), check_weights(weights, X)
        except ValueError as error:
            raise ValueError(f"teachers: {error}") from error
        if len(scores) == 1:
            raise ValueError("teachers: one row is too few to learn from, give more or none")
        if clusters is not None:
            weights = cluster_weights(clusters)
        return Pairs(*drop_weightless(X, scores, weights), clusters=clusters)

    @property
    def _mode(self) -> str:
        """How thresholds are calibrated: with teachers there is nothing to rotate."""
        return "split" if self._taught and self.calibration == "rotate" else self.calibration

    @property
    def _assigns(self) -> str:
        """How rows are assigned: as the fit was asked to, whose guarantee depends on it."""
        return getattr(self, "_assignment", self.assignment)

    def _has_finite(self, alpha: float, pairs: Pairs) -> bool:
        """Whether the rows are enough for a finite threshold, however they are used."""
        weights, confidence = pairs.weights, self.confidence
        found = conformal_quantile(pairs.scores, alpha, weights, confidence=confidence)
        return bool(np.isfinite(found))

    def _prepare(self, rng: np.random.RandomState) -> Partition:
        """Set what does not depend on groups; return the partition to be learned."""
        m = 1 if self.n_groups == "auto" else self.n_groups
        partition = clone(given_partition(self)).set_params(alpha=self.alpha, n_groups=m)
        partition = partition.spelled_out()
        self._assignment = self.assignment
        self._factor, self._follow = 1.0, self.within == "regressor"
        if self.within == "auto":
            self._follow = isinstance(partition, OrderedPartition) and self.calibration != "joint"
        # A test row must not share its draw with a calibration row.
        self._seeds = rng.randint(np.iinfo(np.int32).max, size=2)
        return partition

    def _learn(
        self,
        pairs: Pairs,
        held: Pairs | None = None,
        *,
        hold_out: bool = True,
        least_alpha: float | None = None,
    ) -> Learned:
        """Learn the partition of checked pairs, and place those ``held`` out for calibration.

        If none are given, they are as many as ``calibration`` requires at the least alpha that they
        serve, or none without ``hold_out``.
        """
        if len(pairs.scores) == 1:
            raise ValueError("n_samples=1: one row is too few for a partition, use SplitConformal")
        rng = check_random_state(self.random_state)
        partition = seeded(self._prepare(rng), rng)
        if held is None and hold_out and self._mode in ("split", "held-out"):
            pairs, held = held_out_part(self, least_alpha or self.alpha, pairs, rng)
        self._least = least_threshold(pairs.scores.min())
        return learn_apart(self, partition, pairs, held, rng)

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
        self.shift_ = found.shift
        self.group_sizes_, self._group_rows = found.sizes, None
        few = np.flatnonzero(np.isinf(self.thresholds_)).tolist()
        if few:
            m, alpha = len(self.corrections_), self.alpha
            warn_infinite(too_few_in(f"learned groups {few}", m, alpha, self.confidence))
        rows = learned.calibration
        weighted = rows.weights is not None
        if weighted or rows.clusters is not None:
            groups, m = found.rank[chosen_cells(self, rows.merged(joined))], len(self.group_sizes_)
            self._group_rows = independent_sizes(groups, m, rows.weights, rows.clusters)
        n = n or len(rows.scores)
        if self._mode == "held-out":
            self._n_calibration = independent_rows(n, rows.weights, rows.clusters)
        self.guarantee_ = plcp_guarantee(self, self._follow, n, weighted, rows.clusters)

    def _fit_one_threshold(self, pairs: Pairs) -> None:
        """Make one group, with Split's threshold: so few rows allow no other that is valid."""
        n, weights, confidence = len(pairs.scores), pairs.weights, self.confidence
        threshold = conformal_quantile(pairs.scores, self.alpha, weights, confidence=confidence)
        note = "There are too few rows to learn groups: one threshold serves all, as Split's does."
        if np.isinf(threshold):
            warn_infinite(too_few(weights, n, self.alpha, confidence, pairs.clusters))
            note = "Every set holds every outcome: too few calibration points for this alpha."
        self._prepare(check_random_state(self.random_state))
        self._least = least_threshold(pairs.scores.min())
        partition = OrderedPartition(DummyRegressor(), n_groups=1, alpha=self.alpha)
        self.partition_ = partition.fit(pairs.X, pairs.scores, pairs.weights)
        self._follow, self._merged, self._group_of = False, None, np.zeros(1, dtype=np.intp)
        self.corrections_ = self.thresholds_ = np.array([threshold])
        self.shift_, self.history_ = 0.0, []
        self.group_sizes_ = self.partition_.group_sizes_
        self._group_rows = np.array([pairs.independent])
        weighted = pairs.weights is not None and bool(np.isfinite(threshold))
        exact = weighted_or_exact(weighted, confidence=confidence, clusters=pairs.clusters)
        if np.isinf(threshold):
            exact["assumptions"] = ()
        self.guarantee_ = Guarantee(scope="marginal", alpha=self.alpha, n=n, note=note, **exact)

    def _warn_if_one_group_serves_all(self, pairs: Pairs) -> None:
        """Soft groups may share the rows evenly, and one of them be the likeliest everywhere."""
        if self._assigns == "mode" and not isinstance(self.partition_, OrderedPartition):
            in_use = group_masses(self._groups(pairs.X), pairs.weights, self.n_groups_)
            warn_if_collapsed(in_use, self.partition_.n_groups)

    def assign(self, X: Any) -> Assigned:
        """Learned group and threshold of each row, at the price of one prediction."""
        return self._assign_alphas(X)

    def _assign(self, X: Any, *groups: Any) -> Assigned:
        if hasattr(self, "rotation_"):
            thresholds = self._rotated_thresholds(X)
            return Assigned(interval_of(thresholds, self._cuts), thresholds)
        return self._assign_placed(self._place(X))

    def _assign_rules(self, X: Any, *groups: Any) -> list[Assigned]:
        if not self._shares_groups():
            return super()._assign_rules(X)
        placed = self.rules_[0]._place(X)
        return [rule._assign_placed(placed) for rule in self.rules_]

    def _assign_placed(self, placed: RowsInPartition) -> Assigned:
        placed = placed.times(self._factor)
        thresholds = corrected(self, placed, placed.cells, self.corrections_, self._group_of)
        groups = self._group_of[placed.cells]
        return Assigned(groups, np.maximum(thresholds + self.shift_, self._least))

    def _rotated_thresholds(self, X: Any) -> FloatArray:
        """Thresholds of the rule that each row draws by its content, or the mean of all rules."""
        n, blocks = count(X), len(self.rotation_)
        with warning_of_unseen():
            if self._assigns == "mean":
                each = self._thresholds_of_rules(X, range(blocks))
                # the mean of equal numbers may be rounded below them
                return np.clip(np.mean(each, axis=0), np.min(each, axis=0), np.max(each, axis=0))
            u = RowDraws(self._drawn_by(X), self._seeds[1], "rotation").random()
            drawn = np.minimum((u * blocks).astype(np.intp), blocks - 1)
            used, place = np.unique(drawn, return_inverse=True)
            if len(used) > 1 and n <= FEW_ROWS and isinstance(X, np.ndarray):
                return self._thresholds_of_rules(X, used)[place, np.arange(n)]
            thresholds = np.empty(n)
            for k in used:
                rows = np.flatnonzero(drawn == k)
                with unseen_in_other_rows():
                    thresholds[rows] = self.rotation_[k]._assign(take(X, rows)).thresholds
            return thresholds

    def _thresholds_of_rules(self, X: Any, which: Iterable[int]) -> FloatArray:
        """Threshold of each row by some of the rules; models that they share predict it once."""
        with self._shared_models.predicted(X):
            return np.array([self.rotation_[k]._assign(X).thresholds for k in which])

    @cached_property
    def _shared_models(self) -> SharedModels:
        return shared_models(self.rotation_)

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
        """Memberships h(x) of the learned groups, shape (n, ``n_groups_``)."""
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
        if self._assigns != "sample":
            return placed
        return placed.drawn(lambda: RowDraws(X, self._seeds[1], "group").random())

    def _groups(self, X: Any) -> IntArray:
        groups: Any = self._assign(X).groups
        return np.asarray(groups)

    @property
    def _reads_prediction(self) -> bool:
        partition = given_partition(self)
        ordered = isinstance(partition, OrderedPartition)
        return ordered and isinstance(partition.regressor_template(), StackedQuantile)

    def _draw_without(self, n_columns: int) -> None:
        """Let draws of new rows follow from the content of all but the last columns."""
        for rule in (self, *getattr(self, "rules_", ())):
            rule._n_undrawn = n_columns

    def _drawn_by(self, X: Any) -> Any:
        """Return the columns of rows that their draws follow from."""
        kept = list(range(X.shape[1] - self._n_undrawn)) if self._n_undrawn else None
        return X if kept is None else _safe_indexing(X, kept, axis=1)

    @property
    def _takes_teachers(self) -> bool:
        """Whether rows are held out for calibration, so that others can teach the partition."""
        return self.calibration not in ("cross", "joint")

    @property
    def draws(self) -> bool:
        """Whether rows draw a rule of the rotation, or their group in a soft partition."""
        rotates = self._mode == "rotate" and self._assigns != "mean"
        ordered = isinstance(given_partition(self), OrderedPartition)
        return rotates or (self._assigns == "sample" and not ordered)

    def _check_options(self) -> None:
        check_option("calibration", self.calibration, CALIBRATIONS)
        check_option("assignment", self.assignment, ASSIGNMENTS)
        check_option("within", self.within, WITHIN)
        if not isinstance(self.share_partition, bool):
            raise ValueError(f"share_partition must be True or False, got {self.share_partition!r}")
        if self.calibration_size != "auto":
            check_share("calibration_size", self.calibration_size)
        if self.confidence is not None:
            self._check_promise()
        listed = self.cv != "auto" and not is_number_of_folds(self.cv) and not is_splitter(self.cv)
        if listed and self.calibration in ("split", "held-out"):
            raise ValueError(
                f'cv lists folds of all rows, but calibration="{self.calibration}" learns from '
                "some of them: "
                "give a whole number of folds, or a splitter such as KFold(5)"
            )
        if self.calibration == "rotate" and isinstance(self.cv, Integral) and self.cv < min(BLOCKS):
            raise ValueError(
                f'calibration="rotate" needs at least three blocks of rows, got cv={self.cv}: give '
                'more, or calibration="cross"'
            )
        if self.partition is not None and not isinstance(self.partition, Partition):
            raise ValueError(
                f"partition must be a Partition or None, got {self.partition!r}: "
                "wrap a regressor in OrderedPartition, a classifier in ClassifierPartition"
            )

    def _check_promise(self) -> None:
        """Refuse a confidence but of conformal ranks among rows held out once."""
        if self.calibration not in ("held-out", "split"):
            raise ValueError(
                f'calibration="{self.calibration}" keeps no confidence: give "held-out" or '
                '"split", or leave confidence out'
            )
        is_soft = not isinstance(given_partition(self), OrderedPartition)
        if self.calibration == "split" and self.assignment == "mean" and is_soft:
            raise ValueError(
                'assignment="mean" of a soft partition keeps no confidence, as nothing is proved '
                'of a mean of thresholds: give assignment="mode" or "sample"'
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        partition = given_partition(self)
        tags.input_tags.allow_nan = takes_nan(partition)
        tags.input_tags.three_d_array = takes_images(partition)
        return tags


def shared_models(rotation: Iterable[PLCP]) -> SharedModels:
    """Return the models that rules of a rotation share."""
    return SharedModels([getattr(rule.partition_, "regressor_", None) for rule in rotation])
