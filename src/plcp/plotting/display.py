"""The base of all displays: axes, colours, legends and names."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

LETTERS_PER_LINE = 32  # of a group's name, so that long names leave room for the picture
# one colour and mark per method, distinct in grey too; Split is grey wherever it is drawn
SPLIT = ("#7f7f7f", "o")
OTHERS = (
    ("#1f6fb4", "^"),
    ("#e08214", "D"),
    ("#4d9a52", "s"),
    ("#9970ab", "v"),
    ("#8c510a", "P"),
    ("#c51b7d", "X"),
    ("#35978f", "p"),
)
TARGET = {"color": "black", "linewidth": 1.0, "linestyle": "--", "zorder": 1.5}


class Display:
    """Numbers that can be drawn, once or again.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was last drawn.
    """

    ax_: Any
    figure_: Any

    def _open(self, ax: Any, width: float = 6.4, height: float = 4.0) -> Any:
        """Take the axes given, or make some in a new figure of this size."""
        return self._open_all(ax, 1, width, height)[0]

    def _open_all(self, axes: Any, n: int, width: float, height: float) -> list[Any]:
        """Take the axes given, side by side, or make so many in a new figure of this size."""
        if axes is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                name = type(self).__name__
                raise ImportError(f"{name} needs matplotlib: pip install 'plcp[plot]'") from error
            _, axes = plt.subplots(1, n, figsize=(width, height), layout="constrained")
        opened = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(opened) != n:
            raise ValueError(f"{n} axes are needed, got {len(opened)}: give plt.subplots(1, {n})")
        for ax in opened:
            ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = opened[0], opened[0].figure
        return opened


def styled(defaults: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keywords of a line: those given, by long names or short ones, over the defaults."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {**defaults, **normalize_kwargs(dict(given or {}), Line2D)}


def method_styles(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and mark of each method.

    Examples
    --------
    >>> method_styles(["PLCP", "Split"])
    {'PLCP': ('#1f6fb4', '^'), 'Split': ('#7f7f7f', 'o')}
    """
    names = list(names)
    others = [name for name in names if name != "Split"]
    found = {name: OTHERS[i % len(OTHERS)] for i, name in enumerate(others)}
    return {name: found.get(name, SPLIT) for name in names}


def label_axes(ax: Any, x: str, y: str) -> None:
    """Name both axes; a dollar in a name is a dollar, not mathematics."""
    ax.set_xlabel(x, parse_math=False)
    ax.set_ylabel(y, parse_math=False)


def draw_target(axis_line: Any, target: float, given: Mapping[str, Any] | None) -> Any:
    """Line at the target coverage, by ``ax.axvline`` or ``ax.axhline``."""
    return axis_line(target, **styled({**TARGET, "label": f"target {target:g}"}, given))


def draw_legend(ax: Any, ncols: int = 3) -> Any:
    """Legend above the picture, where it hides nothing."""
    legend = ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=ncols, frameon=False, fontsize=9
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def wrap(name: str, letters: int) -> str:
    """Name in lines of so many letters."""
    return "\n".join(textwrap.wrap(name, letters))


def name_rows(ax: Any, names: Iterable[str]) -> None:
    """One named place per row, the first at the top, every other one shaded."""
    wrapped = [wrap(name, LETTERS_PER_LINE) for name in names]
    ax.set_yticks(range(len(wrapped)), wrapped, parse_math=False)
    ax.set_ylim(len(wrapped) - 0.5, -0.5)
    for place in range(1, len(wrapped), 2):
        ax.axhspan(place - 0.5, place + 0.5, color="black", alpha=0.045, linewidth=0, zorder=0)
    ax.grid(axis="x", linewidth=0.5, alpha=0.6)
    ax.tick_params(axis="y", length=0)


def write_note(ax: Any, text: str) -> None:
    """Small words in the lower right corner, about what the picture cannot show."""
    ax.text(
        0.99, 0.01, text, transform=ax.transAxes, ha="right", va="bottom", fontsize=8, color="0.35"
    )


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
    dx, dy = 1.5 * GAP * unit, GAP * unit
    points = [Box(x - dx, x + dx, y - dy, y + dy) for x, y in centres]
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
                text = ax.annotate(
                    names[number],
                    places[number],
                    (GAP if right else -GAP, 0),
                    textcoords="offset points",
                    ha="left" if right else "right",
                    va="bottom" if above else "top",
                    fontsize=FONT_SIZE,
                    parse_math=False,
                )
                written.append(text)
                break
    return written


def _beside(centre: Any, name: str, right: bool, above: bool, unit: float) -> Box:
    """Where a name would stand."""
    width, height = LETTER * FONT_SIZE * len(name) * unit, 1.3 * FONT_SIZE * unit
    left = centre[0] + GAP * unit if right else centre[0] - GAP * unit - width
    bottom = centre[1] if above else centre[1] - height
    return Box(left, left + width, bottom, bottom + height)
