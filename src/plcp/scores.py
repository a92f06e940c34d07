"""Scores S(x, y), each with its inverse {y : S(x, y) <= t}."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from plcp._base import Estimator
from plcp._rows import is_tensor, to_plain_array
from plcp._validation import LARGEST, as_floats, check_sizes, check_weights, machine_epsilon
from plcp.out_of_core import RowDraws
from plcp.quantiles import FloatArray
from plcp.regressors.base import one_seed
from plcp.sets import Intervals, LabelSets

__all__ = [
    "AbsoluteResidual",
    "CumulativeProbability",
    "LabelProbability",
    "NormalizedResidual",
    "QuantileResidual",
    "Score",
    "SignedResidual",
]


class Score(Estimator, ABC):
    """A score S(p, y) of a label y under a prediction p, with its inverse.

    Large scores are strange labels. The law every score obeys, whatever the threshold t::

        y in score.invert(p, t)   <=>   score(p, y) <= t   (in every tail)

    In floating point no label is lost: whatever scores at most t is in the set, also where p + t
    rounds to a smaller number. An interval may end a rounding error further out.
    A score knows nothing of alpha, of X, or of groups.

    A score of your own defines ``__call__`` and ``invert``; ``n_tails`` if ``__call__`` gives more
    than one column, each with a threshold of its own; ``predictions`` if it reads something other
    than ``predict``; ``task`` ("regression" or "classification") if it serves only one;
    ``learned`` if its ``fit`` learns; and, if it scores labels, ``of_unknown_label``, a number
    above the score of every label that the model knows.

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
    of_unknown_label: ClassVar[float] = LARGEST

    @property
    def n_tails(self) -> int:
        """Number of thresholds per row: 2 for a score with a threshold for each side."""
        return 1

    @property
    def learned(self) -> str | None:
        """What `fit` learns from calibration rows, if anything; validity is then approximate."""
        return None

    @property
    def draws(self) -> bool:
        """Whether the score draws a random number for each row."""
        return False

    def on_rows(self, X: Any) -> Self:
        """Return the score of new rows X, with their draws if it draws."""
        return self

    def predictions(self, estimator: Any, X: Any) -> NDArray[Any]:
        """Return what the score reads of a fitted estimator: ``predict(X)``, for most scores."""
        return np.asarray(to_plain_array(estimator.predict(X)))

    def fit(self, prediction: ArrayLike, y: ArrayLike) -> Self:
        """Learn what the score needs from calibration data: nothing, for most scores."""
        return self

    def point(self, prediction: ArrayLike) -> NDArray[Any]:
        """Return the one label that stands for a prediction: the prediction itself, for most."""
        return np.asarray(prediction)

    @abstractmethod
    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score each row: shape (n,), or (n, n_tails) with more than one tail."""

    @abstractmethod
    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> Intervals | LabelSets:
        """Return the labels whose score is at most ``threshold``, (), (n,) or (n, n_tails).

        Scores of k classes also take a threshold for each class, (n, k).
        """


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


def check_outcome(y: ArrayLike, n: int) -> FloatArray:
    """Return the finite outcomes of n predictions, shape (n,)."""
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
    """Raise at the first row with NaN, infinity, or a number too large to subtract."""
    bad = ~np.isfinite(values)
    if bad.any():
        place = tuple(np.argwhere(bad)[0])
        raise ValueError(
            f"{name} must be finite, got {values[place]} at row {place[0]}: "
            "drop or impute that row first"
        )
    check_sizes(name, values)


def check_threshold(threshold: ArrayLike, n: int, n_tails: int) -> FloatArray:
    """Return thresholds of shape (n, n_tails); a scalar serves all rows, (n,) serves all tails."""
    values = as_floats("threshold", threshold)
    try:
        filled = np.broadcast_to(values[:, None] if values.ndim == 1 else values, (n, n_tails))
    except ValueError:
        raise ValueError(
            f"threshold must be a scalar or have shape ({n},) or ({n}, {n_tails}), "
            f"got {values.shape}: pass one threshold per row predicted"
        ) from None
    if np.isnan(filled).any():
        row = np.argwhere(np.isnan(filled))[0, 0]
        raise ValueError(
            f"threshold must not be nan, got nan at row {row}: inf keeps every outcome"
        )
    return filled


_POINT = "pass estimator.predict(X) of a regressor with one output"
_SCALE = (
    "columns are mean and scale; use an estimator whose predict takes return_std=True, "
    "or plcp.models.MeanScalePair"
)
_BAND = "columns are the lower and upper quantile; use plcp.models.QuantilePair"


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
        return np.abs(check_outcome(y, len(point)) - point)

    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> Intervals:
        """Return [p - t, p + t]; a negative threshold empties the set."""
        point = check_prediction(prediction, 1, _POINT)[:, 0]
        t = check_threshold(threshold, len(point), 1)[:, 0]
        return _widen(point, point, t, t)


class SignedResidual(_ResidualScore):
    """The residual with its sign, for a bound on one side or a threshold for each side.

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
    def n_tails(self) -> int:
        """Two when both sides are bounded, else one."""
        return 2 if self.side == "both" else 1

    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score each row: shape (n, 2) with both sides, else (n,)."""
        point = check_prediction(prediction, 1, _POINT)[:, 0]
        residual = check_outcome(y, len(point)) - point
        scores = {"lower": -residual, "upper": residual}
        return np.column_stack(list(scores.values())) if self._checked_both() else scores[self.side]

    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> Intervals:
        """Return the labels within the threshold of each bounded side."""
        point = check_prediction(prediction, 1, _POINT)[:, 0]
        t = check_threshold(threshold, len(point), self.n_tails)
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

    Sets are mean ± t · max(scale, min_scale): wide where the predicted scale is large.

    Parameters
    ----------
    min_scale : float
        Lower bound of the scale, in units of y. A scale near 0, as of a Gaussian process at its own
        training points, makes huge scores and tiny sets there; a zero scale is an error unless
        ``min_scale`` is positive, a negative scale always is.

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

    def predictions(self, estimator: Any, X: Any) -> NDArray[Any]:
        """Return mean and scale, by ``return_std=True`` where ``predict`` accepts it."""
        if _accepts_return_std(estimator):
            return np.column_stack(estimator.predict(X, return_std=True))
        return super().predictions(estimator, X)

    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score each row, shape (n,)."""
        mean, scale = self._mean_and_scale(prediction)
        return np.asarray(np.abs(check_outcome(y, len(mean)) - mean) / scale)

    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> Intervals:
        """Return mean ± t · scale; a negative threshold empties the set."""
        mean, scale = self._mean_and_scale(prediction)
        t = check_threshold(threshold, len(mean), 1)[:, 0]
        residual = _last_within(t, lambda t: t * scale, lambda r: r / scale)
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
    def n_tails(self) -> int:
        """One when symmetric, else two."""
        return 1 if self.symmetric else 2

    def point(self, prediction: ArrayLike) -> NDArray[Any]:
        """Return the middle of the band."""
        return np.asarray(prediction).mean(axis=1)

    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score each row: shape (n,) when symmetric, else (n, 2)."""
        lo, hi = np.sort(check_prediction(prediction, 2, _BAND), axis=1).T
        values = check_outcome(y, len(lo))
        scores = np.column_stack([lo - values, values - hi])
        return np.asarray(scores.max(axis=1)) if self.symmetric else scores

    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> Intervals:
        """Return the band widened by the thresholds, or narrowed where they are negative."""
        lo, hi = np.sort(check_prediction(prediction, 2, _BAND), axis=1).T
        t = check_threshold(threshold, len(lo), self.n_tails)
        return _widen(lo, hi, t[:, 0], t[:, -1])


def _widen(lo: FloatArray, hi: FloatArray, below: FloatArray, above: FloatArray) -> Intervals:
    """Return {y : lo - y <= below and y - hi <= above}, differences rounded as in the score."""
    lower = -_last_within(below, lambda t: t - lo, lambda y: y + lo)
    return Intervals(lower, _last_within(above, lambda t: t + hi, lambda y: y - hi))


def _last_within(
    t: FloatArray,
    label: Callable[[FloatArray], FloatArray],
    score: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the largest label whose score is at most t, or one beyond it by a rounding error.

    Both functions increase, are inverse but for one rounding each, and rounding keeps order. So
    score(y) <= t implies y <= label(nextafter(t)), and label(t) needs at most one step down:
    0.2 + (0.9 - 0.2) is below 0.9, and a set that ended there would miss the label that set t.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        end = label(t)
        end = np.where(score(end) > t, np.nextafter(end, -np.inf), end)
        is_last = score(np.nextafter(end, np.inf)) > t
        return np.where(is_last | np.isinf(t), end, label(np.nextafter(t, np.inf)))


def _accepts_return_std(estimator: Any) -> bool:
    """Whether predict, or the predict of a pipeline's last step, has a return_std argument."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    return "return_std" in inspect.signature(estimator.predict).parameters


