"""Prediction intervals and sets of labels for rows on Dask, from any trained model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from plcp.conformal import ConformalClassifier, ConformalRegressor
from plcp.dask.model import DaskConformal


class DaskConformalRegressor(DaskConformal):
    """Prediction intervals around a trained regressor, calibrated on rows of a cluster.

    Rows are scored block by block, where they lie. Models whose answer for a row depends on the
    rows beside it (in the last bits, linear models do) pass that on to the scores.

    Parameters
    ----------
    estimator : regressor
        The model, trained already, within ``FrozenEstimator`` or not; any object with ``predict``.
    conformity : Score or None, default=None
        The score; None: ``AbsoluteResidual()``.
    threshold : rule of plcp.dask or None, default=None
        The rule that turns scores into thresholds; None: ``DaskPLCP()``. Its ``alpha`` is the
        level. A score with two tails gets one rule each, at alpha / 2.
    features : column, list of columns, callable or None, default=None
        What the rule sees of X; a function is given one block at a time. None: all of it.
    client : distributed.Client or None, default=None
        Who computes; None: the current client, or Dask's own threads without any.

    Attributes
    ----------
    estimator_, conformity_, thresholds_, guarantee_ :
        As in ``ConformalRegressor``; the rules are ordinary ones.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.linear_model import LinearRegression
    >>> from plcp.dask import DaskSplitConformal
    >>> from plcp.datasets import make_toy
    >>> train, cal = (make_toy(2000, random_state=seed) for seed in range(2))
    >>> fitted = LinearRegression().fit(train.X, train.y)
    >>> X, y = (da.from_array(values, chunks=500) for values in (cal.X, cal.y))
    >>> model = DaskConformalRegressor(fitted, threshold=DaskSplitConformal()).fit(X, y)
    >>> model.predict_interval(X)
    dask.array<rows, shape=(2000, 2), dtype=float64, chunksize=(500, 2), chunktype=numpy.ndarray>
    """

    _ordinary = ConformalRegressor

    def predict_interval(self, X: Any) -> Any:
        """Lower and upper ends, shape (n, 2), computed when they are asked for.

        A frame with columns ``lower`` and ``upper`` for a frame of Dask.
        """
        return self._answer(_sets, X, columns=["lower", "upper"])

    def _label_type(self) -> Any:
        return float


class DaskConformalClassifier(DaskConformal):
    """Prediction sets of labels from a trained classifier, calibrated on rows of a cluster.

    Parameters
    ----------
    estimator : classifier
        The model, trained already, with ``predict_proba`` and ``classes_``.
    conformity : Score or None, default=None
        The score; None: ``LabelProbability()``.
    threshold, features, client :
        As in ``DaskConformalRegressor``.

    Attributes
    ----------
    classes_ : ndarray
        Labels the model knows.
    estimator_, conformity_, thresholds_, guarantee_ :
        As in ``ConformalClassifier``; the rules are ordinary ones.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plcp.dask import DaskSplitConformal
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = LogisticRegression(max_iter=1000).fit(X[::2], y[::2])
    >>> rows, labels = da.from_array(X[1::2], chunks=(25, 4)), da.from_array(y[1::2], chunks=25)
    >>> model = DaskConformalClassifier(fitted, threshold=DaskSplitConformal()).fit(rows, labels)
    >>> model.predict_set(rows[:1]).compute()
    array([[ True, False, False]])
    """

    _ordinary = ConformalClassifier

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels the model knows."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.estimator_.classes_)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the model, one column a class, computed when they are asked for."""
        return self._answer(_probabilities, X, columns=self._names())

    def predict_set(self, X: Any) -> Any:
        """Whether each set holds each class, shape (n, k), computed when it is asked for.

        A frame with a column a class for a frame of Dask.
        """
        return self._answer(_sets, X, columns=self._names(), dtype=bool)

    def _names(self) -> list[str]:
        return [str(label) for label in self.classes_.tolist()]

    def _label_type(self) -> Any:
        return self.classes_.dtype


def _probabilities(X: Any, model: Any) -> Any:
    return model.predict_proba(X)


def _sets(X: Any, model: Any) -> Any:
    return model.predict_set(X).to_numpy()
