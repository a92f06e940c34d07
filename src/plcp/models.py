"""Pairs of regressors that predict two columns: a quantile band, or a mean and its scale."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_predict
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from plcp._base import Estimator
from plcp._folds import given_folds
from plcp._options import check_same_rows
from plcp._rows import to_plain_array
from plcp._validation import (
    check_lengths,
    check_response,
    check_rows,
    check_weights,
    model_errors,
    remember_columns,
    with_columns_of_fit,
)
from plcp.quantiles import FloatArray
from plcp.regressors.base import training_params, training_routes

__all__ = ["MeanScalePair", "QuantilePair"]

_SCALE_FLOOR = 1e-3  # of the mean absolute residual: below any useful predicted scale


class _Pair(MetaEstimatorMixin, RegressorMixin, Estimator):
    """Two regressors of the same rows; features are those of the first."""

    _members: tuple[str, str]

    @property
    def n_features_in_(self) -> int:
        """Number of features in `fit`."""
        return int(getattr(self, f"{self._members[0]}_").n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features in `fit`, where they had any."""
        return np.asarray(getattr(self, f"{self._members[0]}_").feature_names_in_)

    def _check_fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, FloatArray, FloatArray | None, dict[str, dict[str, Any]]]:
        """Return rows, response and weights, and what of these the fit of each member accepts."""
        check_same_rows(X, y=y, sample_weight=sample_weight)
        X = to_plain_array(X)
        check_rows(X)
        response = check_response(y)
        check_lengths(X, response)
        remember_columns(self, X)
        weights = check_weights(sample_weight, X)
        return X, response, weights, training_params(self, self._given(), weights)

    def _given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._members}

    def _is_frozen(self) -> bool:
        return all(isinstance(member, FrozenEstimator) for member in self._given().values())

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed: to both members."""
        return training_routes(self, self._given())

    def _both(self, X: Any) -> list[FloatArray]:
        """Return the predictions of both members for new rows."""
        check_is_fitted(self)
        X = to_plain_array(X)
        check_rows(X)
        X = with_columns_of_fit(self, X)
        members = [getattr(self, f"{name}_") for name in self._members]
        with model_errors(self, X):
            return [np.asarray(to_plain_array(member.predict(X))) for member in members]

    @property
    def score(self) -> Any:
        """Not available: two columns have no R² against one y."""
        raise AttributeError(
            f"{type(self).__name__} has no score, as it predicts two columns: "
            "tune its members one by one, or pass scoring"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = [get_tags(member).input_tags for member in self._given().values()]
        tags.input_tags.sparse = all(member.sparse for member in members)
        tags.input_tags.allow_nan = all(member.allow_nan for member in members)
        return tags


class QuantilePair(_Pair):
    """A lower and an upper quantile regressor as one: ``predict`` gives (n, 2), the band of CQR.

    Parameters
    ----------
    lower, upper : regressor
        Regressors of the lower and the upper quantile, for instance at alpha / 2 and 1 - alpha / 2.
        Wrap those already trained in ``FrozenEstimator``.

    Attributes
    ----------
    lower_, upper_ : regressor
        The fitted regressors.

    References
    ----------
    Romano, Patterson, Candès (2019). Conformalized quantile regression. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> from plcp.models import QuantilePair
    >>> X, y = np.zeros((5, 1)), np.arange(5.0)
    >>> low, high = (DummyRegressor(strategy="quantile", quantile=q) for q in (0.25, 0.75))
    >>> QuantilePair(low, high).fit(X, y).predict(X[:2])
    array([[1., 3.],
           [1., 3.]])
    """

    _members = ("lower", "upper")

    def __init__(self, lower: Any, upper: Any) -> None:
        self.lower = lower
        self.upper = upper

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit both regressors on the same rows, except frozen ones."""
        if self._is_frozen():
            self.lower_, self.upper_ = self.lower, self.upper
            return self
        X, response, _, params = self._check_fit(X, y, sample_weight)
        with model_errors(self, X):
            self.lower_ = clone(self.lower).fit(X, response, **params["lower"])
            self.upper_ = clone(self.upper).fit(X, response, **params["upper"])
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predict the lower and upper quantile, shape (n, 2)."""
        return np.column_stack(self._both(X))


class MeanScalePair(_Pair):
    r"""A mean and the scale of its error as one: ``predict`` gives (n, 2).

    ``NormalizedResidual`` reads both.

    The scale regressor is fitted to \|y - mean(x)\| out of fold, since residuals of training rows
    are too small where the mean overfits. Its predictions are at least a thousandth of the mean
    absolute residual, and so positive.

    Parameters
    ----------
    mean, scale : regressor
        Regressors of y and of its absolute residual. With a mean in ``FrozenEstimator``, fit on
        rows that did not train it. With both frozen nothing is learned and the least scale is 0:
        ``NormalizedResidual`` has a ``min_scale`` of its own.
    cv : int, splitter or iterable
        Folds of the out-of-fold residuals, as in ``cross_val_predict``.

    Attributes
    ----------
    mean_, scale_ : regressor
        The fitted regressors.
    min_scale_ : float
        The least scale predicted.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani, Wasserman (2018). Distribution-free predictive inference for
    regression. JASA 113, section 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from plcp.models import MeanScalePair
    >>> X = np.arange(20.0)[:, None]
    >>> y = X[:, 0] * np.where(np.arange(20) % 2, 1, -1)
    >>> pair = MeanScalePair(LinearRegression(), LinearRegression()).fit(X, y)
    >>> mean, scale = pair.predict([[2.0], [18.0]]).T
    >>> bool(scale[0] < scale[1])
    True
    """

    _members = ("mean", "scale")

    def __init__(self, mean: Any, scale: Any, cv: Any = 5) -> None:
        self.mean = mean
        self.scale = scale
        self.cv = cv

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mean on (X, y) and the scale on the out-of-fold absolute residuals."""
        if self._is_frozen():
            self.mean_, self.scale_, self.min_scale_ = self.mean, self.scale, 0.0
            return self
        X, response, weights, params = self._check_fit(X, y, sample_weight)
        cv = 5 if self.cv is None else self.cv
        folds = given_folds(cv, X, response) or cv
        with model_errors(self, X):
            self.mean_ = clone(self.mean).fit(X, response, **params["mean"])
            held_out = cross_val_predict(self.mean, X, response, cv=folds, params=params["mean"])
            residuals = np.abs(response - held_out)
            self.scale_ = clone(self.scale).fit(X, residuals, **params["scale"])
        # 1 if all residuals are 0: scores are then in the units of y
        self.min_scale_ = _SCALE_FLOOR * float(np.average(residuals, weights=weights)) or 1.0
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predict the mean and its scale, shape (n, 2)."""
        mean, scale = self._both(X)
        return np.column_stack([mean, np.maximum(scale, self.min_scale_)])