_TOLERANCE = 1e-6  # of a sum of probabilities in double precision, which may be read from text
# T = 20 takes (0.6, 0.4) to (0.9997, 0.0003); more only underflows
_TEMPERATURE_RANGE = (0.05, 20.0)


class _ProbabilityScore(Score):
    """A score of class probabilities, computed for all labels and inverted by comparing."""

    task: ClassVar[str | None] = "classification"
    of_unknown_label: ClassVar[float] = 2.0  # sums of probabilities are at most 1

    def predictions(self, estimator: Any, X: Any) -> NDArray[Any]:
        """Return the class probabilities of a fitted classifier."""
        if not hasattr(estimator, "predict_proba"):
            name = type(estimator).__name__
            raise TypeError(f"{name} has no predict_proba: wrap it in CalibratedClassifierCV")
        probabilities: Any = estimator.predict_proba(X)  # a tensor stays: numpy has no bfloat16
        return probabilities if is_tensor(probabilities) else np.asarray(probabilities)


class LabelProbability(_ProbabilityScore):
    """The probability the label lacks, S = 1 - π_y; sets {y : π_y >= 1 - t}.

    The smallest sets on average where π is right. A set is empty where no label reaches 1 - t: on
    the hardest inputs if they share t with easier ones, and on the least sure of the easy ones if
    these have a t of their own. Also known as LAC or the hinge score.

    Parameters
    ----------
    never_empty : bool, default=False
        Whether the likeliest label, or all that tie for it, scores 0, in calibration too. It is
        then in every set whose threshold is not negative: those of ``PLCP``, ``Mondrian`` and
        ``SplitConformal`` never are where no score is and no rank drawn, those of ``Rectified`` and
        ``ConditionalCalibration`` may be. Coverage is at least 1 - alpha wherever it was, and
        exceeds it only where the likeliest label is right more often than that: there sets hold
        that label alone and cover as often as it is right. Without it, 90 % coverage of inputs on
        which the model is 98 % right *requires* that at least 8 % of their sets are empty.

    References
    ----------
    Sadinle, Lei, Wasserman (2019). Least ambiguous set-valued classifiers with bounded error
    levels. JASA 114.

    Examples
    --------
    >>> from plcp.scores import LabelProbability
    >>> score = LabelProbability()
    >>> score([[0.75, 0.25], [0.5, 0.5]], [1, 0])
    array([0.75, 0.5 ])
    >>> score.invert([[0.75, 0.25], [0.5, 0.5]], 0.5).to_lists()
    [[0], [0, 1]]
    >>> score.invert([[0.75, 0.25], [0.5, 0.5]], 0.25).to_lists()
    [[0], []]
    >>> LabelProbability(never_empty=True).invert([[0.75, 0.25], [0.5, 0.5]], 0.25).to_lists()
    [[0], [0, 1]]
    """

    def __init__(self, never_empty: bool = False) -> None:
        self.never_empty = never_empty

    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score the label of each row, shape (n,)."""
        scores = self._all_scores(prediction)
        return _pick(scores, check_codes(y, *scores.shape))

    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> LabelSets:
        """Return the labels that lack at most ``threshold`` of the probability."""
        scores = self._all_scores(prediction)
        return LabelSets(scores <= check_threshold(threshold, *scores.shape))

    def _all_scores(self, prediction: ArrayLike) -> FloatArray:
        if not isinstance(self.never_empty, bool | np.bool_):
            raise ValueError(
                f"never_empty must be True or False, got {self.never_empty!r}: "
                "True keeps the likeliest label in every set"
            )
        probabilities = check_probabilities(prediction)
        scores = 1 - probabilities
        if self.never_empty:
            scores[probabilities == probabilities.max(axis=1, keepdims=True)] = 0
        return scores


class CumulativeProbability(_ProbabilityScore):
    """The probability of all labels ranked above this one: adaptive prediction sets (APS).

    S = Σ {π_i : π_i > π_y} + u π_y, where labels of equal probability share one score. With a
    temperature T, π is first sharpened or flattened to softmax(T log π).

    Parameters
    ----------
    own_mass : {"none", "full", "random"}
        How much of the label's own probability counts: u = 0, u = 1, or u uniform on (0, 1), drawn
        once per row. The default is the paper's "none": the likeliest label scores 0, so no set is
        empty, the same input always gets the same set, and scores are large where inputs are hard,
        which is what a learned partition needs. "full" reverses that: the sets of the most certain
        rows are empty. "random" alone does not over-cover where the model is right more often than
        1 - alpha, at the price of sets that change from draw to draw.
    temperature : None, "fit" or positive float
        T, or ``"fit"`` for the maximum of the likelihood of the rows given to `fit`, within
        [0.05, 20]. One number learned from calibration rows perturbs exact validity a little: fit
        it on other rows and pass the float to keep validity exact.
    random_state : int, RandomState or None
        Seed of the draws of "random". Calibration rows draw in their order. New rows draw by their
        content (see ``on_rows``) in a conformal estimator: the set of a row does not depend on the
        other rows, and equal rows share their draw. A score called by itself has no X, and
        ``invert`` draws by the content of the predictions.

    Attributes
    ----------
    temperature_ : float
        The temperature in use; 1 when ``temperature=None``.

    References
    ----------
    Romano, Sesia, Candès (2020). Classification with valid and adaptive coverage. NeurIPS.
    Guo, Pleiss, Sun, Weinberger (2017). On calibration of modern neural networks. ICML.
    Kiyani, Pappas, Hassani (2024). Conformal prediction with learned features. ICML, section 5.

    Examples
    --------
    >>> from plcp.scores import CumulativeProbability
    >>> probabilities = [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]
    >>> score = CumulativeProbability()
    >>> score(probabilities, [0, 2])
    array([0.  , 0.75])
    >>> score.invert(probabilities, 0.5).to_lists()
    [[0, 1, 2], [1]]
    """

    _drawn: FloatArray | None = None  # set by on_rows

    def __init__(
        self,
        own_mass: str = "none",
        temperature: float | str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.own_mass = own_mass
        self.temperature = temperature
        self.random_state = random_state

    @property
    def learned(self) -> str | None:
        """The temperature, where it is fitted."""
        return "temperature" if self.temperature == "fit" else None

    @property
    def draws(self) -> bool:
        """Whether u is drawn."""
        return self.own_mass == "random"

    def on_rows(self, X: Any) -> Self:
        """Return the score of new rows X, whose draws depend on the content of each row.

        A calibration row and an equal new row do not share their draw.
        """
        if not self.draws:
            return self
        score = copy(self)
        score._drawn = RowDraws(X, self._fixed_seed(), "score").random()
        return score

    def fit(
        self, prediction: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fix the seed, and fit the temperature by maximum likelihood where it is ``"fit"``."""
        self._seed = one_seed(self.random_state)
        if self.temperature == "fit":
            probabilities = check_probabilities(prediction)
            codes = check_codes(y, *probabilities.shape)
            weights = check_weights(sample_weight, codes)
            self.temperature_ = fit_temperature(probabilities, codes, weights)
        else:
            self.temperature_ = self._temperature()
        return self

    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score the label of each row, shape (n,)."""
        scores = self._all_scores(prediction, in_order=True)
        return _pick(scores, check_codes(y, *scores.shape))

    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> LabelSets:
        """Return the labels with at most ``threshold`` of the probability above them."""
        scores = self._all_scores(prediction, in_order=False)
        return LabelSets(scores <= check_threshold(threshold, *scores.shape))

    def _all_scores(self, prediction: ArrayLike, in_order: bool) -> FloatArray:
        probabilities, temperature = check_probabilities(prediction), self._temperature()
        own_share = self._own_share(probabilities, in_order)
        # not for T = 1, so that exact zeros and ties stay as the model gave them
        if temperature != 1:
            probabilities = apply_temperature(probabilities, temperature)
        return cumulative_scores(probabilities, own_share)

    def _temperature(self) -> float:
        if self.temperature == "fit":
            check_is_fitted(self, "temperature_")
            return float(self.temperature_)
        value = 1.0 if self.temperature is None else self.temperature
        if isinstance(value, str) or not 0 < value < np.inf:
            raise ValueError(f"temperature must be None, 'fit' or a positive number, got {value!r}")
        return float(value)

    def _own_share(self, probabilities: FloatArray, in_order: bool) -> FloatArray:
        """Return u for each row."""
        n = len(probabilities)
        if self.own_mass not in ("none", "full", "random"):
            raise ValueError(f"own_mass must be 'none', 'full' or 'random', got {self.own_mass!r}")
        if not self.draws:
            return np.full(n, float(self.own_mass == "full"))
        if self._drawn is not None:
            return self._drawn
        rows, purpose = (
            (np.arange(n), "score in order") if in_order else (probabilities, "score by prediction")
        )
        return RowDraws(rows, self._fixed_seed(), purpose).random()

    def _fixed_seed(self) -> int:
        """Return the seed fixed in fit; a score that was not fitted draws one."""
        return self._seed if hasattr(self, "_seed") else one_seed(self.random_state)


def cumulative_scores(probabilities: FloatArray, u: ArrayLike) -> FloatArray:
    """Score every label: the mass strictly above it plus u times its own, by one sort per row.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.scores import cumulative_scores
    >>> cumulative_scores(np.array([[0.25, 0.5, 0.25]]), u=[1.0])
    array([[0.75, 0.5 , 0.75]])
    """
    order = np.argsort(-probabilities, axis=1)
    ranked = np.take_along_axis(probabilities, order, axis=1)
    before = np.cumsum(ranked, axis=1)
    before = np.column_stack([np.zeros(len(before)), before[:, :-1]])
    # a label tied with the one ranked above it counts only from where the tie began
    tied = np.column_stack([np.zeros(len(ranked), dtype=bool), ranked[:, 1:] == ranked[:, :-1]])
    first = np.maximum.accumulate(np.where(tied, 0, np.arange(ranked.shape[1])), axis=1)
    above = np.take_along_axis(before, first, axis=1)
    scores = np.empty_like(ranked)
    own = np.reshape(np.asarray(u, dtype=float), (-1, 1)) * ranked
    np.put_along_axis(scores, order, above + own, axis=1)
    return scores


def apply_temperature(probabilities: FloatArray, temperature: float) -> FloatArray:
    """Return softmax(T log π): sharper for T > 1, flatter for T < 1."""
    return np.asarray(softmax(temperature * _log(probabilities), axis=1))


def fit_temperature(
    probabilities: FloatArray, codes: NDArray[np.intp], weights: FloatArray | None = None
) -> float:
    """Return the T that maximises the likelihood of the labels under softmax(T log π)."""
    logits = _log(probabilities)
    # with the largest at 0 the exponentials below cannot overflow, and are faster than logsumexp
    logits -= logits.max(axis=1, keepdims=True)
    own = np.average(_pick(logits, codes), weights=weights)

    def loss(log_temperature: float) -> float:
        temperature = np.exp(log_temperature)
        total = np.log(np.exp(temperature * logits).sum(axis=1))
        return float(np.average(total, weights=weights) - temperature * own)

    # convex in T, so unimodal in log T; where every label is right the minimum is the bound
    bounds = np.log(_TEMPERATURE_RANGE)
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def _log(probabilities: FloatArray) -> FloatArray:
    # the floor of sklearn's log_loss: a label given probability 0 costs much, not everything
    return np.log(np.maximum(probabilities, np.finfo(float).eps))


def _pick(scores: FloatArray, codes: NDArray[np.intp]) -> FloatArray:
    return scores[np.arange(len(codes)), codes]


def check_probabilities(prediction: ArrayLike) -> FloatArray:
    """Return class probabilities of shape (n, k): finite, not negative, rows that sum to 1."""
    values = as_floats("prediction", prediction)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"prediction must have shape (n, k), one column per class, got {values.shape}: "
            "pass estimator.predict_proba(X)"
        )
    check_finite(values, "prediction")
    sums = values.sum(axis=1)
    # the tolerance of sklearn's log_loss, which follows the type the model computed in
    tolerance = max(_TOLERANCE, machine_epsilon(prediction) ** 0.5)
    bad = (np.abs(sums - 1) > tolerance) | (values < 0).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"probabilities must not be negative and must sum to 1, got sum {sums[row]:.6g} and "
            f"minimum {values[row].min():.6g} at row {row}: pass predict_proba, not logits"
        )
    return values


def check_codes(y: ArrayLike, n: int, k: int) -> NDArray[np.intp]:
    """Return labels as integer codes 0, ..., k - 1 of shape (n,)."""
    labels = np.asarray(to_plain_array(y))
    check_length(labels, n)
    # isin would take the string "1" for the code 1
    bad = ~np.isin(labels, np.arange(k)) | (labels.dtype.kind not in "biuf")
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"y must hold codes 0, ..., {k - 1}, got {labels[row]!s} at row {row}: "
            "encode the labels as columns of prediction"
        )
    return labels.astype(np.intp)
