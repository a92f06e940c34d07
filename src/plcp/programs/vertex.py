"""Exact quantile regression: from a smoothed start to the best vertex, by pivots."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.linalg import qr

from plcp.indices.smoothing import Objective, minimise
from plcp.programs.linear import Program, ProgramError, Vertex, make_program
from plcp.quantiles import FloatArray, IntArray

SLACK = 1e-9  # of a row's weight: a dual beyond its bound by less is at its bound
INDEPENDENT = 1e-9  # of the largest pivot: smaller ones are rounding
REFRESH = 50  # pivots after which rounding in the updated inverse is swept away
MAX_PIVOTS = 100_000
THINNED = 10_000  # rows that tell where to start, and whose signs are then in doubt


def fit_vertex(
    features: FloatArray, scores: FloatArray, level: float, weights: FloatArray | None = None
) -> Vertex:
    """Exact quantile regression: a smoothed fit, rounded to a vertex, then pivots to the best one.

    Examples
    --------
    >>> vertex = fit_vertex(np.ones((5, 1)), np.array([3.0, 1, 2, 5, 4]), level=0.5)
    >>> vertex.coef, vertex.basis
    (array([3.]), array([0]))
    """
    program = make_program(features, scores, level, weights)
    residuals = smoothed_residuals(program, level)
    vertex = vertex_at(program, basis_near(program, residuals))
    if len(scores) > 2 * THINNED:
        vertex = vertex_at(program, near_basis_of_few(vertex, residuals))
    return descend(vertex)


def near_basis_of_few(vertex: Vertex, residuals: FloatArray) -> IntArray:
    """Best basis if only rows near the start may change sides: few to look at in each pivot."""
    near = np.argpartition(np.abs(residuals), THINNED)[:THINNED]
    rows = np.union1d(vertex.basis, near)
    part = restricted(vertex.program, rows, residuals)
    try:
        return rows[descend(vertex_at(part, np.searchsorted(rows, vertex.basis))).basis]
    except ProgramError:  # an edge left the rows in doubt: all rows will tell
        return vertex.basis


def restricted(program: Program, rows: IntArray, residuals: FloatArray) -> Program:
    """Program of some rows, the side of all others taken as settled."""
    settled = np.where(residuals > 0, program.upper, program.lower)
    settled[rows] = 0.0
    return replace(
        program,
        features=program.features[rows],
        scores=program.scores[rows],
        ranked=program.ranked[rows],
        lower=program.lower[rows],
        upper=program.upper[rows],
        pull=settled @ program.features,
    )


def descend(vertex: Vertex) -> Vertex:
    """Pivot until every dual of the basis lies within its bounds."""
    program = vertex.program
    for pivots in range(MAX_PIVOTS):
        out, side = most_violated(vertex)
        if side == 0:
            return vertex
        vertex = pivot(vertex, out, side)
        if pivots % REFRESH == REFRESH - 1:
            vertex = vertex_at(program, vertex.basis)
    raise ProgramError(
        f"quantile regression of {len(program.scores)} scores on {len(vertex.basis)} columns did "
        f"not settle: {MAX_PIVOTS} pivots made"
    )


def smoothed_residuals(program: Program, level: float) -> FloatArray:
    """Residuals of a smoothed fit, to some thousand rows where there are many."""
    n, d = program.features.shape
    if n == d:  # every row is met: there is nothing to smooth
        return np.zeros(n)
    weights = program.upper / program.upper.sum()
    given = program.features, program.ranked, weights, level
    objective = Objective(*given, l1=0.0, l2=0.0, centre=np.zeros(d), gain=np.ones(d), unit=0.0)
    few = objective.thinned(max(1, n // THINNED))
    fit = minimise(few, None, max_iter=1000, tol=1e-6)
    return program.ranked - objective.predict(fit.theta)


def basis_near(program: Program, residuals: FloatArray) -> IntArray:
    """Independent rows of small residual."""
    n, d = program.features.shape
    sizes = np.abs(residuals)
    for size in _doubling(4 * d + 20, n):
        near = np.argpartition(sizes, size - 1)[:size] if size < n else np.arange(n)
        scale = 1 / (sizes[near] + np.median(sizes[near]) + np.finfo(float).tiny)
        triangle, order = qr(
            (program.features[near] * (scale / scale.max())[:, None]).T, mode="r", pivoting=True
        )
        pivots = np.abs(np.diag(triangle))
        if pivots.min() > INDEPENDENT * pivots.max():
            break
    return near[order[:d]]


def _doubling(start: int, end: int) -> Iterator[int]:
    while start < end:
        yield start
        start *= 2
    yield end


def vertex_at(program: Program, basis: IntArray) -> Vertex:
    """Vertex of some basis, worked out afresh."""
    inverse = np.linalg.inv(program.features[basis])
    coordinates = inverse @ program.ranked[basis]
    return with_residuals(program, basis, inverse, program.ranked - program.features @ coordinates)


def with_residuals(
    program: Program, basis: IntArray, inverse: FloatArray, residuals: FloatArray
) -> Vertex:
    """Vertex whose residuals are known: their signs give all duals but those of the basis."""
    residuals[basis] = 0.0
    duals = np.where(residuals > 0, program.upper, program.lower)
    duals[basis] = 0.0
    duals[basis] = -(duals @ program.features + program.pull) @ inverse
    return Vertex(program, basis, inverse, residuals, duals)


def most_violated(vertex: Vertex) -> tuple[int, int]:
    """Place in the basis whose dual is furthest beyond a bound, and which: 1 above, -1, 0 none."""
    program, basis = vertex.program, vertex.basis
    duals, lower, upper = vertex.duals[basis], program.lower[basis], program.upper[basis]
    excess = np.maximum(duals - upper, lower - duals)
    excess[excess <= SLACK * (upper - lower)] = 0.0
    # the steepest edge: excess a unit of distance travelled, not of residual gained
    out = int(np.argmax(excess / np.linalg.norm(vertex.inverse, axis=0)))
    if excess[out] == 0:
        return out, 0
    return out, 1 if duals[out] > upper[out] else -1


def pivot(vertex: Vertex, out: int, side: int) -> Vertex:
    """Move along the edge on which one row leaves the basis, to the lowest loss on it."""
    program = vertex.program
    change = side * (program.features @ vertex.inverse[:, out])
    change[vertex.basis] = 0.0
    rows = np.flatnonzero(vertex.residuals * change < 0)
    distances = -vertex.residuals[rows] / change[rows]
    order = np.argsort(distances)
    row = vertex.basis[out]
    bound = program.upper[row] if side > 0 else program.lower[row]
    gains = (program.upper - program.lower)[rows[order]] * np.abs(change[rows[order]])
    last = int(np.searchsorted(np.cumsum(gains), abs(vertex.duals[row] - bound)))
    if last == len(rows):
        raise ProgramError(
            "quantile regression found no end of an edge: scores or features differ too much in "
            "size, rescale them"
        )
    entering, distance = rows[order[last]], distances[order[last]]
    residuals = vertex.residuals + distance * change
    residuals[row] = side * distance
    basis = vertex.basis.copy()
    basis[out] = entering
    inverse = exchanged(vertex.inverse, out, program.features[entering])
    return with_residuals(program, basis, inverse, residuals)


def exchanged(inverse: FloatArray, out: int, row: FloatArray) -> FloatArray:
    """Inverse after row ``out`` of the matrix was replaced."""
    weights = row @ inverse
    weights[out] -= 1.0
    return inverse - np.outer(inverse[:, out], weights / (weights[out] + 1.0))
