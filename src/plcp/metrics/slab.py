"""Worst-slab coverage: the slab of feature space that is covered least."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from plcp._folds import copy_ids, rows_of
from plcp._options import check_count, check_same_rows, check_share
from plcp._rows import to_plain_array
from plcp._validation import check_lengths, check_rows, feature_errors
from plcp.metrics.binomial import clopper_pearson
from plcp.metrics.measure import LARGEST, Measure, check_counts, check_covered
from plcp.quantiles import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Slab:
    """All x between two parallel planes: low ≤ coefficients · x ≤ high.

    Parameters
    ----------
    coefficients : array of shape (d,)
        What each column of X, in its own unit, is multiplied by.
    low, high : float
        The planes; infinite where the slab is a half-space.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.metrics import Slab
    >>> slab = Slab(np.array([1.0, 0.0]), low=2.0, high=np.inf)
    >>> slab.contains([[3.0, 0.0], [1.0, 9.0]])
    array([ True, False])
    """

    coefficients: FloatArray
    low: float
    high: float

    def contains(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Whether each row of X lies in the slab."""
        numbers, d = finite_numbers(X), len(self.coefficients)
        if numbers.shape[1] != d:
            raise ValueError(
                f"X has {numbers.shape[1]} columns, but the slab is one of {d}: give the columns "
                "it was chosen on"
            )
        position = positions(numbers, self.coefficients)
        return np.asarray((position >= self.low) & (position <= self.high))


NUMBERS_ONLY = "X holds text, but a slab needs numbers: encode it, or leave the column out."


def finite_numbers(X: ArrayLike) -> FloatArray:
    """X as a matrix of numbers, none of them missing or infinite."""
    X = to_plain_array(X)
    check_rows(X)
    with feature_errors(X, of_text=NUMBERS_ONLY):
        numbers: FloatArray = check_array(
            X, dtype=float, ensure_all_finite=False, ensure_min_samples=0, input_name="X"
        )
    good = np.abs(numbers) <= LARGEST  # NaN is not
    if not good.all():
        row, column = np.argwhere(~good)[0]
        raise ValueError(
            f"X must be at most {LARGEST:g} and finite, got {numbers[row, column]} in column "
            f"{column} at row {row}: impute it, or leave the column out"
        )
    return numbers


