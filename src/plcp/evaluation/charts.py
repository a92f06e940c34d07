"""Charts of the page as SVG: scales, coverage by group, importance, curves and histograms."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log, log10
from statistics import median
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

from plcp.evaluation.formatting import (
    between,
    count,
    exact_percent,
    number,
    percent as share_text,
    signed,
    thousandths,
)
from plcp.evaluation.groups import LABELS


@dataclass(frozen=True)
class Scale:
    """The values from ``low`` to ``high`` laid out evenly, with round ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def fraction(self, value: float) -> float:
        """Where a value lies: 0 at ``low``, 1 at ``high``, never beyond either."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def across(self, value: float) -> str:
        """Place from the left."""
        return percent(self.fraction(value))

    def holds(self, value: float) -> bool:
        """Whether a value lies on the scale."""
        return self.low <= value <= self.high


def percent(fraction: float) -> str:
    """A fraction as a length of SVG.

    Examples
    --------
    >>> percent(0.25)
    '25%'
    """
    return f"{round(100 * fraction, 3):g}%"


def round_scale(low: float, high: float, most_steps: int = 6) -> Scale:
    """The scale of at most so many steps of 1, 2 or 5 times a power of ten around two values.

    Examples
    --------
    >>> round_scale(0.63, 0.97).ticks
    (0.6, 0.7, 0.8, 0.9, 1.0)
    """
    if high <= low:  # one value: it still needs room
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    step = _step(low, high, most_steps)
    ticks = tuple(float(i * step) for i in range(_first(low, step), _last(high, step) + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def _step(low: float, high: float, most_steps: int) -> Fraction:
    """The smallest round step; exact, as 0.3 is less than three tenths in floating point."""
    power = floor(log10((high - low) / most_steps))
    steps = (lead * Fraction(10) ** (power + up) for up in (0, 1) for lead in (1, 2, 5))
    return next(s for s in steps if _last(high, s) - _first(low, s) <= most_steps)


def _first(low: float, step: Fraction) -> int:
    return floor(Fraction(str(low)) / step)


def _last(high: float, step: Fraction) -> int:
    return ceil(Fraction(str(high)) / step)


# One shape and one style per series; the subject is series 0, what it is compared with follows.
SHAPES = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "M0-5.5L5.5 0L0 5.5L-5.5 0z",
    "M-4.5-4.5H4.5V4.5H-4.5z",
    "M0-5.5L5.5 4.5H-5.5z",
)


def add(parent: Element, tag: str, content: str = "", **attributes: object) -> Element:
    """Add an element; ``class_`` and ``aria_label`` stand for ``class`` and ``aria-label``."""
    element = SubElement(parent, tag, as_written(attributes))
    element.text = content
    return element


def canvas(**attributes: object) -> Element:
    """Return an empty drawing."""
    return Element("svg", as_written(attributes))


def as_written(attributes: dict[str, object]) -> dict[str, str]:
    """Names and values of attributes as SVG writes them."""
    return {
        name.rstrip("_").replace("_", "-"): str(value)
        for name, value in attributes.items()
        if value is not None
    }


def add_mark(parent: Element, lines: Sequence[str], series: int) -> Element:
    """Add a mark that pointer and keyboard can reach and that says what it shows.

    Browsers without scripts show the title; the script turns it into a tooltip.
    """
    label = "\n".join(lines)
    mark = add(parent, "g", class_=f"mark {style(series)}", role="img", aria_label=label)
    add(mark, "title", label)
    return mark


def add_shape(parent: Element, series: int, x: str, y: float) -> None:
    """Add the shape of a series, with a larger ring that shows the focus and eases pointing."""
    place = add(parent, "svg", x=x, y=y, overflow="visible")
    add(place, "circle", class_="reach", r=9)
    add(place, "path", class_="shape", d=SHAPES[series % len(SHAPES)])


def style(series: int) -> str:
    """Class of a series."""
    return f"series-{series % len(SHAPES)}"


def series_of(methods: Sequence[str]) -> dict[str, int]:
    """Number of each method's series: the last method is the subject.

    Examples
    --------
    >>> series_of(["Split", "PLCP"])
    {'Split': 1, 'PLCP': 0}
    """
    return {method: len(methods) - 1 - i for i, method in enumerate(methods)}


def to_markup(drawing: Element) -> Markup:
    """Text of a drawing, in which whatever came from data is escaped."""
    return Markup(tostring(drawing, encoding="unicode"))


def add_ticks(drawing: Element, scale: Scale, text_of: Callable[[float], str]) -> None:
    """Add the text of each tick at the foot of a drawing."""
    for tick in scale.ticks:
        add(drawing, "text", text_of(tick), x=scale.across(tick), y="100%", dy=-7)


def add_grid(drawing: Element, scale: Scale) -> None:
    """Add a line at each tick."""
    for tick in scale.ticks:
        add_upright(drawing, scale.across(tick), "grid")


def add_upright(drawing: Element, x: str, kind: str) -> None:
    """Add a line from top to bottom."""
    add(drawing, "line", class_=kind, x1=x, x2=x, y1=0, y2="100%")


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


ROOM = 0.02  # to both sides of the target, or small differences would appear large


def coverage_scale(cells: Iterable[Mapping[str, Any]], target: float) -> Scale:
    """One scale for the groups of a chart: the target, every dot and most intervals.

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
        add(drawing, "text", f"target {exact_percent(target)}", **place)
    return to_markup(drawing)


