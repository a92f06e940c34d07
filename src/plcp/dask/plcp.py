"""Partition Learning Conformal Prediction on Dask."""

import math
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from plcp.blocks.passes import Block, Passes
from plcp.blocks.sample import Look, in_hash_order, joined, largest_draw, look_at
from plcp.dask.blockwise import blockwise
from plcp.dask.collections import check_columns, check_parts, pairs_of
from plcp.dask.connected import client_of
from plcp.dask.learners import learner_of
from plcp.dask.linear import DaskLinearQuantile
from plcp.dask.rule import DaskRule
from plcp.dask.teaching import Taught, taught_on_dask
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import FloatArray, conformal_rank
from plcp.thresholds import PLCP
from plcp.thresholds.blockwise import calibrate
from plcp.thresholds.guarantees import drawn_guarantee
from plcp.thresholds.learned.counted import count_rows
from plcp.validation import (
    check_count,
    check_option,
    check_some,
    naming_the_boosted_index,
    takes_nan,
)

CALIBRATIONS = ("cross", "split")


class DaskPLCP(DaskRule):
    """``PLCP`` learned from rows on a cluster: the same answer, to the last bit.

    At most ``sample_size`` rows teach the partition; they are drawn by what stands in them, and
    meet on one worker (a ``DaskLinearQuantile`` is taught by all, where they lie). Thresholds are
    read off all rows, by counting. What is learned depends on the rows alone: not on their order,
    nor on how they are cut into parts, nor on the number of workers (but for the last bits of an
    index that multiplies matrices, as ``Ridge`` and networks do: those depend on how many rows it
    is asked for at once). With
    ``calibration="cross"`` and an index that learns in memory, up to ``sample_size`` rows it is
    what ``PLCP`` learns from ``plcp.blocks.sample.in_hash_order(X, scores, random_state)``. Beyond,
    two rows that are equal in all of X and in the score may change that, as only copies in the same
    part are told apart.

    Parameters
    ----------
    partition : OrderedPartition or None, default=None
        As in ``PLCP``. An index that learns in memory is taught by the sample, on one worker; a
        ``DaskLinearQuantile`` by all rows, block by block, whatever ``sample_size``; a
        ``lightgbm.DaskLGBMRegressor(objective="quantile")`` by the sample, where it lies (its trees
        depend on which worker has which rows, thresholds given the trees do not).
    n_groups, alpha, within, calibration_size, cv :
        As in ``PLCP``.
    calibration : {"cross", "split"}, default="cross"
        As in ``PLCP``. "split": the rows that do not teach are the only ones to give thresholds;
        they are the share ``calibration_size`` of all rows, or more where the sample is small. That
        is exact where no two parts hold the same row and score: such copies are drawn together,
        and ``guarantee_`` says so where it finds any.
    sample_size : int, default=1_000_000
        How many rows teach the partition, at most (and one for each further part that holds a copy
        of the last of them); a ``DaskLinearQuantile`` learns from all.
    random_state : int, default=0
        Seed of the sample, folds and models.
    client : distributed.Client or None, default=None
        Who computes; None: the current client, or Dask's own threads without any.
    verbose : bool, default=False
        Show a progress bar where the partition is taught.

    Attributes
    ----------
    partition_, thresholds_, levels_, n_groups_, group_sizes_, history_, guarantee_ :
        As in ``PLCP``.

    Examples
    --------
    >>> import dask.array as da
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(4000, random_state=0)
    >>> X, scores = da.from_array(task.X, chunks=(1000, 1)), da.from_array(task.scores, chunks=1000)
    >>> rule = DaskPLCP().fit(X, scores)
    >>> left, right = rule.predict(da.from_array([[-0.5], [0.5]])).compute()
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
        within: str = "auto",
        calibration_size: float = 0.5,
        cv: int = 3,
        sample_size: int = 1_000_000,
        random_state: int = 0,
        client: Any = None,
        verbose: bool = False,
    ) -> None:
        self.partition = partition
        self.n_groups = n_groups
        self.alpha = alpha
        self.calibration = calibration
        self.within = within
        self.calibration_size = calibration_size
        self.cv = cv
        self.sample_size = sample_size
        self.random_state = random_state
        self.client = client
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn groups and thresholds from features ``X`` and scores ``y``, collections of Dask."""
        rule = self._unfitted()
        check_columns(rule, X, reset=True)
        pairs = pairs_of(X, y, client_of(self), CheckPart(takes_nan(rule)))
        look, numbers = look_at(pairs, self.random_state)
        check_some(look.n)
        if conformal_rank(look.n, self.alpha) > look.n:
            rule = pairs.fetch(pairs.gather(_fitted, rule))
        else:
            largest = largest_draw(numbers, self._rows_to_teach(rule, look.n), look.n)
            del numbers  # they can go before the work begins
            rule = self._calibrated(taught_on_dask(rule, X, pairs, largest), look)
        self._learned(rule)
        return self

    def groups(self, X: Any) -> Any:
        """Learned group of each row, as numbered in ``thresholds_``, when it is asked for."""
        check_is_fitted(self, "rule_")
        check_columns(self.rule_, X, reset=False)
        return blockwise(self.rule_.groups, X, dtype=np.intp, name="group")

    @property
    def n_groups_(self) -> int:
        """Number of groups."""
        return len(self.thresholds_)

    def _unfitted(self) -> PLCP:
        """Return the ordinary rule with the same options, which then checks them."""
        check_option("calibration", self.calibration, CALIBRATIONS)
        check_count("sample_size", self.sample_size, 2)
        check_count("random_state", self.random_state, 0)
        if not isinstance(self.partition, OrderedPartition | None):
            raise ValueError(
                f"partition must be an OrderedPartition or None, got {self.partition!r}: other "
                "partitions learn in memory, with PLCP"
            )
        own, given = PLCP().get_params(deep=False), self.get_params(deep=False)
        rule = PLCP(**{name: given[name] for name in own if name in given})
        rule.check_options()
        return rule

    def _calibrated(self, taught: Taught, look: Look) -> PLCP:
        rule = taught.rule
        check_same_rows(look.n, taught.all_rows)
        if self.calibration == "split":
            calibrate(rule, taught.seen, taught.others, look.least)
            rule.guarantee_ = drawn_guarantee(rule, rule.guarantee_, look.together)
        else:
            calibrate(rule, taught.all_rows, taught.all_rows, look.least)
        return rule

    def _rows_to_teach(self, rule: PLCP, n: int) -> int:
        free = n if self.calibration == "cross" else n - math.ceil(self.calibration_size * n)
        if free == 0:
            raise ValueError(
                f"calibration_size={self.calibration_size} leaves none of {n} rows to teach the "
                "partition: give a smaller share, or more rows"
            )
        if isinstance(learner_of(rule), DaskLinearQuantile):  # sums over blocks: no row is kept
            return free
        return min(free, self.sample_size)


def check_same_rows(n: int, evidence: Passes) -> None:
    """Refuse rows that change from pass to pass: some would teach and calibrate, some neither."""
    found = evidence.total(count_rows)
    if found != n:
        raise ValueError(
            f"X and y gave {n} rows at first and {found} later, so they change whenever they are "
            "made: persist() both, or give a seed to what draws them"
        )


class CheckPart:
    """Scores of a part, after a look at its rows."""

    def __init__(self, allow_nan: bool) -> None:
        self.allow_nan = allow_nan

    def __call__(self, X: Any, scores: Any) -> FloatArray:
        """Return finite scores; refuse features that no index could take."""
        if isinstance(X, np.ndarray) and len(X):
            finite = "allow-nan" if self.allow_nan else True
            with naming_the_boosted_index():
                check_array(X, dtype="numeric", ensure_all_finite=finite, input_name="X")
        return check_parts(X, scores)


def _fitted(blocks: list[Block], rule: PLCP) -> PLCP:
    X, scores = joined(blocks)
    return rule.fit(*in_hash_order(X, scores, rule.random_state))
