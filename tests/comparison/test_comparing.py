"""Methods on the same rows: laws of pairing, oracles, and what is refused."""

import json
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from plcp import (
    AbsoluteResidual,
    ConformalRegressor,
    MeanScalePair,
    Mondrian,
    NormalizedResidual,
    QuantilePair,
    QuantileResidual,
    Rectified,
    SplitConformal,
    compare_methods,
)
from plcp.comparison import measures
from plcp.comparison.result import METRICS
from plcp.metrics import quantile_bins
from plcp.quantiles import conformal_quantile

N = 400


def right(X):
    return np.asarray(X)[:, 0] > 0.6


def wrong(X):
    return np.asarray(X)[:, 1] > 0.5


@pytest.fixture(scope="module")
def rows():
    """Noise that is three times as large on the right."""
    rng = np.random.default_rng(0)
    X = rng.random((3_000, 2))
    return X, X[:, 0] + (1 + 2 * right(X)) * rng.normal(size=len(X))


@pytest.fixture(scope="module")
def found(rows):
    methods = {
        "split": "split",
        "again": SplitConformal(),
        "right": Mondrian(right),
        "wrong": Mondrian(wrong),
    }
    return compare_methods(*rows, LinearRegression(), methods)


@pytest.fixture(scope="module")
def labels():
    return make_classification(N, n_informative=4, n_classes=3, random_state=0)


@pytest.fixture
def few_trees(monkeypatch):
    """Conditional errors by one classifier each: what is measured is not the point."""
    monkeypatch.setattr(measures, "BLOCKS", 1)


def test_all_methods_are_measured_on_the_same_rows(found):
    methods = [*found.methods.values()]
    for one in methods:
        assert one.covered.shape == one.sizes.shape == found.rows.shape == (3_000,)
        for metric in ("conditional error", "worst group"):
            mine, first = one.measure(metric), methods[0].measure(metric)
            assert_array_equal(mine.weights, first.weights)
            assert np.average(mine.terms, weights=mine.weights) == pytest.approx(mine.estimate)


@pytest.mark.parametrize("metric", [name for name in METRICS if name != "seconds"])
def test_a_method_differs_from_itself_by_nothing(found, metric):
    difference = found.differences(metric, "split").differences["again"]
    assert difference.estimate == 0
    assert difference.low <= 0 <= difference.high
    assert difference.p_value == pytest.approx(1)


def test_the_method_that_is_best_by_construction_is_recommended(found):
    assert found.best == ("right",)
    assert found.recommended == "right"
    assert "right has the smallest conditional error" in found.reason
    difference = found.differences("conditional error", "split").differences["right"]
    assert difference.high < 0
    assert found.methods["split"].group.startswith("x0 ")
    assert found.differences("worst group", "split").differences["right"].low > 0


def test_the_order_of_methods_does_not_matter(rows, found):
    methods = {"wrong": Mondrian(wrong), "right": Mondrian(right), "split": SplitConformal()}
    other = compare_methods(*rows, LinearRegression(), methods)
    assert other.recommended == found.recommended
    assert other.best == found.best
    for name, one in other.methods.items():
        assert_array_equal(one.covered, found.methods[name].covered)
        assert one.conditional_error.estimate == found.methods[name].conditional_error.estimate


