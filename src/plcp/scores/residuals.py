"""Scores of regressors: residuals, whole, signed, normalised, or beyond a band of quantiles."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.quantiles import FloatArray
from plcp.scores.base import Score, check_prediction, check_response, check_threshold
from plcp.sets import Intervals

_POINT = "pass estimator.predict(X) of a regressor with one output"
_SCALE = (
    "columns are mean and scale; use an estimator whose predict takes return_std=True, "
    "or plcp.models.MeanScalePair"
)
_BAND = "columns are the lower and upper quantile; use plcp.models.QuantilePair"

# a guess is rounded three times, each by half a unit in the last place; one more is for the last
_ULP = 3


class _ResidualScore(Score):
    """A score of numbers, inverted to an interval."""

    task: ClassVar[str | None] = "regression"


class AbsoluteResidual(_ResidualScore):
    r"""The distance of the label from the prediction, S = \|y - p\|; sets are p ± t.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani, Wasserman (2018). Distribution-free predictive inference for
    regression. JASA 113.

    Examples
    --------
    >>> from plcp.scores import AbsoluteResidual
    >>> score = AbsoluteResidual()
    >>> score([1.0, 5.0], [3.0, 4.0])
    array([2., 1.])
    >>> score.invert([1.0, 5.0], 2.0).to_numpy()
    array([[-1.,  3.],
           [ 3.,  7.]])
    """

    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score each row, shape (n,)."""
        point = check_prediction(prediction, 1, _POINT)[:, 0]
        return np.abs(check_response(y, len(point)) - point)

    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> Intervals:
        """Return [p - t, p + t]; a negative threshold empties the set."""
        point = check_prediction(prediction, 1, _POINT)[:, 0]
        t = check_threshold(threshold, len(point), 1)[:, 0]
        return _widen(point, point, t, t)


class SignedResidual(_ResidualScore):
    """The residual with its sign, for bounds on one side or for two sides apart.

    ``"upper"``: S = y - p, sets (-inf, p + t]. ``"lower"``: S = p - y, sets [p - t, inf).
    ``"both"``: the two tails (p - y, y - p), sets [p - t_1, p + t_2], for skewed noise; each tail
    gets its own threshold, at alpha / 2.

    Parameters
    ----------
    side : {"upper", "lower", "both"}
        The side the set is bounded on.

    References
    ----------
    Linusson, Johansson, Löfström (2014). Signed-error conformal regression. PAKDD.

    Examples
    --------
    >>> from plcp.scores import SignedResidual
    >>> SignedResidual(side="upper").invert([1.0], 2.0).to_numpy()
    array([[-inf,   3.]])
    >>> both = SignedResidual(side="both")
    >>> both([1.0, 5.0], [3.0, 4.0])
    array([[-2.,  2.],
           [ 1., -1.]])
    >>> both.invert([1.0], [[0.5, 2.0]]).to_numpy()
    array([[0.5, 3. ]])
    """

    def __init__(self, side: str = "both") -> None:
        self.side = side

    @property
    def tails(self) -> int:
        """Two when both sides are bounded, else one."""
        return 2 if self.side == "both" else 1

    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score each row: shape (n, 2) with both sides, else (n,)."""
        point = check_prediction(prediction, 1, _POINT)[:, 0]
        residual = check_response(y, len(point)) - point
        scores = {"lower": -residual, "upper": residual}
        return np.column_stack(list(scores.values())) if self._checked_both() else scores[self.side]

    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> Intervals:
        """Return the labels within the threshold of each bounded side."""
        point = check_prediction(prediction, 1, _POINT)[:, 0]
        t = check_threshold(threshold, len(point), self.tails)
        if self._checked_both():
            return _widen(point, point, t[:, 0], t[:, 1])
        free = np.full(len(point), np.inf)
        below, above = (free, t[:, 0]) if self.side == "upper" else (t[:, 0], free)
        return _widen(point, point, below, above)

    def _checked_both(self) -> bool:
        if self.side not in ("upper", "lower", "both"):
            raise ValueError(f"side must be 'upper', 'lower' or 'both', got {self.side!r}")
        return self.side == "both"


class NormalizedResidual(_ResidualScore):
    r"""The residual in units of a predicted scale, S = \|y - mean\| / max(scale, min_scale).

    Sets are mean ± t · max(scale, min_scale): wide where the model says it is unsure.

    Parameters
    ----------
    min_scale : float
        The least scale believed, in units of y. A scale near 0, as a Gaussian process gives at its
        own training points, makes a huge score there and a needless sliver of a set; a zero scale
        is an error until ``min_scale`` is positive. A negative scale always is: it means the scale
        model is wrong.

    References
    ----------
    Papadopoulos, Gammerman, Vovk (2008). Normalized nonconformity measures for regression conformal
    prediction. AIA.

    Examples
    --------
    >>> from plcp.scores import NormalizedResidual
    >>> score = NormalizedResidual(min_scale=0.1)
    >>> score([[1.0, 2.0], [5.0, 0.5]], [3.0, 4.0])
    array([1., 2.])
    >>> score.invert([[1.0, 2.0], [5.0, 0.5]], 2.0).to_numpy()
    array([[-3.,  5.],
           [ 4.,  6.]])
    """

    def __init__(self, min_scale: float = 0.0) -> None:
        self.min_scale = min_scale

    def ask(self, estimator: Any, X: Any) -> NDArray[Any]:
        """Ask for mean and scale, by ``return_std=True`` where predict takes it."""
        if _takes_return_std(estimator):
            return np.column_stack(estimator.predict(X, return_std=True))
        return np.asarray(estimator.predict(X))

    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score each row, shape (n,)."""
        mean, scale = self._mean_and_scale(prediction)
        return np.asarray(np.abs(check_response(y, len(mean)) - mean) / scale)

    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> Intervals:
        """Return mean ± t · scale; a negative threshold empties the set."""
        mean, scale = self._mean_and_scale(prediction)
        t = check_threshold(threshold, len(mean), 1)[:, 0]
        residual = _largest_residual(t, scale)
        return _widen(mean, mean, residual, residual)

    def point(self, prediction: ArrayLike) -> NDArray[Any]:
        """Return the mean."""
        return np.asarray(prediction)[:, 0]

    def _mean_and_scale(self, prediction: ArrayLike) -> tuple[FloatArray, FloatArray]:
        if not 0 <= self.min_scale < np.inf:
            raise ValueError(f"min_scale must lie in [0, inf), got {self.min_scale}")
        mean, scale = check_prediction(prediction, 2, _SCALE).T
        bad = (scale < 0) | (np.maximum(scale, self.min_scale) == 0)
        if bad.any():
            row = int(np.argmax(bad))
            remedy = (
                "pass min_scale > 0" if scale[row] == 0 else "use a scale model that stays positive"
            )
            raise ValueError(f"scale must be positive, got {scale[row]} at row {row}: {remedy}")
        return mean, np.maximum(scale, self.min_scale)


