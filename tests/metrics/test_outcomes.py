"""What happened to each row: what is taken, and what is refused in which words."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from plcp.metrics.outcomes import check_counts, check_covered, check_numbers, check_size


@pytest.mark.parametrize("covered", [[True, False], [1, 0], [1.0, 0.0], np.array([True, False])])
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
        (lambda: check_covered(["0", "1"]), "got 0 at row 0"),
        (lambda: check_size([1, 2, 3], 2), r"size must have shape \(2,\), got \(3,\): pass sets"),
        (lambda: check_size([1, -2], 2), "size must be at least 0, got -2.0 at row 1"),
        (lambda: check_size([np.nan, 1], 2), "at least 0, got nan at row 0"),
        (lambda: check_size([1, np.inf], 2, finite=True), "size must be finite, got inf at row 1"),
        (lambda: check_numbers("p", [2.0], 1, least=0, most=1), "between 0 and 1, got 2.0 at"),
        (lambda: check_numbers("p", [np.nan], 1, finite=False), "p must be a number, got nan"),
        (lambda: check_counts([1, 1.5], 2), "counts rows, got 1.5 at row 1: give whole numbers"),
        (lambda: check_counts([1, -1], 2), "at least 0, got -1.0 at row 1"),
        (lambda: check_counts([0, 0], 2), "0 in every row: no row counts"),
    ],
)
def test_errors_name_the_value_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
