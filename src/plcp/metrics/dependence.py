"""Dependence of coverage on set size: correlation, HSIC, and improvement over a reference."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from plcp._options import check_share
from plcp.metrics.coverage import SizeCounts, count_sizes
from plcp.metrics.measure import Measure, paired_terms
from plcp.quantiles import FloatArray

FEW = 4  # times the product of the kurtoses: of fewer rows, influences do not show their own spread
CORRELATION_MEANING = (
    "The interval holds the correlation that endless rows would show; the estimate is biased by "
    "O(1/n)."
)


def size_correlation(
    covered: ArrayLike,
    size: ArrayLike,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Pearson correlation of set size and coverage indicator.

    Negative where large sets cover less often than small ones. Zero, up to noise of 1/√n, where all
    x are covered alike, and perhaps elsewhere; `hsic` sees more than straight lines. Orthogonal
    quantile regression penalises the absolute value.

    Fisher's interval is for normal pairs, and coverage is 0 or 1. This one is symmetric about
    artanh r too, but its width comes from the influence of each row, divided by one less its
    leverage, and from Student's law with as many degrees of freedom as the kurtosis of those
    influences leaves (Satterthwaite). Where all rows lie on one line there is no spread, and
    the interval is [-1, 1].

    Where hardly any large set is missed, those few rows make most of the spread, and may not be
    among these rows: 200 rows, 5 % of them missed, 10 % of the sets large. There, where rows are
    fewer than four times the product of both kurtoses, the interval is not shorter than Fisher's:
    too long where there is no dependence, and still too short where misses are rarer and depend
    on size (87 % for 2 % missed of 200 rows, instead of 95 %).

    Parameters
    ----------
    covered : array-like of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    size : array-like of shape (n,)
        Size of each set, finite: ``sets.size``.
    confidence : float
        Probability with which the interval holds the correlation of endless rows.
    sample_weight : array-like of shape (n,), optional
        How many rows each row stands for.

    Returns
    -------
    Measure
        Its table is coverage by bins of size.

    References
    ----------
    Feldman, Bates, Romano (2021). Improving conditional coverage via orthogonal quantile
    regression. NeurIPS.

    Examples
    --------
    >>> from plcp.metrics import size_correlation
    >>> print(size_correlation([True, True, False, True] * 25, [1, 1, 2, 3] * 25))
    size correlation: -0.1741, 95 % interval [-0.3004, -0.04171]
    """
    confidence = check_share("confidence", confidence)
    counts = count_sizes(covered, size, sample_weight)
    sizes, hits = _standard_scores(counts)
    r = float(np.clip(np.vdot(counts.cells, sizes * hits) / counts.n, -1, 1))
    influence = sizes * hits - r * (sizes**2 + hits**2) / 2
    # a row far out draws the line to itself, and so appears closer to it than it is
    error, degrees = _error(
        influence / (1 - sizes**2 / counts.n) / (1 - hits**2 / counts.n), counts
    )
    kurtoses = [float(np.sum(counts.cells * scores**4) / counts.n) for scores in (sizes, hits)]
    if counts.n < FEW * kurtoses[0] * kurtoses[1]:
        error, degrees = max((error, degrees), ((1 - r**2) / np.sqrt(counts.n - 1), counts.n - 1))
    on_a_line = 1 - abs(r) < counts.n * np.finfo(float).eps
    if on_a_line:
        low, high, error = -1.0, 1.0, np.nan
    else:
        reach = student.isf((1 - confidence) / 2, degrees) * error / (1 - r**2)
        low, high = np.tanh(np.arctanh(r) + np.array([-reach, reach])).tolist()
    return Measure(
        "size correlation",
        r,
        low,
        high,
        confidence,
        error,
        exact=False,
        meaning=CORRELATION_MEANING,
        table=counts.table(confidence),
        terms=r + counts.by_row(influence),
        weights=counts.weights,
    )


def _standard_scores(counts: SizeCounts) -> tuple[FloatArray, FloatArray]:
    """Size and coverage of each cell, less their means, in standard deviations."""
    for name, constant, value in (
        ("size", len(counts.size) == 1, counts.size[0]),
        ("covered", counts.n_hits in (0, counts.n), counts.n_hits > 0),
    ):
        if constant:
            raise ValueError(
                f"{name} is {value} in all {counts.n} rows: dependence on a constant is not "
                "defined, so report coverage and size alone"
            )
    centred = counts.size - counts.rows @ counts.size / counts.n
    centred /= np.abs(centred).max()  # units so small that squares are 0 do not matter
    sizes = centred / np.sqrt(counts.rows @ centred**2 / counts.n)
    p = counts.n_hits / counts.n
    return sizes[:, None], (np.array([0.0, 1.0]) - p) / np.sqrt(p * (1 - p))


