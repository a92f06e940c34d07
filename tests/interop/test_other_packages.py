"""Groups of our rules in MAPIE and crepes: the thresholds they find are those of theory."""

import pickle

import numpy as np
import pandas as pd
import pytest
from crepes import ConformalRegressor as CrepesRegressor, WrapClassifier, WrapRegressor
from mapie.conditional_conformal_prediction import (
    ConditionalSplitConformalClassifier,
    ConditionalSplitConformalRegressor,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from plcp import (
    PLCP,
    BatchGCP,
    ConformalRegressor,
    InfiniteThresholdWarning,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    SoftmaxPartition,
    SplitConformal,
)
from plcp.interop import as_feature_map, bins
from plcp.quantiles import conformal_quantile

ALPHA = 0.25  # a power of two: the rank of a quantile is the same in any arithmetic
N = 90


def rows(seed, n=N):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X[:, 0] + (1.2 + X[:, 1]) * rng.standard_normal(n)


@pytest.fixture(scope="module")
def model():
    return LinearRegression().fit(*rows(0))


@pytest.fixture(scope="module")
def rule(model):
    X, y = rows(1, 300)
    ordered = OrderedPartition(LinearQuantile())
    return PLCP(ordered, 3, ALPHA, calibration="cross", random_state=0).fit(
        X, abs(y - model.predict(X))
    )


@pytest.fixture(scope="module")
def by_theory(model, rule):
    """Conformal quantile of the calibration scores of each learned group."""
    X, y = rows(2)
    scores, groups = abs(y - model.predict(X)), rule.groups(X)
    quantiles = np.array([conformal_quantile(scores[groups == g], ALPHA) for g in range(3)])
    assert len(set(quantiles)) == 3
    return quantiles


def test_mapie_covers_each_learned_group(model, rule, by_theory):
    mapie = ConditionalSplitConformalRegressor(as_feature_map(rule), model, 1 - ALPHA)
    mapie.conformalize(*rows(2))
    X = rows(3, 30)[0]
    points, intervals = mapie.predict_interval(X)
    half = (intervals[:, 1, 0] - intervals[:, 0, 0]) / 2
    # MAPIE goes by a solver of floating-point programs
    assert half == pytest.approx(by_theory[rule.groups(X)], rel=1e-6)
    assert points == pytest.approx(model.predict(X))


def test_mapie_covers_each_learned_group_of_a_classifier(rule):
    (X, y), (X_cal, y_cal) = rows(0), rows(2)
    model = LogisticRegression().fit(X, y > 0)
    mapie = ConditionalSplitConformalClassifier(
        as_feature_map(rule), model, 1 - ALPHA, conformity_score="lac"
    )
    mapie.conformalize(X_cal, y_cal > 0)
    new = rows(3, 30)[0]
    _, sets = mapie.predict_set(new)
    scores = 1 - model.predict_proba(X_cal)[np.arange(N), (y_cal > 0).astype(int)]
    of_row = rule.groups(X_cal)
    quantiles = [conformal_quantile(scores[of_row == g], ALPHA) for g in range(3)]
    expected = 1 - model.predict_proba(new) <= np.array(quantiles)[rule.groups(new), None]
    assert np.array_equal(sets[:, :, 0], expected)


def test_crepes_calibrates_each_learned_group(model, rule, by_theory):
    crepes = WrapRegressor(model)
    crepes.calibrate(*rows(2), mc=bins(rule))
    X = rows(3, 50)[0]
    intervals = crepes.predict_int(X, confidence=1 - ALPHA)
    half = by_theory[rule.groups(X)]
    assert np.array_equal(
        intervals, np.column_stack([model.predict(X) - half, model.predict(X) + half])
    )


def test_crepes_takes_bins_of_rows_as_well(model, rule, by_theory):
    (X, y), (new, _) = rows(2), rows(3, 50)
    own = bins(rule)
    crepes = CrepesRegressor().fit(y - model.predict(X), bins=own(X))
    intervals = crepes.predict_int(np.zeros(50), bins=own(new), confidence=1 - ALPHA)
    assert np.array_equal(intervals[:, 1], by_theory[rule.groups(new)])


def test_crepes_calibrates_each_learned_group_of_a_classifier(rule):
    (X, y), (X_cal, y_cal) = rows(0), rows(2)
    crepes = WrapClassifier(LogisticRegression())
    crepes.fit(X, y > 0)
    crepes.calibrate(X_cal, y_cal > 0, mc=bins(rule))
    new = rows(3, 50)[0]
    sets = crepes.predict_set(new, labels=False, confidence=1 - ALPHA, smoothing=False)
    scores = 1 - crepes.predict_proba(X_cal)[np.arange(N), (y_cal > 0).astype(int)]
    of_row = rule.groups(X_cal)
    quantiles = [conformal_quantile(scores[of_row == g], ALPHA) for g in range(3)]
    expected = 1 - crepes.predict_proba(new) <= np.array(quantiles)[rule.groups(new), None]
    assert np.array_equal(sets == 1, expected)


def test_soft_groups_are_columns_of_memberships():
    X, y = rows(1, 200)
    soft = SoftmaxPartition(n_starts=1, max_rounds=3)
    drawn = PLCP(soft, 2, ALPHA, assignment="sample", calibration="cross", random_state=0).fit(
        X, abs(y)
    )
    assert np.array_equal(as_feature_map(drawn)(X), drawn.memberships(X))
    likeliest = PLCP(soft, 2, ALPHA, calibration="cross", random_state=0).fit(X, abs(y))
    assert np.array_equal(
        as_feature_map(likeliest)(X).argmax(axis=1), np.asarray(likeliest.groups(X))
    )


def test_groups_may_overlap():
    X, y = rows(1, 200)
    rule = BatchGCP([lambda X: X[:, 0] > 0, lambda X: X[:, 1] > -2], ALPHA).fit(X, abs(y))
    expected = np.column_stack([X[:, 0] > 0, X[:, 1] > -2])
    assert np.array_equal(as_feature_map(rule)(X), expected)
    with pytest.raises(ValueError, match=r"BatchGCP gives rows no single group: .*PLCP or Mond"):
        bins(rule)(X)


def test_rows_of_no_group_are_named():
    frame = pd.DataFrame({"kind": list("ab") * 20})
    rule = Mondrian("kind", ALPHA).fit(frame, np.arange(40.0))
    new = pd.DataFrame({"kind": ["a", "c", "b", "d"]})
    unseen = pytest.warns(InfiniteThresholdWarning, match=r"\['c', 'd'\] were not seen")
    with (
        unseen,
        pytest.raises(ValueError, match=r"rows \[1, 3\] are of groups without calibration"),
    ):
        bins(rule)(new)
    with pytest.raises(ValueError, match=r"rows \[1, 3\] belong to no group of the rule"):
        as_feature_map(rule)(new)


@pytest.mark.parametrize("adapter", [as_feature_map, bins])
def test_what_has_no_groups_is_refused(adapter, rule):
    X, y = rows(1)
    with pytest.raises(NotFittedError):
        adapter(PLCP())
    with pytest.raises(ValueError, match=r"SplitConformal .* no .*group.*: use PLCP"):
        adapter(SplitConformal().fit(X, abs(y)))(X)


@pytest.mark.parametrize("adapter", [as_feature_map, bins])
def test_what_is_no_rule_is_refused_at_once(adapter, model):
    with pytest.raises(TypeError, match=r"got LinearRegression\(\): give one, such as PLCP"):
        adapter(model)
    rule = Mondrian(lambda X: X[:, 0] > 0, ALPHA)
    conformal = ConformalRegressor(FrozenEstimator(model), threshold=rule)
    with pytest.raises(TypeError, match=r"got ConformalRegressor: give its rule, tail_rules_\[0\]"):
        adapter(conformal.fit(*rows(1)))
    X = rows(3)[0]
    assert len(adapter(conformal.tail_rules_[0])(X)) == len(X)


@pytest.mark.parametrize("adapter", [as_feature_map, bins])
def test_several_alphas_with_shared_groups_are_accepted(adapter):
    X, y = rows(1, 200)
    rule = PLCP(
        OrderedPartition(LinearQuantile()), 2, [0.2, 0.4], calibration="cross", random_state=0
    )
    shared = clone(rule).set_params(share_partition=True).fit(X, abs(y))
    assert np.array_equal(adapter(shared)(X), adapter(shared.at(0.2))(X))
    apart = rule.fit(X, abs(y))
    with pytest.raises(ValueError, match=r"at\(0.2\)"):
        adapter(apart)(X)
    assert len(adapter(apart.at(0.4))(X)) == len(X)


@pytest.mark.parametrize("adapter", [as_feature_map, bins])
def test_adapters_can_be_pickled(adapter, rule):
    X = rows(3)[0]
    assert np.array_equal(pickle.loads(pickle.dumps(adapter(rule)))(X), adapter(rule)(X))
