"""How a vertex moves as new points gain weight: many points at once, no program solved again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plcp.exceptions import ProgramError
from plcp.quantile_programs.vertex import MAX_PIVOTS, REFRESH, Vertex, interpolated
from plcp.quantiles import FloatArray, IntArray

BLOCK_ENTRIES = 2**21  # residuals of a block of points, if all rows must be watched: 16 MiB
INVERSE_ENTRIES = 2**20  # inverses of a block of points
FEWEST_ROWS = 256  # watched from the start
ZERO = 1e-9  # a pivot this small is rounding
REACHED = 1e-9  # a dual this near its target has met it


@dataclass(frozen=True)
class Track:
    """A vertex whose rows are ordered by how far the solution may move before they matter.

    Row i keeps its side while β has moved by less than ``reach[i]`` = |r_i| / ‖z_i‖, by the
    inequality of Cauchy and Schwarz: only the rows within reach need be watched.
    """

    vertex: Vertex
    reach: FloatArray

    @property
    def rows_at_once(self) -> int:
        """Number of new rows to follow in step."""
        n, d = self.vertex.program.features.shape
        return max(1, min(BLOCK_ENTRIES // n, INVERSE_ENTRIES // d**2))

    def thresholds(self, targets: FloatArray, features: FloatArray) -> FloatArray:
        """Thresholds of new rows at which their duals reach their targets."""
        return thresholds_along(self, features, targets)


def track_of(vertex: Vertex) -> Track:
    """Track from a vertex."""
    program = vertex.program
    lengths = np.linalg.norm(program.features, axis=1)
    reach = np.full(len(lengths), np.inf)
    np.divide(np.abs(vertex.residuals), lengths, out=reach, where=lengths > 0)
    reach[vertex.basis] = 0.0
    order = np.argsort(reach, kind="stable")
    rows = {
        name: getattr(program, name)[order]
        for name in ("features", "scores", "ranked", "lower", "upper")
    }
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    ordered = Vertex(
        replace(program, **rows),
        place[vertex.basis],
        vertex.inverse,
        vertex.residuals[order],
        vertex.duals[order],
    )
    return Track(ordered, reach[order])


def thresholds_along(track: Track, features: FloatArray, targets: FloatArray) -> FloatArray:
    r"""Threshold of each new row at which its own dual would reach its target.

    With a new row (z, S) in the program, its dual η(S) rises with S from τ - 1 to τ. Held at u,

    .. math:: \max_\eta\; s^\top\eta \;\text{ such that }\; Z^\top\eta = -u z,

    whose solution β(u) predicts q(u) = z'β(u), the score at which the dual passes u: a step
    function that rises with u. It is followed from u = 0, where all rows share the vertex of the
    program without them, to the target by pivots of the dual simplex method, all rows of a block
    in step. Returned is the limit from the side of zero: the supremum of {S : η(S) < u} for u > 0.
    Infinite where no finite S gives its row that dual, and outside the span of the program.
    Memory is that of some arrays of (new rows, rows of the program): give ``rows_at_once`` at a
    time.
    """
    thresholds = np.sign(targets) * np.inf
    span = track.vertex.program.span
    inside = np.flatnonzero(span.contains(features))
    coordinates = span.coordinates(features[inside])
    thresholds[inside] = _follow(track, coordinates, targets[inside])
    return thresholds


@dataclass
class _Front:
    """The vertices that the rows of a block have reached, one per row."""

    rows: IntArray  # of the block, still under way
    z: FloatArray  # (a, d)
    sides: FloatArray  # (a,) 1 where the dual rises to its target, -1 where it falls
    left: FloatArray  # (a,) how far the dual still has to go
    basis: IntArray  # (a, d)
    inverse: FloatArray  # (a, d, d)
    duals: FloatArray  # (a, d) of the basis
    moved: FloatArray  # (a, d) way that β has come
    residuals: FloatArray  # (a, watched), infinite in the basis: those rows never enter it

    def take(self, keep: NDArray[np.bool_]) -> _Front:
        """Return the front of some rows."""
        return _Front(**{name: values[keep] for name, values in vars(self).items()})


def _follow(track: Track, z: FloatArray, targets: FloatArray) -> FloatArray:
    program, thresholds = track.vertex.program, np.empty(len(z))
    front = _start(track.vertex, z, targets)
    for pivots in range(1, MAX_PIVOTS):
        weights = _times(front.z, front.inverse)
        leaving, step, rising = _first_at_bound(front, weights, program.lower, program.upper)
        arrived = step >= front.left - REACHED
        scores = program.scores[front.basis[arrived]]
        thresholds[front.rows[arrived]] = interpolated(weights[arrived], scores)
        if arrived.any():
            front, weights = front.take(~arrived), weights[~arrived]
            leaving, step, rising = leaving[~arrived], step[~arrived], rising[~arrived]
        if len(front.rows) == 0:
            return thresholds
        front.duals -= (step * front.sides)[:, None] * weights
        front.left -= step
        endless = _exchange(track, front, leaving, rising)
        if endless.any():
            thresholds[front.rows[endless]] = front.sides[endless] * np.inf
            front = front.take(~endless)
        if pivots % REFRESH == 0:
            _refresh(track.vertex, front, targets)
    raise ProgramError(f"the path of {len(front.rows)} rows did not end: {MAX_PIVOTS} pivots made")


def _start(vertex: Vertex, z: FloatArray, targets: FloatArray) -> _Front:
    """Front at a dual of zero: the same vertex for every row."""
    a, d = z.shape
    residuals = vertex.residuals[: max(FEWEST_ROWS, 2 * d)].copy()
    residuals[vertex.basis] = np.inf
    return _Front(
        rows=np.arange(a),
        z=z,
        sides=np.where(targets >= 0, 1.0, -1.0),
        left=np.abs(targets),
        basis=np.tile(vertex.basis, (a, 1)),
        inverse=np.tile(vertex.inverse, (a, 1, 1)),
        duals=np.tile(vertex.duals[vertex.basis], (a, 1)),
        moved=np.zeros((a, d)),
        residuals=np.tile(residuals, (a, 1)),
    )


def _times(rows: FloatArray, matrices: FloatArray) -> FloatArray:
    """Product of each row and its matrix."""
    return np.matmul(rows[:, None, :], matrices)[:, 0]


def _first_at_bound(
    front: _Front, weights: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Place in each basis whose dual first meets a bound, how far away, and 1 if the upper one."""
    rates = -front.sides[:, None] * weights
    room = np.where(rates > 0, upper[front.basis] - front.duals, lower[front.basis] - front.duals)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(np.abs(rates) > ZERO, np.maximum(room / rates, 0.0), np.inf)
    leaving = np.argmin(steps, axis=1)
    each = np.arange(len(leaving))
    return leaving, steps[each, leaving], np.sign(rates[each, leaving])


