"""Columns in rules: cuts at round values, and ranges and shares as people write them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, strategies as st

from plcp.explain.columns import (
    SLACK,
    Column,
    date_text,
    number_text,
    percent,
    round_date,
    round_number,
    runs,
)


@pytest.mark.parametrize("most", [4, 9, 255])
def test_cuts_are_near_their_quantiles(rng, most):
    x = rng.lognormal(size=20_000)
    column = Column(0, None, x[:, None])
    cuts = column.cuts(x, most)
    assert len(cuts) == most
    shares = np.array([(x < cut).mean() for cut in cuts])
    even = np.arange(1, most + 1) / (most + 1)
    assert np.abs(shares - even).max() <= SLACK / (most + 1) + 1 / len(x)


def test_few_values_are_parted_one_by_one(rng):
    x = rng.choice([1.0, 2.5, 7.0, np.nan], 500)
    cuts = Column(0, None, x[:, None]).cuts(x)
    assert np.searchsorted(cuts, [1.0, 2.5, 7.0], side="right").tolist() == [0, 1, 2]


def test_ranges_in_words():
    whole = Column(0, None, np.array([[1.0], [2.0]]))
    assert whole.words(23, None) == "x0 ≥ 23"
    assert whole.words(None, 23) == "x0 ≤ 22"
    assert whole.words(20, 23) == "20 ≤ x0 ≤ 22"
    assert whole.words(22, 23) == "x0 = 22"
    broken = Column(0, None, np.array([[1.5], [2.0]]))
    assert broken.words(20, 23) == "20 ≤ x0 < 23"
    assert broken.words(None, 0.5) == "x0 < 0.5"


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


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 1))
@example(10**6, 10**6 - 1, 0)
@example(10**6, 1, 0)
def test_nothing_and_all_are_said_only_where_they_are_so(n, hits, decimals):
    share = min(hits, n) / n
    result = float(percent(share, decimals).removesuffix(" %"))
    assert (result == 0, result == 100) == (share == 0, share == 1)
    assert result == pytest.approx(100 * share, abs=0.5 / 10**decimals + 1e-9)


@given(st.sets(st.integers(0, 30), min_size=1))
def test_runs_of_numbers_hold_those_numbers_and_no_others(numbers):
    read = set()
    for part in runs(numbers).split(", "):
        first, _, last = part.partition("–")
        read |= {*range(int(first), int(last or first) + 1)}
    assert read == numbers
