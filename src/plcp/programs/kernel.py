"""Conditional calibration over a kernel's functions: one solution, and its path to new points."""

from dataclasses import dataclass

import numpy as np

from plcp.programs.elbow import Position, Tableau, follow
from plcp.programs.linear import ProgramError, Vertex
from plcp.programs.span import Span
from plcp.programs.vertex import fit_vertex
from plcp.quantiles import FloatArray

NUGGET = 1e-8  # of the mean variance: keeps equal rows apart, a new one and its twin among them
TOLERANCE = 1e-8  # of the scores' spread: how exactly the optimality conditions must hold
LEAST_SPREAD = 1e-4  # of a typical score: what differs by less has too few digits left
JITTER = 1e-10  # of the scores' spread: ties are broken, and nothing that matters is moved
MARGIN = 1e-9  # of the scores' spread, on top: a score that ties with its threshold is below it
ROUNDS = 5  # of taking away what rounding left
BLOCK = 256  # new points at a time


@dataclass(frozen=True)
class KernelSolution:
    """The solution without a new point, from which the path to each new one starts.

    Scores are counted from a fit without kernel, in units that make c and the kernel's mean
    variance one: ``scale``, ``offset`` (coefficients) and ``margin`` lead back. At the
    ``position``, A x + r is the ``target`` up to a share of ``sizes``, where A is the
    tableau's matrix, x are coefficients and duals, and r residuals.
    """

    span: Span
    tableau: Tableau
    position: Position
    target: FloatArray
    sizes: FloatArray
    unit: float
    scale: float
    offset: FloatArray
    margin: float


def solve_kernel_program(
    kernel: FloatArray, features: FloatArray, scores: FloatArray, level: float, c: float
) -> KernelSolution:
    r"""Exact quantile regression of scores on features and the functions of a kernel.

    .. math:: \min_{f, \beta} \sum_i \ell_\tau(s_i - f(x_i) - \phi_i^\top\beta) +
        \tfrac{1}{2c} \lVert f \rVert^2
        = \max_\eta\; s^\top\eta - \tfrac{c}{2}\eta^\top K \eta \;\text{ such that }\;
        \Phi^\top\eta = 0,\; \tau - 1 \le \eta_i \le \tau.

    The solution without a kernel is a vertex of a linear program; from there the kernel is turned
    on, and the path followed (Li, Liu, Zhu 2007). A nugget on the diagonal, a kernel function that
    is one for a row and itself alone, keeps equal rows apart and treats all rows alike.

    Examples
    --------
    >>> kernel = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> args = np.ones((3, 1)), np.array([1.0, 2.0, 6.0])
    >>> solution = solve_kernel_program(kernel, *args, level=0.5, c=1.0)
    >>> new = np.array([[0.9, 0.9, 0.0], [0.0, 0.0, 0.9]]), np.ones(2), np.ones((2, 1))
    >>> kernel_thresholds(solution, *new, u=np.full(2, 0.5)).round(3)
    array([2.1, 3.9])
    """
    vertex = fit_vertex(features, scores, level)
    coordinates, d = vertex.program.features, vertex.program.features.shape[1]
    offset = vertex.inverse @ scores[vertex.basis]
    excess = scores - coordinates @ offset
    spread = max(typical(scores - np.median(scores)), LEAST_SPREAD * typical(scores)) or 1.0
    unit = float(np.mean(np.abs(np.diag(kernel)))) or 1.0
    scale = c * unit
    noise = np.random.default_rng(0).uniform(-1, 1, len(scores))
    target = np.concatenate([np.zeros(d), excess + JITTER * spread * noise]) / scale
    sizes = np.concatenate([np.ones(d), (np.abs(excess) + spread) / scale])
    start = without_kernel(vertex, level, scale)
    tableau = Tableau(augmented(kernel, unit, coordinates), start.members())
    change = target - start.residuals() - start.point() @ tableau.matrix
    (position,) = settle(tableau, start, change[None], target[None], sizes)
    if position is None:
        raise ProgramError(f"the kernel program of {len(scores)} scores has no finite solution")
    tableau = Tableau(tableau.matrix, position.members())
    units = unit, scale, offset, MARGIN * spread
    return KernelSolution(vertex.program.span, tableau, position, target, sizes, *units)


def typical(values: FloatArray) -> float:
    """Median size, or the mean if most are zero: one outlier must not hide what the others are."""
    sizes = np.abs(values)
    return float(np.median(sizes) or np.mean(sizes))


def kernel_thresholds(
    solution: KernelSolution,
    k_test: FloatArray,
    kappa: FloatArray,
    phi: FloatArray,
    u: FloatArray,
) -> FloatArray:
    r"""Scores of new points at which their duals are ``u``, between level - 1 and level.

    .. math:: q(u) = c\,(k^\top\eta(u) + \kappa u) + \phi^\top\beta(u),

    nondecreasing in u, where η(u) and β(u) solve the program of all n + 1 rows whose last dual is
    u. Where q jumps, it is the end nearer to u = 0. Infinite, with the sign of u, where no score
    is so large, or features lie outside the span of those seen.

    Parameters
    ----------
    solution : KernelSolution
        Of ``solve_kernel_program``.
    k_test : ndarray of shape (T, n)
        Kernel of new points and rows.
    kappa : ndarray of shape (T,)
        Kernel of each new point and itself.
    phi : ndarray of shape (T, d)
        Features of new points.
    u : ndarray of shape (T,)
        Duals: the level itself, or drawn uniformly for coverage that is exact.
    """
    parts = [slice(first, first + BLOCK) for first in range(0, len(u), BLOCK)]
    blocks = [_block(solution, k_test[p], kappa[p], phi[p], u[p]) for p in parts]
    return np.concatenate([np.empty(0), *blocks])


