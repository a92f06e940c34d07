"""The default rule of a conformal estimator reads the model's prediction beside X."""

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.validation import validate_data

import plcp
from plcp import (
    PLCP,
    ConformalClassifier,
    ConformalRegressor,
    Mondrian,
    OrderedPartition,
    QuantilePair,
    QuantileResidual,
    Rectified,
)
from plcp._features import with_prediction
from plcp.onnx import export
from plcp.regressors import ScaledQuantile
from plcp.storage import TrustWarning
from plcp.storage.files import load_manifest


class Squares(RegressorMixin, BaseEstimator):
    """Predicts a sum of squares; of a single row, with other last bits."""

    def fit(self, X, y):
        validate_data(self, X)
        return self

    def predict(self, X):
        total = np.sum(np.square(np.asarray(X)), axis=1)
        return np.nextafter(total, np.inf) if len(total) == 1 else total


def noise_that_grows_with_the_prediction(rng, n, d=4):
    """Rows whose noise follows a function that trees on X would have to learn first."""
    X = rng.normal(size=(n, d))
    mean = np.sum(X**2, axis=1)
    return X, mean + mean * rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X, y = noise_that_grows_with_the_prediction(rng, 800)
    return ConformalRegressor(FrozenEstimator(Squares().fit(X, y)), random_state=0).fit(X, y), X


def test_the_rule_has_one_column_more_than_x(fitted):
    model, X = fitted
    assert (model.n_features_in_, model.tail_rules_[0].n_features_in_) == (4, 5)
    with pytest.raises(ValueError, match="4 features"):
        model.predict_interval(X[:, :3])


def test_thresholds_follow_a_scale_that_is_the_prediction(rng):
    learn, new = (noise_that_grows_with_the_prediction(rng, 2000) for _ in range(2))
    frozen = FrozenEstimator(Squares().fit(*learn))
    errors = []
    for features in (None, range(4)):
        model = ConformalRegressor(frozen, features=features, random_state=0).fit(*learn)
        scale = np.sum(new[0] ** 2, axis=1)
        widths = model.predict_set(new[0]).size / 2
        errors.append(np.mean(np.abs(np.log(widths / (1.645 * scale)))))
    assert errors[0] < errors[1]


def test_a_row_alone_is_answered_as_among_others(fitted):
    model, X = fitted
    assert model.tail_rules_[0].draws
    among = model.predict_set(X[:40]).size
    alone = np.concatenate([model.predict_set(row[None]).size for row in X[:40]])
    assert_allclose(alone, among, rtol=1e-9)  # another rule of the rotation would be far off


def test_draws_follow_from_x_alone(fitted):
    model, X = fitted
    rule = model.tail_rules_[0]
    rows = model._select(X)
    assert rows.shape == (800, 5)
    assert_array_equal(rule._drawn_by(rows), X)


@pytest.mark.parametrize(
    "rule",
    [
        Mondrian(-1),
        Rectified(),
        PLCP(OrderedPartition(ScaledQuantile()), calibration="split"),
        PLCP(plcp.TreePartition(), calibration="split"),
    ],
    ids=str,
)
def test_other_rules_and_regressors_read_x_alone(rule, rng):
    X = rng.integers(3, size=(400, 2)) * 1.0
    model = ConformalRegressor(LinearRegression(), threshold=rule, random_state=0)
    model.fit(X, rng.normal(size=400))
    assert model.tail_rules_[0].n_features_in_ == 2


def test_features_that_are_named_are_all_that_is_read(rng):
    X, y = noise_that_grows_with_the_prediction(rng, 300)
    model = ConformalRegressor(LinearRegression(), features=[0, 2], random_state=0).fit(X, y)
    assert model.tail_rules_[0].n_features_in_ == 2


def test_both_columns_of_a_pair_are_read(rng):
    X, y = noise_that_grows_with_the_prediction(rng, 300)
    pair = QuantilePair(*(HistGradientBoostingRegressor(max_iter=5) for _ in range(2)))
    model = ConformalRegressor(pair, QuantileResidual(), random_state=0).fit(X, y)
    assert model.tail_rules_[0].n_features_in_ == 6


def test_names_of_the_columns_that_are_added():
    frame = pd.DataFrame({"a": [1.0, 2.0], "prediction": ["x", "y"]}, index=[7, 3])
    wider = with_prediction(frame, np.array([[0.5], [0.25]]))
    assert [*wider.columns] == ["a", "prediction", "prediction_"]
    assert [*wider.index] == [7, 3]
    assert [*frame.columns] == ["a", "prediction"]
    wider = with_prediction(pl.DataFrame({"a": [1.0, 2.0]}), np.array([[0.5, 1], [0.25, 1]]))
    assert wider.columns == ["a", "prediction 1", "prediction 2"]
    assert [*with_prediction(pd.DataFrame([[1.0, 2.0]]), np.array([[3.0]])).columns] == [0, 1, 2]