def _error(influence: FloatArray, counts: SizeCounts) -> tuple[float, float]:
    """Standard error of a mean of influences, and its degrees of freedom."""
    n = counts.n
    squares = (influence - np.vdot(counts.cells, influence) / n) ** 2
    spread = np.vdot(counts.cells, squares) / n
    if spread == 0:
        return 0.0, n - 1
    kurtosis = np.vdot(counts.cells, squares**2) / n / spread**2
    return float(np.sqrt(spread / (n - 1))), float(min(2 * n / (kurtosis - 1 + 2 / n), n - 1))


EXACT_POINTS = 5_000
# by Cramér's bound on Hermite functions 18 Chebyshev nodes on a box of length 1 err by 8e-16
NODES = 18
REACH = 6  # exp(-36) < 3e-16: boxes further apart do not reach each other
OFFSETS = range(-REACH, REACH + 1)
ROWS_AT_ONCE = 512
BOXES_AT_ONCE = 4_096


def kernel_sums(points: FloatArray, weights: FloatArray, power: int = 1) -> FloatArray:
    """Σⱼ wⱼ (exp(-(xᵢ - xⱼ)²) - 1)ᵖ at each of distinct ascending xᵢ, for each column of weights.

    The kernel less 1 is small where points are close, and so keeps its digits there. Direct for up
    to 5,000 points. For more, the line is cut into boxes of length 1, or of the power of two just
    above the spread if that is less; the kernel between two boxes is interpolated at 18 × 18
    Chebyshev nodes, and is 0 beyond six boxes. Each kernel value is then off by less than 1.1e-15
    (`kernel_error`) before rounding, its square by less than 1e-12, whatever the points are; time
    and memory grow with their number alone.

    References
    ----------
    Greengard, Strain (1991). The fast Gauss transform. SIAM Journal on Scientific and Statistical
    Computing.
    Fong, Darve (2009). The black-box fast multipole method. Journal of Computational Physics.

    Examples
    --------
    >>> kernel_sums(np.array([0.0, 0.0001]), np.eye(2)).round(10) + 0.0
    array([[ 0.e+00, -1.e-08],
           [-1.e-08,  0.e+00]])
    """
    sums = direct_sums if len(points) <= EXACT_POINTS else box_sums
    return sums(points, weights, power)


def kernel_error() -> float:
    """Bound on the error of one kernel value between boxes of length 1, before rounding.

    The p-th derivative of exp(-x²) is a Hermite function, at most 1.09 · 2^(p/2) √p! (Cramér), so
    p Chebyshev nodes on a box of length 1 miss it by 2.18 · 8^(-p/2) / √p!; in two variables by
    that times one plus the Lebesgue constant, 1 + 2/π log p at most. What is cut off is exp(-6²).
    """
    lebesgue = 1 + 2 / np.pi * np.log(NODES)
    line = 2.18 * 8.0 ** (-NODES / 2) / math.sqrt(math.factorial(NODES))
    return float((1 + lebesgue) * line + np.exp(-(REACH**2)))


