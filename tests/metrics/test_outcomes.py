"""What happened to each row: what is taken, and what is refused in which words."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from plcp.metrics.measure import check_counts, check_covered, check_numbers, check_size


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


def test_sizes_may_be_infinite_where_the_metric_can_take_it():
    assert_array_equal(check_size([0, np.inf], 2), [0, np.inf])


def test_counts_are_whole_numbers_or_none():
    assert check_counts(None, 3) is None
    assert_array_equal(check_counts([0, 2.0], 2), [0, 2])


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
