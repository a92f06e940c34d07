"""What both tasks share: fit a model, score the other rows, learn thresholds, invert."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import (
    _safe_indexing,
    check_array,
    check_random_state,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.validation import check_is_fitted

from plcp.models import QuantilePair
from plcp.quantiles import IntArray
from plcp.scores import Score
from plcp.thresholds import PLCP, ThresholdRule
from plcp.validation import check_option, is_frame

CONTAINERS = ("default", "pandas", "polars")
Features = Callable[[Any], Any] | list[Any] | str | int | None


class Conformal(MetaEstimatorMixin, BaseEstimator):
    """What both tasks share: fit a model, score held-out rows, learn thresholds."""

    estimator: Any
    conformity: Score | None
    threshold: ThresholdRule | None
    features: Features
    calibration_size: float
    random_state: Any

    def _fit(self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None) -> None:
        """Fit the model on one part (none, if frozen) and calibrate on the rest."""
        X, y, sample_weight = indexable(X, y, sample_weight)
        self.estimator_ = clone(self.estimator)
        if is_frozen(self.estimator):
            if not isinstance(self.estimator, FrozenEstimator):
                self.estimator_.fit(X, y)  # teaches nothing: it only puts frozen members in place
            self._calibrate(X, y, sample_weight)
        else:
            learn, hold = self._divide(y)
            self.estimator_.fit(_safe_indexing(X, learn), y[learn])
            weights = None if sample_weight is None else _safe_indexing(sample_weight, hold)
            self._calibrate(_safe_indexing(X, hold), y[hold], weights)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))

    def _divide(self, y: NDArray[Any]) -> tuple[IntArray, IntArray]:
        """Rows to fit the model on, and rows to calibrate on."""
        stratify = y if isinstance(self, ClassifierMixin) and _can_stratify(y) else None
        learn, hold = train_test_split(
            np.arange(len(y)),
            test_size=self.calibration_size,
            random_state=check_random_state(self.random_state),
            stratify=stratify,
        )
        return learn, hold

    def _calibrate(self, X: Any, y: NDArray[Any], weights: ArrayLike | None) -> None:
        """Score the rows and fit one rule a tail, each at its share of alpha."""
        score = self._default_score() if self.conformity is None else clone(self.conformity)
        prediction = score.ask(self.estimator_, X)
        codes = self._encode(y)
        self.conformity_ = score.fit(prediction, codes)
        columns = self.conformity_(prediction, codes).reshape(len(y), -1)
        rule = PLCP() if self.threshold is None else self.threshold
        rows = self._select(X)
        self.thresholds_ = []
        for column in columns.T:
            tail = clone(rule)
            if columns.shape[1] > 1:
                tail.set_params(alpha=rule.alpha / columns.shape[1])
            self.thresholds_.append(
                tail.fit(rows, column) if weights is None else tail.fit(rows, column, weights)
            )
        self.guarantee_ = " ".join(dict.fromkeys(tail.guarantee_ for tail in self.thresholds_))

    def _invert(self, X: Any) -> Any:
        """Prediction set of each row."""
        check_is_fitted(self)
        prediction = self.conformity_.ask(self.estimator_, X)
        rows = self._select(X)
        q = np.column_stack([tail.predict(rows) for tail in self.thresholds_])
        return self.conformity_.invert(prediction, q if q.shape[1] > 1 else q[:, 0])

    def _select(self, X: Any) -> Any:
        """Return what the threshold rule sees of X."""
        if self.features is None:
            return X
        if callable(self.features):
            return self.features(X)
        columns = [self.features] if isinstance(self.features, str | int) else list(self.features)
        if is_frame(X):
            names = list(X.columns)
            missing = [name for name in columns if isinstance(name, str) and name not in names]
            if missing:
                raise ValueError(f"features names {missing}, but X has only {names}")
        return _safe_indexing(X, columns, axis=1)

    def groups(self, X: Any) -> IntArray:
        """Learned group of each row, for a rule that learns groups."""
        check_is_fitted(self)
        if len(self.thresholds_) > 1:
            raise ValueError(
                "each tail has groups of its own: ask thresholds_[0] or thresholds_[1]"
            )
        return self.thresholds_[0].groups(self._select(X))

    def _default_score(self) -> Score:
        raise NotImplementedError

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        return y

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the container of ``predict_interval``: "default", "pandas" or "polars"."""
        if transform is not None:
            check_option("transform", transform, CONTAINERS)
            self._sklearn_output_config = {"transform": transform}  # the name that clone keeps
        return self

    def _container(self) -> str:
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform")
        return str(chosen or get_config()["transform_output"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


def check_labels(y: ArrayLike) -> NDArray[Any]:
    """Return one finite label a row, of whatever type."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    return column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)


def is_frozen(estimator: Any) -> bool:
    """Whether fitting would teach nothing: frozen itself, or a pair of frozen quantiles.

    Other estimators around a frozen one, such as ``CalibratedClassifierCV``, still learn.
    """
    if isinstance(estimator, QuantilePair):
        return is_frozen(estimator.lower) and is_frozen(estimator.upper)
    return isinstance(estimator, FrozenEstimator)


def _can_stratify(y: NDArray[Any]) -> bool:
    return bool(np.unique(y, return_counts=True)[1].min() >= 2)