def positions(X: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Where each row lies across the slabs of one direction."""
    # a matrix product may round equal rows differently, and so part them
    return np.asarray((X * coefficients).sum(axis=1))


class Window(NamedTuple):
    """All positions from ``low`` to ``high``: how many rows are there, and how many are covered."""

    low: float
    high: float
    n: int
    hits: int


def worst_window(
    position: FloatArray, hits: IntArray, n: IntArray, least: int, than: Window
) -> Window:
    """Window of at least ``least`` rows with the smallest coverage, if that is below ``than``'s.

    A window of n rows, h of them covered, is covered less than H in N if and only if N h - H n is
    negative. Where this is smallest is found in one pass; that window is then the one to beat,
    until no other beats it (Dinkelbach 1967). In whole numbers nothing is rounded, so the window
    found is the best of all; a few passes do, since coverage falls faster than linearly.

    Rows at one position are in the window together or not at all. Its ends lie halfway to the next
    rows, or at infinity where there is none.

    References
    ----------
    Dinkelbach (1967). On nonlinear fractional programming. Management Science.

    Examples
    --------
    >>> everything = Window(-np.inf, np.inf, n=6, hits=4)
    >>> ones = np.ones(6, dtype=int)
    >>> worst_window(np.arange(6.0), np.array([1, 1, 0, 0, 1, 1]), ones, 2, everything)
    Window(low=1.5, high=3.5, n=2, hits=0)
    """
    order = np.argsort(position)
    places = position[order]
    is_last = np.append(places[1:] > places[:-1], True)  # of the rows at one position
    places = places[is_last]
    # rows, and covered rows, before each place and in all
    rows, covered = (np.append(0, np.cumsum(c[order])[is_last]) for c in (n, hits))
    ends = np.arange(np.searchsorted(rows, least), len(rows))
    starts = np.searchsorted(rows, rows[ends] - least, side="right")  # these many leave enough rows
    if len(ends) == 0:
        return than
    while True:
        balance = than.n * covered - than.hits * rows
        gain = balance[ends] - np.maximum.accumulate(balance)[starts - 1]
        best = int(np.argmin(gain))
        if gain[best] >= 0:
            return than
        start, end = int(np.argmax(balance[: starts[best]])), int(ends[best])
        low = (places[start - 1] + places[start]) / 2 if start else -np.inf
        high = (places[end - 1] + places[end]) / 2 if end < len(places) else np.inf
        than = Window(
            float(low),
            float(high),
            int(rows[end] - rows[start]),
            int(covered[end] - covered[start]),
        )


MEANING = (
    "The interval holds the coverage in the slab, which was chosen on other rows; some slab of "
    "this mass may be covered less, so it is no lower bound over all slabs."
)


@dataclass(frozen=True, eq=False)
class WorstSlab(Measure):
    """Coverage in the worst slab, with the slab itself, to see who is in it.

    Parameters
    ----------
    estimate, low, high : float
        Coverage in the slab and its interval, and so on: those of a `plcp.metrics.Measure`.
    slab : Slab
        The slab that was chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.metrics import worst_slab
    >>> x = np.linspace(-1, 1, 2000)[:, None]
    >>> worst = worst_slab(x, np.abs(x[:, 0] - 0.5) > 0.1)
    >>> worst.estimate, worst.slab.contains([[0.5]])
    (0.0, array([ True]))
    """

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
    >>> import numpy as np
    >>> from plcp.metrics import worst_slab
    >>> x = np.linspace(-1, 1, 2000)[:, None]
    >>> covered = (np.arange(2000) % 10 > 0) & (np.abs(x[:, 0] - 0.5) > 0.1)
    >>> worst = worst_slab(x, covered, mass=0.05)
    >>> print(worst)
    coverage in the worst slab: 0, 95 % interval [0, 0.03694]
    >>> bool(worst.slab.contains([[0.5]])[0])
    True
    """
    check_same_rows(X, covered=covered, sample_weight=sample_weight)
    indicator = check_covered(covered)
    numbers = finite_numbers(X)
    check_lengths(numbers, indicator)
    mass, confidence = check_share("mass", mass), check_share("confidence", confidence)
    n_directions = check_count("n_directions", n_directions, least=0)
    counts = check_counts(sample_weight, len(indicator))
    weights = np.ones(len(indicator), dtype=int) if counts is None else counts.astype(int)
    rng = check_random_state(random_state)
    rows = np.flatnonzero(weights)
    ids = copy_ids(numbers[rows], indicator[rows])  # copies of a row stay on one side
    every = np.unique(ids)
    if len(every) < 2:
        raise ValueError("one row counts, but some must choose the slab and others measure it")
    choosing = rows[rows_of(rng.permutation(every)[: len(every) // 2], ids)]
    directions, n_columns = np.eye(numbers.shape[1]), numbers.shape[1]
    if n_columns > 1:
        directions = np.vstack([directions, rng.normal(size=(n_directions, n_columns))])
    slab, chosen = _choose(
        numbers[choosing], indicator[choosing], weights[choosing], mass, directions
    )
    weights[choosing] = 0
    inside = slab.contains(numbers)
    n, hits = int(weights[inside].sum()), int(weights[inside & indicator].sum())
    low, high = clopper_pearson(hits, n, confidence)
    estimate = hits / n if n else np.nan
    share = n / weights.sum() if n else np.nan
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
        terms=estimate + inside * (indicator - estimate) / share,
        weights=weights.astype(float),
        slab=slab,
    )


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
    center = np.average(X, axis=0, weights=counts)
    deviation = np.sqrt(np.average((X - center) ** 2, axis=0, weights=counts))
    # 1 for a column that is constant, or too small to be squared
    scale = np.where((np.ptp(X, axis=0) > 0) & (deviation > 0), deviation, 1.0)
    for direction in directions / scale:
        window = worst_window(positions(X, direction), counts * covered, counts, least, worst)
        if window is not worst:
            coefficients, worst = direction, window
    return Slab(coefficients, worst.low, worst.high), worst
