"""Names beside points, placed so that none covers another."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

FONT_SIZE = 8
LETTER = 0.55  # width of a letter, in font sizes
GAP = 7.0  # between a point and its name, in points of 1/72 inch


def name_points(ax: Any, names: Sequence[str], x: Any, y: Any) -> list[Any]:
    """Write names beside their points, in the order given; those without room are left out.

    Axes must have their limits already. Where letters are wider than most, names may touch.
    """
    unit = ax.figure.dpi / 72
    frame = ax.get_window_extent()
    taken: list[tuple[float, float, float, float]] = []
    written = []
    for name, place in zip(names, np.column_stack([x, y]), strict=True):
        if not np.isfinite(place).all():
            continue
        across, up = ax.transData.transform(place)
        width, height = LETTER * FONT_SIZE * len(name) * unit, 1.3 * FONT_SIZE * unit
        for right, above in product((True, False), (True, False)):
            left = across + GAP * unit if right else across - GAP * unit - width
            bottom = up if above else up - height
            box = (left, left + width, bottom, bottom + height)
            if box[0] < frame.x0 or box[1] > frame.x1 or any(_meet(box, one) for one in taken):
                continue
            taken.append(box)
            written.append(
                ax.annotate(
                    name,
                    place,
                    (GAP if right else -GAP, 0),
                    textcoords="offset points",
                    ha="left" if right else "right",
                    va="bottom" if above else "top",
                    fontsize=FONT_SIZE,
                    parse_math=False,
                )
            )
            break
    return written


def _meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether two boxes (left, right, bottom, top) overlap."""
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
