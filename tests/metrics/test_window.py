"""The window with the smallest coverage, against all windows."""

from fractions import Fraction

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from plcp.metrics.slab import Window, worst_window
from strategies import few


@st.composite
def rows_on_a_line(draw):
    """Positions with ties, counts of rows, and how many of them are covered."""
    size = draw(st.integers(1, 25))
    position = draw(hnp.arrays(float, size, elements=st.integers(0, 12).map(float)))
    n = draw(hnp.arrays(np.intp, size, elements=st.integers(1, 3)))
    hits = np.array([draw(st.integers(0, int(count))) for count in n])
    return position, hits, n, draw(st.integers(1, int(n.sum())))


def smallest_share(position, hits, n, least):
    places = np.unique(position)
    windows = [(position >= a) & (position <= b) for a in places for b in places if a <= b]
    return min(
        Fraction(int(hits[rows].sum()), int(n[rows].sum()))
        for rows in windows
        if n[rows].sum() >= least
    )


@few
@given(rows_on_a_line())
def test_no_window_is_covered_less(drawn):
    position, hits, n, least = drawn
    everything = Window(-np.inf, np.inf, int(n.sum()), int(hits.sum()))
    found = worst_window(position, hits, n, least, everything)
    assert Fraction(found.hits, found.n) == smallest_share(position, hits, n, least)
    inside = (position >= found.low) & (position <= found.high)
    assert (n[inside].sum(), hits[inside].sum()) == (found.n, found.hits)
    assert found.n >= least


@few
@given(rows_on_a_line())
def test_what_is_not_beaten_stays(drawn):
    position, hits, n, least = drawn
    smallest = smallest_share(position, hits, n, least)
    than = Window(5.0, 6.0, smallest.denominator, smallest.numerator)
    assert worst_window(position, hits, n, least, than) is than
    assert worst_window(position, hits, n, int(n.sum()) + 1, than) is than


@few
@given(rows_on_a_line(), st.data())
def test_order_and_direction_of_the_rows_do_not_matter(drawn, data):
    position, hits, n, least = drawn
    order = np.array(data.draw(st.permutations(range(len(n)))))
    everything = Window(-np.inf, np.inf, int(n.sum()), int(hits.sum()))
    one = worst_window(position, hits, n, least, everything)
    assert worst_window(position[order], hits[order], n[order], least, everything) == one
    other = worst_window(-position, hits, n, least, everything)
    assert Fraction(other.hits, other.n) == Fraction(one.hits, one.n)
