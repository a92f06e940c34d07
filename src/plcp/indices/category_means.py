"""An index that knows a category by its mean score."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from plcp.estimator import Estimator
from plcp.indices.weights import fit_weighted
from plcp.quantiles import FloatArray, IntArray
from plcp.validation import check_features, check_pairs, drop_weightless


class CategoryMeans(RegressorMixin, Estimator):
    """An index of columns in which the mean score of its category stands for each code.

    Trees that sort hundreds of categories anew at every split learn noise; one number, sorted
    once, leaves them less to choose from. The rows the index learns from are given means of other
    rows, or each would be told of its own score. One more row of the mean of all scores counts in
    each category: a rare one is drawn towards it, an unseen one has just that. Missing is a
    category too.

    Parameters
    ----------
    index : regressor
        Fitted with the means in place of the codes.
    columns : array of bool, shape (n_features,)
        Which columns hold codes 0, 1, … or nan.
    cv : int, default=5
        Folds, so that no row that teaches the index has a part in the means it is given.
    random_state : int, RandomState or None
        Seed of the folds.

    Attributes
    ----------
    means_ : dict of int to ndarray
        For each column of codes the means of missing, of code 0, 1, …, and of an unseen one.
    index_ : regressor
        The fitted index.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X, scores = np.repeat([[0.0], [1.0]], 100, axis=0), np.repeat([3.0, 1.0], 100)
    >>> index = CategoryMeans(LinearRegression(), [True], random_state=0).fit(X, scores)
    >>> index.predict([[0.0], [1.0], [np.nan]]).round(2)
    array([3., 1., 2.])
    """

    def __init__(
        self, index: Any, columns: ArrayLike, *, cv: int = 5, random_state: Any = None
    ) -> None:
        self.index = index
        self.columns = columns
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take the means of the scores ``y`` by category, then fit the index to them."""
        X, scores, weights = drop_weightless(
            *check_pairs(self, X, y, sample_weight, allow_nan=True)
        )
        counts = np.ones(len(scores)) if weights is None else weights
        places = {int(i): _places(X[:, i]) for i in np.flatnonzero(self.columns)}
        self.means_ = {i: category_means(p, scores, counts) for i, p in places.items()}
        Z = np.array(X, dtype=float)
        folds = KFold(min(self.cv, len(Z)), shuffle=True, random_state=self.random_state)
        for learn, hold in folds.split(Z):
            for i, place in places.items():
                means = category_means(place[learn], scores[learn], counts[learn])
                Z[hold, i] = _look_up(means, place[hold])
        self.index_ = fit_weighted(clone(self.index), Z, scores, weights)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Index of each row."""
        check_is_fitted(self)
        Z = np.array(check_features(self, X, reset=False, allow_nan=True), dtype=float)
        for i, means in self.means_.items():
            Z[:, i] = mean_of(Z[:, i], means)
        return np.asarray(self.index_.predict(Z), dtype=float)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.regressor_tags.poor_score = True
        return tags


def category_means(places: IntArray, scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean score at each place, one more row of the overall mean counted in; one empty place ends.

    Examples
    --------
    >>> category_means(np.array([0, 2, 2]), np.array([3.0, 0.0, 0.0]), np.ones(3))
    array([2.        , 1.        , 0.33333333, 1.        ])
    """
    overall = np.average(scores, weights=weights)
    n_places = int(places.max()) + 2
    sums = np.bincount(places, weights * scores, n_places)
    return np.asarray((sums + overall) / (np.bincount(places, weights, n_places) + 1.0))


def mean_of(codes: FloatArray, means: FloatArray) -> FloatArray:
    """Look each code up in the means of missing, of code 0, 1, …, and of an unseen one."""
    return _look_up(means, _places(codes))


def _places(codes: FloatArray) -> IntArray:
    return np.where(np.isnan(codes), 0.0, codes + 1.0).astype(np.intp)


def _look_up(means: FloatArray, places: IntArray) -> FloatArray:
    return means[np.minimum(places, len(means) - 1)]
