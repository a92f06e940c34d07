"""The contract of a threshold rule: a regressor of scores."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from plcp.estimator import Estimator
from plcp.quantiles import FloatArray, IntArray, pinball_loss
from plcp.thresholds.members import Members


class Assigned(NamedTuple):
    """What a rule gives to rows: the number of each one's group, if it has any, and a threshold."""

    groups: IntArray | None
    thresholds: FloatArray


class ThresholdRule(RegressorMixin, Estimator, ABC):
    """Turns calibration pairs (x, s) into a threshold function x ↦ q(x).

    A rule is a scikit-learn regressor whose target is the score: ``fit(X, scores)`` learns,
    ``predict(X)`` gives thresholds, and the prediction set of x is {y : S(x, y) ≤ q(x)}. After
    ``fit``, ``guarantee_`` is a sentence that says which coverage holds, and when.
    """

    alpha: float
    guarantee_: str

    @abstractmethod
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn thresholds from features ``X`` and scores ``y``."""

    @abstractmethod
    def predict(self, X: Any) -> FloatArray:
        """Thresholds q(x), one a row."""

    def assign(self, X: Any) -> Assigned:
        """Group and threshold of each row, at the price of one prediction.

        Groups are numbered as in ``thresholds_``, -1 for one never seen; None where no row has
        just one.
        """
        return Assigned(None, self.predict(X))

    def members(self, X: Any) -> Members:
        """Rows of each group that the rule learned or was given, by name; a rule may have none."""
        return {}

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Negative mean pinball loss of the thresholds: larger is better.

        Its excess bounds the mean squared conditional coverage error, so it is the metric to
        validate with; ``GridSearchCV`` uses it when told nothing else. An infinite threshold is
        charged as the largest of ``y``, else a single one would decide about all.
        """
        scores = np.asarray(y, dtype=float)
        thresholds = self.predict(X)
        bounded = np.clip(thresholds, scores.min(), scores.max())
        finite = np.where(np.isfinite(thresholds), thresholds, bounded)
        loss = pinball_loss(finite, scores, self.alpha)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        return -float(np.average(loss, weights=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A (1 - alpha)-quantile is far from the mean that R² would reward.
        tags.regressor_tags.poor_score = True
        return tags
