"""Trained models on Dask: the sets of the ordinary estimators to the last bit, in any parts."""

import pickle
import re
from math import nan

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import torch
from dask.config import set as configured
from dask_cases import Bare, first_column, kind_as_array, kind_of
from lightgbm import LGBMRegressor
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from plcp import (
    PLCP,
    AbsoluteResidual,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    LabelProbability,
    MeanScalePair,
    Mondrian,
    NormalizedResidual,
    QuantilePair,
    QuantileResidual,
    SignedResidual,
    SplitConformal,
)
from plcp.dask import (
    DaskConformalClassifier,
    DaskConformalRegressor,
    DaskMondrian,
    DaskSplitConformal,
)

N = 120
NAMES = ["kind", "x"]


def drawn(n, seed):
    """Rows of a kind and a number, and labels whose noise grows with the kind."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 3, n), rng.normal(size=n)]).astype(float)
    return X, np.round(X[:, 1] + (1 + X[:, 0]) * rng.normal(size=n), 2)


X, Y = drawn(N, seed=0)
TRAIN = drawn(300, seed=1)
LABELS = np.array(["high", "low", "mid"])[np.digitize(Y, [-1, 1])]
# trees predict the same bits in blocks of any size
TREE = DecisionTreeRegressor(max_depth=4).fit(*TRAIN)
SCALE = DecisionTreeRegressor(max_depth=2).fit(TRAIN[0], np.abs(TRAIN[1] - TREE.predict(TRAIN[0])))
LOW, HIGH = (
    LGBMRegressor(objective="quantile", alpha=a, n_estimators=3, verbose=-1).fit(*TRAIN)
    for a in (0.1, 0.9)
)
NAMED = DecisionTreeRegressor(max_depth=4).fit(pd.DataFrame(TRAIN[0], columns=NAMES), TRAIN[1])
KINDS = DecisionTreeClassifier(max_depth=3).fit(
    TRAIN[0], np.array(["high", "low", "mid"])[np.digitize(TRAIN[1], [-1, 1])]
)
BAND = QuantilePair(FrozenEstimator(LOW), FrozenEstimator(HIGH))
REGRESSORS = {
    "absolute": (TREE, None),
    "frozen": (FrozenEstimator(TREE), AbsoluteResidual()),
    "upper": (TREE, SignedResidual("upper")),
    "signed": (TREE, SignedResidual()),
    "normalized": (
        MeanScalePair(FrozenEstimator(TREE), FrozenEstimator(SCALE)),
        NormalizedResidual(min_scale=0.1),
    ),
    "band": (BAND, QuantileResidual()),
    "band, two tails": (BAND, QuantileResidual(symmetric=False)),
}
CLASSIFIERS = {
    "default": None,
    "never empty": LabelProbability(never_empty=True),
    "cumulative": CumulativeProbability("full"),
    "sharpened": CumulativeProbability(temperature=1.5),
}


def frozen(estimator):
    composed = QuantilePair | MeanScalePair | FrozenEstimator
    return estimator if isinstance(estimator, composed) else FrozenEstimator(estimator)


def cut(values, sizes):
    """The values on Dask, in blocks of these sizes."""
    return da.from_array(values, chunks=(sizes, *((size,) for size in values.shape[1:])))


def framed(values, sizes):
    """The values as a frame or series on Dask, in parts of these sizes, indexed backwards."""
    index = np.arange(len(values))[::-1]
    whole = (
        pd.DataFrame(values, columns=NAMES, index=index)
        if values.ndim == 2
        else pd.Series(values, index=index, name="y")
    )
    stops = np.cumsum(sizes)
    return dd.from_map(
        lambda start, stop: whole.iloc[start:stop], stops - sizes, stops, meta=whole.iloc[:0]
    )


def fit(model, labels=Y):
    return model.fit(cut(X, (50, 0, 70)), cut(labels, (50, 0, 70)))


in_parts = pytest.mark.parametrize("sizes", [(1,), (0, 20), (7, 0, 15, 8), (20, 1, 20, 19)])
few_rows = pytest.mark.filterwarnings("ignore::plcp.InfiniteThresholdWarning")


@few_rows
@pytest.mark.parametrize("name", REGRESSORS)
@in_parts
def test_intervals_are_those_of_the_ordinary_estimator(name, sizes):
    estimator, score = REGRESSORS[name]
    n = sum(sizes)
    ordinary = ConformalRegressor(frozen(estimator), score, SplitConformal(0.3)).fit(X[:n], Y[:n])
    model = DaskConformalRegressor(estimator, score, DaskSplitConformal(0.3))
    model.fit(cut(X[:n], sizes), cut(Y[:n], sizes))
    wanted = ordinary.predict_interval(X)
    assert_array_equal(model.predict_interval(cut(X, (70, 0, 50))).compute(), wanted)
    assert_array_equal(model.predict_interval(X), wanted)
    assert_array_equal(model.to_local().predict_interval(X), wanted)
    assert_array_equal(model.predict(cut(X, (70, 50))).compute(), ordinary.predict(X))
    assert model.guarantee_ == model.to_local().guarantee_ == ordinary.guarantee_


@few_rows
@pytest.mark.parametrize("name", CLASSIFIERS)
@in_parts
def test_label_sets_are_those_of_the_ordinary_estimator(name, sizes):
    score, n = CLASSIFIERS[name], sum(sizes)
    ordinary = ConformalClassifier(FrozenEstimator(KINDS), score, SplitConformal(0.3))
    ordinary.fit(X[:n], LABELS[:n])
    model = DaskConformalClassifier(KINDS, score, DaskSplitConformal(0.3))
    model.fit(cut(X[:n], sizes), cut(LABELS[:n], sizes))
    rows, wanted = cut(X, (70, 0, 50)), ordinary.predict_set(X)
    assert_array_equal(model.predict_set(rows).compute(), wanted.to_numpy())
    assert model.to_local().predict_set(X).to_lists() == wanted.to_lists()
    assert_array_equal(model.predict(rows).compute(), ordinary.predict(X))
    assert_array_equal(model.predict_proba(rows).compute(), ordinary.predict_proba(X))
    assert_array_equal(model.classes_, ordinary.classes_)
    assert model.guarantee_ == ordinary.guarantee_


@pytest.mark.parametrize("sizes", [(21,), (7, 0, 15, 8)])
def test_frames_with_parts_of_unknown_length_keep_their_index(sizes):
    n = sum(sizes)
    rows, labels = framed(X[:n], sizes), framed(Y[:n], sizes)
    model = DaskConformalRegressor(NAMED, SignedResidual(), DaskSplitConformal(0.3))
    intervals = model.fit(rows, labels).predict_interval(rows)
    assert isinstance(intervals, dd.DataFrame)
    wanted = model.to_local().set_output(transform="pandas").predict_interval(rows.compute())
    assert_frame_equal(intervals.compute(), wanted)
    assert_frame_equal(intervals._meta, wanted[:0], check_index_type=False)
    points = model.predict(rows).compute()
    assert (points.name, points.index.tolist()) == ("prediction", rows.compute().index.tolist())
    ordinary = ConformalRegressor(
        FrozenEstimator(NAMED), SignedResidual(), SplitConformal(0.3)
    ).fit(rows.compute(), Y[:n])
    assert_array_equal(wanted, ordinary.predict_interval(rows.compute()))


def test_label_sets_of_frames_have_a_column_per_class():
    rows, labels = framed(X, (50, 0, 70)), framed(LABELS, (50, 0, 70))
    known = DecisionTreeClassifier(max_depth=3).fit(rows.compute(), LABELS)
    model = DaskConformalClassifier(known, threshold=DaskSplitConformal(0.3)).fit(rows, labels)
    here, found = rows.compute(), model.predict_set(rows).compute()
    assert_frame_equal(found, model.to_local().predict_set(here).to_pandas(here.index))
    assert_array_equal(model.predict(rows).compute(), known.predict(here))
    assert list(model.predict_proba(rows).columns) == ["high", "low", "mid"]


def test_groups_are_learned_by_default():
    rows, labels = drawn(1500, seed=2)
    model = DaskConformalRegressor(TREE).fit(cut(rows, (500, 1000)), cut(labels, (500, 1000)))
    assert isinstance(model.tail_rules_[0], PLCP)
    found = model.predict_interval(cut(X, (70, 50))).compute()
    assert_array_equal(found, model.to_local().predict_interval(X))
    assert len(set(np.diff(found)[:, 0].tolist())) > 1


class KindOnly(torch.nn.Module):
    def forward(self, rows):
        return rows[:, :1]


FEATURES = {"function": kind_of, "array": kind_as_array}
OF_ARRAYS = {"column": 0, "columns": [0], "network": KindOnly(), **FEATURES}
OF_FRAMES = {"column": "kind", "columns": ["kind"], **FEATURES}


@pytest.mark.parametrize(
    ("name", "as_frames"), [*((name, False) for name in OF_ARRAYS), *((n, True) for n in OF_FRAMES)]
)
def test_the_rule_is_given_the_chosen_features(name, as_frames, client):
    features = (OF_FRAMES if as_frames else OF_ARRAYS)[name]
    groups = ("kind" if name != "array" else first_column) if as_frames else 0
    on_dask, tree = (framed, NAMED) if as_frames else (cut, TREE)
    here = framed(X, (N,)).compute() if as_frames else X
    ordinary = ConformalRegressor(
        FrozenEstimator(tree), None, Mondrian(groups, 0.3), features=features
    )
    wanted = ordinary.fit(here, Y).predict_interval(here)
    options = {"features": features, "client": client if as_frames else None}
    model = DaskConformalRegressor(tree, None, DaskMondrian(groups, 0.3), **options)
    model.fit(on_dask(X, (0, 50, 70)), on_dask(Y, (0, 50, 70)))
    assert_array_equal(model.to_local().predict_interval(here), wanted)
    rule = model.tail_rules_[0]
    assert rule.n_features_in_ == 1
    assert hasattr(rule, "feature_names_in_") == (as_frames and name != "array")


class Network(torch.nn.Module):
    """Doubles the number of each row, with a method ``predict``."""

    def forward(self, rows):
        return 2 * rows[:, 1]

    def predict(self, rows):
        return self(torch.as_tensor(rows)).numpy()


@pytest.mark.parametrize("predictor", [Bare(), Network()])
def test_any_object_with_predict_is_a_model(predictor):
    ordinary = ConformalRegressor(FrozenEstimator(predictor), threshold=SplitConformal(0.3))
    wanted = ordinary.fit(X, Y).predict_interval(X)
    model = fit(DaskConformalRegressor(predictor, threshold=DaskSplitConformal(0.3)))
    assert_array_equal(model.predict_interval(cut(X, (50, 70))).compute(), wanted)


def test_an_ordinary_estimator_predicts_rows_on_dask():
    rows, labels = drawn(800, seed=3)
    trees = LGBMRegressor(n_estimators=3, verbose=-1).fit(*TRAIN)
    ordinary = ConformalRegressor(FrozenEstimator(trees), threshold=PLCP(random_state=0))
    ordinary.fit(rows, labels)
    model = DaskConformalRegressor.from_local(ordinary)
    assert_array_equal(
        model.predict_interval(cut(X, (0, 50, 70))).compute(), ordinary.predict_interval(X)
    )
    assert model.guarantee_ == ordinary.guarantee_
    assert_array_equal(model.to_local().predict_interval(X), ordinary.predict_interval(X))


@pytest.mark.parametrize("estimator", [NAMED, Bare()], ids=["named", "bare"])
def test_other_columns_than_those_of_calibration_are_refused(estimator):
    ordinary = ConformalRegressor(FrozenEstimator(estimator), threshold=SplitConformal())
    ordinary.fit(framed(X, (N,)).compute(), Y)
    model = DaskConformalRegressor.from_local(ordinary)
    renamed = framed(X, (N,)).rename(columns={"x": "z"})
    with pytest.raises(ValueError, match="feature names"):
        model.predict_interval(renamed)
    model = DaskConformalRegressor(estimator, threshold=DaskSplitConformal())
    model.fit(framed(X, (50, 70)), framed(Y, (50, 70)))
    with pytest.raises(ValueError, match="feature names"):
        model.predict_interval(renamed)


def test_what_is_not_an_ordinary_estimator_is_refused():
    with pytest.raises(TypeError, match="must be a fitted ConformalRegressor, got PLCP"):
        DaskConformalRegressor.from_local(PLCP())
    with pytest.raises(NotFittedError, match="ConformalRegressor instance is not fitted"):
        DaskConformalRegressor.from_local(ConformalRegressor(FrozenEstimator(TREE)))


def test_missing_outcomes_are_found_in_their_part():
    labels = Y.copy()
    labels[55] = nan
    with pytest.raises(ValueError, match=r"part 2 of 3.*y contains NaN"):
        fit(DaskConformalRegressor(TREE, threshold=DaskSplitConformal()), labels)


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
@pytest.mark.parametrize("converted", [True, False])
def test_missing_labels_are_found_in_their_part(gap, converted):
    frame, labels = pd.DataFrame(X, columns=NAMES), pd.Series(LABELS, dtype=object)
    known = DecisionTreeClassifier(max_depth=3).fit(frame, labels)
    labels[100] = gap
    with configured({"dataframe.convert-string": converted}):
        lazy = [dd.from_pandas(values, npartitions=3) for values in (frame, labels)]
        with pytest.raises(ValueError, match=r"part 2 of 3.*y has no label at row 20"):
            DaskConformalClassifier(known, threshold=DaskSplitConformal()).fit(*lazy)


def test_unknown_classes_are_found_in_their_part():
    labels = LABELS.astype(object)
    labels[[3, 9]] = "new"
    model = DaskConformalClassifier(KINDS, threshold=DaskSplitConformal())
    with pytest.raises(ValueError, match=r"part 0 of 3.*labels \['new'\] are not among"):
        fit(model, labels)
    with pytest.raises(ValueError, match=r"part \d of 3.*Unknown label type: continuous"):
        fit(model, Y + 0.123)


def test_what_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match="LinearRegression instance is not fitted"):
        fit(DaskConformalRegressor(LinearRegression(), threshold=DaskSplitConformal()))
    regressor, classifier = DaskConformalRegressor(TREE), DaskConformalClassifier(KINDS)
    for method in (
        regressor.predict_interval,
        classifier.predict,
        classifier.predict_set,
        classifier.predict_proba,
    ):
        with pytest.raises(NotFittedError):
            method(cut(X, (N,)))
    with pytest.raises(NotFittedError):
        regressor.to_local()


def test_a_score_that_draws_or_learns_predicts_blocks_but_cannot_be_calibrated_on_them():
    rows = cut(X, (N // 3, N - N // 3))
    for score, error in (
        (CumulativeProbability(temperature="fit"), "learn its temperature from all rows"),
        (
            CumulativeProbability("random", random_state=0),
            "draw again in every block: use own_mass",
        ),
    ):
        with pytest.raises(ValueError, match=error):
            fit(DaskConformalClassifier(KINDS, score), LABELS)
        ordinary = ConformalClassifier(FrozenEstimator(KINDS), score, SplitConformal(0.3))
        on_dask = DaskConformalClassifier.from_local(ordinary.fit(X, LABELS))
        expected = ordinary.predict_set(X).to_numpy()
        assert_array_equal(on_dask.predict_set(rows).compute(), expected)


WRONG = {
    "must be a rule of plcp.dask, got PLCP(): use DaskPLCP": {"threshold": PLCP()},
    "DaskMondrian(groups=None) takes labels by hand": {"threshold": DaskMondrian()},
    "alpha must lie in (0, 1), got 1.2": {"threshold": DaskSplitConformal(1.2)},
    "is a score for classification": {"conformity": LabelProbability()},
    "features names ['z'], but X has only": {"features": "z"},
}


@pytest.mark.parametrize("error", WRONG)
def test_wrong_combinations_are_refused(error):
    model = DaskConformalRegressor(NAMED, **WRONG[error])
    with pytest.raises((TypeError, ValueError), match=re.escape(error)):
        model.fit(framed(X, (50, 70)), framed(Y, (50, 70)))
    with pytest.raises(TypeError, match="ConformalClassifier needs a classifier"):
        fit(DaskConformalClassifier(TREE), LABELS)


def test_a_calibration_set_without_rows_is_refused():
    with pytest.raises(ValueError, match="calibration set is empty"):
        DaskConformalRegressor(TREE, features=kind_of).fit(cut(X[:0], (0,)), cut(Y[:0], (0,)))


def test_a_clone_shares_the_trained_model_and_the_client(client):
    model = DaskConformalRegressor(TREE, SignedResidual(), DaskSplitConformal(0.3), client=client)
    twin = clone(model)
    assert twin.estimator is TREE
    assert twin.client is client
    assert twin.threshold is not model.threshold
    fit(twin)
    sent = pickle.loads(pickle.dumps(twin))
    assert sent.client is None
    assert_array_equal(sent.predict_interval(X), twin.predict_interval(X))
    fit(twin.set_params(threshold__alpha=0.4))  # of two tails
    assert [rule.alpha for rule in twin.tail_rules_] == [0.2, 0.2]
    assert twin.to_local().threshold.alpha == 0.4