def test_split_is_split_conformal_prediction_out_of_fold(rows):
    X, y = rows[0][:N], rows[1][:N]
    folds = [(np.arange(N // 2), np.arange(N // 2, N)), (np.arange(N // 2, N), np.arange(N // 2))]
    names = ["split", "mapie-split", "crepes-split"]
    found = compare_methods(X, y, prediction=X[:, 0], methods=names, cv=folds)
    errors = np.abs(y - X[:, 0])
    for rest, hold in folds:
        threshold = conformal_quantile(errors[rest], 0.1)
        for name in names:
            one = found.methods[name]
            assert_array_equal(one.covered[hold], errors[hold] <= threshold)
            assert_allclose(one.sizes[hold], 2 * threshold)
    assert found.recommended == "split"  # of three that are the same, the simplest
    assert "split will do" in found.reason


def test_a_frozen_model_and_its_predictions_are_the_same(rows, labels, few_trees):
    X, y = rows[0][:N], rows[1][:N]
    frozen = FrozenEstimator(LinearRegression().fit(*rows))
    names = ["split", "rectified", "conditional"]
    by_model = compare_methods(X, y, frozen, names, cv=3)
    by_hand = compare_methods(X, y, prediction=frozen.predict(X), methods=names, cv=3)
    X, y = labels
    y = np.array(["c", "a", "b"])[y]
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    names = ["split", "aps", "split-by-label", "crepes-split", "mapie-split"]
    labels_by_model = compare_methods(X, y, frozen, names, cv=3)
    chances = pd.DataFrame(frozen.predict_proba(X), columns=frozen.classes_)[["c", "b", "a"]]
    labels_by_hand = compare_methods(X, y, probabilities=chances, methods=names, cv=3)
    for one, other in ((by_model, by_hand), (labels_by_model, labels_by_hand)):
        assert [*one.methods] == [*other.methods] == [*names] or not one.left_out
        for name in one.methods:
            assert_array_equal(one.methods[name].covered, other.methods[name].covered)
            assert_allclose(one.methods[name].sizes, other.methods[name].sizes)
    three = [labels_by_hand.methods[name].covered for name in ("split", "crepes-split")]
    assert_array_equal(*three)


def test_a_rule_and_the_estimator_around_it_get_what_is_theirs(rows):
    X, y = rows[0][:N], rows[1][:N]
    model = ConformalRegressor(LinearRegression(), AbsoluteResidual(), Rectified(random_state=0))
    found = compare_methods(X, y, LinearRegression(), {"rule": Rectified(), "whole": model},
                            alpha=0.2, cv=2)  # fmt: skip
    for one in found.methods.values():
        assert one.guarantee.alpha == 0.2
    assert found.methods["rule"].guarantee.n < 0.5 * N


def test_what_draws_is_seeded_at_any_depth(rows, few_trees):
    X, y = rows[0][:N], rows[1][:N]
    model = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_features=1, max_depth=4))
    methods = {"split": "split", "whole": ConformalRegressor(model, threshold=SplitConformal())}
    one, two = (compare_methods(X, y, model, methods, cv=2) for _ in range(2))
    for name in methods:
        assert_array_equal(one.methods[name].sizes, two.methods[name].sizes)


class Broken(BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no such luck")

    def predict_set(self, X):
        raise NotImplementedError


def test_a_method_that_fails_is_left_out_with_its_reason(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "mapie", None)
    monkeypatch.setitem(sys.modules, "mapie.regression", None)
    X, y = rows[0][:N], rows[1][:N]
    methods = {"split": "split", "mine": Broken(), "mapie": "mapie-split", "cells": "mondrian"}
    found = compare_methods(X, y, LinearRegression(), methods, cv=2)
    assert [*found.methods] == ["split"]
    assert found.left_out["mine"] == "RuntimeError: no such luck"
    assert "pip install mapie" in found.left_out["mapie"]
    assert found.left_out["cells"] == "no groups are given"
    assert "left out, no groups are given: cells" in str(found)
    with pytest.raises(ValueError, match="no method could be measured: mine: RuntimeError"):
        compare_methods(X, y, LinearRegression(), {"mine": Broken()}, cv=2)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N).astype(float),
            "school": rng.choice(["none", "college", "doctorate"], N),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
        }
    )
    frame.loc[::9, "age"] = np.nan
    y = (1 + (frame["school"] == "doctorate")) * rng.normal(size=N)
    return frame, y.to_numpy()


def test_every_method_takes_a_table_of_numbers_text_dates_and_gaps(mixed, few_trees):
    n = 240
    frame, y = mixed[0][:n], mixed[1][:n]
    found = compare_methods(frame, y, prediction=np.zeros(n), groups="school", cv=2)
    assert all("trains models" in reason for reason in found.left_out.values())
    assert {"mondrian", "rlcp", "plcp", "mapie-conditional"} <= found.methods.keys()
    assert found.groups == ("school=college", "school=doctorate", "school=none")


def test_every_method_trains_and_classifies(labels, few_trees):
    X, y = labels
    found = compare_methods(X, y, LogisticRegression(), groups={"left": lambda X: X[:, 0] < 0},
                            cv=2)  # fmt: skip
    assert not found.left_out
    assert {"plcp-taught", "aps", "split-by-label", "mapie-aps"} <= found.methods.keys()


def test_methods_that_train_models_of_their_own(rows, few_trees):
    names = ["cqr", "plcp-on-cqr", "plcp-taught", "mapie-cross", "crepes-normalized",
             "crepes-mondrian"]  # fmt: skip
    X, y = rows[0][:N], rows[1][:N]
    tree = DecisionTreeRegressor(max_depth=3)
    found = compare_methods(X, y, tree, names, cv=2)
    assert [*found.methods] == names
    again = compare_methods(X, y, tree, names, cv=2)
    for name in names:
        assert_allclose(found.methods[name].sizes, again.methods[name].sizes)


@pytest.mark.parametrize(
    ("pair", "score"),
    [(QuantilePair, QuantileResidual()), (MeanScalePair, NormalizedResidual())],
)
def test_a_pair_of_models_keeps_its_score(rows, few_trees, pair, score):
    X, y = rows[0][:N], rows[1][:N]
    model = pair(*(DecisionTreeRegressor(max_depth=depth, random_state=0) for depth in (1, 2)))
    model = FrozenEstimator(model.fit(*rows))
    found = compare_methods(
        X,
        y,
        model,
        ["split", "mapie-split"],
        cv=[(np.arange(200), np.arange(200, N)), (np.arange(200, N), np.arange(200))],
    )
    assert found.left_out == {"mapie-split": "predictions are not single numbers"}
    alone = ConformalRegressor(model, score, SplitConformal()).fit(X[:200], y[:200])
    assert_allclose(found.methods["split"].sizes[200:], alone.predict_set(X[200:]).size)
    assert str(score) in found.methods["split"].how


