"""The shortest number or date that still tells two neighbouring values apart."""

from math import floor, isfinite, log10

import numpy as np

SECONDS_A_DAY = 86_400
MOST_DIGITS = 20  # a double has 17
CALENDAR = ("Y", "M", "D", "h", "m", "s")


def round_number(below: float, above: float, *, whole: bool = False) -> float:
    """Return the number c of the fewest decimals with below < c ≤ above.

    Examples
    --------
    >>> round_number(0.123, 0.187), round_number(22, 23, whole=True), round_number(1203, 4890)
    (0.15, 23.0, 3000.0)
    """
    if not isfinite(below):
        below = min(2 * above, -1.0) if isfinite(above) else -1.0
    if not isfinite(above):
        above = max(2 * below, 1.0)
    middle = below / 2 + above / 2
    largest = max(abs(below), abs(above))
    first = -floor(log10(largest)) if largest > 0 else 0
    for decimals in range(first - 1, first + MOST_DIGITS):
        if whole and decimals > 0:
            break
        for candidate in (round(middle, decimals), round(above, decimals)):
            if below < candidate <= above:
                return candidate + 0.0  # no minus before zero
    return above


def round_date(below: float, above: float) -> float:
    """Return the start of a year, month, day, hour, … with below < c ≤ above, in days since 1970.

    Examples
    --------
    >>> day = np.datetime64("2019-02-27").astype(int), np.datetime64("2019-03-04").astype(int)
    >>> date_text(round_date(*day))
    '2019-03-01'
    """
    end = np.datetime64(floor(above * SECONDS_A_DAY + 0.5), "s")
    for unit in CALENDAR:
        days = float(end.astype(f"M8[{unit}]").astype("M8[s]").astype(np.int64)) / SECONDS_A_DAY
        if below < days:
            return days
    return above


def number_text(value: float) -> str:
    """Return a number as short as it can be read back.

    Examples
    --------
    >>> number_text(45.0), number_text(0.1), number_text(-1e-9), number_text(3e20)
    ('45', '0.1', '-1e-09', '3e+20')
    """
    if not isfinite(value):
        return str(float(value))
    return str(int(value)) if abs(value) < 1e16 and value == int(value) else repr(float(value))


def date_text(days: float) -> str:
    """Return a moment by its date, and by its time of day (UTC) where that is not midnight."""
    moment = np.datetime64(floor(days * SECONDS_A_DAY + 0.5), "s")
    text = str(moment).replace("T", " ")
    return text.removesuffix(":00").removesuffix(" 00:00")
