"""The elements that charts are made of."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

# One shape and one style a series; the subject is series 0, what it is compared with follows.
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
    said = "\n".join(lines)
    mark = add(parent, "g", class_=f"mark {style(series)}", role="img", aria_label=said)
    add(mark, "title", said)
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
