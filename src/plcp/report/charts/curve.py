"""The loss against the number of groups, and which number was chosen."""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any
from xml.etree.ElementTree import Element

from markupsafe import Markup

from plcp.audit.words import number
from plcp.report.charts.marks import add, add_mark, add_shape, canvas, to_markup
from plcp.report.charts.scales import Scale, percent, round_scale

HEIGHT, TOP, FOOT = 200, 12, 26
NEAREST = 0.07  # of the width: labels nearer than this would touch on a phone


def draw_curve(points: Sequence[Mapping[str, Any]], chosen: int) -> Markup:
    """Numbers of groups are tried by doubling, so they are laid out by their logarithms."""
    points = sorted(points, key=lambda point: point["n_groups"])
    losses = [point["loss"] for point in points]
    down = round_scale(min(losses), max(losses), most_steps=5)
    logs = [log(point["n_groups"]) for point in points]
    width = (logs[-1] - logs[0]) or 1.0
    places = [0.02 + 0.96 * (value - logs[0]) / width for value in logs]
    heights = [TOP + HEIGHT * (1 - down.fraction(loss)) for loss in losses]

    drawing = canvas(class_="curve", height=TOP + HEIGHT + FOOT)
    _add_levels(drawing, down)
    _add_line(drawing, places, heights)
    for point, x, y in zip(points, places, heights, strict=True):
        _add_point(drawing, point, percent(x), round(y, 2), point["n_groups"] == chosen)
    _add_labels(drawing, points, places, chosen)
    return to_markup(drawing)


def _add_levels(drawing: Element, down: Scale) -> None:
    for tick in down.ticks:
        y = round(TOP + HEIGHT * (1 - down.fraction(tick)), 2)
        add(drawing, "line", class_="grid", x1=0, x2="100%", y1=y, y2=y)
        add(drawing, "text", number(tick), x=-8, y=y, dy=4, text_anchor="end")


def _add_line(drawing: Element, places: Sequence[float], heights: Sequence[float]) -> None:
    """Segments, as a polyline has no places in per cent."""
    for i in range(len(places) - 1):
        ends = {"x1": percent(places[i]), "x2": percent(places[i + 1])}
        add(drawing, "line", class_="path", **ends, y1=heights[i], y2=heights[i + 1])


def _add_point(
    drawing: Element, point: Mapping[str, Any], x: str, y: float, is_chosen: bool
) -> None:
    groups = "1 group" if point["n_groups"] == 1 else f"{point['n_groups']} groups"
    mark = add_mark(
        drawing, [groups + (", chosen" if is_chosen else ""), f"loss {number(point['loss'])}"], 0
    )
    if is_chosen:
        add(mark, "circle", class_="chosen", cx=x, cy=y, r=10)
    add_shape(mark, 0, x, y)


def _add_labels(
    drawing: Element, points: Sequence[Mapping[str, Any]], places: Sequence[float], chosen: int
) -> None:
    """Numbers of groups under the points, the chosen one first, those with room after it."""
    order = sorted(zip(points, places, strict=True), key=lambda p: p[0]["n_groups"] != chosen)
    taken: list[float] = []
    for point, place in order:
        if all(abs(place - other) >= NEAREST for other in taken):
            taken.append(place)
            kind = "chosen" if point["n_groups"] == chosen else None
            label = {"x": percent(place), "y": TOP + HEIGHT + 18, "text_anchor": "middle"}
            add(drawing, "text", str(point["n_groups"]), class_=kind, **label)
