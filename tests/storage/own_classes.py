"""Classes as users write them."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from plcp.partitions import Partition
from plcp.scores import AbsoluteResidual


class Halved(AbsoluteResidual):
    """A score of one's own."""

    def __call__(self, prediction, y):
        return super().__call__(prediction, y) / 2

    def invert(self, prediction, threshold):
        return super().invert(prediction, 2 * np.asarray(threshold))


class Mean(RegressorMixin, BaseEstimator):
    """A model of one's own."""

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Sides(Partition):
    """A partition of one's own: left and right of zero."""

    def __init__(self, n_groups=2, alpha=0.1):
        self.n_groups = n_groups
        self.alpha = alpha

    def fit(self, X, y, sample_weight=None):
        X, scores, _ = self._check_fit(X, y, sample_weight)
        right = X[:, 0] > 0
        self.store_groups(
            np.array([np.quantile(scores[right == side], 0.9) for side in (False, True)]),
            np.array([(~right).sum(), right.sum()], dtype=float),
        )
        self.history_ = []
        return self

    def predict_proba(self, X):
        right = np.asarray(X)[:, 0] > 0
        return np.column_stack([~right, right]).astype(float)[:, np.argsort(self._group_of)]