class QuantileResidual(_ResidualScore):
    """How far the label lies beyond a band of quantiles: conformalized quantile regression (CQR).

    Symmetric: S = max(lo - y, y - hi), sets [lo - t, hi + t]. Otherwise the two tails
    (lo - y, y - hi), sets [lo - t_1, hi + t_2], each with its own threshold at alpha / 2. Negative
    scores lie inside the band, so a threshold may narrow it. Crossing quantiles (lo > hi) are
    sorted first. With lo = hi = p the symmetric score is `AbsoluteResidual`.

    Parameters
    ----------
    symmetric : bool
        One threshold for both ends (usually shorter), or one for each (valid on each side).

    References
    ----------
    Romano, Patterson, Candès (2019). Conformalized quantile regression. NeurIPS.

    Examples
    --------
    >>> from plcp.scores import QuantileResidual
    >>> score = QuantileResidual()
    >>> score([[1.0, 3.0], [5.0, 7.0]], [4.0, 6.0])
    array([ 1., -1.])
    >>> score.invert([[1.0, 3.0], [5.0, 7.0]], 0.5).to_numpy()
    array([[0.5, 3.5],
           [4.5, 7.5]])
    """

    def __init__(self, symmetric: bool = True) -> None:
        self.symmetric = symmetric

    @property
    def tails(self) -> int:
        """One when symmetric, else two."""
        return 1 if self.symmetric else 2

    def point(self, prediction: ArrayLike) -> NDArray[Any]:
        """Return the middle of the band."""
        return np.asarray(prediction).mean(axis=1)

    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score each row: shape (n,) when symmetric, else (n, 2)."""
        lo, hi = np.sort(check_prediction(prediction, 2, _BAND), axis=1).T
        values = check_response(y, len(lo))
        scores = np.column_stack([lo - values, values - hi])
        return np.asarray(scores.max(axis=1)) if self.symmetric else scores

    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> Intervals:
        """Return the band widened by the thresholds, or narrowed where they are negative."""
        lo, hi = np.sort(check_prediction(prediction, 2, _BAND), axis=1).T
        t = check_threshold(threshold, len(lo), self.tails)
        return _widen(lo, hi, t[:, 0], t[:, -1])


def _widen(lo: FloatArray, hi: FloatArray, below: FloatArray, above: FloatArray) -> Intervals:
    """Return {y : lo - y <= below and y - hi <= above}, differences rounded as in the score.

    The ends are the outermost such floats, not lo - below and hi + above: 0.2 + (0.9 - 0.2) is
    below 0.9, and a set that ended there would miss the very label that set its threshold.
    """
    return Intervals(-_largest_label(-lo, below), _largest_label(hi, above))


def _largest_label(point: FloatArray, t: FloatArray) -> FloatArray:
    """Return the largest float y with y - point <= t."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = point + t
        # what that sum lost to rounding (Knuth's two-sum), and how far beyond t still rounds to t
        back = near - point
        lost = (point - (near - back)) + (t - back)
        near = near + (lost + (np.nextafter(t, np.inf) - t) / 2)
        return _settle(near, t, lambda y: y - point)


def _largest_residual(t: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the largest float r with r / scale <= t."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        near = t * (scale / 2) + np.nextafter(t, np.inf) * (scale / 2)
        return _settle(near, t, lambda r: r / scale)


def _settle(
    near: FloatArray, t: FloatArray, score: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Move a guess to the largest float whose score is at most t; infinite t stay as they are."""
    for _ in range(_ULP):
        near = np.where(score(near) > t, np.nextafter(near, -np.inf), near)
    for _ in range(_ULP):
        further = np.nextafter(near, np.inf)
        near = np.where(score(further) <= t, further, near)
    return np.where(np.isinf(t), t, near)


def _takes_return_std(estimator: Any) -> bool:
    """Whether predict, or the predict of a pipeline's last step, has a return_std argument."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    return "return_std" in inspect.signature(estimator.predict).parameters
