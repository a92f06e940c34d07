"""Certificates of every rule and model: counts against predict itself, groups, draws."""

import warnings

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from plcp import (
    PLCP,
    RLCP,
    BatchGCP,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    InfiniteThresholdWarning,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    SignedResidual,
    SoftmaxPartition,
    SplitConformal,
    TreePartition,
    certify,
)
from plcp.exceptions import CollapseWarning
from plcp.thresholds import ThresholdRule
from test_estimator_checks import ESTIMATORS, sign

TREE = TreePartition(n_groups=3, min_samples_leaf=5)


def pairs(rng, n):
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, (2 + X[:, 0]) * rng.exponential(size=n)


RULES = [rule for rule in ESTIMATORS if isinstance(rule, ThresholdRule)]
ONE_ALPHA = [rule for rule in RULES if not isinstance(rule.alpha, list)]


@pytest.mark.parametrize("rule", ONE_ALPHA, ids=lambda rule: type(rule).__name__)
def test_every_rule(rng, rule):
    """All rows are counted as the rule's own thresholds say, and groups come one after another."""
    X, scores = pairs(rng, 400)
    with warnings.catch_warnings():
        for category in (InfiniteThresholdWarning, CollapseWarning):
            warnings.simplefilter("ignore", category)
        fitted = clone(rule).fit(X[:150], scores[:150])
        certificate = certify(fitted, X[150:], scores[150:])
        covered = scores[150:] <= fitted.predict(X[150:])
    everybody, *groups = certificate.groups
    assert (everybody.n, everybody.hits) == (250, covered.sum())
    assert certificate.rule == type(rule).__name__
    assert certificate.guarantee == fitted.guarantee_
    assert certificate.outcomes == "scores"
    if isinstance(fitted, PLCP):  # these groups are disjoint, and hold every row
        assert [group.group for group in groups] == [
            f"learned group {i}" for i in range(fitted.n_groups_)
        ]
        assert sum(group.n for group in groups) == 250
        assert sum(group.hits for group in groups) == covered.sum()
    elif hasattr(fitted, "groups_"):
        assert [group.group for group in groups] == [str(name) for name in fitted.groups_]
    else:
        assert groups == []


class Doubled(Mondrian):
    """A rule of one's own, which changes thresholds and says nothing of groups."""

    def predict(self, X, groups=None):
        return 2 * super().predict(X, groups)


class Constant(ThresholdRule):
    """The least that a rule can be."""

    def __init__(self, alpha=0.1):
        self.alpha = alpha

    def fit(self, X, y, sample_weight=None):
        self.guarantee_ = "None."
        return self

    def predict(self, X):
        return np.full(len(X), 2.0)


def test_rules_of_ones_own(rng):
    """Thresholds are what ``predict`` says, whatever a parent would have said."""
    X, scores = pairs(rng, 300)
    doubled = Doubled(sign).fit(X[:100], scores[:100])
    everybody, left, _ = certify(doubled, X[100:], scores[100:]).groups
    covered = scores[100:] <= 2 * Mondrian(sign).fit(X[:100], scores[:100]).predict(X[100:])
    assert everybody.hits == covered.sum()
    assert left.hits == covered[X[100:, 0] <= 0].sum()
    (alone,) = certify(Constant().fit(X, scores), X, scores).groups
    assert alone.hits == (scores <= 2).sum()


def test_groups_of_one_name_are_told_apart(rng):
    """None is lost, be it a rule's own or called as all rows together are."""
    X, scores = pairs(rng, 300)
    sides = {"side": lambda X: np.column_stack([X[:, 0] > 0, X[:, 0] <= 0])}
    rule = BatchGCP({**sides, "side 0": lambda X: X[:, 1] > 0}).fit(X[:100], scores[:100])
    found = certify(rule, X[100:], scores[100:]).groups
    assert [group.group for group in found] == ["all", "side 0", "side 1", "side 0 (2)"]
    assert [group.n for group in found[1::2]] == [np.sum(X[100:, 0] > 0), np.sum(X[100:, 1] > 0)]
    named = certify(rule, X[100:], scores[100:], groups={"all": X[100:, 0] > 0}).groups
    assert [group.group for group in named] == ["all", "all (2)"]


