"""Figures as a reader sees them."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import isinf
from typing import Any

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


def rate(value: float | None) -> str:
    """Three digits of a coverage.

    Examples
    --------
    >>> rate(0.90149), rate(None)
    ('0.901', '–')
    """
    return MISSING if value is None else f"{value:z.3f}"


def bounds(low: float, high: float) -> str:
    """Three digits of an interval, rounded outwards so that what is shown holds too.

    Examples
    --------
    >>> bounds(0.8996, 0.9121)
    '0.899–0.913'
    """
    return f"{_three(low, ROUND_FLOOR)}–{_three(high, ROUND_CEILING)}"


def _three(value: float, rounding: str) -> Decimal:
    """Decimal, as 1000 * 0.57 is less than 570 in floating point."""
    return Decimal(str(value)).quantize(Decimal("0.001"), rounding)


def percent(value: float) -> str:
    """A share of rows, or a level, in per cent with at most one digit after the point.

    Examples
    --------
    >>> percent(0.1234), percent(0.95), percent(0.0001)
    ('12.3 %', '95 %', '< 0.1 %')
    """
    if 0 < value < 0.001:
        return "< 0.1 %"
    return f"{round(100 * value, 1):g} %"


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


def signed(verdict: str) -> str:
    """A verdict with its sign.

    Examples
    --------
    >>> signed("covers")
    '✓ covers'
    """
    return f"{SIGNS[verdict]} {verdict}"