def _block(
    solution: KernelSolution,
    k_test: FloatArray,
    kappa: FloatArray,
    phi: FloatArray,
    u: FloatArray,
) -> FloatArray:
    coordinates = solution.span.coordinates(phi)
    rows = np.concatenate([coordinates, k_test / solution.unit], axis=1)
    offsets = coordinates @ solution.offset + solution.margin
    thresholds = np.where(u < 0, -np.inf, np.inf)
    inside = np.flatnonzero(solution.span.contains(phi))
    changes = -u[inside, None] * rows[inside]
    given = solution.tableau, solution.position, changes, solution.target + changes, solution.sizes
    own = u * (kappa / solution.unit + NUGGET)
    for new, position in zip(inside, settle(*given), strict=True):
        if position is not None:
            fit = rows[new] @ position.point() + own[new]
            thresholds[new] = solution.scale * fit + offsets[new]
    return thresholds


def augmented(kernel: FloatArray, unit: float, features: FloatArray) -> FloatArray:
    """The symmetric matrix A = [[0, Zᵀ], [Z, K / unit + nugget]]."""
    n, d = features.shape
    matrix = np.zeros((d + n, d + n))
    matrix[:d, d:], matrix[d:, :d] = features.T, features
    np.divide(kernel, unit, out=matrix[d:, d:])
    matrix[range(d, d + n), range(d, d + n)] += NUGGET
    return matrix


def without_kernel(vertex: Vertex, level: float, scale: float) -> Position:
    """The position of a solution that only features make."""
    d = len(vertex.basis)
    above = np.concatenate([np.zeros(d, dtype=bool), vertex.residuals > 0])
    values = np.concatenate([np.zeros(d), vertex.residuals]) / scale
    lower, upper = np.where(above, 0.0, -np.inf), np.where(above, np.inf, 0.0)
    upper[:d], elbow, met = np.inf, np.zeros(len(values), dtype=bool), d + vertex.basis
    values[met], lower[met], upper[met] = vertex.duals[vertex.basis], level - 1, level
    elbow[:d] = elbow[met] = True
    return Position(values, lower, upper, elbow, level)


def settle(
    tableau: Tableau,
    start: Position,
    changes: FloatArray,
    targets: FloatArray,
    sizes: FloatArray,
) -> list[Position | None]:
    """Positions at which A x + r is the target of each; None where no finite residuals do it.

    ``changes`` lead there from the start. The optimality conditions are then checked against the
    matrix itself, and what rounding left is taken away on a path of its own.
    """
    matrix, origin = tableau.matrix, start.point()
    base = origin @ matrix
    positions = [followed(tableau, start, change) for change in changes]
    for _ in range(ROUNDS):
        near = [i for i, position in enumerate(positions) if position is not None]
        reached = [position for position in positions if position is not None]
        errors = targets[near] - base - moved(matrix, origin, reached)
        violations = (np.abs(errors) / sizes).max(axis=1, initial=0.0)
        far = np.flatnonzero(~(violations <= TOLERANCE))
        if len(far) == 0:
            return positions
        for j in far:
            own = Tableau(matrix, reached[j].members())
            positions[near[j]] = follow(own, reached[j], errors[j], refresh=1)
    raise ProgramError(
        f"a kernel program was not solved: after {ROUNDS} rounds the optimality conditions fail by "
        f"{violations.max():.3g} of the scores' spread on {len(far)} of {len(positions)} paths; a "
        "larger l2 or a rougher kernel makes it easier"
    )


def followed(tableau: Tableau, start: Position, change: FloatArray) -> Position | None:
    """Follow a path, afresh at every pivot where updates have lost too many digits."""
    try:
        return follow(tableau, start, change)
    except ProgramError:
        return follow(tableau, start, change, refresh=1)


def moved(matrix: FloatArray, origin: FloatArray, positions: list[Position]) -> FloatArray:
    """A x + r of each position less A x of the origin: only what differs is multiplied."""
    shape = -1, len(origin)
    steps = np.array([position.point() - origin for position in positions]).reshape(shape)
    residuals = np.array([position.residuals() for position in positions]).reshape(shape)
    differs = np.flatnonzero(steps.any(axis=0))
    return steps[:, differs] @ matrix[differs] + residuals


def kernel_bytes(n: int, block: int) -> int:
    """Memory for n rows and ``block`` new points at a time, if the fit meets a quarter of the rows.

    The kernel, its copy with features, and the rows met; then what the path of a point needs.
    """
    return 8 * n * (3 * n + block + 12 * min(block, BLOCK))
