"""The space that feature columns span, in orthogonal coordinates."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from plcp.exceptions import ProgramError
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.linear import Objective, minimise

DEPENDENT = 1e-10  # of a column's length: what is left of it beside the others is rounding
OUTSIDE = 1e-7  # of the largest entry: a row that breaks a law which all others keep


@dataclass(frozen=True)
class Span:
    """Columns that say something new, and how the others follow from them.

    ``coordinates`` of the rows it was made from have orthogonal columns of mean square one.
    """

    kept: IntArray
    dropped: IntArray
    rotation: FloatArray  # kept columns @ rotation = coordinates
    law: FloatArray  # kept columns @ law = dropped columns

    def coordinates(self, features: FloatArray) -> FloatArray:
        """Coordinates of rows, shape (n, d)."""
        kept = features[:, self.kept] if len(self.dropped) else features  # spares a copy
        return kept @ self.rotation

    def contains(self, features: FloatArray) -> NDArray[np.bool_]:
        """Whether rows keep the laws among columns; shifts of other rows were never seen."""
        kept, dropped = features[:, self.kept], features[:, self.dropped]
        size = np.abs(kept) @ np.abs(self.law) + np.abs(dropped)
        return np.asarray((np.abs(dropped - kept @ self.law) <= OUTSIDE * size).all(axis=1))


def span_of(features: FloatArray) -> Span:
    """Span of the columns, the earlier ones kept.

    Examples
    --------
    >>> span = span_of(np.array([[1.0, 0, 1], [1, 1, 0], [1, 1, 0]]))  # the last is 1 - the second
    >>> span.kept, span.contains(np.array([[1.0, 0, 1], [1, 0, 0]]))
    (array([0, 1]), array([ True, False]))
    """
    n, p = features.shape
    # powers of two lose no digit, and lengths neither overflow nor vanish
    sizes = np.frexp(np.abs(features).max(axis=0))[1]
    units = 2.0 ** np.clip(sizes, -1000, 1000)
    # p numbers a column say how they depend
    columns = np.asarray(np.linalg.qr(features / units, mode="r"))
    unit = np.empty((len(columns), len(columns)))
    kept: list[int] = []
    for j in range(p):
        length = np.linalg.norm(columns[:, j])
        if length == 0 or len(kept) == len(unit):
            continue
        rest, before = columns[:, j] / length, unit[:, : len(kept)]
        for _ in range(2):  # once leaves rounding errors along the columns before
            rest = rest - before @ (before.T @ rest)
        left = np.linalg.norm(rest)
        if left > DEPENDENT:
            unit[:, len(kept)] = rest / left
            kept.append(j)
    unit = unit[:, : len(kept)]
    triangle = unit.T @ columns[:, kept]
    dropped = np.setdiff1d(np.arange(p), kept)
    law = np.linalg.solve(triangle, unit.T @ columns[:, dropped])
    lengths = np.linalg.norm(columns, axis=0)
    # rounding is no part of a law: a row that is zero elsewhere would break it
    law[np.abs(law) * lengths[kept, None] <= DEPENDENT * lengths[dropped]] = 0.0
    law *= units[dropped] / units[kept, None]
    rotation = np.linalg.inv(triangle) * np.sqrt(n) / units[kept, None]
    return Span(np.array(kept, dtype=np.intp), dropped, rotation, law)


JITTER = 1e-10  # of a score's distance from others: ties are broken, and nothing else is moved
WHOLE = 1e-9  # an interpolation weight this near a whole number is that number
ROUNDING = 1e-13  # of the scores that a threshold adds up: what a sum may lose


@dataclass(frozen=True)
class Program:
    r"""Linear quantile regression and its dual.

    .. math:: \min_\beta \sum_i w_i \ell_\tau(s_i - z_i^\top\beta)
        = \max_\eta\; s^\top\eta \;\text{ such that }\; Z^\top\eta = 0,\;
        w_i(\tau - 1) \le \eta_i \le w_i\tau.

    ``features`` Z are coordinates in the span of the given columns; ``ranked`` are the scores with
    ties broken; ``pull`` is what rows of settled duals, left out, add to Z'η.
    """

    span: Span
    features: FloatArray
    scores: FloatArray
    ranked: FloatArray
    lower: FloatArray
    upper: FloatArray
    pull: FloatArray


@dataclass(frozen=True)
class Vertex:
    """A solution that meets d rows, the basis, exactly.

    ``inverse`` is that of the basis rows of Z; ``residuals`` are of the ranked scores; ``duals``
    are at a bound for every other row.
    """

    program: Program
    basis: IntArray
    inverse: FloatArray
    residuals: FloatArray
    duals: FloatArray

    @property
    def coef(self) -> FloatArray:
        """Coefficients of the columns given; those that follow from others have none."""
        span = self.program.span
        coef = np.zeros(len(span.kept) + len(span.dropped))
        coef[span.kept] = span.rotation @ (self.inverse @ self.program.scores[self.basis])
        return coef

    def predict(self, features: FloatArray) -> FloatArray:
        """Fitted quantile of rows; infinite outside the span, where nothing is known."""
        span = self.program.span
        weights = span.coordinates(features) @ self.inverse
        quantiles = interpolated(weights, self.program.scores[self.basis])
        return np.where(span.contains(features), quantiles, np.inf)


def interpolated(weights: FloatArray, scores: FloatArray) -> FloatArray:
    """Mean of basis scores by interpolation weights, exactly a score where all but one are zero."""
    nearest = np.round(weights)
    weights = np.where(np.abs(weights - nearest) <= WHOLE, nearest, weights)
    terms = weights * scores
    # a sum that rounding leaves just below a tied score must cover it all the same
    sums = np.count_nonzero(weights, axis=-1) > 1
    return np.asarray(terms.sum(axis=-1) + ROUNDING * sums * np.abs(terms).sum(axis=-1))


def make_program(
    features: FloatArray, scores: FloatArray, level: float, weights: FloatArray | None = None
) -> Program:
    """Program of the quantile regression of scores on features, of whatever rank."""
    span = span_of(features)
    counts = np.ones(len(scores)) if weights is None else weights
    bounds = (level - 1) * counts, level * counts
    pull = np.zeros(len(span.kept))
    coordinates = span.coordinates(features)
    return Program(span, coordinates, scores, without_ties(scores), *bounds, pull)


def without_ties(scores: FloatArray) -> FloatArray:
    """Scores moved a little, each by its distance from the median: few outliers blur no other."""
    distances = np.abs(scores - np.median(scores))
    apart = distances[distances > 0]
    spread = np.maximum(distances, np.median(apart) if len(apart) else 1.0)
    return scores + JITTER * spread * np.random.default_rng(0).uniform(-1, 1, len(scores))


SLACK = 1e-9  # of a row's weight: a dual beyond its bound by less is at its bound
INDEPENDENT = 1e-9  # of the largest pivot: smaller ones are rounding
REFRESH = 50  # pivots after which rounding in the updated inverse is swept away
MAX_PIVOTS = 100_000
THINNED = 10_000  # rows that give the start, and whose signs are then in doubt


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
    """Best basis if only rows near the start may change sides: few to scan in each pivot."""
    near = np.argpartition(np.abs(residuals), THINNED)[:THINNED]
    rows = np.union1d(vertex.basis, near)
    part = restricted(vertex.program, rows, residuals)
    try:
        return rows[descend(vertex_at(part, np.searchsorted(rows, vertex.basis))).basis]
    except ProgramError:  # an edge left the rows in doubt: use all rows
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
        start = max(2 * start, 1)
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
