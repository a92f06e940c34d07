"""Threshold rules that the benchmarks measure PLCP against."""

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import _safe_indexing, check_random_state

from plcp.quantiles import conformal_quantile
from plcp.thresholds import ThresholdRule


def boosted_quantile(alpha: float, random_state: Any) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(
        loss="quantile", quantile=1 - alpha, random_state=random_state
    )


class BoostedQuantile(ThresholdRule):
    """A boosted quantile regression of the score, taken at its word: no calibration."""

    def __init__(self, alpha: float = 0.1, random_state: Any = None) -> None:
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.model_ = boosted_quantile(self.alpha, self.random_state).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


class Rectified(ThresholdRule):
    """Rectified conformal prediction: quantile regression on half, split conformal of the rest.

    Plassier et al. (2024): the conformal quantile of s / g(x), times g(x); of s - g(x), plus g(x),
    for signed scores.
    """

    def __init__(self, alpha: float = 0.1, random_state: Any = None) -> None:
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        scores = np.asarray(y, dtype=float)
        rows = check_random_state(self.random_state).permutation(len(scores))
        learn, hold = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        model = boosted_quantile(self.alpha, self.random_state)
        self.model_ = clone(model).fit(_safe_indexing(X, learn), scores[learn])
        self.floor_ = 1e-3 * scores.mean() if scores.min() >= 0 else None
        g = self._index(_safe_indexing(X, hold))
        values = scores[hold] - g if self.floor_ is None else scores[hold] / g
        self.level_ = conformal_quantile(values, self.alpha)
        return self

    def predict(self, X: Any) -> Any:
        g = self._index(X)
        return g + self.level_ if self.floor_ is None else g * self.level_

    def _index(self, X: Any) -> Any:
        g = self.model_.predict(X)
        return g if self.floor_ is None else np.maximum(g, self.floor_)
