"""Difference of two measures of the same rows."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from plcp.metrics.mean import skewed_mean
from plcp.metrics.measure import Measure
from plcp.quantiles import FloatArray

DIGITS = 50  # binary ones of the ends of Tango's interval


class Difference(NamedTuple):
    """A difference of two means over the same rows, its interval, and the p-value of no difference.

    The p-value is below 1 - confidence where the interval leaves 0 out.
    """

    estimate: float
    low: float
    high: float
    p_value: float


def paired_terms(measures: Mapping[str, Measure]) -> dict[str, FloatArray]:
    """Terms of each measure, all of one kind and of the same rows; else an error."""
    terms = {name: _finite_terms(name, measure) for name, measure in measures.items()}
    (first, one), *others = measures.items()
    for name, other in others:
        for what, mine, its in (
            ("metric", one.name, other.name),
            ("number of rows", len(terms[first]), len(terms[name])),
            ("confidence", one.confidence, other.confidence),
        ):
            if mine != its:
                raise ValueError(
                    f"{first!r} and {name!r} differ in {what}, {mine!r} and {its!r}: measure both "
                    "alike on the same rows"
                )
        if not _same(one.weights, other.weights):
            raise ValueError(
                f"{first!r} and {name!r} have different sample_weight: measure both alike on the "
                "same rows"
            )
    return terms


def _finite_terms(name: str, measure: Measure) -> FloatArray:
    if not isinstance(measure, Measure):
        raise ValueError(
            f"{name!r} must be a Measure, got {type(measure).__name__}: of a group, pass "
            "coverage(covered, sample_weight=mask)"
        )
    if measure.terms is None or not np.isfinite(measure.terms).all():
        raise ValueError(
            f"{measure.name} of {name!r} has no finite number for each row: it can not be paired, "
            "so compare the intervals"
        )
    return measure.terms


def paired_difference(
    terms: FloatArray, reference: FloatArray, weights: FloatArray | None, confidence: float
) -> Difference:
    """Mean of the terms less that of the reference's, over the same rows.

    Terms that are all 0 or 1 are compared by McNemar's test and Tango's interval, which hold also
    where few rows differ; others by the mean of their differences (`SkewedMean`).
    """
    differences = terms - reference
    if _is_binary(terms) and _is_binary(reference):
        counts = np.ones(len(differences)) if weights is None else weights
        gained, lost = (float(counts[differences == sign].sum()) for sign in (1, -1))
        return tango(gained, lost, float(counts.sum()), confidence)
    # proportional sizes have one correlation: what rounding makes of that is no difference
    rounding = np.finfo(float).eps * len(terms) * np.abs(terms).max()
    law = skewed_mean(np.where(np.abs(differences) <= rounding, 0.0, differences), weights)
    return Difference(law.mean, *law.interval(confidence), law.p_value())


def tango(gained: float, lost: float, n: float, confidence: float) -> Difference:
    """Difference of two proportions of the same n rows, of which ``gained`` and ``lost`` differ.

    References
    ----------
    Tango (1998). Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design. Statistics in Medicine.

    Examples
    --------
    >>> [round(number, 4) for number in tango(gained=8, lost=2, n=100, confidence=0.95)]
    [0.06, -0.0024, 0.1336, 0.0578]
    """
    estimate, quantile = (gained - lost) / n, float(norm.isf((1 - confidence) / 2))

    def is_too_far(difference: float) -> bool:
        variance = _variance(difference, gained, lost, n)
        return (gained - lost - n * difference) ** 2 > quantile**2 * variance

    low, high = (_last_inside(is_too_far, estimate, end) for end in (-1.0, 1.0))
    differing = gained + lost
    z = abs(gained - lost) / math.sqrt(differing) if differing else 0.0
    return Difference(estimate, low, high, float(2 * norm.sf(z)))


def _variance(difference: float, gained: float, lost: float, n: float) -> float:
    """Variance of gained less lost if the proportions differed by ``difference``."""
    b = (2 * n - gained + lost) * difference - gained - lost
    c = -lost * difference * (1 - difference)
    likeliest = (math.sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)  # P(lost) given difference
    return n * (2 * likeliest + difference * (1 - difference))


def _last_inside(is_too_far: Callable[[float], bool], inside: float, outside: float) -> float:
    """Bisect for the edge between a point inside and one that is perhaps outside."""
    for _ in range(DIGITS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if is_too_far(middle) else (middle, outside)
    return inside


def _is_binary(terms: FloatArray) -> bool:
    return bool(np.isin(terms, (0.0, 1.0)).all())


def _same(one: FloatArray | None, other: FloatArray | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
