"""One learned index, cut into intervals: groups in order."""

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp.indices.levels import at_level, seeded
from plcp.indices.mixture import MixedIndex
from plcp.indices.weights import fit_weighted
from plcp.partitions.base import Partition, group_masses, one_hot
from plcp.partitions.cuts import equal_mass_cuts, interval_of, optimal_cuts
from plcp.quantiles import FloatArray, IntArray, group_conformal_quantiles
from plcp.rows import count
from plcp.validation import (
    check_features,
    check_index,
    check_option,
    naming_the_boosted_index,
    takes_images,
    takes_nan,
)

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
    >>> from plcp.indices import LinearQuantile
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
