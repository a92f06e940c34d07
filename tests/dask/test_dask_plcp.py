"""PLCP on Dask: what PLCP learns in memory, whatever the parts, their order and the workers."""

import pickle
import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from lightgbm import DaskLGBMRegressor
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from plcp import PLCP, LinearQuantile, OrderedPartition, SoftmaxPartition
from plcp.dask import DaskLinearQuantile, DaskPLCP
from plcp.datasets import make_nonlinear
from plcp.exceptions import InfiniteThresholdWarning
from plcp.out_of_core import hash_rows
from plcp.out_of_core.linear import fold_of
from plcp.out_of_core.samples import draws, in_hash_order
from plcp.quantiles import conformal_rank
from plcp.thresholds._plcp_calibration import calibrate_groups
from plcp.thresholds._plcp_learning import Pairs, place_predicted
from plcp.thresholds.plcp import teach

some = settings(max_examples=15)
trees = OrderedPartition(HistGradientBoostingRegressor(loss="quantile", max_iter=10))
line = OrderedPartition(LinearQuantile())
everywhere = OrderedPartition(DaskLinearQuantile())


def rows(n):
    task = make_nonlinear(n, random_state=0)
    return task.X, task.scores


def cut(X, scores, *lengths):
    return da.from_array(X, chunks=(lengths, -1)), da.from_array(scores, chunks=(lengths,))


def fitted(X, scores, lengths, **options):
    return DaskPLCP(**options).fit(*cut(X, scores, *lengths))


def assert_same(rule, other):
    local, other = rule.to_local(), other if isinstance(other, PLCP) else other.to_local()
    for name in ("thresholds_", "corrections_", "group_sizes_"):
        assert_array_equal(getattr(local, name), getattr(other, name))
    assert_array_equal(local.partition_.cuts_, other.partition_.cuts_)
    assert local.guarantee_ == other.guarantee_


@st.composite
def rows_in_parts(draw):
    n = draw(st.integers(9, 150))
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    X = rng.normal(size=(n, draw(st.integers(1, 3))))
    scores = np.abs(rng.normal(size=n)) * (1 + (X[:, 0] > 0))
    if draw(st.booleans()):  # ties of features and of scores, and rows that are alike
        X, scores = np.round(X), np.round(scores)
    cuts = draw(st.lists(st.integers(0, n), max_size=4).map(sorted))
    return X, scores, np.diff([0, *cuts, n]), np.array(draw(st.permutations(range(n))))


@some
@given(rows_in_parts(), st.sampled_from([line, trees]), st.sampled_from(["regressor", "constant"]))
def test_what_fits_in_the_sample_is_learned_as_in_memory(parts, partition, within):
    X, scores, lengths, order = parts
    options = {"partition": partition, "n_groups": 3, "within": within, "random_state": 5}
    local = PLCP(**options).fit(*in_hash_order(X, scores, 5))
    assert_same(fitted(X[order], scores[order], lengths, **options), local)


@some
@given(
    rows_in_parts(),
    st.sampled_from([line, trees, everywhere]),
    st.sampled_from(["cross", "split"]),
    st.sampled_from(["regressor", "constant"]),
)
def test_parts_and_order_change_nothing(parts, partition, calibration, within):
    X, scores, lengths, order = parts
    X = X + np.random.default_rng(0).normal(size=X.shape) / 100  # no two rows alike
    options = {
        "partition": partition,
        "n_groups": 2,
        "calibration": calibration,
        "within": within,
        "sample_size": 60,
        "alpha": 0.3,
    }
    expected = fitted(X, scores, [len(scores)], **options)
    assert_same(fitted(X[order], scores[order], lengths, **options), expected)


@pytest.mark.parametrize("within", ["regressor", "constant"])
@pytest.mark.parametrize("calibration", ["cross", "split"])
def test_all_rows_give_the_thresholds_that_their_evidence_gives_in_memory(calibration, within):
    X, scores = rows(3000)
    options = {
        "partition": line,
        "n_groups": 4,
        "calibration": calibration,
        "within": within,
        "random_state": 3,
    }
    rule = fitted(X, scores, [1000] * 3, sample_size=500, **options)
    numbers = draws(X, scores, 3)
    inside = numbers <= np.sort(numbers)[499]
    sample = in_hash_order(X[inside], scores[inside], 3)
    taught, regressor = teach(PLCP(**options), *sample)
    others = Pairs(X[~inside], scores[~inside], None)
    outside = taught.partition_.predict_quantile(others.X)
    every = np.append(regressor, outside), np.append(sample[1], others.scores)
    seen, honest = (
        (every, every)
        if calibration == "cross"
        else ((regressor, sample[1]), (outside, others.scores))
    )
    partition = taught.partition_.cut(*seen, None)
    seen, honest = (
        place_predicted(partition, values, Pairs(None, own, None)) for values, own in (seen, honest)
    )
    rule_in_memory = PLCP(calibration=calibration)
    rule_in_memory._follow = within == "regressor"
    expected, _ = calibrate_groups(rule_in_memory, partition, seen, honest)
    assert_array_equal(rule.partition_.cuts_, partition.cuts_)
    assert_array_equal(rule.corrections_, expected.values)
    assert_array_equal(rule.thresholds_, expected.thresholds)
    assert_array_equal(rule.group_sizes_, expected.sizes)


