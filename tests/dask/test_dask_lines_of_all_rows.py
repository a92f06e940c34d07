"""A line on Dask is taught by all rows, however few the sample of other regressors would take."""

import math

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from plcp import OrderedPartition
from plcp.dask import DaskLinearQuantile, DaskPLCP
from plcp.datasets import make_nonlinear
from plcp.out_of_core import Held, linear as start
from plcp.out_of_core.linear import fit_folds, fit_line
from plcp.out_of_core.samples import draws
from plcp.regressors.crossfit import average_linear

task = make_nonlinear(1500, random_state=0)
few = {"partition": OrderedPartition(DaskLinearQuantile()), "n_groups": 3, "sample_size": 100}


def fitted(**options):
    X, scores = da.from_array(task.X, chunks=(400, -1)), da.from_array(task.scores, chunks=400)
    return DaskPLCP(**few, **options).fit(X, scores).to_local()


def assert_same_line(line, expected):
    assert_array_equal(line.coef_, expected.coef_)
    assert line.intercept_ == expected.intercept_


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_folds_of_all_rows_teach_a_line(alpha):
    rule = fitted(alpha=alpha, cv=4, random_state=2)
    models = fit_folds(Held([(task.X, task.scores)]), 1 - alpha, 4, 2)
    (line,), (expected,) = rule.partition_.regressor_.models_, average_linear(models)
    assert_same_line(line, expected)
    assert rule.group_sizes_.sum() == len(task.scores)


@pytest.mark.parametrize("size", [0.2, 0.5, 0.7777])
def test_all_rows_that_a_split_does_not_hold_out_teach_a_line(size):
    rule = fitted(calibration="split", calibration_size=size, random_state=2)
    n = len(task.scores)
    teach = np.argsort(draws(task.X, task.scores, 2))[: n - math.ceil(size * n)]
    assert_same_line(
        rule.partition_.regressor_, fit_line(Held([(task.X[teach], task.scores[teach])]), 0.9, 2)
    )
    assert rule.group_sizes_.sum() == n - len(teach)


def test_no_worker_is_sent_the_rows_that_teach_a_line(monkeypatch):
    """What meets at one place is the line's own sample, and as large whatever the rows."""
    monkeypatch.setattr("plcp.out_of_core.linear.ENTRIES", 2000)
    monkeypatch.setattr("plcp.out_of_core.linear.ROWS_A_COLUMN", 1)
    met = []
    merged = start._merged
    monkeypatch.setattr(start, "_merged", lambda blocks: met.append(merged(blocks)) or met[-1])
    fitted()
    assert met
    assert max(len(scores) for _, scores, *_ in met) < len(task.scores) / 2
