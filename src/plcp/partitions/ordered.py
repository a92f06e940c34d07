"""Where to cut an index into intervals."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp._options import check_option
from plcp._parallel import threads_for
from plcp._rows import count
from plcp._validation import (
    check_features,
    check_index,
    naming_the_boosted_index,
    takes_images,
    takes_nan,
)
from plcp.partitions.base import Partition, group_masses, one_hot
from plcp.quantiles import FloatArray, IntArray, group_conformal_quantiles
from plcp.regressors.base import at_level, fit_weighted, seeded
from plcp.regressors.stacking import MixedIndex

N_BINS = 128
N_LEVELS = 256
FEW_CUTS = 64


def equal_mass_cuts(index: FloatArray, weights: FloatArray | None, n_groups: int) -> FloatArray:
    """Cuts that give each interval of the index the same mass; fewer where values tie.

    Examples
    --------
    >>> equal_mass_cuts(np.arange(10.0), None, 2)
    array([4.])
    """
    if weights is None:
        ends = ranks_of_cuts(len(index), n_groups)
        cuts = np.unique(np.partition(index, ends)[ends])
    else:
        order = np.argsort(index)
        cumulative = np.cumsum(weights[order])
        levels = np.arange(1, n_groups) * cumulative[-1] / n_groups
        # Rounding in the running sum must not push a level that is met exactly to the next row.
        slack = 4 * np.finfo(float).eps * len(index) * cumulative[-1]
        cuts = np.unique(index[order[np.searchsorted(cumulative, levels - slack)]])
    return cuts[cuts < index.max()]  # a cut at the top would leave the last interval empty


def ranks_of_cuts(n: int, n_groups: int) -> IntArray:
    """Places, from 0, of the values at which n sorted ones are cut into groups of the same size.

    Cut k is the value of rank ⌈nk/m⌉, in whole numbers: 25 · (7/25) is above 7 in floating point.

    Examples
    --------
    >>> ranks_of_cuts(10, 4)
    array([2, 4, 7])
    """
    return np.unique(-(-n * np.arange(1, n_groups) // n_groups)) - 1


def interval_of(index: FloatArray, cuts: FloatArray) -> IntArray:
    """Number of cuts below each value: the interval it lies in.

    Examples
    --------
    >>> interval_of(np.array([0.5, 1.0, 2.5]), np.array([1.0, 2.0]))
    array([0, 0, 2])
    """
    if len(cuts) > FEW_CUTS:
        return np.searchsorted(cuts, index)
    below = np.zeros(len(index), dtype=np.uint8)
    for cut in cuts:  # a pass over the rows for each of few cuts beats a search for each row
        below += index > cut
    return below.astype(np.intp)


def optimal_cuts(
    index: FloatArray,
    scores: FloatArray,
    weights: FloatArray | None,
    n_groups: int,
    alpha: float,
) -> FloatArray:
    """Cuts of least total pinball loss, by dynamic programming over equal-mass bins.

    The index is reduced to at most 128 bins and the thresholds to 256 levels, so the cuts are
    optimal up to that grid: O(bins² · levels + n_groups · bins²) time, whatever n.
    """
    bins = equal_mass_cuts(index, weights, N_BINS)
    cost = _interval_costs(interval_of(index, bins), len(bins) + 1, scores, weights, alpha)
    return bins[_cheapest_ends(cost, min(n_groups, len(cost))) - 1]


def _interval_costs(
    bin_of: np.ndarray, n_bins: int, scores: FloatArray, weights: FloatArray | None, alpha: float
) -> FloatArray:
    """cost[a, b]: least pinball loss of one threshold on the bins a … b - 1."""
    levels = np.unique(scores)
    if len(levels) > N_LEVELS:
        levels = np.unique(np.quantile(scores, np.linspace(0, 1, N_LEVELS)))
    level_of = np.searchsorted(levels, scores)
    flat = bin_of * len(levels) + level_of
    size = n_bins * len(levels)
    mass = np.bincount(flat, weights, size).reshape(n_bins, -1)
    total = np.bincount(flat, scores if weights is None else scores * weights, size)
    # Running sums over bins and levels give every interval's loss at every level at once.
    mass, total = (np.pad(a.cumsum(0), ((1, 0), (0, 0))) for a in (mass, total.reshape(n_bins, -1)))
    cost = np.full((n_bins, n_bins + 1), np.inf)
    for start in range(n_bins):
        below, sum_below = (a[start + 1 :] - a[start] for a in (mass, total))
        below, sum_below = below.cumsum(axis=1), sum_below.cumsum(axis=1)
        gap = levels * below - sum_below
        loss = gap - (1 - alpha) * (levels * below[:, -1:] - sum_below[:, -1:])
        cost[start, start + 1 :] = loss.min(axis=1)
    return cost


def _cheapest_ends(cost: FloatArray, n_groups: int) -> np.ndarray:
    """Ends of the first n_groups - 1 intervals of the cheapest way to cover all bins."""
    n_bins = len(cost)
    best = cost[0].copy()
    previous = []
    for _ in range(n_groups - 1):
        through = best[:n_bins, None] + cost
        previous.append(through.argmin(axis=0))
        best = through.min(axis=0)
    ends, end = [], n_bins
    for back in reversed(previous):
        end = int(back[end])
        ends.append(end)
    return np.array(ends[::-1], dtype=np.intp)


CUTS = ("mass", "optimal")


class OrderedPartition(Partition):
    """Groups are intervals of one learned index g(x).

    The best groups of a population are intervals of its conditional quantile q_{1-α}(S | x)
    (the proof of Theorem 3.6 uses nothing else), so one learned index loses nothing in the paper's
    bound and has d + m parameters in place of d · m.

    Parameters
    ----------
    index : regressor or None, default=None
        Regressor of the score: ``LinearQuantile()``, ``HistGradientBoostingRegressor(
        loss="quantile")``, or any other, pipelines included; a ``quantile`` left at None is set
        to 1 - alpha. None: ``MixedIndex()``, which chooses between trees and lines.
    n_groups : int, default=8
        Number of groups m; fewer where values of the index tie.
    alpha : float, default=0.1
        Miscoverage rate.
    cuts : {"mass", "optimal"}, default="mass"
        Intervals of equal mass, or of least total pinball loss by dynamic programming.
    random_state : int, RandomState or None
        Seed for what the index draws, where it has none of its own.

    Attributes
    ----------
    index_ : regressor
        The fitted index.
    cuts_ : ndarray
        Upper ends of all intervals but the last.

    Examples
    --------
    >>> from plcp.datasets import make_toy
    >>> from plcp.regressors import LinearQuantile
    >>> task = make_toy(2000, random_state=0)
    >>> partition = OrderedPartition(LinearQuantile(), n_groups=2).fit(task.X, task.scores)
    >>> partition.predict([[-0.9], [0.9]])
    array([0, 1])
    """

    def __init__(
        self,
        index: Any = None,
        n_groups: int = 8,
        *,
        alpha: float = 0.1,
        cuts: str = "mass",
        random_state: Any = None,
    ) -> None:
        self.index = index
        self.n_groups = n_groups
        self.alpha = alpha
        self.cuts = cuts
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the index from features ``X`` and scores ``y``, and cut it."""
        check_option("cuts", self.cuts, CUTS)
        X, scores, weights = self._check_fit(X, y, sample_weight)
        index = at_level(self.index_template(), 1 - self.alpha)
        if self.random_state is not None:
            index = seeded(index, check_random_state(self.random_state))
        with naming_the_boosted_index():
            self.index_ = fit_weighted(index, X, scores, weights)
        return self.cut(self.learned_index(X), scores, weights)

    def cut(self, index: FloatArray, scores: FloatArray, weights: FloatArray | None) -> Self:
        """Cut the fitted index anew, at values and scores of some rows."""
        if self.cuts == "mass":
            self.cuts_ = equal_mass_cuts(index, weights, self.n_groups)
        else:
            self.cuts_ = optimal_cuts(index, scores, weights, self.n_groups, self.alpha)
        groups, m = interval_of(index, self.cuts_), len(self.cuts_) + 1
        masses = group_masses(groups, weights, m)
        thresholds = group_conformal_quantiles(
            scores, groups, m, self.alpha, weights, test_weight=0.0
        )
        self.settle(thresholds, masses)
        self.history_ = list(getattr(self.index_, "history_", []))
        return self

    def learned_index(self, X: Any) -> FloatArray:
        """Index of the fitted rows: out of fold where the index knows how, else as it is."""
        values = getattr(self.index_, "out_of_fold_", None)
        return self._ask(X) if values is None else check_index(values, count(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Hard memberships: one for the interval the row's index lies in."""
        return one_hot(self.predict(X), self.n_groups_)

    def predict(self, X: Any) -> IntArray:
        """Group of each row."""
        return self.group_of(self.predict_index(X))

    def group_of(self, index: FloatArray) -> IntArray:
        """Group of each value of the index."""
        return self.interval_groups[interval_of(index, self.cuts_)]

    @property
    def interval_groups(self) -> IntArray:
        """Group of each interval between cuts: neighbours of equal threshold are one."""
        return self._group_of

    def predict_index(self, X: Any) -> FloatArray:
        """Learned index g(x) of each row."""
        check_is_fitted(self, "index_")
        return self._ask(check_features(self, X, reset=False))

    @naming_the_boosted_index()
    def _ask(self, X: Any) -> FloatArray:
        with threads_for(X, self.index_):
            return check_index(self.index_.predict(X), count(X))

    def index_template(self) -> Any:
        """Return the index given, or the one used in its place."""
        return MixedIndex() if self.index is None else self.index

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        index = self.index_template()
        tags.input_tags.allow_nan = takes_nan(index)
        tags.input_tags.three_d_array = takes_images(index)
        return tags
