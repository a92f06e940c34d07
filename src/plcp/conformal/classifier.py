"""Prediction sets of labels from any classifier."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from plcp.conformal.base import Conformal
from plcp.quantiles import FloatArray
from plcp.scores import LabelProbability, Score
from plcp.sets import LabelSets
from plcp.validation import asking, check_labels


class ConformalClassifier(ClassifierMixin, Conformal):
    """Prediction sets of labels from any classifier, valid for each kind of input.

    ``predict_set(X).to_pandas()`` and ``.to_polars()`` give the sets as a table, one boolean column
    a class.

    Parameters
    ----------
    estimator : classifier
        The model, with ``predict_proba``; frozen or not, as in ``ConformalRegressor``.
    conformity : Score or None, default=None
        The score; None: ``LabelProbability()``.
    threshold, features, calibration_size, random_state :
        As in ``ConformalRegressor``; the split keeps the shares of the classes, unless some class
        is too rare to stand on both sides.

    Attributes
    ----------
    classes_ : ndarray
        Labels the model knows.
    estimator_, conformity_, thresholds_, guarantee_ :
        As in ``ConformalRegressor``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plcp import SplitConformal
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalClassifier(
    ...     LogisticRegression(max_iter=1000), threshold=SplitConformal(), random_state=0
    ... )
    >>> model.fit(X, y).predict_set(X[:1]).to_lists()
    [[0]]
    """

    _task = "classification"

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train (unless frozen) and calibrate; weights are those of the calibration rows."""
        labels = self._labels(y)
        check_classification_targets(labels)
        self._fit(X, labels, sample_weight)
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels the model knows."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Likeliest label of each row."""
        X = self._rows(X)
        with asking(self.estimator_, X):
            return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the model, as they are."""
        X = self._rows(X)
        with asking(self.estimator_, X):
            return self.estimator_.predict_proba(X)

    def predict_set(self, X: Any) -> Any:
        """``LabelSets`` that can be asked: ``contains``, ``size``, ``to_lists``.

        At several levels ``NestedSets``, a mapping of each alpha to its sets.
        """
        return self._sets(*self._answers(X))

    def _invert(self, prediction: Any, thresholds: FloatArray) -> LabelSets:
        return super()._invert(prediction, thresholds).with_classes(self.classes_)

    @staticmethod
    def _labels(y: ArrayLike) -> NDArray[Any]:
        return check_labels(y)

    def _default_score(self) -> Score:
        return LabelProbability()

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"labels {unknown.tolist()} are not among the classes {self.classes_.tolist()} the "
                "model was trained on: drop those rows, merge rare classes, or retrain the model"
            )
        order = np.argsort(self.classes_)  # a model of one's own may list them in any order
        return order[np.searchsorted(self.classes_, y, sorter=order)]
