"""Folds on Dask: no model sees its own, and each row is judged by the model without it."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin

from plcp import PLCP, LinearQuantile, OrderedPartition
from plcp.dask import DaskLinearQuantile, DaskPLCP
from plcp.dask.plcp import evidence_of
from plcp.datasets import make_nonlinear
from plcp.out_of_core import Held, hash_rows
from plcp.out_of_core.linear import fit_folds, fold_of
from plcp.out_of_core.samples import draws, in_hash_order
from plcp.thresholds._plcp_calibration import calibrate_groups
from plcp.thresholds._plcp_learning import Pairs, place_predicted

task = make_nonlinear(1200, random_state=0)
X, scores = task.X, task.scores
line = OrderedPartition(LinearQuantile())


def fitted(scores=scores, **options):
    rows = da.from_array(X, chunks=(500, -1)), da.from_array(scores, chunks=500)
    return DaskPLCP(**options).fit(*rows).to_local()


class Memory(RegressorMixin, BaseEstimator):
    """An ordinary model that remembers the scores it was taught with."""

    def predict(self, rows):
        return np.zeros(len(rows))


class RemembersOnDask(BaseEstimator):
    """A model that learns from collections of Dask, in the manner of LightGBM's."""

    def __init__(self, client=None):
        self.client = client

    def fit(self, rows, values):
        self.seen = np.sort(values.compute())
        return self

    def to_local(self):
        local = Memory()
        local.seen_ = self.seen
        return local


@pytest.mark.parametrize("seed", [0, 7])
def test_a_model_that_learns_where_rows_lie_never_sees_its_own_fold(client_of_threads, seed):
    rule = fitted(
        partition=OrderedPartition(RemembersOnDask()),
        n_groups=2,
        cv=4,
        sample_size=700,
        random_state=seed,
        client=client_of_threads,
    )
    numbers = draws(X, scores, seed)
    sample = numbers <= np.sort(numbers)[699]
    folds = fold_of(hash_rows(X, scores, seed), 4)
    for fold, model in enumerate(rule.partition_.regressor_.models_):
        assert_array_equal(model.seen_, np.sort(scores[sample & (folds != fold)]))


class Says(RegressorMixin, BaseEstimator):
    """A model that says the same of every row."""

    def __init__(self, value=0.0):
        self.value = value

    def predict(self, rows):
        return np.full(len(rows), self.value)


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("n_folds", [2, 5])
def test_rows_are_judged_by_the_model_that_has_not_seen_them(n_folds, seed):
    models = [Says(float(fold)) for fold in range(n_folds)]
    regressor, given = evidence_of(X, scores, models, seed)
    assert_array_equal(regressor, fold_of(hash_rows(X, scores, seed), n_folds))
    assert given is scores


@pytest.mark.parametrize("within", ["regressor", "constant"])
def test_levels_of_a_line_are_read_off_its_folds(within):
    """As they are in memory, off the same evidence."""
    options = {"n_groups": 4, "alpha": 0.2, "within": within, "random_state": 7}
    rule = fitted(partition=OrderedPartition(DaskLinearQuantile()), sample_size=50, **options)
    models = fit_folds(Held([(X, scores)]), 0.8, 3, 7)
    folds = fold_of(hash_rows(X, scores, 7), 3)
    regressor = np.choose(folds, [model.predict(X) for model in models])
    partition = OrderedPartition(n_groups=4, alpha=0.2)
    partition.regressor_ = None
    evidence = place_predicted(
        partition.cut(regressor, scores, None), regressor, Pairs(X, scores, None)
    )
    rule_in_memory = PLCP(alpha=0.2)
    rule_in_memory._follow = within == "regressor"
    expected, _ = calibrate_groups(rule_in_memory, partition, evidence, evidence)
    assert_array_equal(rule.corrections_, expected.values)
    assert_array_equal(rule.thresholds_, expected.thresholds)


@pytest.mark.parametrize("calibration", ["cross", "split"])
@pytest.mark.parametrize("partition", [line, OrderedPartition(DaskLinearQuantile())])
@pytest.mark.parametrize("least", [0.0, 0.25, -0.25])
def test_thresholds_are_negative_only_where_a_score_is(least, partition, calibration):
    """Of all rows, not of those of the sample: the least score is not among them."""
    moved = scores + 1
    moved[0] = least
    numbers = draws(X, moved, 0)
    assert numbers[0] > np.sort(numbers)[99]
    options = {"partition": partition, "n_groups": 2, "calibration": calibration}
    rule = fitted(moved, sample_size=100, **options)
    regressor = rule.partition_.predict_quantile
    steep = np.sign(regressor(np.eye(20)) - regressor(np.zeros((20, 20))))
    far = -1e3 * steep[None]  # where a line is far below zero
    free = regressor(far) + rule.corrections_[rule.groups(far)]
    assert free[0] < 0
    assert_array_equal(rule.predict(far), free if least < 0 else [0.0])


@pytest.mark.parametrize("calibration", ["cross", "split"])
def test_the_number_of_groups_is_chosen_as_in_memory(calibration):
    """One for 200 rows that teach, as no group here is too small."""
    rule = fitted(partition=line, calibration=calibration, calibration_size=0.5)
    teach = 1200 if calibration == "cross" else 600
    assert rule.n_groups_ == teach // 200
    if calibration == "cross":
        local = PLCP(line, random_state=0).fit(*in_hash_order(X, scores, 0))
        assert_array_equal(rule.thresholds_, local.thresholds_)
