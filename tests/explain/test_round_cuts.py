"""The shortest number between two neighbours, against a search through all short ones."""

from fractions import Fraction

import numpy as np
from hypothesis import assume, given, strategies as st

from plcp.explain.columns import date_text, number_text, round_date, round_number

numbers = st.floats(-1e12, 1e12, allow_nan=False)
days = st.integers(-20_000 * 86_400, 40_000 * 86_400).map(lambda seconds: seconds / 86_400)


@given(numbers, numbers)
def test_a_cut_parts_its_neighbours(a, b):
    assume(a != b)
    below, above = min(a, b), max(a, b)
    cut = round_number(below, above)
    assert below < cut <= above
    assert float(number_text(cut)) == cut


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**4), st.integers(0, 3))
def test_no_number_of_fewer_decimals_would_do(start, gap, decimals):
    scale = 10**decimals
    below, above = Fraction(start, scale), Fraction(start + gap, scale)
    cut = Fraction(number_text(round_number(float(below), float(above))))
    assert below < cut <= above
    coarser = max(
        Fraction(10) ** k for k in range(-4, 9) if (cut / Fraction(10) ** k).denominator == 1
    )
    if cut:
        assert (below / (10 * coarser)).__floor__() == (above / (10 * coarser)).__floor__()


@given(st.integers(-(10**6), 10**6), st.integers(1, 100))
def test_a_cut_of_whole_numbers_is_whole(start, gap):
    cut = round_number(start, start + gap, whole=True)
    assert start < cut <= start + gap
    assert cut == int(cut)


@given(days, days)
def test_a_date_parts_its_neighbours_and_can_be_read_back(a, b):
    assume(a != b)
    below, above = min(a, b), max(a, b)
    cut = round_date(below, above)
    assert below < cut <= above
    seconds = np.datetime64(date_text(cut)).astype("M8[s]").astype(int)
    assert seconds / 86_400 == cut


def test_dates_are_the_starts_of_what_they_can_be():
    def between(a, b):
        return date_text(round_date(*(np.datetime64(d, "s").astype(int) / 86_400 for d in (a, b))))

    assert between("2018-11-30", "2019-03-04") == "2019-01-01"
    assert between("2019-02-27", "2019-03-04") == "2019-03-01"
    assert between("2019-03-02T10:00:00", "2019-03-04T09:00:00") == "2019-03-04"
    assert between("2019-03-04T10:12:13", "2019-03-04T12:30:00") == "2019-03-04 12:00"
    assert between("2019-03-04T10:12:13", "2019-03-04T10:12:14") == "2019-03-04 10:12:14"


def test_infinite_neighbours_have_a_finite_cut():
    for below, above in [(-np.inf, np.inf), (-np.inf, -5.0), (-np.inf, 5.0), (7.0, np.inf)]:
        cut = round_number(below, above)
        assert below < cut <= above
        assert np.isfinite(cut)
