"""Shares, counts and numbers as text, rounded so that what is stated stays true."""

from __future__ import annotations

from math import ceil, floor, isinf
from typing import Any

import numpy as np

from plcp._verdict import Verdict
from plcp.explain.columns import MOST_DECIMALS, percent as exact_at_ends
from plcp.groups.groups import label_text

MISSING = "–"


def percent(share: float | None) -> str:
    """Return a share in percent, 0 and 100 only if it is exactly that; a dash for that of no rows.

    Examples
    --------
    >>> percent(0.9), percent(0.99996), percent(1.0), percent(None)
    ('90.0 %', '99.996 %', '100 %', '–')
    """
    return MISSING if share is None else exact_at_ends(share, 1)


def exact_percent(target: float) -> str:
    """Return the coverage that was requested, with as many digits as it was given.

    Examples
    --------
    >>> exact_percent(0.9), exact_percent(0.995)
    ('90 %', '99.5 %')
    """
    return f"{100 * target:.10g} %"


def between(low: float, high: float, target: float) -> str:
    """Return two bounds in percent, rounded outwards but never onto the target or across it.

    Examples
    --------
    >>> between(0.8888, 0.91234, 0.9), between(0.85, 0.89999, 0.9)
    ('88.8 to 91.3 %', '85.000 to 89.999 %')
    """
    for places in range(1, 1 + MOST_DECIMALS):
        unit = 10**places
        down, up = floor(100 * low * unit) / unit, ceil(100 * high * unit) / unit
        if (down < 100 * target) == (low < target) and (up < 100 * target) == (high < target):
            break
    return f"{down:.{places}f} to {min(up, 100.0):.{places}f} %"


def number(value: Any) -> str:
    """Return a number of any magnitude: four digits, or all before the point.

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


def rows(n: int) -> str:
    """Return a number of rows.

    Examples
    --------
    >>> rows(1), rows(32139)
    ('1 row', '32,139 rows')
    """
    return f"{n:,} row{'' if n == 1 else 's'}"


def label(value: Any) -> str:
    """Return a label as text: whole numbers without a point, truth values as JSON has them.

    Examples
    --------
    >>> label("cat"), label(3.0), label(True)
    ('cat', '3', 'true')
    """
    return str(value).lower() if isinstance(value, bool | np.bool_) else label_text(value)


def count(n: int) -> str:
    """Rows, with thousands apart.

    Examples
    --------
    >>> count(107128)
    '107,128'
    """
    return f"{n:,}"


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
    >>> signed("on target")
    '✓ on target'
    """
    return Verdict(verdict).signed


WORDS = (count, signed, thousandths)  # what templates may say
