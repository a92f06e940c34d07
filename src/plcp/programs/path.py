"""How a vertex moves as new points gain weight: many points at once, no program solved anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plcp.programs.vertex import MAX_PIVOTS, REFRESH, ProgramError, Vertex, interpolated
from plcp.quantiles import FloatArray, IntArray

BLOCK_ENTRIES = 2**19  # residuals of a block of points: 4 MiB, to stay near the cache
ZERO = 1e-9  # a pivot this small is rounding
REACHED = 1e-9  # a dual this near its target has met it


def rows_at_once(vertex: Vertex) -> int:
    """Return how many new rows to follow in step."""
    return max(1, BLOCK_ENTRIES // len(vertex.residuals))


def thresholds_along(vertex: Vertex, features: FloatArray, targets: FloatArray) -> FloatArray:
    r"""Threshold of each new row at which its own dual would reach its target.

    With a new row (z, S) in the program, its dual η(S) rises with S from τ - 1 to τ. Held at u,

    .. math:: \max_\eta\; s^\top\eta \;\text{ such that }\; Z^\top\eta = -u z,

    whose solution β(u) predicts q(u) = z'β(u), the score at which the dual passes u: a step
    function that rises with u. It is followed from u = 0, where all rows share the vertex of the
    program without them, to the target by pivots of the dual simplex method, all rows of a block
    in step. Returned is the limit from the side of zero: the supremum of {S : η(S) < u} for u > 0.
    Infinite where no finite S gives its row that dual, and outside the span of the program.
    Memory is that of some arrays of (new rows, rows of the program): ask for
    ``rows_at_once`` at a time.
    """
    thresholds = np.sign(targets) * np.inf
    inside = np.flatnonzero(vertex.program.span.contains(features))
    coordinates = vertex.program.span.coordinates(features[inside])
    thresholds[inside] = _follow(vertex, coordinates, targets[inside])
    return thresholds


@dataclass
class _Front:
    """The vertices that the rows of a block have reached, one a row."""

    rows: IntArray  # of the block, still under way
    z: FloatArray  # (a, d)
    sides: FloatArray  # (a,) 1 where the dual rises to its target, -1 where it falls
    left: FloatArray  # (a,) how far the dual still has to go
    basis: IntArray  # (a, d)
    inverse: FloatArray  # (a, d, d)
    duals: FloatArray  # (a, d) of the basis
    residuals: FloatArray  # (a, n), infinite in the basis: those rows never enter it

    def take(self, keep: NDArray[np.bool_]) -> _Front:
        """Return the front of some rows."""
        return _Front(**{name: values[keep] for name, values in vars(self).items()})


def _follow(vertex: Vertex, z: FloatArray, targets: FloatArray) -> FloatArray:
    program, thresholds = vertex.program, np.empty(len(z))
    front = _start(vertex, z, targets)
    for pivots in range(1, MAX_PIVOTS):
        weights = np.einsum("ad,adb->ab", front.z, front.inverse)
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
        endless = _exchange(vertex, front, leaving, rising)
        if endless.any():
            thresholds[front.rows[endless]] = front.sides[endless] * np.inf
            front = front.take(~endless)
        if pivots % REFRESH == 0:
            _refresh(vertex, front, targets)
    raise ProgramError(f"the path of {len(front.rows)} rows did not end: {MAX_PIVOTS} pivots made")


def _start(vertex: Vertex, z: FloatArray, targets: FloatArray) -> _Front:
    """Front at a dual of zero: the same vertex for every row."""
    a = len(z)
    residuals = vertex.residuals.copy()
    residuals[vertex.basis] = np.inf
    return _Front(
        rows=np.arange(a),
        z=z,
        sides=np.where(targets >= 0, 1.0, -1.0),
        left=np.abs(targets),
        basis=np.tile(vertex.basis, (a, 1)),
        inverse=np.tile(vertex.inverse, (a, 1, 1)),
        duals=np.tile(vertex.duals[vertex.basis], (a, 1)),
        residuals=np.tile(residuals, (a, 1)),
    )


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
    vertex: Vertex, front: _Front, leaving: IntArray, rising: FloatArray
) -> NDArray[np.bool_]:
    """Let one row out of each basis, and in the first whose residual vanishes; True: there is none.

    The row that leaves at its upper bound gets a positive residual, at its lower a negative one.
    """
    program, each = vertex.program, np.arange(len(leaving))
    columns = front.inverse[each, :, leaving]
    change = (columns * rising[:, None]) @ program.features.T
    entering, distance = _first_to_vanish(front.residuals, change)
    from_above = front.residuals[each, entering] > 0
    change *= distance[:, None]
    front.residuals += change
    front.residuals[each, front.basis[each, leaving]] = rising * distance
    front.residuals[each, entering] = np.inf
    front.basis[each, leaving] = entering
    front.duals[each, leaving] = np.where(
        from_above, program.upper[entering], program.lower[entering]
    )
    weights = np.einsum("ad,adb->ab", program.features[entering], front.inverse)
    pivots = weights[each, leaving].copy()
    weights[each, leaving] -= 1.0
    with np.errstate(divide="ignore", invalid="ignore"):  # of rows whose path has no end
        front.inverse -= columns[:, :, None] * (weights / pivots[:, None])[:, None, :]
    return np.asarray(distance == 0)


def _first_to_vanish(residuals: FloatArray, change: FloatArray) -> tuple[IntArray, FloatArray]:
    """Row whose residual is the first to vanish as it changes, and when; 0 if none ever does."""
    each = np.arange(len(change))
    speed = change / residuals  # a residual that never vanishes is not below zero here
    while True:
        first = np.argmin(speed, axis=1)
        fastest = speed[each, first]
        rounding = (fastest < 0) & (np.abs(change[each, first]) <= ZERO)
        if not rounding.any():
            break
        speed[each[rounding], first[rounding]] = 0.0
    return first, np.divide(-1.0, fastest, out=np.zeros_like(fastest), where=fastest < 0)


def _refresh(vertex: Vertex, front: _Front, targets: FloatArray) -> None:
    """Sweep away the rounding errors of many updates."""
    program, each = vertex.program, np.arange(len(front.rows))[:, None]
    front.inverse = np.linalg.inv(program.features[front.basis])
    coordinates = np.einsum("adb,ab->ad", front.inverse, program.ranked[front.basis])
    front.residuals = program.ranked - coordinates @ program.features.T
    duals = np.where(front.residuals > 0, program.upper, program.lower)
    duals[each, front.basis] = 0.0
    reached = targets[front.rows] - front.sides * front.left
    pull = duals @ program.features + program.pull + reached[:, None] * front.z
    front.duals = -np.einsum("ad,adb->ab", pull, front.inverse)
    front.residuals[each, front.basis] = np.inf
