"""The space that feature columns span, in orthogonal coordinates."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plcp.quantiles import FloatArray, IntArray

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
