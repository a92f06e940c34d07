"""The worst slab and the search for the worst window."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest

from plcp.metrics import worst_slab
from plcp.metrics.slab import Slab, Window, worst_window
from strategies import few


def striped(rng, n=2000):
    """Coverage 0.9 but for a stripe across both columns, where it is one half."""
    X = rng.normal(size=(n, 2))
    stripe = np.abs(X.sum(axis=1) - 1) < 0.4
    return X, rng.uniform(size=n) < np.where(stripe, 0.5, 0.95), stripe


def test_measured_is_what_lies_in_the_slab_in_the_other_half(rng):
    X, covered, _ = striped(rng)
    worst = worst_slab(X, covered, n_directions=50)
    measured = worst.weights > 0
    inside = worst.slab.contains(X)
    assert measured.sum() == 1000
    hits = [(covered & inside & half).sum() for half in (~measured, measured)]
    n = [(inside & half).sum() for half in (~measured, measured)]
    assert_array_equal(worst.table["hits"], hits)
    assert_array_equal(worst.table["n"], n)
    assert n[0] >= 100
    assert worst.estimate == hits[1] / n[1]
    exact = binomtest(int(hits[1]), int(n[1])).proportion_ci(0.95, method="exact")
    assert_allclose([worst.low, worst.high], exact)
    assert worst.exact
    assert_allclose(np.average(worst.terms, weights=worst.weights), worst.estimate)
    assert worst.to_dict()["slab"]["coefficients"] == worst.slab.coefficients.tolist()


def test_the_slab_holds_its_mass_and_no_row_more():
    x = np.arange(200.0)[:, None]
    choosing = np.flatnonzero(worst_slab(x, x[:, 0] >= 0).weights == 0)
    # one row is missed, so the smallest slab around it is the worst; in floats 0.07 · 100 is over 7
    worst = worst_slab(x, x[:, 0] != choosing[len(choosing) // 2], mass=0.07)
    assert worst.table["n"][0] == 7


def test_units_and_constant_columns_do_not_matter(rng):
    X, covered, _ = striped(rng)
    here = worst_slab(X, covered, n_directions=20)
    units = np.array([1024.0, 2.0**-20])  # powers of two round nothing
    there = worst_slab(X * units, covered, n_directions=20)
    assert_array_equal(here.slab.contains(X), there.slab.contains(X * units))
    assert_allclose(there.slab.coefficients * units, here.slab.coefficients)
    constant = worst_slab(np.column_stack([X[:, 0], np.full(2000, 7.0)]), covered, n_directions=0)
    assert constant.estimate == worst_slab(X[:, :1], covered).estimate


def test_rows_of_weight_two_are_two_rows_and_of_weight_zero_are_none(rng):
    X, covered, _ = striped(rng, 300)
    one = worst_slab(X, covered, n_directions=20)
    two = worst_slab(X, covered, n_directions=20, sample_weight=np.full(300, 2))
    assert_array_equal(two.slab.coefficients, one.slab.coefficients)
    assert_array_equal(two.table["n"], 2 * one.table["n"])
    assert_array_equal(two.table["hits"], 2 * one.table["hits"])
    none = worst_slab(
        np.vstack([X, X]),
        np.append(covered, ~covered),
        n_directions=20,
        sample_weight=np.repeat([1, 0], 300),
    )
    assert (none.estimate, none.low) == (one.estimate, one.low)


def test_equal_rows_are_never_parted(rng):
    kinds = rng.normal(size=(6, 9))
    X = np.repeat(kinds, 50, axis=0)
    worst = worst_slab(X, rng.uniform(size=300) < 0.7, n_directions=200)
    inside = worst.slab.contains(X).reshape(6, 50)
    assert (inside.all(axis=1) | ~inside.any(axis=1)).all()


@pytest.mark.parametrize("covered", [True, False])
def test_all_or_nothing_covered_is_the_same_everywhere(rng, covered):
    worst = worst_slab(rng.normal(size=(40, 2)), np.full(40, covered), n_directions=5)
    assert worst.estimate == covered
    assert worst.table["n"].tolist() == [20, 20]
    assert (worst.slab.low, worst.slab.high) == (-np.inf, np.inf)


def test_a_slab_that_no_other_row_is_in_says_nothing():
    X = np.eye(4)[:, :1]
    found = [worst_slab(X, X[:, 0] == 0, random_state=k) for k in range(20)]  # one row is missed
    alone = [worst for worst in found if worst.slab.low > -np.inf]
    assert 0 < len(alone) < 20  # where it is in the half that chooses
    for worst in alone:
        assert np.isnan(worst.estimate)
        assert (worst.low, worst.high) == (0, 1)


def test_slab_takes_frames_and_lists():
    slab = Slab(np.array([1.0, -1.0]), 0.0, 1.0)
    assert slab.contains([[2, 1.5], [2, 0], [1, 1]]).tolist() == [True, False, True]
    assert slab.contains(pd.DataFrame({"a": [2.0], "b": [0.0]})).tolist() == [False]


X, MASK = np.zeros((4, 1)), [True, False, True, True]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: worst_slab(X, MASK[:3]), r"inconsistent numbers of samples: \[4, 3\]"),
        (lambda: worst_slab(X[:0], []), r"covered must have shape \(n,\), n at least 1"),
        (lambda: worst_slab(X[:1], [True]), "one row counts, but some must choose"),
        (lambda: worst_slab([[0], [np.nan]], [1, 0]), "got nan in column 0 at row 1: impute it"),
        (lambda: worst_slab([[0], [np.inf]], [1, 0]), "finite, got inf in column 0 at row 1"),
        (lambda: worst_slab([["a"], ["b"]], [1, 0]), "encode it, or leave the column out"),
        (lambda: worst_slab(X, MASK, mass=0), r"mass must lie in \(0, 1\), got 0"),
        (lambda: worst_slab(X, MASK, n_directions=-1), "n_directions must be .* least 0, got -1"),
        (lambda: worst_slab(X, MASK, confidence=1), r"confidence must lie in \(0, 1\), got 1"),
        (lambda: worst_slab(X, MASK, sample_weight=[0] * 4), "sample_weight is 0 in every row"),
    ],
)
def test_errors_name_the_value_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_slab_is_one_of_its_own_columns():
    with pytest.raises(ValueError, match="X has 1 columns, but the slab is one of 2"):
        Slab(np.ones(2), 0.0, 1.0).contains([[0.5]])


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
