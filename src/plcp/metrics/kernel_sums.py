"""Sums of a Gaussian kernel over many points on a line, without a matrix of all pairs."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from plcp.quantiles import FloatArray

EXACT_POINTS = 5_000
# by Cramér's bound on Hermite functions 18 Chebyshev nodes on a box of length 1 err by 8e-16
NODES = 18
REACH = 6  # exp(-36) < 3e-16: boxes further apart do not see each other
OFFSETS = range(-REACH, REACH + 1)
ROWS_AT_ONCE = 512
BOXES_AT_ONCE = 4_096


def kernel_sums(points: FloatArray, weights: FloatArray, power: int = 1) -> FloatArray:
    """Σⱼ wⱼ (exp(-(xᵢ - xⱼ)²) - 1)ᵖ at each xᵢ, for each column of weights.

    The kernel less 1 is small where points are close, and so keeps its digits there. Direct for up
    to 5,000 points. For more, the line is cut into boxes of length 1, or of the power of two just
    above the spread if that is less; the kernel between two boxes is interpolated at 18 × 18
    Chebyshev nodes, and is 0 beyond six boxes. Each kernel value is then off by less than 1.1e-15
    (`kernel_error`) before rounding, its square by less than 1e-12, whatever the points are; time
    and memory grow with their number alone.

    Parameters
    ----------
    points : array of shape (n,)
        Distinct and ascending.
    weights : array of shape (n, k)
        Columns of weights.
    power : {1, 2}
        Power p of the kernel less 1.

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
        seen = slice(bounds[left], bounds[right])
        moments = _moments(position[seen], weights[seen], first[left:right] - first[left])
        field, near = _field(numbers[start:stop], numbers[left:right], moments, between)
        field[..., 0] += (-1) ** power * (total - near)  # the kernel less 1 is -1 far away
        rows = slice(bounds[start], bounds[stop])
        lengths = np.diff(bounds[start : stop + 1])
        sums[rows] = _evaluate(field, position[rows], lengths)
    return sums


def _moments(position: FloatArray, weights: FloatArray, first: NDArray[np.intp]) -> FloatArray:
    """Σ wⱼ Tₐ(xⱼ) over the points of each box: shape (boxes, columns, nodes)."""
    moments = np.empty((len(first), weights.shape[1], NODES))
    for degree, values in enumerate(_chebyshev(position)):
        moments[..., degree] = np.add.reduceat(values[:, None] * weights, first)
    return moments


def _field(
    targets: NDArray[np.intp],
    sources: NDArray[np.intp],
    moments: FloatArray,
    between: list[FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Chebyshev coefficients of what each target box sees, and the weight of what it sees."""
    field = np.zeros((len(targets), *moments.shape[1:]))
    near = np.zeros(field.shape[:2])
    for offset, coefficients in zip(OFFSETS, between, strict=True):
        place = np.minimum(np.searchsorted(sources, targets + offset), len(sources) - 1)
        there = sources[place] == targets + offset
        seen = moments[place[there]]
        # as one flat product, for the speed of it
        field[there] += (seen.reshape(-1, NODES) @ coefficients.T).reshape(seen.shape)
        near[there] += seen[..., 0]
    return field, near


def _evaluate(field: FloatArray, position: FloatArray, lengths: NDArray[np.intp]) -> FloatArray:
    sums = np.zeros((len(position), field.shape[1]))
    box = np.repeat(np.arange(len(lengths)), lengths)
    for degree, values in enumerate(_chebyshev(position)):
        sums += field[box, :, degree] * values[:, None]
    return sums


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
