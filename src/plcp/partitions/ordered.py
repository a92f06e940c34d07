"""Groups that are intervals of a predicted quantile of the score, and where to cut them."""

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
    check_predictions,
    feature_errors,
    takes_images,
    takes_nan,
)
from plcp.partitions.base import Partition, group_masses, one_hot
from plcp.quantiles import FloatArray, IntArray, group_conformal_quantiles
from plcp.regressors.base import at_quantile, fit_weighted, predict_checked, seeded
from plcp.regressors.stacking import StackedQuantile

N_BINS = 128
N_THRESHOLDS = 256
FEW_CUTS = 64
FEW_ROWS = 2000


def equal_mass_cuts(predicted: FloatArray, weights: FloatArray | None, n_groups: int) -> FloatArray:
    """Cuts that give each interval of the predictions the same mass; fewer where values tie.

    Examples
    --------
    >>> equal_mass_cuts(np.arange(10.0), None, 2)
    array([4.])
    """
    if weights is None:
        ends = ranks_of_cuts(len(predicted), n_groups)
        cuts = np.unique(np.partition(predicted, ends)[ends])
    else:
        order = np.argsort(predicted)
        cumulative = np.cumsum(weights[order])
        ends = np.arange(1, n_groups) * cumulative[-1] / n_groups
        # Rounding in the running sum must not push an end that is met exactly to the next row.
        slack = 4 * np.finfo(float).eps * len(predicted) * cumulative[-1]
        cuts = np.unique(predicted[order[np.searchsorted(cumulative, ends - slack)]])
    return cuts[cuts < predicted.max()]  # a cut at the top would leave the last interval empty


