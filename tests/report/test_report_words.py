"""Figures are rounded, never wrong."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from plcp.report.words import bounds, number, percent, rate

rates = st.floats(0, 1)


@given(rates, rates)
def test_shown_bounds_hold_what_they_round(a, b):
    low, high = sorted((a, b))
    shown_low, shown_high = (Fraction(part) for part in bounds(low, high).split("–"))
    assert shown_low <= Fraction(str(low)) < shown_low + Fraction(1, 1000)
    assert shown_high - Fraction(1, 1000) < Fraction(str(high)) <= shown_high


def test_bounds_of_three_digits_stay():
    """1000 * 0.57 is 569.99… in floating point."""
    for i in range(1001):
        assert bounds(i / 1000, i / 1000) == f"{i / 1000:.3f}–{i / 1000:.3f}"


@given(rates)
def test_rates_are_nearest(value):
    assert abs(Fraction(rate(value)) - Fraction(value)) <= Fraction(1, 2000)


@given(st.floats(-1e300, 1e300).filter(lambda x: abs(x) > 1e-300))
def test_numbers_keep_four_digits(value):
    shown = float(number(value).replace("−", "-").replace(",", ""))
    assert math.isclose(shown, value, rel_tol=5.1e-4)


def test_zero_has_no_sign():
    assert number(-0.0) == number(0) == "0"
    assert rate(-0.0) == "0.000"


def test_infinite_and_missing():
    assert (number("inf"), number("-inf"), number(None)) == ("∞", "−∞", "–")


@given(rates)
def test_shares_are_nearest_or_told_to_be_small(value):
    shown = percent(value)
    if shown == "< 0.1 %":
        assert 0 < value < 0.001
    else:
        assert abs(Fraction(shown.removesuffix(" %")) - 100 * Fraction(value)) <= Fraction(
            5001, 10**5
        )
