"""Intervals around a model: its own graph where it has one, its prediction where it has none."""

import json

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from served import CLOSE, Served
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plcp import (
    PLCP,
    AbsoluteResidual,
    ConformalRegressor,
    LinearQuantile,
    MeanScalePair,
    Mondrian,
    NormalizedResidual,
    OrderedPartition,
    QuantilePair,
    QuantileResidual,
    SignedResidual,
    SplitConformal,
)
from plcp.regressors import StackedQuantile

NEAREST = KNeighborsRegressor(3)  # of a kind that has no graph


def boosted(**options):
    return HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=5, **options)


def linear_groups():
    return PLCP(
        OrderedPartition(LinearQuantile()), n_groups=3, cv=2, calibration="cross", random_state=0
    )


def world(rng, n=600):
    X = rng.normal(size=(n, 3)).round(2)
    return X, X.sum(axis=1) + (1 + np.abs(X[:, 0])) * rng.normal(size=n)


MODELS = {
    "linear": (LinearRegression(), AbsoluteResidual()),
    "scaled": (make_pipeline(StandardScaler(), Ridge()), AbsoluteResidual()),
    "boosted": (boosted(), AbsoluteResidual()),
    "counts": (boosted(loss="poisson"), AbsoluteResidual()),
    "light": (LGBMRegressor(n_estimators=8, n_jobs=1, verbose=-1), AbsoluteResidual()),
    "upper": (LinearRegression(), SignedResidual("upper")),
    "lower": (LinearRegression(), SignedResidual("lower")),
    "both sides": (LinearRegression(), SignedResidual("both")),
    "band": (QuantilePair(boosted(), LinearRegression()), QuantileResidual()),
    "band, both sides": (
        QuantilePair(boosted(), LinearRegression()),
        QuantileResidual(symmetric=False),
    ),
    "scale": (MeanScalePair(LinearRegression(), boosted()), NormalizedResidual(0.1)),
}
OUTSIDE = {
    "point": (NEAREST, AbsoluteResidual()),
    "band": (QuantilePair(NEAREST, LinearRegression()), QuantileResidual()),
    "scale": (MeanScalePair(LinearRegression(), NEAREST), NormalizedResidual(0.1)),
}


def assert_intervals(model, X, **given):
    """Ends within what thresholds and predictions are promised to be."""
    served = Served(model)
    found = served(X, **given)
    expected = model.predict_set(X)
    thresholds = np.column_stack([rule.predict(X) for rule in model.tail_rules_])
    size = np.abs(model.predict(X)) + np.abs(thresholds).max(axis=1)
    for name in ("lower", "upper"):
        ends = getattr(expected, name)
        finite = np.isfinite(ends)
        np.testing.assert_array_equal(found[name][~finite], ends[~finite])
        assert (np.abs(found[name][finite] - ends[finite]) <= CLOSE * size[finite]).all()
    np.testing.assert_allclose(
        found["threshold"].reshape(len(X), -1), thresholds, rtol=CLOSE, atol=CLOSE
    )
    return served, found


