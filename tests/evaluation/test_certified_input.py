"""What cannot be certified, and a score at its threshold, which can."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_certified_rules import pairs

from plcp import PLCP, ConformalClassifier, ConformalRegressor, SplitConformal, certify

FITTED = SplitConformal().fit(np.zeros((20, 1)), np.arange(20))
MODEL = ConformalRegressor(
    FrozenEstimator(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])), threshold=SplitConformal()
).fit(np.arange(20.0)[:, None], np.arange(20.0) + 0.1)
ROWS = np.zeros((3, 1))


def test_a_score_at_its_threshold_is_covered():
    (everybody,) = certify(FITTED, ROWS, [FITTED.threshold_, FITTED.threshold_, 99.0]).groups
    assert everybody.hits == 2


@pytest.mark.parametrize("rule", [FITTED, MODEL], ids=["rule", "model"])
@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (ROWS, [1.0, 2.0], {}, "X has 3 rows and y has 2: give one label or score a row"),
        (None, [1.0, 2.0], {}, "X and y must be given"),
        (ROWS, None, {}, "X and y must be given"),
        (ROWS[:0], [], {}, "0 rows: a certificate needs at least one row"),
        (ROWS, [1.0, np.nan, 2.0], {}, "y contains NaN"),
        (ROWS, [1.5, 1.6, 1.7], {"groups": [1, 2]}, r"groups must have shape \(3,\)"),
        (ROWS, [1.5, 1.6, 1.7], {"groups": {"a": [True]}}, "mask of group 'a' must have shape"),
        (ROWS, [1.5, 1.6, 1.7], {"groups": {}}, "groups names no group"),
        (ROWS, [1.5, 1.6, 1.7], {"confidence": 1.0}, r"confidence must lie in \(0, 1\), got 1.0"),
        (ROWS, [1.5, 1.6, 1.7], {"confidence": "high"}, r"confidence must lie in \(0, 1\)"),
        (ROWS, [1.5, 1.6, 1.7], {"target": 0.0}, r"target must lie in \(0, 1\), got 0.0"),
        (ROWS, [1.5, 1.6, 1.7], {"rule_groups": [0, 1, 1]}, "rule_groups are for rules whose"),
    ],
)
def test_bad_input(rule, X, y, options, message):
    with pytest.raises(ValueError, match=message):
        certify(rule, X, y, **options)


@pytest.mark.parametrize("rule", [PLCP(), ConformalRegressor(LinearRegression())])
def test_what_is_not_fitted(rule):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        certify(rule, ROWS, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("thing", [LinearRegression(), "plcp", None])
def test_what_is_no_rule(thing):
    with pytest.raises(ValueError, match="rule must be a fitted threshold rule"):
        certify(thing, ROWS, [1.0, 2.0, 3.0])


def test_a_pipeline_is_told_what_to_give(rng):
    X, scores = pairs(rng, 100)
    pipeline = make_pipeline(StandardScaler(), SplitConformal()).fit(X, scores)
    with pytest.raises(ValueError, match="got Pipeline: of a pipeline or a search give the rule"):
        certify(pipeline, X, scores)


def test_a_row_without_a_label(rng):
    X, y = rng.normal(size=(100, 1)), np.repeat(["a", "b"], 50)
    model = ConformalClassifier(LogisticRegression(), threshold=SplitConformal(), random_state=0)
    with pytest.raises(ValueError, match="y has no label at row 1"):
        certify(model.fit(X, y), X[:2], ["a", None])


def test_a_label_that_the_model_does_not_know(rng):
    X, y = rng.normal(size=(100, 1)), np.repeat(["a", "b"], 50)
    model = ConformalClassifier(LogisticRegression(), threshold=SplitConformal(), random_state=0)
    with pytest.raises(ValueError, match=r"labels \['c'\] are not among the classes"):
        certify(model.fit(X, y), X[:2], ["a", "c"])
