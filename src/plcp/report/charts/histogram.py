"""How many sets of each size a method gives."""

from collections.abc import Sequence
from math import ceil, floor
from typing import Any
from xml.etree.ElementTree import Element

from markupsafe import Markup

from plcp.audit.grouped import LABELS
from plcp.audit.words import number
from plcp.report.charts.marks import add, add_mark, canvas, to_markup
from plcp.report.charts.scales import percent
from plcp.report.words import count

HEIGHT, FOOT = 110, 22
LONGEST = 7  # letters of a label, five of which fit across a phone
MOST_MIDDLES = 8  # labels of bars that do


def draw_histogram(
    method: str, series: int, edges: Sequence[Any], counts: Sequence[int], size_name: str
) -> Markup:
    """Bars of equal width, whatever the edges: the height is the number of rows in a bin."""
    drawing = canvas(class_="histogram", height=HEIGHT + FOOT)
    whole = size_name == LABELS
    for i, n in enumerate(counts):
        spoken = _whole_bin(edges, i) if whole else _bin(edges, i)
        mark = add_mark(drawing, [f"{method}: {count(n)} rows", f"{size_name} {spoken}"], series)
        column = {"x": percent(i / len(counts)), "width": percent(1 / len(counts))}
        height = round((HEIGHT - 4) * n / max(max(counts), 1), 2)
        # the whole height can be pointed at, else a bar of few rows could not
        add(mark, "rect", class_="reach", y=0, height=HEIGHT, **column)
        add(mark, "rect", class_="bar", y=round(HEIGHT - height, 2), height=height, **column)
    add(drawing, "line", class_="zero", x1=0, x2="100%", y1=HEIGHT, y2=HEIGHT)
    (_add_middles if whole else _add_edges)(drawing, edges)
    return to_markup(drawing)


def _bin(edges: Sequence[Any], i: int) -> str:
    return f"from {number(edges[i])} to {number(edges[i + 1])}"


def _whole_bin(edges: Sequence[Any], i: int) -> str:
    """The whole numbers between two edges, which stand half way between such numbers."""
    first, last = ceil(edges[i]), floor(edges[i + 1])
    return number(first) if first == last else f"{number(first)}–{number(last)}"


def _add_edges(drawing: Element, edges: Sequence[Any]) -> None:
    """Some of the edges, the first and the last with their letters inside the chart."""
    last, labels = len(edges) - 1, [number(edge) for edge in edges]
    steps = 4 if max(map(len, labels)) <= LONGEST else 2
    apart = ceil(last / steps)
    for i in [*range(0, last - apart // 2, apart), last]:
        anchor = "start" if i == 0 else "end" if i == last else "middle"
        _add_label(drawing, labels[i], i / last, anchor)


def _add_middles(drawing: Element, edges: Sequence[Any]) -> None:
    """Whole numbers under their bars, as many as have room."""
    n = len(edges) - 1
    for i in range(0, n, ceil(n / MOST_MIDDLES)):
        _add_label(drawing, _whole_bin(edges, i), (i + 0.5) / n, "middle")


def _add_label(drawing: Element, text: str, place: float, anchor: str) -> None:
    add(drawing, "text", text, x=percent(place), y=HEIGHT + 16, text_anchor=anchor)
