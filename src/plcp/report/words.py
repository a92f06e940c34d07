"""Figures as a reader sees them; shares and their bounds are worded as at the terminal."""

from math import isinf
from typing import Any

from plcp.audit.words import percent

MISSING = "–"

# A verdict is told by a sign and its word, never by its colour alone.
SIGNS = {"covers": "✓", "falls short": "▼", "undecided": "○"}


def count(n: int) -> str:
    """Rows, with thousands apart.

    Examples
    --------
    >>> count(107128)
    '107,128'
    """
    return f"{n:,}"


def rate(coverage: float | None) -> str:
    """A coverage in percent.

    Examples
    --------
    >>> rate(0.90149), rate(None)
    ('90.1 %', '–')
    """
    return MISSING if coverage is None else percent(coverage)


def number(value: Any) -> str:
    """A length, a threshold or a loss of any magnitude: four digits, or all before the point.

    Examples
    --------
    >>> number(139529.7), number(0.012345), number("inf"), number(-0.0), number(None)
    ('139,530', '0.01235', '∞', '0', '–')
    """
    if value is None:
        return MISSING
    value = float(value)
    if isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:z,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:z.4g}"
    return text.replace("-", "−")


def thousandths(value: float) -> str:
    """Three digits after the point, for what lies between zero and one.

    Examples
    --------
    >>> thousandths(0.85417), thousandths(-0.0001)
    ('0.854', '0.000')
    """
    return f"{value:z.3f}".replace("-", "−")


def signed(verdict: str) -> str:
    """A verdict with its sign.

    Examples
    --------
    >>> signed("covers")
    '✓ covers'
    """
    return f"{SIGNS[verdict]} {verdict}"


WORDS = (count, number, rate, signed, thousandths)  # what templates may say