BESIDE = 12  # from the end of an interval to its label


def draw_strip(
    name: str,
    cells: Mapping[str, Any],
    methods: Sequence[str],
    scale: Scale,
    target: float,
    labelled: bool = False,
) -> Markup:
    """One group: a dot for each method, a line between them, and the interval of the last."""
    drawing = canvas(class_="strip")
    add_grid(drawing, scale)
    add_upright(drawing, scale.across(target), "target")
    first, subject = cells[methods[0]], cells[methods[-1]]
    if subject["coverage"] is None:
        return to_markup(drawing)
    middle = add(drawing, "svg", y="50%", overflow="visible")
    for kind, series, ends in (
        ("link", 1, (first["coverage"], subject["coverage"])),
        ("all", 0, (subject["low_all"], subject["high_all"])),
    ):
        low, high = map(scale.across, ends)
        add(middle, "line", class_=f"{kind} {style(series)}", x1=low, x2=high, y1=0, y2=0)
    if not scale.holds(subject["low_all"]):
        add_arrow(middle, "0%", "M0-4L-7 0L0 4z")
    if not scale.holds(subject["high_all"]):
        add_arrow(middle, "100%", "M0-4L7 0L0 4z")
    for method, series in series_of(methods).items():
        mark = add_mark(middle, describe_cell(name, method, cells[method], target), series)
        add_shape(mark, series, scale.across(cells[method]["coverage"]), 0)
    if labelled:
        add_labels(middle, cells, methods, scale)
    return to_markup(drawing)


def add_labels(
    middle: Element, cells: Mapping[str, Any], methods: Sequence[str], scale: Scale
) -> None:
    """Add the coverage and the sign of its verdict to both ends, or to the right of one dot."""
    subject, series = cells[methods[-1]], series_of(methods)
    ends = sorted({methods[0], methods[-1]}, key=lambda name: (cells[name]["coverage"], name))
    shares = [subject["low_all"], subject["high_all"], *(cells[m]["coverage"] for m in ends)]
    places = [(min(shares), -BESIDE, "end"), (max(shares), BESIDE, "start")][-len(ends) :]
    for method, (share, dx, anchor) in zip(ends, places, strict=True):
        verdict = cells[method]["verdict"]
        place: dict[str, Any] = {"x": scale.across(share), "dx": dx, "y": 4, "text_anchor": anchor}
        label = add(middle, "text", class_=f"label {style(series[method])}", **place)
        label.set("aria-hidden", "true")  # the dot says it too
        sign = add(label, "tspan", signed(verdict)[0], class_=verdict.replace(" ", "-"))
        sign.tail = f" {share_text(cells[method]['coverage'])}"


def add_arrow(middle: Element, x: str, path: str) -> None:
    """Add the sign that an interval reaches beyond the scale."""
    place = add(middle, "svg", x=x, overflow="visible")
    add(place, "path", class_=f"arrow {style(0)}", d=path)


def describe_cell(name: str, method: str, cell: Mapping[str, Any], target: float) -> list[str]:
    """What a dot shows, in lines: a name from right to left then keeps to its own."""
    return [
        name,
        f"{method}: coverage {share_text(cell['coverage'])}, {signed(cell['verdict'])}",
        f"interval {between(cell['low_all'], cell['high_all'], target)}",
        f"{count(cell['hits'])} of {count(cell['n'])} rows covered",
    ]