class Counted(LinearRegression):
    calls = 0

    def predict(self, X):
        Counted.calls += 1
        return super().predict(X)


def test_model_and_rule_are_asked_once(rng, monkeypatch):
    """What draws, or takes long, must not be asked again for the certificate's other lines."""
    X, noise = pairs(rng, 300)
    model = ConformalRegressor(FrozenEstimator(Counted().fit(X, noise)), threshold=SplitConformal())
    model.fit(X[:100], noise[:100])
    asked = []
    plain = SplitConformal.predict
    monkeypatch.setattr(SplitConformal, "predict", lambda *args: asked.append(1) or plain(*args))
    Counted.calls = 0
    certify(model, X[100:], noise[100:])
    assert (Counted.calls, len(asked)) == (1, 1)


def test_groups_are_those_of_the_thresholds_drawn(rng):
    """Who draws a group is counted in it, with the threshold of that very draw."""
    X, scores = pairs(rng, 600)
    rule = PLCP(SoftmaxPartition(), 3, calibration="joint", assignment="sample", random_state=0)
    rule.fit(X[:300], scores[:300])
    _, *groups = certify(rule, X[300:], scores[300:]).groups
    drawn = rule.groups(X[300:])
    for i, group in enumerate(groups):
        assert group.hits == (scores[300:][drawn == i] <= rule.thresholds_[i]).sum()


def test_named_groups_take_the_place_of_learned_ones(rng):
    X, scores = pairs(rng, 300)
    rule = Mondrian(sign).fit(X[:100], scores[:100])
    left = X[100:, 1] < 0
    frame = pd.DataFrame({"left": left, "right": ~left})
    expected = certify(rule, X[100:], scores[100:], groups=frame).groups
    assert [group.group for group in expected] == ["all", "left", "right"]
    for same in ({"left": left, "right": ~left}, np.where(left, "left", "right")):
        assert certify(rule, X[100:], scores[100:], groups=same).groups == expected


@pytest.mark.parametrize("rule", [Mondrian(), BatchGCP()])
def test_groups_that_predict_asks_for(rng, rule):
    X, scores = pairs(rng, 300)
    members = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0])
    rule.fit(X[:100], scores[:100], groups=members[:100])
    certificate = certify(rule, X[100:], scores[100:], rule_groups=members[100:])
    everybody, right, _ = certificate.groups
    covered = scores[100:] <= rule.predict(X[100:], groups=members[100:])
    assert everybody.hits == covered.sum()
    assert (right.n, right.hits) == (members[100:, 0].sum(), covered[members[100:, 0]].sum())
    with pytest.raises(ValueError, match="give those of these rows as rule_groups="):
        certify(rule, X[100:], scores[100:])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_regressor_of_frames(rng, frame):
    X, noise = pairs(rng, 600)
    y = X[:, 0] + noise
    table = frame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    model = ConformalRegressor(LinearRegression(), threshold=PLCP(TREE, n_groups=2), random_state=0)
    model.fit(table[:300], y[:300])
    certificate = certify(model, table[300:], y[300:])
    sets = model.predict_set(table[300:])
    everybody, first, _ = certificate.groups
    inside = model.groups(table[300:]) == 0
    assert everybody.hits == sets.contains(y[300:]).sum()
    assert first.hits == sets.contains(y[300:])[inside].sum()
    assert everybody.size == pytest.approx(sets.size.mean())
    assert first.size == pytest.approx(sets.size[inside].mean())
    assert certificate.column_names == ("a", "b", "c")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_classifier_of_frames(rng, frame):
    X = rng.normal(size=(600, 2))
    y = np.where(X[:, 0] + rng.logistic(size=600) > 0, "yes", "no")
    table = frame({"a": X[:, 0], "b": X[:, 1]})
    model = ConformalClassifier(LogisticRegression(), threshold=Mondrian("group"), random_state=0)
    model.set_params(features=lambda X: pd.DataFrame({"group": np.asarray(X["a"]) > 0}))
    model.fit(table[:300], y[:300])
    certificate = certify(model, table[300:], y[300:])
    sets = model.predict_set(table[300:])
    everybody, left, right = certificate.groups
    assert everybody.hits == sets.contains(y[300:]).sum()
    assert everybody.size == pytest.approx(sets.size.mean())
    assert (left.n, right.n) == (np.sum(X[300:, 0] <= 0), np.sum(X[300:, 0] > 0))
    assert certificate.parameters["features"].startswith("<function test_classifier_of_frames")
    assert "0x" not in certificate.parameters["features"]


