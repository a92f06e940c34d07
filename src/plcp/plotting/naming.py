"""Names beside points, placed so that none covers another or stands beside a stranger."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

FONT_SIZE = 8
LETTER = 0.55  # width of a letter, in font sizes
GAP = 7.0  # between a point and its name, in points of 1/72 inch; strangers are kept farther off


class Box(NamedTuple):
    """A rectangle on the canvas."""

    left: float
    right: float
    bottom: float
    top: float

    def meets(self, other: "Box") -> bool:
        """Whether two of them overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.bottom < other.top and other.bottom < self.top


def name_points(ax: Any, names: Sequence[str], x: Any, y: Any) -> list[Any]:
    """Write names beside their points, in the order given; those without room are left out.

    All points must be drawn already. Where letters are wider than most, names may touch.
    """
    ax.autoscale_view()  # or else limits are those of before the points
    unit, frame = ax.figure.dpi / 72, ax.get_window_extent()
    places = np.column_stack([x, y])
    there = np.isfinite(places).all(axis=1)
    centres = ax.transData.transform(places[there])
    points = [_around(centre, 1.5 * GAP * unit, GAP * unit) for centre in centres]
    taken: list[Box] = []
    written = []
    for own, number in enumerate(np.flatnonzero(there).tolist()):
        others = [*taken, *points[:own], *points[own + 1 :]]
        # to the right unless at the edge: axes may shrink later, and names must not change sides
        right = _beside(centres[own], names[number], True, True, unit).right <= frame.x1
        for above in (True, False):
            box = _beside(centres[own], names[number], right, above, unit)
            if box.left >= frame.x0 and not any(box.meets(other) for other in others):
                taken.append(box)
                written.append(_write(ax, names[number], places[number], right, above))
                break
    return written


def _around(centre: Any, across: float, up: float) -> Box:
    return Box(centre[0] - across, centre[0] + across, centre[1] - up, centre[1] + up)


def _beside(centre: Any, name: str, right: bool, above: bool, unit: float) -> Box:
    """Where a name would stand."""
    width, height = LETTER * FONT_SIZE * len(name) * unit, 1.3 * FONT_SIZE * unit
    left = centre[0] + GAP * unit if right else centre[0] - GAP * unit - width
    bottom = centre[1] if above else centre[1] - height
    return Box(left, left + width, bottom, bottom + height)


def _write(ax: Any, name: str, place: Any, right: bool, above: bool) -> Any:
    return ax.annotate(
        name,
        place,
        (GAP if right else -GAP, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="bottom" if above else "top",
        fontsize=FONT_SIZE,
        parse_math=False,
    )
