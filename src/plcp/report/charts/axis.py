"""What stands behind the marks: ticks, and lines from top to bottom."""

from collections.abc import Callable
from xml.etree.ElementTree import Element

from plcp.report.charts.marks import add
from plcp.report.charts.scales import Scale


def add_ticks(drawing: Element, scale: Scale, say: Callable[[float], str]) -> None:
    """Add the text of each tick at the foot of a drawing."""
    for tick in scale.ticks:
        add(drawing, "text", say(tick), x=scale.across(tick), y="100%", dy=-7)


def add_grid(drawing: Element, scale: Scale) -> None:
    """Add a line at each tick."""
    for tick in scale.ticks:
        add_upright(drawing, scale.across(tick), "grid")


def add_upright(drawing: Element, x: str, kind: str) -> None:
    """Add a line from top to bottom."""
    add(drawing, "line", class_=kind, x1=x, x2=x, y1=0, y2="100%")
