"""Rows, and every estimator fitted to them once for a file of tests."""

import warnings

import pytest

from estimators import CASES, make_rows
from plcp.exceptions import CollapseWarning, InfiniteThresholdWarning


@pytest.fixture(autouse=True)
def _as_few_rows_as_these_may_collapse():
    with warnings.catch_warnings():
        for category in (CollapseWarning, InfiniteThresholdWarning):
            warnings.simplefilter("ignore", category)
        yield


@pytest.fixture(scope="module")
def rows():
    """Return the rows to fit."""
    return make_rows()


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """Return each estimator in turn."""
    return CASES[request.param]
