"""Rectified conformal prediction: a model of the score's quantile, put right by split conformal."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from plcp._options import check_option, check_rate, check_share, too_few, warn_infinite
from plcp._parallel import threads_for
from plcp._rows import count
from plcp._validation import (
    check_features,
    check_predictions,
    drop_weightless,
    feature_errors,
    takes_images,
    takes_nan,
)
from plcp.quantiles import FloatArray, IntArray, conformal_quantile, excess_over
from plcp.regressors.base import at_quantile, fit_weighted, seeded
from plcp.regressors.encoding import warning_of_unseen
from plcp.regressors.stacking import StackedQuantile
from plcp.thresholds._plcp_learning import Pairs
from plcp.thresholds.base import Alpha, ClusteredRule
from plcp.thresholds.guarantees import Guarantee, despite_copies, weighted_or_exact

ADJUSTMENTS = ("auto", "ratio", "difference")
FLOOR = 1e-3  # of a typical score: what a model may say at least where scores are divided by it
LEAST = float(np.finfo(float).tiny)  # the same for a frozen model, which is not to see these scores


class Rectified(ClusteredRule):
    """q(x) = τ(x) c or τ(x) + c: a learned quantile of the score, times or plus a constant.

    One part of the rows trains a model τ(x) of the (1 - alpha)-quantile of the score, the other
    gives c, the conformal quantile of s / τ(x) or s - τ(x). Coverage is exact on average over x,
    and the better the model, the closer to exact at each x.

    Parameters
    ----------
    regressor : regressor or None, default=None
        The model τ: any regressor of the score; a ``quantile`` left at None is set to 1 - alpha.
        None: ``StackedQuantile()``, trees, a line and a constant mixed by out-of-fold loss, for
        tables with categories and gaps too. One wrapped in ``FrozenEstimator`` is taken as trained,
        on other rows, and all rows calibrate.
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.
    adjustment : {"auto", "ratio", "difference"}, default="auto"
        How a score is compared with τ(x). "auto": by ratio if no score is negative among the rows
        that train the model; among all of them if it is frozen.
    calibration_size : float, default=0.5
        Share of rows that give c.
    confidence : float or None, default=None
        Share of calibration sets that cover 1 - alpha at least, as in ``SplitConformal``.
    random_state : int, RandomState or None
        Seed of the division, and of what the regressor draws.

    Attributes
    ----------
    regressor_ : regressor
        The fitted model.
    adjustment_ : str
        "ratio" or "difference".
    level_ : float
        The constant c; infinite if too few rows calibrate.
    floor_ : float
        Least τ(x) that scores are divided by: the quotient by zero or less would mean nothing.
    guarantee_ : Guarantee
        What holds, and when.

    References
    ----------
    Plassier, Fishkov, Dheur, Guizani, Ben Taieb, Panov, Moulines (2025). Rectifying conformity
    scores for better conditional coverage. ICML.

    Examples
    --------
    >>> from plcp import Rectified
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(4000, random_state=0)
    >>> rule = Rectified(random_state=0).fit(task.X, task.scores)
    >>> left, right = rule.predict([[-0.5], [0.5]])  # the noise is √2 times as large on the right
    >>> bool(1.2 < right / left < 1.7)
    True
    """

    _reads_ranks = True

    def __init__(
        self,
        regressor: Any = None,
        alpha: Alpha = 0.1,
        *,
        adjustment: str = "auto",
        calibration_size: float = 0.5,
        confidence: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.regressor = regressor
        self.alpha = alpha
        self.adjustment = adjustment
        self.calibration_size = calibration_size
        self.confidence = confidence
        self.random_state = random_state

    def _check_options(self) -> None:
        check_option("adjustment", self.adjustment, ADJUSTMENTS)
        check_share("calibration_size", self.calibration_size)
        if not hasattr(self._template(), "get_params"):
            raise ValueError(
                f"regressor must be a scikit-learn regressor or None, got {self.regressor!r}"
            )
        if self.confidence is not None and self.adjustment == "auto" and self._is_frozen():
            raise ValueError(
                "confidence needs an adjustment that the calibration rows do not choose: give "
                'adjustment="ratio", or "difference" if scores may be negative'
            )

    def _fit(
        self,
        X: Any,
        scores: FloatArray,
        weights: FloatArray | None,
        *groups: Any,
        clusters: IntArray | None = None,
    ) -> None:
        alpha = check_rate(self.alpha)
        pairs = Pairs(*drop_weightless(X, scores, weights), clusters=clusters)
        held = self._learn(pairs, alpha)
        counted: dict[str, Any] = {"sample_weight": held.weights, "confidence": self.confidence}
        self._n_calibration = held.independent
        self.level_ = conformal_quantile(self._adjusted(held), alpha, **counted)
        if np.isinf(self.level_):
            n = len(held.scores)
            few = np.isinf(conformal_quantile(np.zeros(n), alpha, **counted))
            beyond = f"more than {alpha:g} of the scores are infinitely many times the regressor"
            several = too_few(held.weights, n, alpha, self.confidence, clusters)
            warn_infinite(several if few else beyond)
        copied = 0.0 if self._is_frozen() else pairs.share_of_copies
        unseen = ("the frozen regressor has seen none of them",) * self._is_frozen()
        promise = Guarantee(
            scope="marginal",
            alpha=alpha,
            n=len(held.scores),
            note="For a kind of input it holds as far as the regressor is right there.",
            **weighted_or_exact(
                held.weights is not None,
                *unseen,
                confidence=self.confidence,
                clusters=held.clusters,
            ),
        )
        self.guarantee_ = despite_copies(promise, copied)

    def _predict(self, X: Any, *groups: Any) -> FloatArray:
        with warning_of_unseen():
            tau = self._modelled(X)
        return tau * self.level_ if self.adjustment_ == "ratio" else tau + self.level_

    def predict_quantile(self, X: Any) -> FloatArray:
        """Modelled quantile τ(x) of each row, kept above ``floor_`` where scores are divided."""
        rule = self._any_alpha("predict_quantile")
        with warning_of_unseen():
            return rule._modelled(check_features(rule, X, reset=False))

    def _learn(self, pairs: Pairs, alpha: float) -> Pairs:
        """Fit the model on one part; the other part, or all of them if the model is frozen."""
        if self._is_frozen():
            # a choice by these signs stays exact: a test score below zero is below any ratio
            self.adjustment_ = self._adjustment_of(pairs.scores)
            self.regressor_, self.floor_ = self.regressor, LEAST
            return pairs
        if len(pairs.scores) == 1:
            raise ValueError("n_samples=1: one row cannot both train and calibrate, use two")
        rng = check_random_state(self.random_state)
        learn, held = pairs.cut(self.calibration_size, rng)
        self.adjustment_ = self._adjustment_of(learn.scores)
        regressor = seeded(at_quantile(self._template(), 1 - alpha), rng)
        with feature_errors(learn.X):
            self.regressor_ = fit_weighted(regressor, learn.X, learn.scores, learn.weights)
        self.floor_ = max(FLOOR * _typical_size(learn, alpha), LEAST)
        return held

    def _adjustment_of(self, scores: FloatArray) -> str:
        """Return the adjustment that is given, or the one that suits some scores."""
        if self.adjustment != "auto":
            return self.adjustment
        return "ratio" if scores.min() >= 0 else "difference"

    def _adjusted(self, held: Pairs) -> FloatArray:
        """Scores in units of the model, or what they have beyond it."""
        tau = self._modelled(held.X)
        if self.adjustment_ == "difference":
            return excess_over(tau, held.scores)
        if self._is_frozen() and tau.min() == LEAST:
            warnings.warn(
                f"the frozen regressor is not positive at {np.sum(tau == LEAST)} of {len(tau)} rows"
                ', where a ratio to it means nothing: use adjustment="difference"',
                UserWarning,
                stacklevel=3,
            )
        return ratio_to(tau, held.scores)

    def _modelled(self, X: Any) -> FloatArray:
        with feature_errors(X), threads_for(X, self.regressor_):
            tau = check_predictions(self.regressor_.predict(X), count(X))
        return np.maximum(tau, self.floor_) if self.adjustment_ == "ratio" else tau

    def _shares_groups(self) -> bool:
        return False  # nor the regressor: each alpha has its own

    def _is_frozen(self) -> bool:
        return isinstance(self.regressor, FrozenEstimator)

    def _template(self) -> Any:
        return StackedQuantile() if self.regressor is None else self.regressor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        regressor = self._template()
        tags.input_tags.allow_nan = takes_nan(regressor)
        tags.input_tags.three_d_array = takes_images(regressor)
        return tags


def ratio_to(base: ArrayLike, scores: ArrayLike) -> FloatArray:
    """Ratio v = s / b to a positive b, rounded such that b · v ≥ s.

    A threshold b · c is at or above every score whose ratio is at most c: in floating point too,
    where 49 · (1 / 49) is below 1.

    Examples
    --------
    >>> 49 * (1 / 49) >= 1, bool(49 * ratio_to(49, 1) >= 1)
    (False, True)
    """
    base, scores = np.asarray(base, dtype=float), np.asarray(scores, dtype=float)
    with np.errstate(over="ignore"):  # an infinite ratio is one that nothing reaches
        ratio = scores / base
        return np.where(base * ratio < scores, np.nextafter(ratio, np.inf), ratio)


def _typical_size(pairs: Pairs, alpha: float) -> float:
    """Mean size of a score, or what 1 - alpha of them keep to where outliers rule the mean."""
    sizes = np.abs(pairs.scores)
    mean = float(np.average(sizes, weights=pairs.weights))
    quantile = conformal_quantile(sizes, alpha, pairs.weights, test_weight=0.0)
    return min(mean, quantile) if quantile > 0 else mean
