"""Boosted trees: the scale of the score, then the quantile of what is left."""

from typing import Any, Self

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from plcp._validation import drop_weightless, feature_errors, relative_weights
from plcp.quantiles import FloatArray
from plcp.regressors.base import ScoreRegressor, coarse

# Newton steps on the gamma deviance overshoot by exp(mean / score): a score counts as no less than
# this share of the mean while the scale is learned, and the second stage sees it as it is.
LEAST = 0.03


class ScaledQuantile(ScoreRegressor):
    """g(x) = μ(x) ν(x): gamma-boosted scale of the score, then boosted quantile of s / μ(x).

    The pinball loss sees only on which side of its quantile a score lies; the gamma deviance sees
    its size, and so finds the scale from fewer points. The second stage corrects what is not a
    scale family. Missing values and categorical columns just work.

    Parameters
    ----------
    quantile : float or None, default=None
        Quantile to estimate. None: 0.5 alone, 1 - alpha inside a partition.
    categorical_features : array of bool, "from_dtype" or None, default="from_dtype"
        As in ``HistGradientBoostingRegressor``.
    random_state : int, RandomState or None
        Seed of the rows held out for early stopping.

    Examples
    --------
    >>> from plcp.datasets import make_toy
    >>> from plcp.regressors import ScaledQuantile
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

    def _fit(self, X: Any, scores: FloatArray, weights: FloatArray | None) -> Self:
        """Fit the scale of the scores, then the quantile of their ratio to it."""
        X, scores, given = drop_weightless(X, scores, weights)
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
        with feature_errors(X):
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

    def _predict(self, X: Any) -> FloatArray:
        with feature_errors(X):
            return self.unit_ * self.scale_.predict(X) * self.shape_.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.positive_only = True
        tags.regressor_tags.poor_score = True
        return tags
