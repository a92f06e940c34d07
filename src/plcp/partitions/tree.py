"""Leaves of one regression tree of the score as groups."""

from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from plcp._options import check_count
from plcp._validation import check_features
from plcp.partitions.base import Partition, group_masses, one_hot, warn_if_collapsed
from plcp.quantiles import FloatArray, IntArray, group_conformal_quantiles
from plcp.regressors.encoding import TableEncoder

ROWS_PER_LEAF = 10  # times 1 / alpha: a leaf's threshold rests on ten of its largest scores
LARGEST = 1e30  # trees compute in single precision, and sum a table to check that it is finite
REMEDY = "give more rows, or a smaller min_samples_leaf"


class TreePartition(Partition):
    """The groups are the leaves of a regression tree grown on the ranks of the scores.

    Grown best first: the leaf whose split lowers the squared error most is split next, until there
    are ``n_groups``. So the trees of 1, 2, 3, … groups are nested, and the search of
    ``PLCP(TreePartition())`` for a number of groups prunes by held-out pinball loss. With
    ``PLCP(TreePartition(), calibration="split")`` coverage is exact in every leaf, as in LOCART.
    Ranks, not scores: no large score can claim a leaf of its own, and any increasing function of
    the score has the same groups. Columns are read in single precision: numbers below 1e-38 are
    zero, and those that differ by less than 1e-7 of a column's largest are alike.

    Parameters
    ----------
    n_groups : int, default=8
        Number of leaves; fewer where a leaf would be too small or has the threshold of another.
    alpha : float, default=0.1
        Miscoverage rate.
    min_samples_leaf : int or None, default=None
        Least number of rows in a leaf, or what they weigh. None: 10 / alpha.
    random_state : int, RandomState or None
        Seed of the choice between splits that are equally good.

    Attributes
    ----------
    tree_ : DecisionTreeRegressor
        The fitted tree; ``sklearn.tree.export_text(partition.tree_)`` prints it.

    References
    ----------
    Cabezas, Otto, Izbicki, Stern (2025). Regression trees for fast and adaptive prediction
    intervals. Information Sciences.

    Examples
    --------
    >>> from plcp import TreePartition
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(2000, random_state=0)
    >>> partition = TreePartition(n_groups=2, random_state=0).fit(task.X, task.scores)
    >>> partition.predict([[-0.5], [0.5]])
    array([0, 1])
    """

    def __init__(
        self,
        n_groups: int = 8,
        *,
        alpha: float = 0.1,
        min_samples_leaf: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_groups = n_groups
        self.alpha = alpha
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree from features ``X`` and scores ``y``."""
        X, scores, weights = self._check_fit(X, y, sample_weight)
        self.encoder_ = TableEncoder().fit(X)
        Z = self._encode(X)
        total = float(len(scores)) if weights is None else float(weights.sum())
        least = ceil(ROWS_PER_LEAF / self.alpha)
        if self.min_samples_leaf is not None:
            least = check_count("min_samples_leaf", self.min_samples_leaf, 1)
        may_split = self.n_groups > 1 and 2 * least <= total
        tree = DecisionTreeRegressor(
            max_leaf_nodes=max(self.n_groups, 2),
            # half a row of slack: a share of the total is rounded, and must let ``least`` rows pass
            min_weight_fraction_leaf=(least - 0.5) / total if may_split else 0.0,
            min_impurity_decrease=0.0 if may_split else 1.0,  # no split of ranks gains so much
            random_state=self.random_state,
        )
        self.tree_ = grown(tree, Z, ranks(scores, weights), weights)
        nodes = self.tree_.apply(Z)
        self.leaves_ = np.unique(nodes)
        leaves, m = np.searchsorted(self.leaves_, nodes), len(self.leaves_)
        thresholds = group_conformal_quantiles(
            scores, leaves, m, self.alpha, weights, test_weight=0.0
        )
        self.store_groups(thresholds, group_masses(leaves, weights, m))
        self.history_ = []
        warn_if_collapsed(self.group_sizes_, self.n_groups, REMEDY)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Hard memberships: one for the leaf the row falls into."""
        return one_hot(self.predict(X), self.n_groups_)

    def predict(self, X: Any) -> IntArray:
        """Group of each row."""
        check_is_fitted(self, "thresholds_")
        X = check_features(self, X, reset=False, allow_nan=True)
        nodes = self.tree_.apply(self._encode(X))
        return self._group_of[np.searchsorted(self.leaves_, nodes)]

    def _encode(self, X: Any) -> FloatArray:
        """Numbers of a size that trees, which round to single precision, can take."""
        return np.clip(self.encoder_.transform(X), -LARGEST, LARGEST)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def grown(
    tree: DecisionTreeRegressor, Z: FloatArray, target: FloatArray, weights: FloatArray | None
) -> DecisionTreeRegressor:
    """Fit a tree to columns in units, powers of two, in which the largest number is near one.

    scikit-learn's trees do not part numbers that are closer than 1e-7. Cuts are in the columns' own
    units again; columns of larger numbers are left alone.
    """
    largest = np.fmax.reduce(np.abs(Z), axis=0, initial=0.0)
    units = np.ldexp(1.0, np.minimum(np.frexp(largest)[1], 0))
    tree.fit(Z / units, target, sample_weight=weights)
    inner = np.flatnonzero(tree.tree_.feature >= 0)
    tree.tree_.threshold[inner] *= units[tree.tree_.feature[inner]]
    return tree


def ranks(scores: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Share of the mass below each score, half of its ties included.

    Examples
    --------
    >>> ranks(np.array([5.0, 1.0, 5.0, 9.0]), None)
    array([0.5  , 0.125, 0.5  , 0.875])
    """
    values, place = np.unique(scores, return_inverse=True)
    masses = group_masses(place, weights, len(values))
    return ((np.cumsum(masses) - masses / 2) / masses.sum())[place]
