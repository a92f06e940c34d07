"""From a value to a place on the page."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10


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
