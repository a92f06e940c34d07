"""Shares and numbers in words say no more than is so."""

import pytest
from hypothesis import example, given, strategies as st

from plcp.explain.columns import percent, runs


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 1))
@example(10**6, 10**6 - 1, 0)
@example(10**6, 1, 0)
def test_nothing_and_all_are_said_only_where_they_are_so(n, hits, decimals):
    share = min(hits, n) / n
    told = float(percent(share, decimals).removesuffix(" %"))
    assert (told == 0, told == 100) == (share == 0, share == 1)
    assert told == pytest.approx(100 * share, abs=0.5 / 10**decimals + 1e-9)


@given(st.sets(st.integers(0, 30), min_size=1))
def test_runs_of_numbers_hold_those_numbers_and_no_others(numbers):
    read = set()
    for part in runs(numbers).split(", "):
        first, _, last = part.partition("–")
        read |= {*range(int(first), int(last or first) + 1)}
    assert read == numbers