def ranks_of_cuts(n: int, n_groups: int) -> IntArray:
    """Places, from 0, of the values at which n sorted ones are cut into groups of the same size.

    Cut k is the value of rank ⌈nk/m⌉, in whole numbers: 25 · (7/25) is above 7 in floating point.

    Examples
    --------
    >>> ranks_of_cuts(10, 4)
    array([2, 4, 7])
    """
    return np.unique(-(-n * np.arange(1, n_groups) // n_groups)) - 1


def interval_of(predicted: FloatArray, cuts: FloatArray) -> IntArray:
    """Number of cuts below each value: the interval it lies in.

    Examples
    --------
    >>> interval_of(np.array([0.5, 1.0, 2.5]), np.array([1.0, 2.0]))
    array([0, 0, 2])
    """
    if len(cuts) > FEW_CUTS or len(predicted) < FEW_ROWS:
        return np.searchsorted(cuts, predicted)
    below = np.zeros(len(predicted), dtype=np.uint8)
    for cut in cuts:  # a pass over many rows for each of few cuts beats a search for each row
        below += predicted > cut
    return below.astype(np.intp)


def optimal_cuts(
    predicted: FloatArray,
    scores: FloatArray,
    weights: FloatArray | None,
    n_groups: int,
    alpha: float,
) -> FloatArray:
    """Cuts of least total pinball loss, by dynamic programming over equal-mass bins.

    The predictions are reduced to at most 128 bins and the thresholds to 256, so the cuts are
    optimal up to that grid: O(bins² · thresholds + n_groups · bins²) time, whatever n.
    """
    bins = equal_mass_cuts(predicted, weights, N_BINS)
    cost = _interval_costs(interval_of(predicted, bins), len(bins) + 1, scores, weights, alpha)
    return bins[_cheapest_ends(cost, min(n_groups, len(cost))) - 1]


def _interval_costs(
    bin_of: np.ndarray, n_bins: int, scores: FloatArray, weights: FloatArray | None, alpha: float
) -> FloatArray:
    """cost[a, b]: least pinball loss of one threshold on the bins a … b - 1."""
    grid = np.unique(scores)
    if len(grid) > N_THRESHOLDS:
        grid = np.unique(np.quantile(scores, np.linspace(0, 1, N_THRESHOLDS)))
    flat, size = bin_of * len(grid) + np.searchsorted(grid, scores), n_bins * len(grid)
    mass = np.bincount(flat, weights, size).reshape(n_bins, -1)
    total = np.bincount(flat, scores if weights is None else scores * weights, size)
    # Running sums over bins and grid give every interval's loss at every threshold at once.
    mass, total = (np.pad(a.cumsum(0), ((1, 0), (0, 0))) for a in (mass, total.reshape(n_bins, -1)))
    cost = np.full((n_bins, n_bins + 1), np.inf)
    for start in range(n_bins):
        below, sum_below = (a[start + 1 :] - a[start] for a in (mass, total))
        below, sum_below = below.cumsum(axis=1), sum_below.cumsum(axis=1)
        gap = grid * below - sum_below
        loss = gap - (1 - alpha) * (grid * below[:, -1:] - sum_below[:, -1:])
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
    """Groups are intervals of one learned score regressor g(x).

    The best groups of a population are intervals of its conditional quantile q_{1-α}(S | x)
    (the proof of Theorem 3.6 uses nothing else), so one learned regressor loses nothing in the
    paper's bound and has d + m parameters in place of d · m.

    Parameters
    ----------
    regressor : regressor or None, default=None
        Regressor of the score: ``LinearQuantile()``, ``HistGradientBoostingRegressor(
        loss="quantile")``, or any other, pipelines included; a ``quantile`` left at None is set
        to 1 - alpha. None: ``StackedQuantile()``, which chooses between trees and lines.
    n_groups : int, default=8
        Number of groups m; fewer where predictions tie.
    alpha : float, default=0.1
        Miscoverage rate.
    cuts : {"mass", "optimal"}, default="mass"
        Intervals of equal mass, or of least total pinball loss by dynamic programming.
    random_state : int, RandomState or None
        Seed for what the regressor draws, where it has none of its own.

    Attributes
    ----------
    regressor_ : regressor
        The fitted regressor.
    cuts_ : ndarray
        Upper ends of all intervals but the last.

    Examples
    --------
    >>> from plcp import OrderedPartition
    >>> from plcp.datasets import make_toy
    >>> from plcp.regressors import LinearQuantile
    >>> task = make_toy(2000, random_state=0)
    >>> partition = OrderedPartition(LinearQuantile(), n_groups=2).fit(task.X, task.scores)
    >>> partition.predict([[-0.9], [0.9]])
    array([0, 1])
    """

    def __init__(
        self,
        regressor: Any = None,
        n_groups: int = 8,
        *,
        alpha: float = 0.1,
        cuts: str = "mass",
        random_state: Any = None,
    ) -> None:
        self.regressor = regressor
        self.n_groups = n_groups
        self.alpha = alpha
        self.cuts = cuts
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the regressor from features ``X`` and scores ``y``, and cut it."""
        check_option("cuts", self.cuts, CUTS)
        X, scores, weights = self._check_fit(X, y, sample_weight)
        regressor = at_quantile(self.regressor_template(), 1 - self.alpha)
        if self.random_state is not None:
            regressor = seeded(regressor, check_random_state(self.random_state))
        with feature_errors(X):
            self.regressor_ = fit_weighted(regressor, X, scores, weights)
        return self.cut(self.learned_quantile(X), scores, weights)

    def cut(self, predicted: FloatArray, scores: FloatArray, weights: FloatArray | None) -> Self:
        """Cut the predictions again, at those and the scores of some rows."""
        if self.cuts == "mass":
            self.cuts_ = equal_mass_cuts(predicted, weights, self.n_groups)
        else:
            self.cuts_ = optimal_cuts(predicted, scores, weights, self.n_groups, self.alpha)
        groups, m = interval_of(predicted, self.cuts_), len(self.cuts_) + 1
        thresholds = group_conformal_quantiles(
            scores, groups, m, self.alpha, weights, test_weight=0.0
        )
        self.store_groups(thresholds, group_masses(groups, weights, m))
        self.history_ = list(getattr(self.regressor_, "history_", []))
        return self

    def learned_quantile(self, X: Any) -> FloatArray:
        """Predictions of the fitted rows: out of fold where the regressor keeps them."""
        values = getattr(self.regressor_, "out_of_fold_", None)
        return self._predict_quantile(X) if values is None else check_predictions(values, count(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Hard memberships: one for the interval in which the prediction of the row lies."""
        return one_hot(self.predict(X), self.n_groups_)

    def predict(self, X: Any) -> IntArray:
        """Group of each row."""
        return self.group_of(self.predict_quantile(X))

    def group_of(self, predicted: FloatArray) -> IntArray:
        """Group of each prediction."""
        return self.interval_groups[interval_of(predicted, self.cuts_)]

    @property
    def interval_groups(self) -> IntArray:
        """Group of each interval between cuts: neighbours of equal threshold are one."""
        return self._group_of

    def predict_quantile(self, X: Any) -> FloatArray:
        """Predicted quantile g(x) of the score of each row."""
        check_is_fitted(self, "regressor_")
        return self._predict_quantile(check_features(self, X, reset=False))

    def _predict_quantile(self, X: Any) -> FloatArray:
        with feature_errors(X), threads_for(X, self.regressor_):
            return check_predictions(predict_checked(self.regressor_, X), count(X))

    def regressor_template(self) -> Any:
        """Return the regressor given, or the one used in its place."""
        return StackedQuantile() if self.regressor is None else self.regressor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        regressor = self.regressor_template()
        tags.input_tags.allow_nan = takes_nan(regressor)
        tags.input_tags.three_d_array = takes_images(regressor)
        return tags