def test_rows_that_did_not_teach_are_covered_at_their_exact_rank():
    """With a split, ⌈(1 - α)(n + 1)⌉ of each group's n rows: no tie, no luck."""
    X, scores = rows(4000)
    options = {"calibration": "split", "sample_size": 1000, "partition": line}
    rule = fitted(X, scores, [1500, 2500], **options).to_local()
    numbers = draws(X, scores, 0)
    outside = numbers > np.sort(numbers)[999]
    groups, covered = rule.groups(X[outside]), scores[outside] <= rule.predict(X[outside])
    assert_array_equal(rule.group_sizes_, np.bincount(groups))
    ranks = [conformal_rank(n, 0.1) for n in np.bincount(groups)]
    assert_array_equal(np.bincount(groups, covered), ranks)


@pytest.mark.parametrize("partition", [None, everywhere])
def test_workers_change_nothing(client, partition):
    X, scores = rows(1500)
    options = {"partition": partition, "sample_size": 1000}
    alone = fitted(X, scores, [1500], **options)
    assert_same(fitted(X, scores, [300] * 5, client=client, **options), alone)


@pytest.mark.parametrize("objective", [{}, {"alpha": 0.8}])
def test_trees_of_lightgbm_learn_where_the_rows_lie(client, objective):
    X, scores = rows(6000)
    regressor = DaskLGBMRegressor(
        objective="quantile", n_estimators=20, verbose=-1, client=client, **objective
    )
    rule = DaskPLCP(OrderedPartition(regressor), sample_size=2000, client=client)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
        rule.fit(*cut(X, scores, *[2000] * 3))
    assert rule.partition.regressor is regressor
    local = rule.to_local()
    assert local.partition.regressor.get_params()["alpha"] == objective.get("alpha", 0.9)
    assert rule.group_sizes_.sum() == 6000
    assert_array_equal(rule.predict(da.from_array(X)).compute(), local.predict(X))
    # the exact rank of all rows is covered, each at the regressor of a model that has not seen it
    numbers = draws(X, scores, 0)
    regressor, models = local.partition_.predict_quantile(X), local.partition_.regressor_.models_
    for fold, model in enumerate(models):
        own = fold_of(hash_rows(X, scores, 0), 3) == fold
        own &= numbers <= np.sort(numbers)[1999]
        regressor[own] = model.predict(X[own])
    groups = local._group_of[np.searchsorted(local.partition_.cuts_, regressor)]
    assert (scores <= regressor + local.corrections_[groups]).sum() == conformal_rank(6000, 0.1)


def test_frames_with_categories_are_frames_on_the_workers(client):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(["a", "b"], 2000), "x": rng.normal(size=2000)})
    frame["score"] = np.abs(rng.normal(size=2000)) * np.where(frame["kind"] == "a", 1, 5)
    lazy = dd.from_pandas(frame, npartitions=3)
    rule = DaskPLCP(sample_size=800, client=client).fit(lazy[["kind", "x"]], lazy["score"])
    thresholds = rule.predict(lazy[["kind", "x"]])
    assert thresholds.name == "threshold"
    found = thresholds.compute(scheduler=client)
    assert_array_equal(found, rule.to_local().predict(frame[["kind", "x"]]))
    means = found.groupby(frame["kind"]).mean()
    assert means["b"] > 3 * means["a"]
    groups = rule.groups(lazy[["kind", "x"]]).compute(scheduler=client)
    assert_array_equal(groups, rule.to_local().groups(frame[["kind", "x"]]))


def test_the_local_rule_is_small_and_ordinary():
    sizes = []
    for n in (2000, 20_000):
        X, scores = rows(n)
        local = fitted(X, scores, [n], partition=trees, n_groups=4).to_local()
        sizes.append(len(pickle.dumps(local)))
        assert type(local) is PLCP
    assert sizes[1] < 2 * sizes[0]  # ten times the rows, but as many trees
    assert (
        pickle.loads(pickle.dumps(local)).predict(X[:5]).tolist() == local.predict(X[:5]).tolist()
    )
    assert clone(DaskPLCP(sample_size=7)).sample_size == 7


def test_too_few_rows_are_said_to_be_too_few():
    X, scores = rows(5)
    with pytest.warns(InfiniteThresholdWarning, match="5"):
        rule = fitted(X, scores, [2, 3])
    assert np.isinf(rule.predict(da.from_array(X)).compute()).all()
    assert "every outcome" in rule.guarantee_


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"partition": SoftmaxPartition()}, "OrderedPartition or None, got SoftmaxPartition"),
        ({"calibration": "joint"}, "'cross', 'split', got 'joint'"),
        ({"sample_size": 1}, "sample_size must be a whole number, at least 2, got 1"),
        ({"random_state": None}, "random_state must be a whole number, at least 0, got None"),
        ({"alpha": 1.5}, "alpha must lie in .0, 1., got 1.5"),
        ({"cv": 1}, "cv must be a whole number, at least 2, got 1"),
        ({"n_groups": 0}, "n_groups must be at least 1, got 0"),
        ({"within": "regressor "}, "within must be one of"),
        ({"partition": everywhere, "within": "constant"}, "give a number"),
        ({"calibration": "split", "calibration_size": 0.99}, "0.99 leaves none of 50 rows"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, told):
    X, scores = rows(50)
    with pytest.raises(ValueError, match=told):
        fitted(X, scores, [50], **options)


def test_missing_features_are_told_with_their_part():
    X, scores = rows(300)
    X[250, 3] = np.nan
    with pytest.raises(ValueError, match=r"part 2 of 3(.|\n)*contains NaN(.|\n)*boosted regressor"):
        fitted(X, scores, [100] * 3, partition=line)
    fitted(X, scores, [100] * 3)  # the default takes them
