"""Coverage of each group: a dot a method, with its intervals, against the target."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any
from xml.etree.ElementTree import Element

from markupsafe import Markup

from plcp.audit.words import asked, between, rate
from plcp.report.charts.axis import add_grid, add_ticks, add_upright
from plcp.report.charts.marks import (
    add,
    add_mark,
    add_shape,
    canvas,
    series_of,
    style,
    to_markup,
)
from plcp.report.charts.scales import Scale, round_scale
from plcp.report.words import count, signed

LANE = 18  # height of one method's dot and interval
ROOM = 0.02  # to both sides of the target, or small differences would look large


def coverage_scale(cells: Iterable[Mapping[str, Any]], target: float) -> Scale:
    """One scale for all charts of a page: the target, every dot and most intervals.

    An interval longer than the stretch of all dots, and than half of the other intervals, may
    reach beyond it and ends in an arrow: in full it would press everything else together.
    """
    cells = [cell for cell in cells if cell["coverage"] is not None]
    ends = [target - ROOM, target + ROOM, *(cell["coverage"] for cell in cells)]
    widths = [cell["high_all"] - cell["low_all"] for cell in cells]
    longest = max([max(ends) - min(ends), *([median(widths)] if widths else [])])
    for cell, width in zip(cells, widths, strict=True):
        if width <= longest:
            ends += [cell["low_all"], cell["high_all"]]
    return round_scale(max(min(ends), 0.0), min(max(ends), 1.0), most_steps=10)


def draw_axis(scale: Scale, target: float | None = None) -> Markup:
    """Ticks of the scale in percent, and the target above them."""
    drawing = canvas(class_="axis", height=22 if target is None else 38, aria_hidden="true")
    add_ticks(drawing, scale, lambda tick: f"{100 * tick:g}")
    if target is not None:
        place = {"class_": "target", "x": scale.across(target), "y": 12}
        add(drawing, "text", f"target {asked(target)}", **place)
    return to_markup(drawing)


def draw_strip(
    name: str, cells: Mapping[str, Any], methods: Sequence[str], scale: Scale, target: float
) -> Markup:
    """One group's row of the chart."""
    drawing = canvas(class_="strip")
    add_grid(drawing, scale)
    add_upright(drawing, scale.across(target), "target")
    middle = add(drawing, "svg", y="50%", overflow="visible")
    for i, (method, series) in enumerate(series_of(methods).items()):
        if cells[method]["coverage"] is not None:
            said = say_cell(name, method, cells[method], target)
            mark = add_mark(middle, said, series)
            add_interval(mark, cells[method], scale, series, LANE * (i - (len(methods) - 1) / 2))
    return to_markup(drawing)


def add_interval(
    mark: Element, cell: Mapping[str, Any], scale: Scale, series: int, y: float
) -> None:
    """Add the dot, the group's own interval (thick) and that of all groups at once (thin)."""
    for kind, low, high in (
        ("all", cell["low_all"], cell["high_all"]),
        ("one", cell["low"], cell["high"]),
    ):
        add(mark, "line", class_=kind, x1=scale.across(low), x2=scale.across(high), y1=y, y2=y)
    if not scale.holds(cell["low_all"]):
        add_arrow(mark, "0%", y, "M0-4L-7 0L0 4z")
    if not scale.holds(cell["high_all"]):
        add_arrow(mark, "100%", y, "M0-4L7 0L0 4z")
    add_shape(mark, series, scale.across(cell["coverage"]), y)


def add_arrow(mark: Element, x: str, y: float, path: str) -> None:
    """Add the sign that an interval reaches beyond the scale."""
    add(add(mark, "svg", x=x, y=y, overflow="visible"), "path", class_="arrow", d=path)


def say_cell(name: str, method: str, cell: Mapping[str, Any], target: float) -> list[str]:
    """What a dot shows, in lines: a name from right to left then keeps to its own."""
    return [
        name,
        f"{method}: coverage {rate(cell['coverage'])}, {signed(cell['verdict'])}",
        f"{between(cell['low'], cell['high'], target)}, all groups at once "
        f"{between(cell['low_all'], cell['high_all'], target)}",
        f"{count(cell['hits'])} of {count(cell['n'])} rows covered",
    ]


def draw_key(series: int) -> Markup:
    """The shape of a series beside its name."""
    drawing = canvas(class_=f"key {style(series)}", width=14, height=14, aria_hidden="true")
    add_shape(drawing, series, "50%", 7)
    return to_markup(drawing)
