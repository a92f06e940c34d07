"""The path of a kernel quantile regression: which rows are met exactly, and when that changes."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plcp.programs.linear import ProgramError
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