def test_two_tails(rng):
    """Each tail has groups of its own, and alpha is that of both together."""
    X, noise = pairs(rng, 1800)
    rule = PLCP(OrderedPartition(LinearQuantile()), n_groups=2, random_state=0)
    model = ConformalRegressor(LinearRegression(), SignedResidual("both"), rule, random_state=0)
    model.fit(X[:1500], noise[:1500])
    certificate = certify(model, X[1500:], noise[1500:])
    everybody, *groups = certificate.groups
    assert [group.group for group in groups] == [
        f"tail {tail}, learned group {i}"
        for tail, rule in enumerate(model.thresholds_, start=1)
        for i in range(rule.n_groups_)
    ]
    own = [tail.groups(X[1500:]) for tail in model.thresholds_]
    assert (own[0] != own[1]).any()
    assert [group.n for group in groups] == [*np.bincount(own[0]), *np.bincount(own[1])]
    assert everybody.hits == model.predict_set(X[1500:]).contains(noise[1500:]).sum()
    assert (certificate.alpha, certificate.target) == (0.1, 0.87)


def test_draws_are_told(rng):
    X, scores = pairs(rng, 300)
    drawn = RLCP(bandwidth=9.0, random_state=0).fit(X[:150], scores[:150])
    still = SplitConformal().fit(X[:150], scores[:150])
    y = (X[:, 0] > 0).astype(int)
    score = CumulativeProbability(own_mass="random", random_state=0)
    model = ConformalClassifier(LogisticRegression(), score, SplitConformal(), random_state=0)
    told = [
        any("draws at random" in sentence for sentence in certify(rule, X[150:], new).assumptions)
        for rule, new in (
            (drawn, scores[150:]),
            (still, scores[150:]),
            (model.fit(X[:150], y[:150]), y[150:]),
        )
    ]
    assert told == [True, False, True]


def test_the_models_own_library_is_named(rng):
    X, noise = pairs(rng, 300)
    base = LGBMRegressor(n_estimators=2, verbose=-1).fit(X[:100], noise[:100])
    model = ConformalRegressor(FrozenEstimator(base), threshold=SplitConformal())
    versions = certify(model.fit(X[100:200], noise[100:200]), X[200:], noise[200:]).versions
    assert versions["lightgbm"] == lightgbm.__version__


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ("sex", ["sex=f", "sex=m"]),
        (["sex", "old"], ["sex=f", "sex=m", "old"]),
        ({"kind": "sex", "aged": lambda X: X["age"] > 60}, ["kind=f", "kind=m", "aged"]),
        (["f", "m"] * 20, ["f", "m"]),
    ],
    ids=["column", "columns", "functions", "labels"],
)
def test_groups_may_be_columns_of_the_rows(rng, groups, names):
    people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": np.arange(40) + 30.0})
    people["old"] = people["age"] > 50
    rule = SplitConformal(0.2).fit(people, rng.exponential(size=40))
    certificate = certify(rule, people, rng.exponential(size=40), groups=groups)
    assert [row.group for row in certificate.groups] == ["all", *names]
    assert certificate.groups[1].n == 20
