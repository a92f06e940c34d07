"""The path of a kernel quantile regression: which rows are met exactly, and when that changes."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plcp.exceptions import ProgramError
from plcp.quantile_programs.vertex import Span, Vertex, fit_vertex
from plcp.quantiles import FloatArray, IntArray

ARRIVED = 1e-10  # of the way: an event this near the end is beyond it
DEPENDENT = 1e-6  # of what is usual: features alone, and no kernel, hold a row in the elbow
REFRESH = 60  # pivots after which the columns are worked out afresh
MAX_PIVOTS = 200_000


@dataclass
class Position:
    """A point of the path: one value each of d coefficients and n rows.

    A row of the elbow is met exactly, and its value is its dual, between ``lower`` and ``upper``;
    any other row has its dual at a bound, and its value is its residual, of one sign. All duals
    lie in [level - 1, level].
    """

    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    elbow: NDArray[np.bool_]  # coefficients are members always
    level: float

    def members(self) -> IntArray:
        """Coefficients and rows of the elbow."""
        return np.flatnonzero(self.elbow)

    def copy(self) -> "Position":
        """Return a position to move from without moving this one."""
        values, lower, upper = self.values.copy(), self.lower.copy(), self.upper.copy()
        return Position(values, lower, upper, self.elbow.copy(), self.level)

    def point(self) -> FloatArray:
        """Coefficients and duals."""
        at_bound = np.where(self.lower == 0, self.level, self.level - 1)
        return np.where(self.elbow, self.values, at_bound)

    def residuals(self) -> FloatArray:
        """Residuals; zero in the elbow, and for coefficients."""
        return np.where(self.elbow, 0.0, self.values)

    def first_event(self, direction: FloatArray) -> tuple[float, int]:
        """Distance to the first value that meets its bound, and whose it is."""
        bound = np.where(direction > 0, self.upper, self.lower)
        moving = direction != 0
        distances = np.full(len(direction), np.inf)
        np.divide(bound - self.values, direction, out=distances, where=moving)
        row = int(np.argmin(distances))
        return max(float(distances[row]), 0.0), row

    def advance(self, step: FloatArray) -> None:
        """Move all values; none beyond its bound, whatever rounding does."""
        np.clip(self.values + step, self.lower, self.upper, out=self.values)

    def leave(self, row: int, side: int, residual: float) -> None:
        """Take a row out of the elbow, its dual at the upper bound (side 1) or the lower (-1)."""
        self.elbow[row] = False
        self.values[row] = side * residual
        self.lower[row], self.upper[row] = (0.0, np.inf) if side > 0 else (-np.inf, 0.0)

    def enter(self, row: int) -> None:
        """Take a row into the elbow, its dual at the bound where it was."""
        self.values[row] = self.level if self.lower[row] == 0 else self.level - 1
        self.lower[row], self.upper[row] = self.level - 1, self.level
        self.elbow[row] = True


@dataclass
class Tableau:
    """Directions of all values, given the rows of one elbow.

    With the symmetric matrix A = [[0, Zᵀ], [Z, K]], point x (coefficients, duals) and residuals r,
    A x + r = a. ``direction(a)`` gives the change of all values for a change of the right side,
    if the residuals of the elbow and the duals of the others stay.
    """

    matrix: FloatArray
    members: IntArray
    rows: FloatArray = field(init=False)
    inner: FloatArray = field(init=False)
    inverse: FloatArray = field(init=False)
    columns: dict[int, FloatArray] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = self.matrix[self.members]
        self.inner = np.ascontiguousarray(self.rows[:, self.members])
        try:
            self.inverse = np.linalg.inv(self.inner)
        except np.linalg.LinAlgError as error:
            raise ProgramError(
                f"{len(self.members)} rows and coefficients of a kernel program are dependent"
            ) from error

    def direction(self, right: FloatArray) -> FloatArray:
        """Change of all values for right sides of shape (..., d + n)."""
        own = right[..., self.members]
        moved = own @ self.inverse
        moved += (own - moved @ self.inner) @ self.inverse  # what rounding left
        change = right - moved @ self.rows
        change[..., self.members] = moved
        return change

    def column(self, row: int) -> FloatArray:
        """Minus the change of all values for a unit of what a row holds still."""
        if row not in self.columns:
            unit = np.zeros(len(self.matrix))
            unit[row] = 1.0
            is_member = bool((self.members == row).any())
            self.columns[row] = self.direction(unit if is_member else self.matrix[row])
        return self.columns[row]


@dataclass
class Pivots:
    """Rows that have left or entered the elbow since its tableau was made, in order."""

    tableau: Tableau
    rows: list[int] = field(default_factory=list)
    columns: list[FloatArray] = field(default_factory=list)

    def column(self, row: int) -> FloatArray:
        """Column of a row in the tableau of the elbow as it is now."""
        if row not in self.rows:
            return self.after(self.tableau.column(row).copy(), 0)
        last = len(self.rows) - 1 - self.rows[::-1].index(row)
        column = np.zeros(len(self.columns[0]))
        column[row] = 1.0
        return self.after(column, last)

    def after(self, column: FloatArray, start: int) -> FloatArray:
        """Column after the pivots from ``start`` on, in place."""
        for row, pivot in zip(self.rows[start:], self.columns[start:], strict=True):
            share = column[row] / pivot[row]
            column -= share * pivot
            column[row] = share
        return column

    def turn(self, row: int, column: FloatArray, direction: FloatArray) -> FloatArray:
        """Direction after one more row, whose column this is, has left or entered."""
        self.rows.append(row)
        self.columns.append(column)
        return self.after(direction, len(self.rows) - 1)


def follow(
    tableau: Tableau, start: Position, right: FloatArray, refresh: int = REFRESH
) -> Position | None:
    """Where a change of the right side of A x + r = a leads; None if infinitely far.

    Values move on a line until one meets its bound; its row then leaves or enters the elbow. The
    tableau is that of the start; one of its own is made after every ``refresh`` pivots.
    """
    position, left = start.copy(), 1.0
    pivots, direction = Pivots(tableau), tableau.direction(right)
    for _ in range(MAX_PIVOTS):
        if len(pivots.rows) >= refresh:
            pivots = Pivots(Tableau(tableau.matrix, position.members()))
            direction = pivots.tableau.direction(right)
        step, row = position.first_event(direction)
        if step >= left - ARRIVED:
            position.advance(left * direction)
            return position
        position.advance(step * direction)
        left -= step
        turned = exchange(position, pivots, row, direction)
        if turned is None:
            return None
        direction = turned
    raise ProgramError(
        f"the path of the kernel program did not end: {MAX_PIVOTS} pivots made, {left:.3g} of the "
        f"way left, {np.count_nonzero(position.elbow)} rows and coefficients met"
    )


def exchange(
    position: Position, pivots: Pivots, row: int, direction: FloatArray
) -> FloatArray | None:
    """Let a row that met its bound leave or enter; the new direction, None if there is none."""
    column, side = pivots.column(row), 1 if direction[row] > 0 else -1
    if not position.elbow[row]:
        if column[row] <= 0:
            raise ProgramError(
                "the kernel is not positive semidefinite: given the rows that are met exactly, "
                f"another has the variance {column[row]:.3g}"
            )
        position.enter(row)
        return pivots.turn(row, column, direction)
    residual, held = 0.0, position.elbow & np.isfinite(position.upper)
    no_more = 2 * np.count_nonzero(held) <= np.count_nonzero(position.elbow)
    if no_more or column[row] * max(pivots.tableau.matrix[row, row], 1.0) <= DEPENDENT:
        # Without this row the features are dependent: coefficients are free until another is met.
        held |= np.abs(column) <= DEPENDENT * np.abs(column).max()
        free = np.where(held, 0.0, -side * column)
        residual, other = position.first_event(free)
        if np.isinf(residual):
            return None
        position.advance(residual * free)
        position.enter(other)
        direction = pivots.turn(other, pivots.column(other), direction)
        column = pivots.column(row)
    position.leave(row, side, residual)
    return pivots.turn(row, column, direction)


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
    thresholds = np.where(u < 0, -np.inf, np.inf)
    for first in range(0, len(u), BLOCK):
        block = slice(first, first + BLOCK)
        coordinates = solution.span.coordinates(phi[block])
        rows = np.concatenate([coordinates, k_test[block] / solution.unit], axis=1)
        offsets = coordinates @ solution.offset + solution.margin
        own = u[block] * (kappa[block] / solution.unit + NUGGET)
        inside = np.flatnonzero(solution.span.contains(phi[block]))
        changes = -u[block][inside, None] * rows[inside]
        targets = solution.target + changes
        found = settle(solution.tableau, solution.position, changes, targets, solution.sizes)
        for new, position in zip(inside, found, strict=True):
            if position is not None:
                fit = rows[new] @ position.point() + own[new]
                thresholds[first + new] = solution.scale * fit + offsets[new]
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
