"""Coverage in the slab of the feature space where it is worst."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from plcp.metrics.binomial import clopper_pearson
from plcp.metrics.measure import Measure
from plcp.metrics.outcomes import check_counts, check_covered
from plcp.metrics.slab import Slab, finite_numbers, positions
from plcp.metrics.window import Window, worst_window
from plcp.quantiles import FloatArray, IntArray
from plcp.validation import check_count, check_lengths, check_share

MEANING = (
    "The interval holds the coverage in the slab, which was chosen on other rows; some slab of "
    "this mass may be covered less, so it is no lower bound over all slabs."
)


@dataclass(frozen=True, eq=False)
class WorstSlab(Measure):
    """Coverage in the worst slab, with the slab itself, to see who is in it."""

    slab: Slab = field(kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single rows, as plain Python values."""
        ends = {"low": self.slab.low, "high": self.slab.high}
        slab = {"coefficients": self.slab.coefficients.tolist(), **ends}
        return {**super().to_dict(), "slab": slab}


def worst_slab(
    X: ArrayLike,
    covered: ArrayLike,
    *,
    mass: float = 0.1,
    n_directions: int = 1000,
    random_state: int | None = 0,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> WorstSlab:
    """Coverage in the worst slab {x : a ≤ v · x ≤ b} of at least a given mass.

    The slab is chosen on one half of the rows and measured on the other, so that the interval is
    exact (Clopper-Pearson) for the coverage in this slab. On the rows it was chosen on, coverage
    is too low: the smallest of many numbers is small by chance.

    Directions v are those of the columns, each alone, and ``n_directions`` random ones; columns
    are divided by their standard deviation first, so that units do not matter. For each, the slab
    is the best of all: none of at least this mass among the rows of the first half has a smaller
    coverage there. Rows with the same x are never parted.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Numbers, without NaN.
    covered : array-like of shape (n,)
        Whether the set of each row holds its label.
    mass : float, default=0.1
        Least share of rows in the slab.
    n_directions : int, default=1000
        How many random directions to try, besides the columns.
    random_state : int, default=0
        Halves the rows and draws the directions.
    confidence : float, default=0.95
        Probability with which the interval holds the coverage in the slab, at least.
    sample_weight : array-like of shape (n,), optional
        How many rows each row stands for.

    Returns
    -------
    WorstSlab
        A `Measure` with the ``slab``. Its table shows the slab in both halves. The estimate is NaN
        and the interval [0, 1] if no row of the second half lies in it.

    References
    ----------
    Cauchois, Gupta, Duchi (2021). Knowing what you know: valid and validated confidence sets in
    multiclass and multilabel prediction. JMLR.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 2000)[:, None]
    >>> covered = (np.arange(2000) % 10 > 0) & (np.abs(x[:, 0] - 0.5) > 0.1)
    >>> worst = worst_slab(x, covered, mass=0.05)
    >>> print(worst)
    coverage in the worst slab: 0, 95 % interval [0, 0.03694]
    >>> bool(worst.slab.contains([[0.5]])[0])
    True
    """
    indicator = check_covered(covered)
    numbers = finite_numbers(X)
    check_lengths(numbers, indicator)
    mass, confidence = check_share("mass", mass), check_share("confidence", confidence)
    n_directions = check_count("n_directions", n_directions, least=0)
    counts = check_counts(sample_weight, len(indicator))
    weights = np.ones(len(indicator), dtype=int) if counts is None else counts.astype(int)
    rng = check_random_state(random_state)
    choosing = _half(np.flatnonzero(weights), rng)
    slab, chosen = _choose(
        numbers[choosing],
        indicator[choosing],
        weights[choosing],
        mass,
        _directions(numbers.shape[1], n_directions, rng),
    )
    weights[choosing] = 0
    return _measure(slab, chosen, slab.contains(numbers), indicator, weights, confidence)


def _half(rows: IntArray, rng: np.random.RandomState) -> IntArray:
    if len(rows) < 2:
        raise ValueError("one row counts, but some must choose the slab and others measure it")
    return np.asarray(rng.permutation(rows)[: len(rows) // 2])


def _directions(n_columns: int, n: int, rng: np.random.RandomState) -> FloatArray:
    """Each column alone, then random directions; one column has no other direction."""
    alone = np.eye(n_columns)
    return alone if n_columns == 1 else np.vstack([alone, rng.normal(size=(n, n_columns))])


def _choose(
    X: FloatArray,
    covered: NDArray[np.bool_],
    counts: IntArray,
    mass: float,
    directions: FloatArray,
) -> tuple[Slab, Window]:
    """Slab with the smallest coverage of these rows, and what it holds of them."""
    n, hits = int(counts.sum()), int(counts[covered].sum())
    least = math.ceil(round(mass * n, 9))  # 0.07 · 100 is above 7 in floats
    coefficients = np.zeros(X.shape[1])
    worst = Window(-np.inf, np.inf, n, hits)  # all of space
    for direction in directions / _scale(X, counts):
        window = worst_window(positions(X, direction), counts * covered, counts, least, worst)
        if window is not worst:
            coefficients, worst = direction, window
    return Slab(coefficients, worst.low, worst.high), worst


def _scale(X: FloatArray, counts: IntArray) -> FloatArray:
    """Standard deviation of each column; 1 if it is constant, or too small to be squared."""
    center = np.average(X, axis=0, weights=counts)
    deviation = np.sqrt(np.average((X - center) ** 2, axis=0, weights=counts))
    return np.where((np.ptp(X, axis=0) > 0) & (deviation > 0), deviation, 1.0)


def _measure(
    slab: Slab,
    chosen: Window,
    inside: NDArray[np.bool_],
    covered: NDArray[np.bool_],
    counts: IntArray,
    confidence: float,
) -> WorstSlab:
    """Coverage in the slab of the rows that count, which were not used to choose it."""
    n, hits = int(counts[inside].sum()), int(counts[inside & covered].sum())
    low, high = clopper_pearson(hits, n, confidence)
    estimate = hits / n if n else np.nan
    share = n / counts.sum() if n else np.nan
    return WorstSlab(
        "coverage in the worst slab",
        estimate,
        float(low),
        float(high),
        confidence,
        float(np.sqrt(estimate * (1 - estimate) / n)) if n else np.nan,
        exact=True,
        meaning=MEANING,
        table={
            "half": np.array(["chosen on", "measured on"]),
            "n": np.array([chosen.n, n]),
            "hits": np.array([chosen.hits, hits]),
            "coverage": np.array([chosen.hits / chosen.n, estimate]),
        },
        terms=estimate + inside * (covered - estimate) / share,
        weights=counts.astype(float),
        slab=slab,
    )
