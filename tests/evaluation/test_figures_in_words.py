"""Figures are rounded, never wrong."""

import math

from hypothesis import given, strategies as st

from plcp.evaluation.formatting import number, rate


@given(st.floats(-1e300, 1e300).filter(lambda x: abs(x) > 1e-300))
def test_numbers_keep_four_digits(value):
    shown = float(number(value).replace("−", "-").replace(",", ""))
    assert math.isclose(shown, value, rel_tol=5.01e-4)


def test_zero_has_no_sign():
    assert number(-0.0) == number(0) == "0"


def test_infinite_and_missing():
    assert (number("inf"), number("-inf"), number(None)) == ("∞", "−∞", "–")
    assert (rate(None), rate(0.5)) == ("–", "50.0 %")
