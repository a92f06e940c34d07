"""Columns of few values, for boosted trees that are told weights."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.validation import check_is_fitted

from plcp._base import Estimator
from plcp._options import check_same_rows
from plcp._validation import (
    check_features,
    check_lengths,
    check_scores,
    check_weights,
    drop_weightless,
    naming_the_boosted_regressor,
    relative_weights,
)
from plcp.quantiles import FloatArray

MOST_VALUES = 255  # as many bins as scikit-learn's boosting has for a column


def coarse(X: Any) -> Any:
    """Each number of a wide column as the nearest of 255 of its values: its quantiles.

    Of columns with more values scikit-learn takes 254 weighted percentiles, and sorts the column
    for each of them: most of the time of a fit. Of these it takes the middles between values, which
    are the very bounds between numbers that are brought together here: a tree that was fitted on
    coarse rows parts the rows themselves as it parted these.

    Data frames stay as they are.

    Examples
    --------
    >>> len(np.unique(coarse(np.arange(1000.0)[:, None])))
    255
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or not np.issubdtype(X.dtype, np.floating):
        return X
    return np.column_stack([_coarse_column(column) for column in X.T])


def _coarse_column(column: NDArray[Any]) -> NDArray[Any]:
    present = column[np.isfinite(column)]
    if len(np.unique(present)) <= MOST_VALUES:
        return column
    shares = np.linspace(0, 1, MOST_VALUES)
    values = np.unique(np.quantile(present, shares, method="inverted_cdf"))
    bounds = (values[:-1] + values[1:]) / 2
    nearest = values[np.searchsorted(bounds, column)]  # a number on a bound goes to the left
    return np.where(np.isnan(column), column, nearest)


# Newton steps on the gamma deviance overshoot by exp(mean / score): a score counts as no less than
# this share of the mean while the scale is learned, and the second stage sees it as it is.
LEAST = 0.03


class ScaledQuantile(RegressorMixin, Estimator):
    """g(x) = μ(x) ν(x): gamma-boosted scale of the score, then boosted quantile of s / μ(x).

    The pinball loss sees only on which side of its quantile a score lies; the gamma deviance sees
    its size, and so finds the scale from fewer points. The second stage mends what is not a scale
    family. Missing values and categorical columns just work.

    Parameters
    ----------
    quantile : float or None, default=None
        Level of the quantile. None: 0.5 alone, 1 - alpha inside a partition.
    categorical_features : array of bool, "from_dtype" or None, default="from_dtype"
        As in ``HistGradientBoostingRegressor``.
    random_state : int, RandomState or None
        Seed of the rows held out for early stopping.

    Examples
    --------
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(2000, random_state=0)
    >>> regressor = ScaledQuantile(quantile=0.9, random_state=0).fit(task.X, task.scores)
    >>> left, right = regressor.predict([[-0.5], [0.5]])
    >>> bool(left < right)
    True
    """

    def __init__(
        self,
        quantile: float | None = None,
        *,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
    ) -> None:
        self.quantile = quantile
        self.categorical_features = categorical_features
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the scale of the scores ``y``, then the quantile of their ratio to it.

        Only shares of ``sample_weight`` count: weights that are all alike are none.
        """
        check_same_rows(X, y=y, sample_weight=sample_weight)
        X, scores = check_features(self, X, reset=True, allow_nan=True), check_scores(y)
        check_lengths(X, scores)
        X, scores, given = drop_weightless(X, scores, check_weights(sample_weight, X))
        weights = relative_weights(given)
        if len(scores) < 2:
            raise ValueError("n_samples=1: one row has no spread, give at least two")
        if scores.min() < 0:
            raise ValueError(
                f"scores must not be negative for a scale, got {scores.min()}: use "
                'HistGradientBoostingRegressor(loss="quantile") for signed scores'
            )
        if weights is not None:
            X = coarse(X)
        unit = float(np.average(scores, weights=weights)) or 1.0
        scores = scores / unit
        common = {
            "learning_rate": 0.15,
            "max_iter": 300,
            "early_stopping": True,
            "categorical_features": self.categorical_features,
            "random_state": self.random_state,
        }
        with naming_the_boosted_regressor():
            self.scale_ = HistGradientBoostingRegressor(
                loss="gamma", max_leaf_nodes=16, min_samples_leaf=40, **common
            ).fit(X, np.maximum(scores, LEAST), weights)
        self.shape_ = HistGradientBoostingRegressor(
            loss="quantile",
            quantile=0.5 if self.quantile is None else self.quantile,
            max_leaf_nodes=8,
            min_samples_leaf=50,
            **common,
        ).fit(X, scores / self.scale_.predict(X), weights)
        self.unit_ = unit
        return self

    def predict(self, X: Any) -> FloatArray:
        """Estimated quantile of the score at each row."""
        check_is_fitted(self)
        X = check_features(self, X, reset=False, allow_nan=True)
        with naming_the_boosted_regressor():
            return self.unit_ * self.scale_.predict(X) * self.shape_.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.positive_only = True
        tags.regressor_tags.poor_score = True
        return tags