@pytest.mark.parametrize(("estimator", "score"), MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("rule", [SplitConformal(), linear_groups()], ids=["split", "groups"])
def test_a_model_with_a_graph_is_part_of_it(estimator, score, rule, rng):
    X, y = world(rng)
    y = np.abs(y)  # for counts
    model = ConformalRegressor(estimator, score, rule, random_state=0).fit(X, y)
    served, found = assert_intervals(model, X)
    assert served.inputs == ["X"]
    np.testing.assert_allclose(found["prediction"], model.predict(X), rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize(("estimator", "score"), OUTSIDE.values(), ids=OUTSIDE)
def test_a_model_without_a_graph_is_an_input(estimator, score, rng):
    X, y = world(rng)
    model = ConformalRegressor(estimator, score, linear_groups(), random_state=0).fit(X, y)
    prediction = score.predictions(model.estimator_, X)
    served, found = assert_intervals(model, X, prediction=prediction)
    assert {*served.inputs} == {"X", "prediction"}
    assert {*found} == {"threshold", "group", "lower", "upper"}
    assert "prediction of the model, which has no graph here: give" in served.graph.doc_string


def test_ends_differ_from_those_of_python_by_two_roundings_at_most(rng):
    X, y = world(rng)
    y *= 10.0 ** rng.integers(-9, 9, len(y))
    model = ConformalRegressor(FrozenEstimator(NEAREST.fit(X, y)), threshold=SplitConformal())
    model.fit(X, y)
    prediction = model.predict(X)
    found, expected = Served(model)(X, prediction=prediction), model.predict_set(X)
    threshold = model.tail_rules_[0].threshold_
    np.testing.assert_array_equal(found["threshold"], threshold)
    # the graph has p + t, Python may have p + nextafter(t): a step of t and one of the sum
    step = 2 * np.spacing(np.abs(prediction) + threshold)
    assert (np.abs(found["lower"] - expected.lower) <= step).all()
    assert (np.abs(found["upper"] - expected.upper) <= step).all()
    inside = (found["lower"] <= y) & (y <= found["upper"])
    differ = inside != expected.contains(y)
    edge = np.minimum(np.abs(y - expected.lower), np.abs(y - expected.upper)) <= step
    assert not (differ & ~edge).any()


@pytest.mark.parametrize("features", [[2, 0], 1])
def test_a_rule_may_be_shown_some_columns_only(features, rng):
    X, y = world(rng)
    model = ConformalRegressor(
        LinearRegression(), threshold=linear_groups(), features=features, random_state=0
    ).fit(X, y)
    rows = X[:, np.atleast_1d(features)]
    found = Served(model)(X)
    np.testing.assert_allclose(found["threshold"], model.tail_rules_[0].predict(rows), rtol=CLOSE)
    np.testing.assert_allclose(found["prediction"], model.predict(X), rtol=CLOSE, atol=CLOSE)


def test_columns_are_named_beside_text_and_the_model_stays_outside(rng):
    X, y = world(rng)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=rng.choice(["u", "v"], len(X)))
    fitted = FrozenEstimator(LinearRegression().fit(X, y))
    rule = PLCP(
        OrderedPartition(StackedQuantile(n_repeats=1)),
        n_groups=2,
        cv=2,
        calibration="cross",
        random_state=0,
    )
    rows = ConformalRegressor(fitted, threshold=rule, features=["kind", "a"])
    model = rows.set_params(estimator=FrozenEstimator(NumbersOnly(fitted))).fit(frame, y)
    served = Served(model)
    found = served(frame, prediction=model.predict(frame))
    assert {*served.inputs} == {"kind", "a", "prediction"}
    rule = model.tail_rules_[0]
    np.testing.assert_allclose(found["threshold"], rule.predict(frame[["kind", "a"]]), rtol=CLOSE)


class NumbersOnly(LinearRegression):
    """A model of one's own that reads some columns of a frame."""

    def __init__(self, fitted):
        self.fitted = fitted

    def __sklearn_is_fitted__(self):
        return True

    @property
    def feature_names_in_(self):
        return np.array(["a", "b", "c", "kind"], dtype=object)

    @property
    def n_features_in_(self):
        return 4

    def predict(self, X):
        return self.fitted.predict(X[["a", "b", "c"]].to_numpy())


def test_a_given_group_beside_a_model_that_reads_all_columns(rng):
    X, y = world(rng)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=rng.choice([1.0, 2.0], len(X)))
    model = ConformalRegressor(LinearRegression(), threshold=Mondrian("kind"), random_state=0)
    model.fit(frame, y)
    served = Served(model)
    found = served(frame)
    assert {*served.inputs} == {*frame.columns}
    np.testing.assert_allclose(found["lower"], model.predict_set(frame).lower, rtol=CLOSE)
    np.testing.assert_array_equal(found["group"], frame["kind"] - 1)


def test_several_alphas_are_nested_columns(rng):
    X, y = world(rng)
    rule = linear_groups().set_params(alpha=[0.3, 0.1])
    model = ConformalRegressor(LinearRegression(), threshold=rule, random_state=0).fit(X, y)
    served = Served(model)
    found = served(X)
    expected = model.predict_interval(X)
    size = np.abs(expected).max()
    np.testing.assert_allclose(found["lower"], expected[:, 0], rtol=0, atol=CLOSE * size)
    np.testing.assert_allclose(found["upper"], expected[:, 1], rtol=0, atol=CLOSE * size)
    facts = {entry.key: entry.value for entry in served.graph.metadata_props}
    assert json.loads(facts["alpha"]) == [0.3, 0.1]


def test_several_alphas_of_both_sides_are_served(rng):
    X, y = world(rng)
    model = ConformalRegressor(
        LinearRegression(), SignedResidual("both"), SplitConformal([0.1, 0.4]), random_state=0
    ).fit(X, y)
    found, expected = Served(model)(X), model.predict_interval(X)
    size = np.abs(expected).max()
    np.testing.assert_allclose(found["lower"], expected[:, 0], rtol=0, atol=CLOSE * size)
    np.testing.assert_allclose(found["upper"], expected[:, 1], rtol=0, atol=CLOSE * size)
    assert found["threshold"].shape == (len(X), 4)


def test_both_sides_share_alpha_and_the_metadata_hold_the_sum(rng):
    X, y = world(rng)
    model = ConformalRegressor(
        LinearRegression(), SignedResidual("both"), SplitConformal(0.2), random_state=0
    ).fit(X, y)
    facts = {entry.key: entry.value for entry in Served(model).graph.metadata_props}
    assert json.loads(facts["alpha"]) == 0.2
    assert json.loads(facts["guarantee"]) == model.guarantee_.to_dict()
    assert facts["model"] == "ConformalRegressor"
    assert facts["rule"] == "SplitConformal"