def draw_key(series: int) -> Markup:
    """The shape of a series beside its name."""
    drawing = canvas(class_=f"key {style(series)}", width=14, height=14, aria_hidden="true")
    add_shape(drawing, series, "50%", 7)
    return to_markup(drawing)


CURVE_HEIGHT, TOP, CURVE_FOOT = 200, 12, 26
NEAREST = 0.07  # of the width: labels nearer than this would touch on a phone


def draw_curve(points: Sequence[Mapping[str, Any]], chosen: int) -> Markup:
    """Numbers of groups are tried by doubling, so they are laid out by their logarithms."""
    points = sorted(points, key=lambda point: point["n_groups"])
    losses = [point["loss"] for point in points]
    down = round_scale(min(losses), max(losses), most_steps=5)
    logs = [log(point["n_groups"]) for point in points]
    width = (logs[-1] - logs[0]) or 1.0
    places = [0.02 + 0.96 * (value - logs[0]) / width for value in logs]
    heights = [TOP + CURVE_HEIGHT * (1 - down.fraction(loss)) for loss in losses]

    drawing = canvas(class_="curve", height=TOP + CURVE_HEIGHT + CURVE_FOOT)
    for tick in down.ticks:
        height = round(TOP + CURVE_HEIGHT * (1 - down.fraction(tick)), 2)
        add(drawing, "line", class_="grid", x1=0, x2="100%", y1=height, y2=height)
        add(drawing, "text", number(tick), x=-8, y=height, dy=4, text_anchor="end")
    for i in range(len(places) - 1):  # segments, as a polyline has no places in percent
        ends = {"x1": percent(places[i]), "x2": percent(places[i + 1])}
        add(drawing, "line", class_="path", **ends, y1=heights[i], y2=heights[i + 1])
    for point, x, y in zip(points, places, heights, strict=True):
        _add_point(drawing, point, percent(x), round(y, 2), point["n_groups"] == chosen)
    _add_labels(drawing, points, places, chosen)
    return to_markup(drawing)


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
            label = {"x": percent(place), "y": TOP + CURVE_HEIGHT + 18, "text_anchor": "middle"}
            add(drawing, "text", str(point["n_groups"]), class_=kind, **label)


HISTOGRAM_HEIGHT, HISTOGRAM_FOOT = 110, 22
LONGEST = 7  # letters of a label, five of which fit across a phone
MOST_MIDDLES = 8  # labels of bars that do


def draw_histogram(
    method: str, series: int, edges: Sequence[Any], counts: Sequence[int], size_name: str
) -> Markup:
    """Bars of equal width, whatever the edges: the height is the number of rows in a bin."""
    drawing = canvas(class_="histogram", height=HISTOGRAM_HEIGHT + HISTOGRAM_FOOT)
    whole = size_name == LABELS
    for i, n in enumerate(counts):
        ends = f"from {number(edges[i])} to {number(edges[i + 1])}"
        spoken = _whole_bin(edges, i) if whole else ends
        mark = add_mark(drawing, [f"{method}: {count(n)} rows", f"{size_name} {spoken}"], series)
        column = {"x": percent(i / len(counts)), "width": percent(1 / len(counts))}
        height = round((HISTOGRAM_HEIGHT - 4) * n / max(max(counts), 1), 2)
        # the whole height can be pointed at, else a bar of few rows could not
        add(mark, "rect", class_="reach", y=0, height=HISTOGRAM_HEIGHT, **column)
        add(
            mark,
            "rect",
            class_="bar",
            y=round(HISTOGRAM_HEIGHT - height, 2),
            height=height,
            **column,
        )
    add(drawing, "line", class_="zero", x1=0, x2="100%", y1=HISTOGRAM_HEIGHT, y2=HISTOGRAM_HEIGHT)
    (_add_middles if whole else _add_edges)(drawing, edges)
    return to_markup(drawing)


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
    add(drawing, "text", text, x=percent(place), y=HISTOGRAM_HEIGHT + 16, text_anchor=anchor)


__all__ = [
    "coverage_scale",
    "draw_axis",
    "draw_bar",
    "draw_curve",
    "draw_histogram",
    "draw_key",
    "draw_strip",
    "draw_value_axis",
    "value_scale",
]
