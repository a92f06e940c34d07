"""What all displays share: where they draw, and how their words and lines look."""

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

LETTERS_A_LINE = 32  # of a group's name, so that long names leave room for the picture
# one colour and mark a method, told apart in grey too; Split is grey wherever it is drawn
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
        if ax is None:
            _, ax = _pyplot(type(self).__name__).subplots(
                figsize=(width, height), layout="constrained"
            )
        self.ax_, self.figure_ = ax, ax.figure
        ax.spines[["top", "right"]].set_visible(False)
        return ax


def _pyplot(display: str) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{display} needs matplotlib: pip install 'plcp[plot]'") from error
    return plt


def styled(defaults: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keywords of a line: those given, by long names or short ones, over the defaults."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {**defaults, **normalize_kwargs(dict(given or {}), Line2D)}


def looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and mark of each method.

    Examples
    --------
    >>> looks(["PLCP", "Split"])
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
    """One named place a row, the first at the top, every other one shaded."""
    wrapped = [wrap(name, LETTERS_A_LINE) for name in names]
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
