"""Labels of rows: sets keep those of X, and other labels give a warning."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from plcp import (
    PLCP,
    BatchGCP,
    ConformalClassifier,
    ConformalRegressor,
    GroupProbabilities,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    QuantilePair,
    RowOrderWarning,
    SplitConformal,
    TreePartition,
    certify,
)
from plcp.metrics import coverage_by_group, ert, hsic, interval_score, worst_slab
from plcp.regressors import CrossFitted, StackedQuantile

N = 60
LABELS = pd.Index([f"row {i}" for i in range(N)])
SHUFFLED = np.random.default_rng(1).permutation(N)
ONE, SEVERAL = SplitConformal(0.2), SplitConformal([0.1, 0.2])


@pytest.fixture
def X(rng):
    return pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"], index=LABELS)


@pytest.fixture
def y(rng, X):
    return pd.Series(rng.normal(size=N), index=X.index)


def classifier(X, rule=ONE):
    labels = np.where(X["a"] > 0, "yes", "no")
    return ConformalClassifier(GaussianNB(), threshold=rule, random_state=0).fit(X, labels)


def regressor(X, y, rule=ONE):
    return ConformalRegressor(LinearRegression(), threshold=rule, random_state=0).fit(X, y)


@pytest.mark.parametrize("rule", [ONE, SEVERAL], ids=["one level", "several"])
def test_sets_as_frames_keep_the_index_of_their_rows(X, y, rule):
    new = X.iloc[SHUFFLED]
    for model in (regressor(X, y, rule), classifier(X, rule)):
        frame = model.predict_set(new).to_pandas()
        assert frame.index.equals(new.index)
        # a join by label brings each row its own set
        expected = model.predict_set(X).to_pandas()
        pd.testing.assert_frame_equal(frame.loc[X.index], expected)
        assert model.predict_set(new).to_pandas(index=range(N)).index.tolist() == list(range(N))


def test_a_index_goes_along_with_some_of_the_rows_and_with_what_is_made_of_them(X, y):
    intervals, sets = regressor(X, y).predict_set(X), classifier(X).predict_set(X)
    mask = np.asarray(X["a"] > 0)
    for rows in (slice(5, 2, -1), mask, [3, 1], 7, -1):
        expected = LABELS[np.atleast_1d(np.arange(N)[rows])]
        assert intervals[rows].to_pandas().index.equals(expected)
        assert sets[rows].to_pandas().index.equals(expected)
    assert intervals.clip(0.0).to_pandas().index.equals(LABELS)
    assert sets.with_classes([0, 1]).to_pandas().index.equals(LABELS)
    nested = regressor(X, y, SEVERAL).predict_set(X)
    assert nested.clip(0.0)[0.2].to_pandas().index.equals(LABELS)


def test_rows_without_labels_are_numbered(X, y):
    model = regressor(X.to_numpy(), y.to_numpy())
    for rows in (X.to_numpy(), X.to_numpy().tolist(), pl.DataFrame(X.to_dict("list"))):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X has feature names")
            sets = model.predict_set(rows)
            table = model.set_output(transform="pandas").predict_interval(rows)
        assert sets.index is None
        assert table.index.equals(pd.RangeIndex(N))


def regression(values):
    return values.abs()


def labels(values):
    return values > 0


FITS = {
    "SplitConformal": (SplitConformal(), regression),
    "PLCP": (PLCP(OrderedPartition(LinearQuantile(), 2), 2, random_state=0), regression),
    "TreePartition": (TreePartition(2, min_samples_leaf=5), regression),
    "LinearQuantile": (LinearQuantile(), regression),
    "CrossFitted": (CrossFitted(LinearQuantile(), n_repeats=1), regression),
    "StackedQuantile": (StackedQuantile(n_repeats=1), regression),
    "ConformalRegressor": (ConformalRegressor(DummyRegressor(), threshold=ONE), regression),
    "ConformalClassifier": (ConformalClassifier(GaussianNB(), threshold=ONE), labels),
    "QuantilePair": (QuantilePair(DummyRegressor(), DummyRegressor()), regression),
    "GroupProbabilities": (GroupProbabilities(), labels),
}


@pytest.mark.parametrize("name", FITS)
def test_a_target_with_the_labels_of_x_in_another_order_is_warned_of(X, y, name):
    estimator, target = FITS[name]
    estimator.fit(X, target(y))  # warnings are errors
    estimator.fit(X, target(y).to_numpy())
    with pytest.warns(
        RowOrderWarning, match=r"labels of X in another order.*: give y.loc\[X.index"
    ):
        estimator.fit(X, target(y).iloc[SHUFFLED])
    with pytest.warns(RowOrderWarning, match="other labels than X, .* position: give y.to_numpy"):
        estimator.fit(X, target(y).reset_index(drop=True))


@pytest.mark.parametrize("name", ["SplitConformal", "PLCP", "LinearQuantile", "ConformalRegressor"])
def test_weights_are_warned_of_too(X, y, name):
    estimator, target = FITS[name]
    weights = pd.Series(np.arange(N) + 1.0, index=X.index)
    with pytest.warns(RowOrderWarning, match="index of sample_weight"):
        estimator.fit(X, target(y), sample_weight=weights.iloc[SHUFFLED])


@pytest.mark.parametrize("rule", [Mondrian(), BatchGCP()], ids=["Mondrian", "BatchGCP"])
def test_groups_given_by_hand_are_warned_of(X, y, rule):
    old = pd.DataFrame({"old": X["a"] > 0, "young": X["a"] <= 0})
    rule.fit(X, y.abs(), groups=old).predict(X, groups=old)  # warnings are errors
    with pytest.warns(RowOrderWarning, match="index of groups"):
        rule.predict(X, groups=old.iloc[SHUFFLED])
    with pytest.warns(RowOrderWarning, match="index of groups"):
        rule.fit(X, y.abs(), groups=old.iloc[SHUFFLED])


ASKED = {
    "score": lambda rule, model, X, y: rule.score(X, y.abs()),
    "monitor": lambda rule, model, X, y: rule.monitor().update(X, y.abs()),
    "monitor of a model": lambda rule, model, X, y: model.monitor().update(X, y),
    "certify": lambda rule, model, X, y: certify(rule, X, y.abs()),
    "examine": lambda rule, model, X, y: model.examine(X, y),
    "contains": lambda rule, model, X, y: model.predict_set(X).contains(y),
    "ert": lambda rule, model, X, y: ert(X, y > 0),
    "worst_slab": lambda rule, model, X, y: worst_slab(X, y > 0, mass=0.5, n_directions=1),
    "size": lambda rule, model, X, y: coverage_by_group(X["a"] > 0, np.ones(N), y.abs()),
    "groups": lambda rule, model, X, y: coverage_by_group(X["a"] > 0, y > 0, np.ones(N)),
    "hsic": lambda rule, model, X, y: hsic(X["a"] > 0, y.abs()),
    "interval_score": lambda rule, model, X, y: interval_score(model.predict_set(X), y),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_of_labelled_rows_is_warned_of(X, y, name):
    rule, model = SplitConformal(0.2).fit(X, y.abs() + 1e-9), regressor(X, y)
    ASKED[name](rule, model, X, y)  # warnings are errors
    with pytest.warns(RowOrderWarning, match="another order"):
        ASKED[name](rule, model, X, y.iloc[SHUFFLED])


def test_a_table_of_arrow_is_a_frame_with_its_index(X, y):
    table = pa.Table.from_pandas(X)
    model = regressor(table, y.to_numpy())
    sets = model.predict_set(table)
    assert_array_equal(sets.to_numpy(), regressor(X, y).predict_set(X).to_numpy())
    assert sets.to_pandas().index.equals(LABELS)
    (batch,) = table.to_batches()
    assert_array_equal(model.predict_set(batch).to_numpy(), sets.to_numpy())