def _exchange(
    track: Track, front: _Front, leaving: IntArray, rising: FloatArray
) -> NDArray[np.bool_]:
    """Let one row out of each basis, and in the first whose residual vanishes; True: there is none.

    The row that leaves at its upper bound gets a positive residual, at its lower a negative one.
    """
    program, each = track.vertex.program, np.arange(len(leaving))
    columns = front.inverse[each, :, leaving]
    entering, distance, change = _first_in_reach(track, front, columns * rising[:, None])
    from_above = front.residuals[each, entering] > 0
    change *= distance[:, None]
    front.residuals += change
    front.residuals[each, front.basis[each, leaving]] = rising * distance
    front.residuals[each, entering] = np.inf
    front.moved -= columns * (rising * distance)[:, None]
    front.basis[each, leaving] = entering
    front.duals[each, leaving] = np.where(
        from_above, program.upper[entering], program.lower[entering]
    )
    weights = _times(program.features[entering], front.inverse)
    pivots = weights[each, leaving].copy()
    weights[each, leaving] -= 1.0
    with np.errstate(divide="ignore", invalid="ignore"):  # of rows whose path has no end
        front.inverse -= columns[:, :, None] * (weights / pivots[:, None])[:, None, :]
    return np.asarray(distance == 0)


def _first_in_reach(
    track: Track, front: _Front, direction: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """First row to vanish of all, found among as few as are within reach; and how all change."""
    program, n = track.vertex.program, len(track.vertex.program.features)
    while True:
        watched = front.residuals.shape[1]
        change = direction @ program.features[:watched].T
        entering, distance = _first_to_vanish(front.residuals, change)
        if watched >= n:
            return entering, distance, change
        end = np.linalg.norm(front.moved - direction * distance[:, None], axis=1)
        if ((distance > 0) & (end < track.reach[watched])).all():
            return entering, distance, change
        more = slice(watched, min(max(2 * watched, 1), n))
        fresh = front.moved @ program.features[more].T
        # into as many columns, or residuals of a file that are too few would never end
        np.subtract(track.vertex.residuals[more], fresh, out=fresh)
        front.residuals = np.hstack([front.residuals, fresh])


def _first_to_vanish(residuals: FloatArray, change: FloatArray) -> tuple[IntArray, FloatArray]:
    """Row whose residual is the first to vanish as it changes, and when; 0 if none ever does."""
    each = np.arange(len(change))
    speed = change / residuals  # a residual that never vanishes is not below zero here
    first = np.argmin(speed, axis=1)
    doubtful = np.flatnonzero(np.abs(change[each, first]) <= ZERO)
    if len(doubtful):
        speed[doubtful] = np.where(np.abs(change[doubtful]) <= ZERO, 0.0, speed[doubtful])
        first[doubtful] = np.argmin(speed[doubtful], axis=1)
    fastest = speed[each, first]
    return first, np.divide(-1.0, fastest, out=np.zeros_like(fastest), where=fastest < 0)


def _refresh(vertex: Vertex, front: _Front, targets: FloatArray) -> None:
    """Sweep away the rounding errors of many updates."""
    program, each = vertex.program, np.arange(len(front.rows))[:, None]
    watched = front.residuals.shape[1]
    front.inverse = np.linalg.inv(program.features[front.basis])
    coordinates = np.einsum("adb,ab->ad", front.inverse, program.ranked[front.basis])
    start = vertex.inverse @ program.ranked[vertex.basis]
    front.moved = coordinates - start
    near = program.features[:watched]
    front.residuals = program.ranked[:watched] - coordinates @ near.T
    duals = np.where(front.residuals > 0, program.upper[:watched], program.lower[:watched])
    duals[each, front.basis] = 0.0
    reached = targets[front.rows] - front.sides * front.left
    beyond = vertex.duals[watched:] @ program.features[watched:] + program.pull
    pull = duals @ near + beyond + reached[:, None] * front.z
    front.duals = -_times(pull, front.inverse)
    front.residuals[each, front.basis] = np.inf
