"""A measure: an estimate with its interval and the terms of its rows; means and checks of input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, t as student

from plcp._rows import frame_package, to_plain_array
from plcp._validation import as_floats
from plcp.quantiles import FloatArray

if TYPE_CHECKING:
    import pandas


LARGEST = 1e100  # squares of numbers, and sums of them, must not overflow
MOST_ROWS = 2**31  # products of two counts must be whole numbers of 64 bits


def check_covered(covered: ArrayLike) -> NDArray[np.bool_]:
    """Return one True or False per row, of at least one row."""
    indicator = np.asarray(to_plain_array(covered))
    if indicator.ndim == 2 and indicator.shape[1] > 1:
        raise ValueError(
            f"covered must have shape (n,), one alpha at a time, got {indicator.shape}: "
            "pass sets[alpha].contains(y), or a column"
        )
    if indicator.ndim != 1 or len(indicator) == 0:
        raise ValueError(
            f"covered must have shape (n,), n at least 1, got {indicator.shape}: "
            "pass sets.contains(y)"
        )
    if indicator.dtype == bool:
        return indicator
    if indicator.dtype == object:  # one by one: pandas.NA is neither equal nor unequal to True
        good = np.array([isinstance(value, bool | np.bool_) for value in indicator])
    else:  # isin would take the string "1" for the number 1
        good = np.isin(indicator, (0, 1)) & (indicator.dtype.kind in "iuf")
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(
            f"covered must be True or False, got {indicator.tolist()[row]!r} at row {row}: "
            "pass sets.contains(y)"
        )
    return indicator.astype(bool)


def check_size(size: ArrayLike, n: int | None = None, *, finite: bool = False) -> FloatArray:
    """One size per row, not negative; infinite ones only where the metric allows them."""
    return check_numbers("size", size, n, least=0.0, finite=finite, source="sets.size")


def check_numbers(
    name: str,
    values: ArrayLike,
    n: int | None = None,
    *,
    least: float = -np.inf,
    most: float = np.inf,
    finite: bool = True,
    source: str = "one number per row",
) -> FloatArray:
    """Return one number per row between ``least`` and ``most``, and no NaN among them.

    Of ``n`` rows, or else of as many as there are, at least one. A number may be infinite if not
    ``finite``, but none may be so large that its square overflows.
    """
    numbers = _as_floats(name, values, source)
    if numbers.size == 0 and not n:
        raise ValueError(f"{name} is empty: pass {source}, of at least one row")
    n = numbers.size if n is None else n
    if numbers.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {numbers.shape}: pass {source}")
    if max(least, -LARGEST) <= numbers.min() and numbers.max() <= min(most, LARGEST):
        return numbers  # a NaN would not be less, nor greater
    size = np.abs(numbers)
    good = (numbers >= least) & (numbers <= most) & ((size <= LARGEST) | np.isinf(size))
    good &= np.isfinite(numbers) | (not finite)
    if good.all():
        return numbers
    row = int(np.argmin(good))
    if finite and not np.isfinite(numbers[row]):
        wanted = "finite"
    elif least <= numbers[row] <= most:
        wanted = f"at most {LARGEST:g} in absolute value"
    elif most < np.inf:
        wanted = f"between {least:g} and {most:g}"
    else:
        wanted = "a number" if least == -np.inf else f"at least {least:g}"
    raise ValueError(
        f"{name} must be {wanted}, got {numbers[row]} at row {row}: drop or fix that row"
    )


def _as_floats(name: str, values: ArrayLike, source: str) -> FloatArray:
    array = np.asarray(to_plain_array(values))
    if array.dtype.kind in "iu":
        return as_floats(name, array)
    try:
        if array.dtype.kind in "bfO":  # no text, dates or complex numbers
            return array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(
        f"{name} must hold real numbers, got dtype {array.dtype} or what no float can hold: "
        f"pass {source}"
    )


def check_counts(sample_weight: ArrayLike | None, n: int) -> FloatArray | None:
    """How many rows each row stands for: whole numbers, not negative, not all zero."""
    if sample_weight is None:
        return None
    counts = check_numbers("sample_weight", sample_weight, n, least=0.0)
    whole = counts == np.floor(counts)
    if not whole.all():
        row = int(np.argmin(whole))
        raise ValueError(
            f"sample_weight counts rows, got {counts[row]} at row {row}: give whole numbers; for "
            "other weights, draw rows with those probabilities"
        )
    total = counts.sum()
    if total == 0:
        raise ValueError("sample_weight is 0 in every row: no row counts")
    if total > MOST_ROWS:
        raise ValueError(
            f"sample_weight counts {total:g} rows, more than {MOST_ROWS}: give how often each row "
            "was seen, not a probability scaled up"
        )
    return counts


Table = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Measure:
    """A number measured on rows, with an interval for what it estimates.

    Parameters
    ----------
    name : str
        What was measured.
    estimate : float
        The number itself; ``float(measure)`` gives it too.
    low, high : float
        Ends of the interval.
    confidence : float
        Probability with which the interval holds what it is meant to hold.
    standard_error : float
        Standard deviation of the estimate over samples, estimated; NaN where there is none.
    exact : bool
        Whether the interval has at least its confidence for every number of rows; an interval
        that is not exact has it as the rows grow many.
    meaning : str
        What the interval is meant to hold, and which way the estimate is biased, if it is.
    table : mapping of str to array
        Columns for a plot, all of one length.
    terms : array of shape (n,) or None
        One number per row whose mean is the estimate, so that two methods can be compared on the
        same rows.
    weights : array of shape (n,) or None
        How many rows each row stands for.
    step : float
        What one more covered row adds to the sum of the terms, where they count covered rows; else
        0.

    Examples
    --------
    >>> from plcp.metrics import Measure
    >>> measure = Measure("MSCE", 0.25, 0.2, 0.3, 0.95, standard_error=0.02, exact=False)
    >>> print(measure)
    MSCE: 0.25, 95 % interval [0.2, 0.3]
    >>> float(measure), f"{measure:.3f}"
    (0.25, '0.250')
    """

    name: str
    estimate: float
    low: float
    high: float
    confidence: float
    standard_error: float
    exact: bool
    meaning: str = ""
    table: Table = field(default_factory=dict, repr=False)
    terms: FloatArray | None = field(default=None, repr=False)
    weights: FloatArray | None = field(default=None, repr=False)
    step: float = field(default=0.0, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single rows, as plain Python values."""
        kept = ("name", "estimate", "low", "high", "confidence", "standard_error", "exact")
        plain = {key: getattr(self, key) for key in (*kept, "meaning")}
        return {**plain, "table": {key: column.tolist() for key, column in self.table.items()}}

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas frame."""
        pandas = frame_package("pandas")

        return pandas.DataFrame(dict(self.table))

    def __float__(self) -> float:
        return self.estimate

    def __format__(self, spec: str) -> str:
        return format(self.estimate, spec) if spec else str(self)

    def __str__(self) -> str:
        interval = f"[{self.low:.4g}, {self.high:.4g}]"
        return f"{self.name}: {self.estimate:.4g}, {100 * self.confidence:g} % interval {interval}"


@dataclass(frozen=True)
class SkewedMean:
    """Mean of terms, by Hall's transformation of Student's statistic.

    A mean of skewed terms and its standard error are correlated, so that Student's interval errs
    on one side too often. With g the skewness of the terms over √n, t + g t²/3 + g² t³/27 + g/6
    has lost its skewness, and rises with t.

    References
    ----------
    Hall (1992). On the removal of skewness by transformation. Journal of the Royal Statistical
    Society B.

    Examples
    --------
    >>> law = skewed_mean(np.array([0.0, 0.0, 0.0, 0.0, 1.0, 3.0]))
    >>> [round(end, 4) for end in law.interval(0.95)]
    [-0.2157, 5.307]
    """

    mean: float
    error: float
    degrees: float
    skewness: float

    def interval(self, confidence: float) -> tuple[float, float]:
        """Both ends; infinite if one row alone gives no spread."""
        if self.degrees == 0:
            return -np.inf, np.inf
        quantile = student.isf((1 - confidence) / 2, self.degrees)
        ends = np.array([quantile, -quantile]) - self.skewness / 6
        root = np.cbrt(1 + self.skewness * ends)
        # 3 (root - 1) / skewness, without the division by a skewness near 0
        low, high = self.mean - self.error * 3 * ends / (root**2 + root + 1)
        return float(low), float(high)

    def p_value(self) -> float:
        """Of the hypothesis that the expectation is 0: that of the interval which ends there."""
        if self.degrees == 0:
            return 1.0
        if self.error == 0:
            return float(self.mean == 0)
        t, g = self.mean / self.error, self.skewness
        return float(2 * student.sf(abs(t + g * t**2 / 3 + g**2 * t**3 / 27 + g / 6), self.degrees))


def skewed_mean(terms: FloatArray, weights: FloatArray | None = None) -> SkewedMean:
    """Mean of the terms, with what is needed for its interval; weights count rows."""
    mean, error, degrees = mean_and_error(terms, weights)
    spread = error * np.sqrt(degrees) if degrees > 0 else 0.0
    if spread == 0:
        return SkewedMean(mean, error, degrees, 0.0)
    cubes = np.average(((terms - mean) / spread) ** 3, weights=weights)
    return SkewedMean(mean, error, degrees, float(cubes / np.sqrt(degrees + 1)))


def mean_and_error(terms: FloatArray, weights: FloatArray | None) -> tuple[float, float, float]:
    """Mean of the terms, its standard error, and the degrees of freedom of that."""
    n = float(len(terms) if weights is None else weights.sum())
    mean = float(np.average(terms, weights=weights))
    if n <= 1:
        return mean, np.nan, 0.0
    spread = np.average((terms - mean) ** 2, weights=weights)
    return mean, float(np.sqrt(spread / (n - 1))), n - 1


def mean_measure(
    name: str,
    terms: FloatArray,
    weights: FloatArray | None = None,
    *,
    meaning: str,
    confidence: float = 0.95,
    limits: tuple[float, float] = (-np.inf, np.inf),
    table: Table | None = None,
) -> Measure:
    """Mean of one term per row, its interval cut to the ``limits`` of what the mean can be.

    Weights count rows: a row of weight two is two rows. From a single row no spread is known,
    and the interval is all that is possible. One infinite term is proof that the expectation is
    infinite: estimate and interval are then, too.
    """
    if weights is not None:
        terms = np.where(weights > 0, terms, 0.0)  # 0 · inf is not 0
    if np.isposinf(terms).any():
        estimate, low, high, error = np.inf, np.inf, np.inf, np.nan
    else:
        law = skewed_mean(terms, weights)
        estimate, error = law.mean, law.error
        low, high = np.clip(law.interval(confidence), *limits).tolist()
    return Measure(
        name,
        estimate,
        low,
        high,
        confidence,
        error,
        exact=False,
        meaning=meaning,
        table={} if table is None else table,
        terms=terms,
        weights=weights,
    )


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
        if not np.array_equal(np.asarray(one.weights), np.asarray(other.weights)):
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
    terms: FloatArray,
    reference: FloatArray,
    weights: FloatArray | None,
    confidence: float,
    step: float = 0.0,
) -> Difference:
    """Mean of the terms less that of the reference's, over the same rows.

    Terms that are all 0 or 1 are compared by McNemar's test and Tango's interval, which hold also
    where few rows differ; others by the mean of their differences (`SkewedMean`).

    Other terms that count covered rows differ in few rows, or in none, if methods are much alike,
    and the spread of so few says little. As Bonett and Price do for proportions, some more rows
    are imagined, of which one method covers each that the other misses: z² / 4 gained and as many
    lost, about one of each at 95 %. With 0 as ``step`` there are none.

    References
    ----------
    Bonett, Price (2012). Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data. Journal of Educational and Behavioral Statistics.

    Examples
    --------
    >>> same = np.zeros(300)
    >>> [round(number, 4) for number in paired_difference(same + 2, same + 2, None, 0.95, step=1.0)]
    [0.0, -0.009, 0.009, 1.0]
    """
    differences = terms - reference
    if np.isin([terms, reference], (0.0, 1.0)).all():
        counts = np.ones(len(differences)) if weights is None else weights
        gained, lost = (float(counts[differences == sign].sum()) for sign in (1, -1))
        return tango(gained, lost, float(counts.sum()), confidence)
    # proportional sizes have one correlation: what rounding makes of that is no difference
    rounding = np.finfo(float).eps * len(terms) * np.abs(terms).max()
    differences = np.where(np.abs(differences) <= rounding, 0.0, differences)
    law = skewed_mean(differences, weights)
    estimate = law.mean
    if step:
        counts = np.ones(len(terms)) if weights is None else weights
        imagined = norm.isf((1 - confidence) / 2) ** 2 / 4
        wider = np.append(differences, [step, -step]), np.append(counts, [imagined, imagined])
        law = skewed_mean(*wider)
    return Difference(estimate, *law.interval(confidence), law.p_value())


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
        b = (2 * n - gained + lost) * difference - gained - lost
        c = -lost * difference * (1 - difference)
        # P(lost) that is likeliest given the difference, and the variance of gained less lost then
        p_lost = (math.sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
        variance = n * (2 * p_lost + difference * (1 - difference))
        return (gained - lost - n * difference) ** 2 > quantile**2 * variance

    def last_inside(outside: float) -> float:
        inside = estimate
        for _ in range(DIGITS):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if is_too_far(middle) else (middle, outside)
        return inside

    low, high = last_inside(-1.0), last_inside(1.0)
    differing = gained + lost
    z = abs(gained - lost) / math.sqrt(differing) if differing else 0.0
    return Difference(estimate, low, high, float(2 * norm.sf(z)))
