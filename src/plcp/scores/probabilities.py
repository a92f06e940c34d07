"""Scores of classifiers: how little probability the label has, or how much is ranked above it."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp.floats import as_floats
from plcp.quantiles import FloatArray
from plcp.rows import plain
from plcp.scores.base import Score, check_finite, check_length, check_threshold
from plcp.sets import LabelSets

_SCORE_STREAM, _INVERT_STREAM = 0, 1
# T = 20 takes (0.6, 0.4) to (0.9997, 0.0003): beyond it nothing but underflow is to be had
_TEMPERATURE_RANGE = (0.05, 20.0)


class _ProbabilityScore(Score):
    """A score of every label at once: asked by predict_proba, inverted by comparing."""

    task: ClassVar[str | None] = "classification"

    def ask(self, estimator: Any, X: Any) -> NDArray[Any]:
        """Ask a fitted classifier for its class probabilities."""
        if not hasattr(estimator, "predict_proba"):
            name = type(estimator).__name__
            raise TypeError(f"{name} has no predict_proba: wrap it in CalibratedClassifierCV")
        return np.asarray(estimator.predict_proba(X))


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
        ``SplitConformal`` never are where no score is, those of ``Rectified`` and
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
        return LabelSets(scores <= check_threshold(threshold, len(scores), 1))

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

    S = Σ {π_i : π_i > π_y} + u π_y. Labels of equal probability share one score. First, if asked,
    π is sharpened or flattened to softmax(T log π).

    Parameters
    ----------
    own_mass : {"none", "full", "random"}
        How much of the label's own probability counts: u = 0, u = 1, or u uniform on (0, 1), drawn
        once a row. The default is the paper's "none": the likeliest label scores 0, so no set is
        empty, the same input always gets the same set, and scores are large where inputs are hard,
        which is what a learned partition looks for. "full" turns that about, and leaves the surest
        rows empty. "random" alone covers no more than it must, where the model is right more often
        than 1 - alpha, at the price of sets that change from draw to draw.
    temperature : None, "fit" or positive float
        T, or ``"fit"`` for the maximum of the likelihood of the rows given to `fit`, within
        [0.05, 20]; there T is learnt from calibration rows, one number that perturbs exact validity
        a little: fit it elsewhere and pass the float to keep validity exact.
    random_state : int, RandomState or None
        Seed of the draws of "random"; scores and sets draw from separate streams. An int repeats
        the same draws in every call: to serve rows one by one, pass None or a RandomState.

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
    def repeats_draws(self) -> bool:
        """Whether u is drawn from a seed that is a number."""
        return self.own_mass == "random" and isinstance(self.random_state, Integral)

    def fit(self, prediction: ArrayLike, y: ArrayLike) -> Self:
        """Fit the temperature by maximum likelihood, if asked to."""
        if self.temperature == "fit":
            probabilities = check_probabilities(prediction)
            codes = check_codes(y, *probabilities.shape)
            self.temperature_ = fit_temperature(probabilities, codes)
        else:
            self.temperature_ = self._temperature()
        return self

    def __call__(self, prediction: ArrayLike, y: ArrayLike) -> FloatArray:
        """Score the label of each row, shape (n,)."""
        scores = self._all_scores(prediction, _SCORE_STREAM)
        return _pick(scores, check_codes(y, *scores.shape))

    def invert(self, prediction: ArrayLike, threshold: ArrayLike) -> LabelSets:
        """Return the labels with at most ``threshold`` of the probability above them."""
        scores = self._all_scores(prediction, _INVERT_STREAM)
        return LabelSets(scores <= check_threshold(threshold, len(scores), 1))

    def _all_scores(self, prediction: ArrayLike, stream: int) -> FloatArray:
        probabilities, temperature = check_probabilities(prediction), self._temperature()
        # T = 1 is left alone so that exact zeros and ties by rounding stay as the model gave them
        if temperature != 1:
            probabilities = apply_temperature(probabilities, temperature)
        return cumulative_scores(probabilities, self._own_share(len(probabilities), stream))

    def _temperature(self) -> float:
        if self.temperature == "fit":
            check_is_fitted(self, "temperature_")
            return float(self.temperature_)
        value = 1.0 if self.temperature is None else self.temperature
        if isinstance(value, str) or not 0 < value < np.inf:
            raise ValueError(f"temperature must be None, 'fit' or a positive number, got {value!r}")
        return float(value)

    def _own_share(self, n: int, stream: int) -> FloatArray:
        """Return u for each row."""
        if self.own_mass not in ("none", "full", "random"):
            raise ValueError(f"own_mass must be 'none', 'full' or 'random', got {self.own_mass!r}")
        if self.own_mass != "random":
            return np.full(n, float(self.own_mass == "full"))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return np.random.default_rng([seed, stream]).random(n)


def cumulative_scores(probabilities: FloatArray, u: ArrayLike) -> FloatArray:
    """Score every label: the mass strictly above it plus u times its own, by one sort a row.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.scores.probabilities import cumulative_scores
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


def fit_temperature(probabilities: FloatArray, codes: NDArray[np.intp]) -> float:
    """Return the T that maximises the likelihood of the labels under softmax(T log π)."""
    logits = _log(probabilities)
    # with the largest at 0 the plain exponentials below are safe, and faster than logsumexp
    logits -= logits.max(axis=1, keepdims=True)
    own = _pick(logits, codes).mean()

    def loss(log_temperature: float) -> float:
        temperature = np.exp(log_temperature)
        return float(np.log(np.exp(temperature * logits).sum(axis=1)).mean() - temperature * own)

    # convex in T, so one valley in log T; where every label is right it slopes to the bound
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
            f"prediction must have shape (n, k), one column a class, got {values.shape}: "
            "pass estimator.predict_proba(X)"
        )
    check_finite(values, "prediction")
    sums = values.sum(axis=1)
    bad = (np.abs(sums - 1) > 1e-6) | (values < 0).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"probabilities must not be negative and must sum to 1, got sum {sums[row]:.6g} and "
            f"minimum {values[row].min():.6g} at row {row}: pass predict_proba, not logits"
        )
    return values


def check_codes(y: ArrayLike, n: int, k: int) -> NDArray[np.intp]:
    """Return labels as integer codes 0, ..., k - 1 of shape (n,)."""
    labels = np.asarray(plain(y))
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