def test_tables_of_all_kinds_are_one(mixed, few_trees):
    frame, y = mixed
    names = ["split", "rectified"]
    one, two = (
        compare_methods(X, y, prediction=np.zeros(N), methods=names, cv=2)
        for X in (frame, pl.from_pandas(frame))
    )
    for name in names:
        assert_array_equal(one.methods[name].covered, two.methods[name].covered)
    assert one.groups == two.groups


def test_of_many_rows_some_are_compared_and_a_note_says_so(rows):
    X, y = rows
    found = compare_methods(X, y, prediction=X[:, 0], methods="split", max_rows=500)
    assert len(found.rows) == 500
    assert "500 of 3,000 rows" in found.notes[0]
    groups = quantile_bins(X[:, 0], 4)
    given = compare_methods(X, y, prediction=X[:, 0], methods="split", max_rows=500, groups=groups)
    assert len(given.groups) == 4


def test_records_frames_and_json_show_the_same(found):
    frame = found.to_pandas()
    assert frame["method"].tolist() == [record["method"] for record in found.records]
    assert frame["conditional_error"].is_monotonic_increasing
    assert frame.loc[frame["recommended"], "method"].tolist() == ["right"]
    values = json.loads(json.dumps(found.to_dict()))
    assert values["recommended"] == "right"
    assert values["reason"] == found.reason
    text = str(found)
    assert "Recommended: right, that is " in text
    assert found.methods["split"].how == (
        "ConformalRegressor(FrozenEstimator(model), threshold=SplitConformal())"
    )
    assert f"{found.methods['split'].group} for split" in text
    assert all(name in text for name in found.methods)
    assert repr(found) == "MethodComparison(4 methods, recommended='right')"


def test_a_bar_shows_every_method_of_every_fold(rows, capsys):
    X, y = rows[0][:N], rows[1][:N]
    compare_methods(X, y, LinearRegression(), ["split", "conditional"], cv=3, verbose=True)
    assert "6/6" in capsys.readouterr().err


X, Y = np.arange(80.0).reshape(40, 2), np.arange(40.0)
MISTAKES = {
    "no model": ({}, "give one of model, prediction and"),
    "two models": ({"model": LinearRegression(), "prediction": Y}, "got model and prediction"),
    "a class": ({"model": LinearRegression}, "give an instance"),
    "no classifier's y": ({"model": LogisticRegression(), "y": Y + 0.5}, "y holds numbers"),
    "short prediction": ({"prediction": Y[:-1]}, r"prediction must have shape \(40,\)"),
    "nan prediction": ({"prediction": Y * np.nan}, "prediction must be finite, got nan at row 0"),
    "three predictions": ({"prediction": X[:, [0, 0, 0]]}, "for two quantiles"),
    "wide probabilities": ({"probabilities": np.ones((40, 3)) / 3, "y": Y > 3}, "shape"),
    "unknown label": (
        {"probabilities": pd.DataFrame({"a": Y * 0, "b": Y * 0 + 1}), "y": ["c"] * 40},
        "have no column of probabilities",
    ),
    "unknown method": ({"prediction": Y, "methods": ["splt"]}, "did you mean 'split'"),
    "no method": ({"prediction": Y, "methods": []}, "methods names none"),
    "no mapping": ({"prediction": Y, "methods": {}}, "empty mapping"),
    "a number": ({"prediction": Y, "methods": 3}, 'methods must be "all"'),
    "no rule": ({"prediction": Y, "methods": {"mine": 3}}, "must be a name, a threshold rule"),
    "alpha": ({"prediction": Y, "alpha": 0}, "alpha must lie in"),
    "confidence": ({"prediction": Y, "confidence": 95}, "confidence must lie in"),
    "cv": ({"prediction": Y, "cv": 1}, "cv must be"),
    "calibration size": ({"prediction": Y, "calibration_size": 2}, "calibration_size must lie"),
    "rows": ({"prediction": Y, "max_rows": 0}, "max_rows must be"),
    "seed": ({"prediction": Y, "random_state": None}, "random_state must be"),
    "groups": ({"prediction": Y, "groups": "age"}, "groups names the column 'age'"),
    "one column": ({"prediction": Y, "X": Y}, "X must be a table|1[dD]|shape"),
    "lengths": ({"prediction": Y, "y": Y[:-1]}, "inconsistent numbers"),
    "text": ({"prediction": Y, "y": ["a"] * 40}, "numbers"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_refused_with_the_remedy(name):
    given, words = MISTAKES[name]
    given = {"X": X, "y": Y, **given}
    with pytest.raises((ValueError, TypeError), match=words):
        compare_methods(given.pop("X"), given.pop("y"), **given)


def test_a_reference_that_is_none_is_refused(found):
    with pytest.raises(ValueError, match="reference must be one of"):
        found.differences("size", "nobody")
    with pytest.raises(ValueError, match="metric must be one of"):
        found.differences("length")
