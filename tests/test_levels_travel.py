"""Several levels in files, in graphs and under watch: what is served is what was fitted."""

import onnxruntime
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import plcp
import plcp.onnx
from plcp import PLCP, ConformalRegressor, LinearQuantile, OrderedPartition, SplitConformal
from plcp.monitoring.watches import watches_of

LEVELS = [0.1, 0.4, 0.2]
LINEAR = OrderedPartition(LinearQuantile())
RULES = {
    "split": SplitConformal(LEVELS),
    "own": PLCP(LINEAR, 3, LEVELS, random_state=0),
    "shared": PLCP(LINEAR, 3, LEVELS, share_partition=True, random_state=0),
}


@pytest.fixture(params=RULES)
def fitted(rng, request):
    X = rng.uniform(-1, 1, size=(600, 2))
    scores = (2 + X[:, 0]) * rng.exponential(size=600)
    return clone(RULES[request.param]).fit(X, scores), X, scores


def test_files_hold_every_level(fitted, tmp_path):
    rule, X, _ = fitted
    plcp.save(rule, tmp_path / "rule.plcp")
    again = plcp.load(tmp_path / "rule.plcp")
    assert again.alpha == LEVELS
    assert again.guarantee_ == rule.guarantee_
    assert_array_equal(again.predict(X), rule.predict(X))


def test_files_of_models_hold_every_level(fitted, tmp_path):
    rule, X, scores = fitted
    model = ConformalRegressor(LinearRegression(), threshold=rule, random_state=0).fit(X, scores)
    plcp.save(model, tmp_path / "model.plcp")
    again = plcp.load(tmp_path / "model.plcp")
    assert list(again.predict_set(X)) == LEVELS
    assert_array_equal(again.predict_interval(X), model.predict_interval(X))


def test_graphs_answer_at_every_level(fitted):
    """Relative to 1e-5, as single numbers are served; levels far apart share an index here."""
    rule, X, _ = fitted
    session = onnxruntime.InferenceSession(plcp.onnx.export(rule).SerializeToString())
    thresholds = session.run(["threshold"], {"X": X})[0]
    assert_allclose(thresholds, rule.predict(X), rtol=1e-5)


def test_a_monitor_watches_every_level(fitted):
    rule, X, scores = fitted
    monitor = rule.monitor()
    monitor.update(X, scores)
    titles = {watch.title for watch in watches_of(rule)}
    assert titles == {f"alpha {level:g}, " for level in LEVELS}