def test_sparse_and_text_tables_get_the_column():
    column = np.array([[1.0], [3.0]])
    wider = with_prediction(csr_array([[0.0], [2.0]]), column)
    assert_array_equal(wider.toarray(), [[0, 1], [2, 3]])
    wider = with_prediction(np.array([["a"], ["b"]]), column)
    assert wider.tolist() == [["a", 1.0], ["b", 3.0]]


@pytest.mark.parametrize("values", [[1e308, -1e-308, 0.0], [np.pi, -np.e, 1e6 + 1e-9]], ids=str)
def test_rounding_keeps_seven_digits_at_any_size(values):
    rounded = with_prediction(np.zeros((3, 1)), np.reshape(values, (3, 1)))[:, 1]
    assert_allclose(rounded, values, rtol=2.0**-24)


def mixed_rows(n):
    rng = np.random.default_rng(n)
    X = pd.DataFrame({"site": rng.choice(["north", "south"], n), "age": rng.uniform(size=n)})
    y = 5 * X["age"] + (1 + 3 * (X["site"] == "south")) * rng.normal(size=n)
    return X, y.to_numpy()


class Line(RegressorMixin, BaseEstimator):
    """A model without a graph, for a column of a frame."""

    def fit(self, X, y):
        self.slope_ = 5.0
        return self

    def predict(self, X):
        return self.slope_ * np.asarray(X["age"])


def test_a_graph_reads_the_prediction_of_a_model_outside_of_it():
    X, y = mixed_rows(600)
    rule = PLCP(calibration="held-out")
    model = ConformalRegressor(FrozenEstimator(Line().fit(X, y)), threshold=rule, random_state=0)
    model.fit(X, y)
    session = onnxruntime.InferenceSession(export(model).SerializeToString())
    rows = {name: X[[name]].to_numpy(object if name == "site" else float) for name in X}
    lower, upper = session.run(["lower", "upper"], {**rows, "prediction": model.predict(X)})
    assert_allclose(np.column_stack([lower, upper]), model.predict_interval(X), rtol=1e-5)


def test_a_graph_holds_the_model_and_the_rule_that_reads_it(rng):
    X, y = noise_that_grows_with_the_prediction(rng, 700)
    model = ConformalRegressor(HistGradientBoostingRegressor(max_iter=20), random_state=0).fit(X, y)
    assert model.tail_rules_[0].n_features_in_ == 5
    session = onnxruntime.InferenceSession(export(model).SerializeToString())
    lower, upper = session.run(["lower", "upper"], {"X": X})
    assert_allclose(
        np.column_stack([lower, upper]), model.predict_interval(X), rtol=1e-5, atol=1e-5
    )


def test_a_file_keeps_what_draws_read(tmp_path, rng):
    X, y = noise_that_grows_with_the_prediction(rng, 800)
    frozen = FrozenEstimator(LinearRegression().fit(X, y))
    for alpha in (0.1, [0.1, 0.2]):
        model = ConformalRegressor(frozen, alpha=alpha, random_state=0).fit(X, y)
        plcp.save(model, tmp_path / "model.plcp")
        again = plcp.load(tmp_path / "model.plcp")
        assert_array_equal(again.predict_interval(X), model.predict_interval(X))
        (rule,) = again.tail_rules_
        assert {one._n_undrawn for one in getattr(rule, "rules_", [rule])} == {1}


def test_a_later_fit_forgets_it(rng):
    X, y = noise_that_grows_with_the_prediction(rng, 400)
    model = ConformalRegressor(LinearRegression(), random_state=0).fit(X, y)
    model.set_params(threshold=Mondrian(lambda X: X[:, 0] > 0)).fit(X, y)
    assert not model._reads_prediction
    assert clone(model).fit(X, y).predict_interval(X).shape == (400, 2)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_a_classifier_gives_its_largest_probabilities(n_classes, rng):
    X = rng.normal(size=(900, 2))
    y = rng.integers(n_classes, size=900)
    model = ConformalClassifier(LogisticRegression(), random_state=0).fit(X, y)
    added = model._select(X)[:, 2:]
    assert model.tail_rules_[0].n_features_in_ == 2 + added.shape[1]
    expected = np.sort(model.predict_proba(X), axis=1)[:, ::-1]
    assert_allclose(added, expected[:, : min(3, n_classes - 1)], rtol=2.0**-23)


def test_rules_of_labels_read_x_alone(rng):
    X, y = rng.normal(size=(900, 2)), rng.integers(2, size=900)
    model = ConformalClassifier(LogisticRegression(), label_conditional=True, random_state=0)
    labels = model.fit(X, y).tail_rules_[0]
    assert {rule.n_features_in_ for rule in labels.label_rules_} == {2}


def test_a_file_describes_the_columns_of_x(tmp_path):
    X, y = mixed_rows(600)
    model = ConformalRegressor(FrozenEstimator(Line().fit(X, y)), random_state=0).fit(X, y)
    with pytest.warns(TrustWarning):
        plcp.save(model, tmp_path / "model.plcp")
    found = load_manifest(tmp_path / "model.plcp")["features"]
    assert (found["n"], found["names"], len(found["types"])) == (2, ["site", "age"], 2)
