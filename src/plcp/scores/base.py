"""The contract of a score: how a prediction and a label become a number, and back into a set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metadata_routing import UNUSED

from plcp.estimator import Estimator
from plcp.floats import as_floats, check_sizes
from plcp.quantiles import FloatArray
from plcp.sets import Intervals, LabelSets


class Score(Estimator, ABC):
    """A score S(p, y) of a label y under a prediction p, with its inverse.

    Large scores are strange labels. The law every score obeys, whatever the threshold t::

        y in score.invert(p, t)   <=>   score(p, y) <= t   (in every tail)

    It holds exactly, in floating point too: the ends of an interval are the outermost floats whose
    score is at most t, where p + t itself might round to a number that is not.
    A score knows nothing of alpha, of X, or of groups.

    A score of your own defines ``__call__`` and ``invert``, and `ask` if the model is not asked by
    ``predict``; `task` ("regression" or "classification") if it serves only one, and `learned` if
    its `fit` learns.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.scores import Score
    >>> from plcp.sets import Intervals
    >>> class Ratio(Score):
    ...     def __call__(self, prediction, y):
    ...         return np.asarray(y) / prediction
    ...     def invert(self, prediction, threshold):
    ...         return Intervals(np.full(len(prediction), -np.inf), prediction * threshold)
    >>> Ratio().invert(np.array([1.0, 2.0]), 1.5).upper
    array([1.5, 3. ])
    """

    __metadata_request__fit: ClassVar[dict[str, str]] = {"prediction": UNUSED}
    task: ClassVar[str | None] = None

    @property
    def tails(self) -> int:
        """Number of thresholds per row: 2 for a score that treats both sides apart."""
        return 1

    @property
    def learned(self) -> str | None:
        """What `fit` learns from calibration rows, if anything; validity is then approximate."""
        return None

    @property
    def repeats_draws(self) -> bool:
        """Whether every call draws the same numbers: rows of two calls are then not independent."""
        return False

    def ask(self, estimator: Any, X: Any) -> NDArray[Any]:
        """Ask a fitted estimator for the predictions this score reads."""
        return np.asarray(estimator.predict(X))

    def fit(self, prediction: ArrayLike, y: ArrayLike) -> Self:
        """Learn what the score needs from calibration data: nothing, for most scores."""
        return self

    def point(self, prediction: ArrayLike) -> NDArray[Any]:
        """Return the one label that stands for a prediction: the prediction itself, for most."""
        return np.asarray(prediction)

    @abstractmethod
    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score each row: shape (n,), or (n, tails) with more than one tail."""

    @abstractmethod
    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> Intervals | LabelSets:
        """Return the labels whose score is at most ``threshold``: a scalar, (n,) or (n, tails)."""


def check_prediction(prediction: ArrayLike, columns: int, remedy: str) -> FloatArray:
    """Return finite predictions of shape (n, columns); one column may come as (n,)."""
    values = as_floats("prediction", prediction)
    if values.ndim == 1 and columns == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != columns:
        wanted = "(n,)" if columns == 1 else f"(n, {columns})"
        raise ValueError(f"prediction must have shape {wanted}, got {values.shape}: {remedy}")
    check_finite(values, "prediction")
    return values


def check_response(y: ArrayLike, n: int) -> FloatArray:
    """Return a finite response of shape (n,)."""
    values = as_floats("y", y)
    if values.shape == (n, 1):
        values = values[:, 0]
    check_length(values, n)
    check_finite(values, "y")
    return values


def check_length(y: NDArray[Any], n: int) -> None:
    """Raise unless y holds one value for each of n predictions."""
    if y.shape != (n,):
        raise ValueError(
            f"y must have shape ({n},) as there are {n} predictions, got {y.shape}: "
            "pass the y of the rows predicted"
        )


def check_finite(values: FloatArray, name: str) -> None:
    """Raise at the first row that holds NaN, infinity, or what comes close to it."""
    bad = ~np.isfinite(values)
    if bad.any():
        place = tuple(np.argwhere(bad)[0])
        raise ValueError(
            f"{name} must be finite, got {values[place]} at row {place[0]}: "
            "drop or impute that row first"
        )
    check_sizes(name, values)


def check_threshold(threshold: ArrayLike, n: int, tails: int) -> FloatArray:
    """Return thresholds of shape (n, tails); a scalar serves all rows, (n,) serves all tails."""
    values = as_floats("threshold", threshold)
    try:
        filled = np.broadcast_to(values[:, None] if values.ndim == 1 else values, (n, tails))
    except ValueError:
        raise ValueError(
            f"threshold must be a scalar or have shape ({n},) or ({n}, {tails}), "
            f"got {values.shape}: pass one threshold per row predicted"
        ) from None
    if np.isnan(filled).any():
        row = np.argwhere(np.isnan(filled))[0, 0]
        raise ValueError(f"threshold must not be nan, got nan at row {row}: inf keeps every label")
    return filled