def direct_sums(points: FloatArray, weights: FloatArray, power: int) -> FloatArray:
    """Sums over all pairs, some rows of the matrix at a time."""
    sums = np.empty_like(weights)
    for start in range(0, len(points), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        sums[rows] = _kernel(points[rows, None] - points) ** power @ weights
    return sums


def box_sums(points: FloatArray, weights: FloatArray, power: int) -> FloatArray:
    """Sums by way of the boxes, some of them at a time."""
    # in powers of two, no position in a box is rounded
    length = 2.0 ** min(0, int(np.ceil(np.log2(points[-1] - points[0]))))
    box = np.floor(points / length)
    position = 2 * (points / length - box) - 1
    first = np.flatnonzero(np.diff(box, prepend=-np.inf))
    # an empty stretch that no kernel bridges is as good as any longer one
    numbers = np.cumsum(np.minimum(np.diff(box[first], prepend=box[0]), REACH + 1)).astype(int)
    between = [_coefficients(length, offset, power) for offset in OFFSETS]
    total, sums = weights.sum(axis=0), np.empty_like(weights)
    bounds = np.append(first, len(points))
    for start in range(0, len(numbers), BOXES_AT_ONCE):
        stop = min(start + BOXES_AT_ONCE, len(numbers))
        left = np.searchsorted(numbers, numbers[start] - REACH)
        right = np.searchsorted(numbers, numbers[stop - 1] + REACH, side="right")
        near_rows = slice(bounds[left], bounds[right])
        # Σ wⱼ Tₐ(xⱼ) over the points of each box: shape (boxes, columns, nodes)
        moments = np.empty((right - left, weights.shape[1], NODES))
        for degree, values in enumerate(_chebyshev(position[near_rows])):
            terms = values[:, None] * weights[near_rows]
            moments[..., degree] = np.add.reduceat(terms, first[left:right] - first[left])
        field, near = _field(numbers[start:stop], numbers[left:right], moments, between)
        field[..., 0] += (-1) ** power * (total - near)  # the kernel less 1 is -1 far away
        rows = slice(bounds[start], bounds[stop])
        of_row = np.repeat(np.arange(stop - start), np.diff(bounds[start : stop + 1]))
        sums[rows] = 0.0
        for degree, values in enumerate(_chebyshev(position[rows])):
            sums[rows] += field[of_row, :, degree] * values[:, None]
    return sums


def _field(
    targets: NDArray[np.intp],
    sources: NDArray[np.intp],
    moments: FloatArray,
    between: list[FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Chebyshev coefficients of what reaches each target box, and the weight of its sources."""
    field = np.zeros((len(targets), *moments.shape[1:]))
    near = np.zeros(field.shape[:2])
    for offset, coefficients in zip(OFFSETS, between, strict=True):
        place = np.minimum(np.searchsorted(sources, targets + offset), len(sources) - 1)
        there = sources[place] == targets + offset
        source = moments[place[there]]
        # as one flat product, for speed
        field[there] += (source.reshape(-1, NODES) @ coefficients.T).reshape(source.shape)
        near[there] += source[..., 0]
    return field, near


def _chebyshev(position: FloatArray) -> Iterator[FloatArray]:
    """T₀, T₁, … at the positions, by their recurrence."""
    before, now = position, np.ones_like(position)  # T₋₁ = T₁
    for _ in range(NODES):
        yield now
        before, now = now, 2 * position * now - before


def _coefficients(length: float, offset: int, power: int) -> FloatArray:
    """Chebyshev coefficients of the kernel between a box and the one ``offset`` boxes further."""
    angles = np.pi * (np.arange(NODES) + 0.5) / NODES
    transform = 2 / NODES * np.cos(np.outer(np.arange(NODES), angles))
    transform[0] /= 2
    nodes = np.cos(angles) / 2
    values = _kernel(length * (nodes[:, None] - nodes - offset)) ** power
    return transform @ values @ transform.T


def _kernel(difference: FloatArray) -> FloatArray:
    return np.expm1(-(difference**2))


# the kernel of the coverage indicator is 1 where two rows agree and exp(-1) where they do not
CONTRAST = 1 - math.exp(-1)
LIMIT = CONTRAST / 4  # half of the rows covered, and no covered one near a missed one
HSIC_MEANING = (
    "The interval holds the dependence that endless rows would show; the estimate is too large by "
    "O(1/n), and may lie above the interval."
)
ALL_ALIKE = "All rows are covered, or none: dependence cannot be estimated."


def hsic(
    covered: ArrayLike,
    size: ArrayLike,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Hilbert-Schmidt independence criterion of set size and coverage: any kind of dependence.

    trace(K H L H) / (n - 1)², the biased estimator, without a square root: K and L are the n × n
    matrices of the kernel k(a, b) = exp(-(a - b)²) on sizes and on the coverage indicator, and
    H = I - 1/n. No such matrix is made: the value comes from the counts of each distinct size,
    exactly for up to 5,000 distinct sizes. For more, kernel values are interpolated, and the
    estimate is off by less than 4e-16 (n / (n - 1))² before rounding (``kernel_sums``).

    Where all x are covered alike, coverage depends on nothing, not on the size either; so a
    dependence shows that they are not, and its absence shows nothing. Independent pairs give
    O(1/n) rather than 0, and the kernel knows the units of size, of which one is near and six are
    far: divide sizes in dollars by a typical one first, and compare on the same rows.

    The interval inverts a test, as Wilson's does: all values θ that differ from the unbiased
    estimate (Song et al. 2012) by no more than the quantile of Student's law times √(4 θ σ² + τ²),
    where σ² is the variance along the direction of dependence and τ² that of the estimate where
    there is none. So it holds under independence too, where the normal law of the estimate fails;
    the estimate, being too large by O(1/n), may then lie above it. Sets of one size have exactly 0,
    with an interval of [0, 0]. Where all rows are covered, or none, or n < 4, nothing is known,
    and the interval is all that is possible.

    Parameters
    ----------
    covered, size, confidence, sample_weight
        As in `size_correlation`.

    Returns
    -------
    Measure
        Its table is coverage by bins of size.

    References
    ----------
    Gretton, Bousquet, Smola, Schölkopf (2005). Measuring statistical dependence with
    Hilbert-Schmidt norms. ALT.
    Song, Smola, Gretton, Bedo, Borgwardt (2012). Feature selection via dependence maximization.
    JMLR.
    Feldman, Bates, Romano (2021). Improving conditional coverage via orthogonal quantile
    regression. NeurIPS.

    Examples
    --------
    >>> from plcp.metrics import hsic
    >>> print(hsic([True, True, False, True] * 25, [1, 1, 2, 3] * 25))
    HSIC: 0.03755, 95 % interval [0.02294, 0.05868]
    >>> float(hsic([True, False, True, False], [1, 1, 2, 2]))
    0.0
    """
    confidence = check_share("confidence", confidence)
    counts = count_sizes(covered, size, sample_weight)
    n, hits = counts.n, counts.n_hits
    # n² times joint minus product frequency, in whole numbers: independence is 0 without rounding
    excess = (n * counts.hits - counts.rows * hits).astype(float)
    # the excess sums to 0, so k - 1 serves as well as k, and keeps its digits where sizes are close
    sums = kernel_sums(counts.size, np.column_stack([excess, counts.rows]))
    estimate = 2 * CONTRAST * float(excess @ sums[:, 0]) / (n * (n - 1)) ** 2
    influence = _influence(counts, sums[:, 0] / n**2)
    known = n > 3 and 0 < hits < n
    low, high, error = (
        _hsic_interval(counts, excess, sums, influence, confidence)
        if known
        else (0.0, LIMIT, np.nan)
    )
    return Measure(
        "HSIC",
        estimate,
        low,
        high,
        confidence,
        error,
        exact=False,
        meaning=HSIC_MEANING if known else ALL_ALIKE,
        table=counts.table(confidence),
        terms=estimate + counts.by_row(influence),
        weights=counts.weights,
    )


def _influence(counts: SizeCounts, witness: FloatArray) -> FloatArray:
    """Influence of a missed and of a covered row of each size: shape (sizes, 2)."""
    residual = np.array([0.0, 1.0]) - counts.n_hits / counts.n
    products = residual * (witness - counts.rows @ witness / counts.n)[:, None]
    mean = np.vdot(counts.cells, products) / counts.n
    return np.asarray(4 * CONTRAST * (products - mean))


def _hsic_interval(
    counts: SizeCounts,
    excess: FloatArray,
    sums: FloatArray,
    influence: FloatArray,
    confidence: float,
) -> tuple[float, float, float]:
    """Ends of the interval, and the standard error."""
    n = counts.n
    biased = 2 * CONTRAST * float(excess @ sums[:, 0]) / n**4
    centre = unbiased_hsic(counts, excess, sums)
    spread = np.vdot(counts.cells, influence**2) / (n * (n - 1))
    along = spread / (4 * biased) if biased > 0 else 0.0
    null = _null_variance(counts, sums[:, 1])
    quantile = student.isf((1 - confidence) / 2, n - 1)
    # the roots of (centre - θ)² = quantile² (4 θ along + null)
    shift = 2 * quantile**2 * along
    reach = math.sqrt(max((centre + shift) ** 2 - centre**2 + quantile**2 * null, 0.0))
    low, high = np.clip([centre + shift - reach, centre + shift + reach], 0.0, LIMIT)
    return float(low), float(high), math.sqrt(4 * along * max(centre, 0.0) + null)


def unbiased_hsic(counts: SizeCounts, excess: FloatArray, sums: FloatArray) -> float:
    """Estimate without bias (Song et al. 2012, eq. 5), for a coverage that is 0 or 1; n > 3."""
    n, p = counts.n, counts.n_hits / counts.n
    dependence, tilt = excess @ sums / n**2 * [1.0, n]
    total = counts.rows @ sums[:, 1]
    inside = dependence + 2 * (1 - 2 * p) / (n - 2) * tilt + p * (1 - p) / (n - 1) * total
    return float(2 * CONTRAST * inside / (n * (n - 3)))


def _null_variance(counts: SizeCounts, row_sums: FloatArray) -> float:
    """Variance of the unbiased estimate if size and coverage were independent, to order 1/n²."""
    n, p, rows = counts.n, counts.n_hits / counts.n, counts.rows
    squares = rows @ kernel_sums(counts.size, rows[:, None].astype(float), power=2)[:, 0] / n**2
    centred = float(squares - 2 * rows @ (row_sums / n) ** 2 / n + (rows @ row_sums / n**2) ** 2)
    return 2 * (2 * CONTRAST * p * (1 - p) / n) ** 2 * max(centred, 0.0)


IMPROVEMENT_MEANING = (
    "The interval holds the percentage that endless rows would show, and is too wide with HSIC "
    "where little dependence is left; the estimate is biased by O(1/n), downwards where nearly all "
    "is gained."
)


def improvement(measure: Measure, reference: Measure) -> Measure:
    """Per cent of the reference's dependence that the method removes: ``100 (1 - |m| / |r|)``.

    Meant for `hsic` or `size_correlation` of two methods on the same rows; 100 where no dependence
    is left, negative where there is more. The interval for the ratio m / r is Fieller's, of paired
    rows, and that of the percentage its image; where that of the reference contains 0,
    nothing but "at most 100" is known.

    Fieller's interval takes both estimates for normal, which takes many rows: in simulations 95 %
    intervals held in 89 to 100 % of samples of 200 rows with `size_correlation`, in 93 to 98 % of
    1,000; with `hsic`, whose estimate is far from normal where little dependence is left, they
    held in 99 to 100 % and in 95 to 100 %: too wide, not too narrow.

    Parameters
    ----------
    measure, reference : Measure
        The same metric of two methods, on the same rows.

    References
    ----------
    Feldman, Bates, Romano (2021). Improving conditional coverage via orthogonal quantile
    regression. NeurIPS.
    Fieller (1954). Some problems in interval estimation. Journal of the Royal Statistical Society
    B.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.metrics import improvement, size_correlation
    >>> covered = np.arange(1000) % 10 > 0
    >>> size = np.arange(1000) % 7.0
    >>> split, method = (size_correlation(covered, size + c * covered) for c in (4, 1))
    >>> print(improvement(method, split))
    improvement of size correlation in per cent: 70.48, 95 % interval [61.76, 80.71]
    """
    terms, others = paired_terms({"measure": measure, "reference": reference}).values()
    if reference.estimate == 0:
        raise ValueError(
            f"the {reference.name} of the reference is exactly 0, as that of sets of one size is: "
            "nothing can be gained relative to it, so clip its sets to the range of the labels, or "
            "report both values"
        )
    m, r = measure.estimate, reference.estimate
    ratio = m / r
    influence = (terms - m - ratio * (others - r)) / r
    counts = np.ones(len(terms)) if measure.weights is None else measure.weights
    n = counts.sum()
    if n < 2:
        raise ValueError("an improvement needs two rows at least, got 1: report both values")
    covariance = np.cov(terms, others, aweights=counts, ddof=0) / (n - 1)
    low, high = _fieller(m, r, covariance, student.isf((1 - measure.confidence) / 2, n - 1))
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return Measure(
        f"improvement of {measure.name} in per cent",
        100 * (1 - abs(ratio)),
        100 * (1 - max(abs(low), abs(high))),
        100 * (1 - nearest),
        measure.confidence,
        100 * float(np.sqrt(np.average(influence**2, weights=counts) / (n - 1))),
        exact=False,
        meaning=IMPROVEMENT_MEANING,
        table={
            "of": np.array(["measure", "reference"]),
            "estimate": np.array([m, r]),
            "low": np.array([measure.low, reference.low]),
            "high": np.array([measure.high, reference.high]),
        },
        terms=100 * (1 - abs(ratio) - np.sign(ratio) * influence),
        weights=measure.weights,
    )


def _fieller(m: float, r: float, covariance: FloatArray, quantile: float) -> tuple[float, float]:
    """Ends of all ratios ρ with |m - ρ r| at most ``quantile`` times its standard error."""
    a = r**2 - quantile**2 * covariance[1, 1]
    b = m * r - quantile**2 * covariance[0, 1]
    c = m**2 - quantile**2 * covariance[0, 0]
    if a <= 0:
        return -np.inf, np.inf
    root = np.sqrt(max(b**2 - a * c, 0.0))
    return float((b - root) / a), float((b + root) / a)
