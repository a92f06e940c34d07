"""Values as bars from zero, with their errors."""

from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from plcp.audit.words import number
from plcp.report.charts.axis import add_grid, add_ticks, add_upright
from plcp.report.charts.marks import add, add_mark, canvas, to_markup
from plcp.report.charts.scales import Scale, percent, round_scale
from plcp.report.words import thousandths


def value_scale(items: Iterable[Mapping[str, Any]]) -> Scale:
    """Zero, and every value with its error."""
    ends = [0.0]
    for item in items:
        ends += _ends(item)
    return round_scale(min(ends), max(ends))


def draw_value_axis(scale: Scale) -> Markup:
    """Ticks under the bars."""
    drawing = canvas(class_="axis", height=22, aria_hidden="true")
    add_ticks(drawing, scale, number)
    return to_markup(drawing)


def draw_bar(item: Mapping[str, Any], scale: Scale) -> Markup:
    """One feature's row of the chart."""
    drawing = canvas(class_="strip")
    add_grid(drawing, scale)
    add_upright(drawing, scale.across(0), "zero")
    middle = add(drawing, "svg", y="50%", overflow="visible")
    value, low, high = item["value"], *_ends(item)
    error = "" if item["error"] is None else f" ± {thousandths(item['error'])}"
    mark = add_mark(middle, [item["feature"], f"importance {thousandths(value)}{error}"], 0)
    start, end = sorted((scale.fraction(0), scale.fraction(value)))
    add(mark, "rect", class_="bar", x=percent(start), width=percent(end - start), y=-6, height=12)
    add(mark, "line", class_="error", x1=scale.across(low), x2=scale.across(high), y1=0, y2=0)
    return to_markup(drawing)


def _ends(item: Mapping[str, Any]) -> tuple[float, float]:
    error = item["error"] or 0.0
    return item["value"] - error, item["value"] + error
