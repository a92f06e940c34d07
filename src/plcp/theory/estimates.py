"""Estimates, from data, of the unknowns in the bounds: such a bound is itself an estimate."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from plcp._options import check_alpha, check_count
from plcp._rows import count
from plcp._validation import check_lengths, check_predictions, check_scores
from plcp.partitions.ordered import equal_mass_cuts, interval_of
from plcp.quantiles import FloatArray
from plcp.regressors import CrossFitted, StackedQuantile
from plcp.regressors.base import at_quantile, seeded

LEAST_IN_BIN = 4  # below this a run of ⌈b^(2/3)⌉ steps does not fit


@dataclass(frozen=True)
class Estimate:
    """A number estimated from data, and which way it errs; ``float(estimate)`` is the number.

    Attributes
    ----------
    quantity : str
        What was estimated.
    value : float
        The number.
    bias : str
        Which way it errs.

    Examples
    --------
    >>> from plcp.theory import Estimate
    >>> Estimate("the variance of the quantile", 0.5, "too large on average")
    estimate of the variance of the quantile: 0.5 (too large on average)
    """

    quantity: str
    value: float
    bias: str

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"estimate of {self.quantity}: {self.value:.4g} ({self.bias})"


def quantile_variance(
    X: Any,
    scores: ArrayLike,
    alpha: float = 0.1,
    *,
    regressor: Any = None,
    cv: int = 5,
    random_state: Any = None,
) -> Estimate:
    """Variance of a cross-fitted estimate of the conditional quantile q_{1-α}(X).

    Noise of the fit makes it too large, smoothing too small: down to zero where the regressor finds
    no dependence on X. Scores so large or small that no float holds it are an error.

    Parameters
    ----------
    X : array or data frame of shape (n, d)
        Features.
    scores : array-like of shape (n,)
        Scores.
    alpha : float, default=0.1
        Miscoverage rate.
    regressor : regressor or None, default=None
        As in ``OrderedPartition``; None: ``StackedQuantile()``.
    cv : int, default=5
        Folds.
    random_state : int, RandomState or None
        Seed of the folds and of the regressor.

    Examples
    --------
    >>> from plcp.datasets import make_toy
    >>> from plcp.regressors import LinearQuantile
    >>> from plcp.theory import quantile_variance
    >>> task = make_toy(2000, random_state=0)
    >>> line = LinearQuantile()
    >>> estimate = quantile_variance(task.X, task.scores, regressor=line, random_state=0)
    >>> round(float(estimate), 2), estimate.bias
    (0.12, 'noise of the fit adds to it, smoothing takes from it')
    """
    values, _ = _quantiles_out_of_fold(X, scores, alpha, regressor, cv, random_state)
    spread = values - values[0]  # exactly zero where all are alike
    size = int(np.frexp(np.abs(spread).max())[1])
    variance = _within_floats("var q(X)", float(np.ldexp(spread, -size).var()), 2 * size)
    return Estimate("var q(X)", variance, "noise of the fit adds to it, smoothing takes from it")


def lipschitz_constant(
    X: Any,
    scores: ArrayLike,
    alpha: float = 0.1,
    *,
    regressor: Any = None,
    cv: int = 5,
    n_bins: int = 10,
    random_state: Any = None,
) -> Estimate:
    """L of Assumption 3.4: the steepest empirical distribution function of the scores of like rows.

    Rows are alike that share one of ``n_bins`` equal-mass bins of a cross-fitted conditional
    quantile. Within a bin of b rows the slope is taken over every run of ⌈b^(2/3)⌉ neighbours
    in order of score, a density estimate by nearest neighbours, without bias at the ends of the
    scores' range. It is infinite where so many scores tie: then no L exists. Scores so small that
    no float holds it are an error.

    Averaging, over the rows of a bin and along the run, makes it too small; taking the largest of
    many noisy slopes makes it too large. Parameters as in ``quantile_variance``.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.regressors import LinearQuantile
    >>> from plcp.theory import lipschitz_constant
    >>> rng = np.random.default_rng(0)
    >>> X, scores = rng.uniform(size=(5000, 1)), rng.uniform(size=5000)
    >>> estimate = lipschitz_constant(X, scores, regressor=LinearQuantile(), random_state=0)
    >>> float(estimate) > 1.0, estimate.bias  # the truth is 1
    (True, 'the largest of noisy slopes is too large, averaging takes from it')
    """
    values, scores = _quantiles_out_of_fold(X, scores, alpha, regressor, cv, random_state)
    if len(scores) < LEAST_IN_BIN * check_count("n_bins", n_bins, 1):
        raise ValueError(
            f"{len(scores)} rows are too few for {n_bins} bins of {LEAST_IN_BIN} each: lower n_bins"
        )
    bins = interval_of(values, equal_mass_cuts(values, None, n_bins))
    steepest = max(
        _steepest_slope(scores[bins == number])
        for number, size in enumerate(np.bincount(bins))
        if size >= LEAST_IN_BIN
    )
    return Estimate(
        "L", steepest, "the largest of noisy slopes is too large, averaging takes from it"
    )


def _quantiles_out_of_fold(
    X: Any, scores: ArrayLike, alpha: float, regressor: Any, cv: int, random_state: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the conditional quantile of each row by models fitted without it, and the scores."""
    scores = check_scores(scores)
    check_lengths(X, scores)
    check_count("cv", cv, 2)
    if len(scores) < 2:
        raise ValueError("one row has no spread: give at least 2 rows")
    rng = check_random_state(random_state)
    template = StackedQuantile(cv=cv) if regressor is None else CrossFitted(regressor, cv=cv)
    fitted = seeded(at_quantile(template, 1 - check_alpha(alpha)), rng).fit(X, scores)
    return check_predictions(fitted.out_of_fold_, count(X)), scores


def _steepest_slope(scores: FloatArray) -> float:
    """Largest share of the scores per unit of length, over runs of ⌈b^(2/3)⌉ steps."""
    steps = int(np.ceil(len(scores) ** (2 / 3)))
    ordered = np.sort(scores)
    shortest = (ordered[steps:] - ordered[:-steps]).min()
    if shortest == 0:
        return np.inf
    part, size = np.frexp(shortest)
    return _within_floats("L", float(steps / len(scores) / part), -int(size))


def _within_floats(quantity: str, part: float, size: int) -> float:
    """``part * 2**size``, where floats hold it with all of its digits."""
    limits = np.finfo(float)
    exponent = int(np.frexp(part)[1]) + size
    if part and not limits.minexp < exponent <= limits.maxexp:
        way = "large" if exponent > 0 else "small"
        raise ValueError(
            f"{quantity} is too {way} for a float, about 2**{exponent}, at scores of this size: "
            "divide all of them by a constant"
        )
    return float(np.ldexp(part, size))
