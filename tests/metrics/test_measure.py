"""What every metric owes its reader; means and their intervals; checks of input."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.stats import sem, skew, ttest_1samp
from sklearn.tree import DecisionTreeClassifier

from plcp import metrics
from plcp.metrics import Measure
from plcp.metrics.measure import (
    check_counts,
    check_covered,
    check_numbers,
    check_size,
    mean_measure,
    skewed_mean,
)
from strategies import few

ALPHA = 0.1


def rows(rng, n=240):
    """Rows of three kinds, the first of them covered less often."""
    kind = rng.integers(0, 3, n)
    coverage = np.array([0.7, 0.9, 0.97])[kind]
    size = rng.gamma(2 + kind)
    return {
        "X": np.column_stack([kind, rng.normal(size=n)]),
        "kind": kind,
        "coverage": coverage,
        "covered": rng.uniform(size=n) < coverage,
        "size": size,
        "score": rng.exponential(size=n),
        "y": rng.normal(size=n),
    }


TREE = DecisionTreeClassifier(max_depth=2, random_state=0)
# each by the columns it reads, with the keywords of all of them: confidence and sample_weight
METRICS = {
    "coverage": lambda r, **k: metrics.coverage(r["covered"], **k),
    "mean_size": lambda r, **k: metrics.mean_size(r["size"], **k),
    "feature_stratified_coverage": lambda r, **k: metrics.feature_stratified_coverage(
        r["covered"], r["kind"], **k
    ),
    "size_stratified_coverage": lambda r, **k: metrics.size_stratified_coverage(
        r["covered"], r["size"], **k
    ),
    "coverage_gap": lambda r, **k: metrics.coverage_gap(r["covered"], r["kind"], ALPHA, **k),
    "msce": lambda r, **k: metrics.msce(r["coverage"], ALPHA, **k),
    "pinball_excess_bound": lambda r, **k: metrics.pinball_excess_bound(
        r["score"], r["size"], np.full(len(r["score"]), 2.3), ALPHA, 1.0, **k
    ),
    "hsic": lambda r, **k: metrics.hsic(r["covered"], r["size"], **k),
    "size_correlation": lambda r, **k: metrics.size_correlation(r["covered"], r["size"], **k),
    "interval_score": lambda r, **k: metrics.interval_score(
        np.column_stack([-r["size"], r["size"]]), r["y"], ALPHA, **k
    ),
}
SHUFFLING = {  # these shuffle rows themselves
    "ert": lambda r, **k: metrics.ert(r["X"], r["covered"], ALPHA, classifier=TREE, **k),
    "estimated_msce": lambda r, **k: metrics.estimated_msce(
        r["X"], r["covered"], ALPHA, classifier=TREE, **k
    ),
    "worst_slab": lambda r, **k: metrics.worst_slab(r["X"], r["covered"], n_directions=20, **k),
}
EVERY = METRICS | SHUFFLING


@pytest.mark.parametrize("name", EVERY)
def test_estimate_interval_meaning_and_table(rng, name):
    measure = EVERY[name](rows(rng))
    assert isinstance(measure, Measure)
    assert measure.low <= measure.high
    assert measure.meaning[0].isupper()
    assert measure.meaning[-1] == "."
    frame = measure.to_pandas()
    assert len(frame) >= 1
    assert list(frame.columns) == list(measure.table)
    assert json.loads(json.dumps(measure.to_dict()))["estimate"] == measure.estimate
    if measure.terms is not None:
        mean = np.average(measure.terms, weights=measure.weights)
        assert_allclose(mean, measure.estimate, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_more_confidence_is_a_wider_interval(rng, name):
    sample = rows(rng)
    narrow, wide = (EVERY[name](sample, confidence=c) for c in (0.8, 0.99))
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert wide.high - wide.low > narrow.high - narrow.low
    assert narrow.estimate == wide.estimate


@pytest.mark.parametrize("name", METRICS)
def test_rows_have_no_order_and_copies_are_weights(rng, name):
    sample = rows(rng)
    counts, order = rng.integers(0, 3, 240), rng.permutation(240)
    copied = {key: np.repeat(column, counts, axis=0) for key, column in sample.items()}
    shuffled = {key: column[order] for key, column in sample.items()}
    one, other = METRICS[name](copied), METRICS[name](shuffled, sample_weight=counts[order])
    for field in ("estimate", "low", "high", "standard_error"):
        assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-9, atol=1e-12)


# of spread, so that neither formula divides rounding by rounding
spread = hnp.arrays(float, st.integers(2, 40), elements=st.integers(-50, 50).map(float)).filter(
    lambda terms: np.ptp(terms) > 0
)


def test_symmetric_terms_have_students_interval_and_test(rng):
    half = rng.normal(size=20)
    terms = 0.3 + np.concatenate([half, -half])
    student, law = ttest_1samp(terms, 0), skewed_mean(terms)
    assert_allclose(law.interval(0.9), student.confidence_interval(0.9))
    assert_allclose(law.p_value(), student.pvalue)


def test_ends_solve_halls_equation(rng):
    terms = rng.exponential(size=30)
    mean, error, g = terms.mean(), terms.std() / np.sqrt(29), skew(terms) / np.sqrt(30)

    def transformed(end):
        t = (mean - end) / error
        return t + g * t**2 / 3 + g**2 * t**3 / 27 + g / 6

    quantile = (ttest_1samp(terms, 0).confidence_interval(0.95).high - mean) / error
    low, high = skewed_mean(terms).interval(0.95)
    assert_allclose(low, brentq(lambda end: transformed(end) - quantile, -10, mean))
    assert_allclose(high, brentq(lambda end: transformed(end) + quantile, mean, 10))


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_p_value_is_that_of_the_interval_which_ends_at_zero(rng, confidence):
    terms = rng.exponential(size=30)
    for end in skewed_mean(terms).interval(confidence):
        assert_allclose(skewed_mean(terms - end).p_value(), 1 - confidence)


def test_one_row_or_no_spread():
    one, same = skewed_mean(np.array([2.0])), skewed_mean(np.full(5, 2.0))
    assert (one.interval(0.95), one.p_value()) == ((-np.inf, np.inf), 1)
    assert (same.interval(0.95), same.p_value()) == ((2, 2), 0)
    assert skewed_mean(np.zeros(5)).p_value() == 1


@few
@given(spread, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_a_measure_of_a_mean_is_its_law(terms, confidence):
    measure = mean_measure("mean", terms, meaning="x", confidence=confidence)
    assert_allclose((measure.low, measure.high), skewed_mean(terms).interval(confidence))
    assert_allclose(measure.standard_error, sem(terms), rtol=1e-9)
    assert measure.estimate == pytest.approx(terms.mean(), rel=1e-12, abs=1e-12)
    assert not measure.exact


@few
@given(spread)
def test_interval_stays_within_what_is_possible(terms):
    limits = (terms.min(), terms.max())
    measure = mean_measure("mean", terms, meaning="x", limits=limits)
    assert limits[0] <= measure.low <= measure.high <= limits[1]


def test_one_infinite_term_decides_unless_it_does_not_count():
    terms = np.array([1.0, np.inf, 2.0])
    assert mean_measure("mean", terms, meaning="x").low == np.inf
    counted = mean_measure("mean", terms, np.array([1.0, 0.0, 1.0]), meaning="x")
    assert counted.estimate == 1.5


@pytest.mark.parametrize(
    "covered",
    [
        [True, False],
        [1, 0],
        [1.0, 0.0],
        np.array([True, False]),
        np.array([True, False], dtype=object),
        pd.Series([True, False], dtype="boolean"),
    ],
)
def test_covered_is_a_mask_however_it_is_written(covered):
    found = check_covered(covered)
    assert found.dtype == bool
    assert_array_equal(found, [True, False])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_covered([]), r"n at least 1, got \(0,\): pass sets.contains"),
        (lambda: check_covered([[True]]), r"got \(1, 1\)"),
        (lambda: check_covered([0.9, 1]), "True or False, got 0.9 at row 0"),
        (lambda: check_covered([1, np.nan]), "got nan at row 1"),
        (lambda: check_covered(["0", "1"]), "got '0' at row 0"),
        (lambda: check_covered([True, None]), "got None at row 1"),
        (lambda: check_covered(pd.Series([pd.NA, True])), "got <NA> at row 0"),
        (lambda: check_size([]), "size is empty: pass sets.size"),
        (
            lambda: check_size(["1"]),
            "size must hold real numbers, got dtype <U1 .*: pass sets.size",
        ),
        (lambda: check_size([1j]), "real numbers, got dtype complex128"),
        (lambda: check_size([10**400]), "what no float can hold"),
        (lambda: check_size([{}]), "real numbers, got dtype object"),
        (lambda: check_size(np.array(["2020"], dtype="M8[Y]")), r"got dtype datetime64\[Y\]"),
        (
            lambda: check_size([1.0, 1e101]),
            r"at most 1e\+100 in absolute value, got 1e\+101 at row 1",
        ),
        (lambda: check_size([np.inf, 1e101]), r"got 1e\+101 at row 1"),
        (lambda: check_size([1, 2, 3], 2), r"size must have shape \(2,\), got \(3,\): pass sets"),
        (lambda: check_size([1, -2], 2), "size must be at least 0, got -2.0 at row 1"),
        (lambda: check_size([np.nan, 1], 2), "at least 0, got nan at row 0"),
        (lambda: check_size([1, np.inf], 2, finite=True), "size must be finite, got inf at row 1"),
        (lambda: check_numbers("p", [2.0], 1, least=0, most=1), "between 0 and 1, got 2.0 at"),
        (lambda: check_numbers("p", [np.nan], 1, finite=False), "p must be a number, got nan"),
        (lambda: check_counts([1, 1.5], 2), "counts rows, got 1.5 at row 1: give whole numbers"),
        (lambda: check_counts([1, -1], 2), "at least 0, got -1.0 at row 1"),
        (lambda: check_counts([0, 0], 2), "0 in every row: no row counts"),
        (lambda: check_counts([2**30, 2**30 + 1, 0], 3), "2.14748e.* rows, more than 2147483648"),
    ],
)
def test_errors_name_the_value_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_as_many_rows_as_whole_numbers_can_multiply():
    assert_array_equal(check_counts([2**30, 2**30], 2), [2**30, 2**30])
