"""Certificates: bounds against scipy and the binomial law, every rule and model, refusals."""

import dataclasses
import hashlib
import json
import warnings
from datetime import UTC, date, datetime, timedelta, timezone

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from lightgbm import LGBMRegressor
from scipy.sparse import csr_matrix
from scipy.stats import binom, binomtest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch.utils.data import TensorDataset

from bands import binomial_band
from plcp import (
    PLCP,
    RLCP,
    BatchGCP,
    Certificate,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    InfiniteThresholdWarning,
    LinearQuantile,
    LocalCP,
    Mondrian,
    OrderedPartition,
    Rectified,
    SignedResidual,
    SoftmaxPartition,
    SplitConformal,
    TreePartition,
    certify,
)
from plcp._verdict import CHANCE, MOST_ROWS, Verdict, in_words, rows_to_decide, verdict_of
from plcp.evaluation.certificate import fingerprint
from plcp.evaluation.outcome import Outcome, cautions_of, rows_met
from plcp.exceptions import CollapseWarning
from plcp.thresholds import Guarantee, ThresholdRule
from strategies import few, finite
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
    all_rows, *groups = certificate.groups
    assert (all_rows.n, all_rows.hits) == (250, covered.sum())
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
        self.guarantee_ = Guarantee("none", "marginal", 0.1, 1)
        return self

    def predict(self, X):
        return np.full(len(X), 2.0)


def test_rules_of_ones_own(rng):
    """Thresholds are what ``predict`` says, whatever a parent would have said."""
    X, scores = pairs(rng, 300)
    doubled = Doubled(sign).fit(X[:100], scores[:100])
    all_rows, left, _ = certify(doubled, X[100:], scores[100:]).groups
    covered = scores[100:] <= 2 * Mondrian(sign).fit(X[:100], scores[:100]).predict(X[100:])
    assert all_rows.hits == covered.sum()
    assert left.hits == covered[X[100:, 0] <= 0].sum()
    (alone,) = certify(Constant().fit(X, scores), X, scores).groups
    assert alone.hits == (scores <= 2).sum()


def test_groups_of_one_name_are_distinguished(rng):
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


def test_model_and_rule_are_called_once(rng, monkeypatch):
    """What draws, or takes long, must not be called again for the certificate's other lines."""
    X, noise = pairs(rng, 300)
    model = ConformalRegressor(FrozenEstimator(Counted().fit(X, noise)), threshold=SplitConformal())
    model.fit(X[:100], noise[:100])
    calls = []
    plain = SplitConformal.predict
    monkeypatch.setattr(SplitConformal, "predict", lambda *args: calls.append(1) or plain(*args))
    Counted.calls = 0
    certify(model, X[100:], noise[100:])
    assert (Counted.calls, len(calls)) == (1, 1)


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
def test_groups_that_predict_requires(rng, rule):
    X, scores = pairs(rng, 300)
    members = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0])
    rule.fit(X[:100], scores[:100], groups=members[:100])
    certificate = certify(rule, X[100:], scores[100:], rule_groups=members[100:])
    all_rows, right, _ = certificate.groups
    covered = scores[100:] <= rule.predict(X[100:], groups=members[100:])
    assert all_rows.hits == covered.sum()
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
    all_rows, first, _ = certificate.groups
    inside = model.groups(table[300:]) == 0
    assert all_rows.hits == sets.contains(y[300:]).sum()
    assert first.hits == sets.contains(y[300:])[inside].sum()
    assert all_rows.size == pytest.approx(sets.size.mean())
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
    all_rows, left, right = certificate.groups
    assert all_rows.hits == sets.contains(y[300:]).sum()
    assert all_rows.size == pytest.approx(sets.size.mean())
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
    all_rows, *groups = certificate.groups
    assert [group.group for group in groups] == [
        f"tail {tail}, learned group {i}"
        for tail, rule in enumerate(model.tail_rules_, start=1)
        for i in range(rule.n_groups_)
    ]
    own = [tail.groups(X[1500:]) for tail in model.tail_rules_]
    assert (own[0] != own[1]).any()
    assert [group.n for group in groups] == [*np.bincount(own[0]), *np.bincount(own[1])]
    assert all_rows.hits == model.predict_set(X[1500:]).contains(noise[1500:]).sum()
    assert (certificate.alpha, certificate.target) == (0.1, 0.87)


def test_draws_are_reported(rng):
    X, scores = pairs(rng, 300)
    drawn = RLCP(bandwidth=9.0, random_state=0).fit(X[:150], scores[:150])
    still = SplitConformal().fit(X[:150], scores[:150])
    y = (X[:, 0] > 0).astype(int)
    score = CumulativeProbability(own_mass="random", random_state=0)
    model = ConformalClassifier(LogisticRegression(), score, SplitConformal(), random_state=0)
    result = [
        any("draws at random" in sentence for sentence in certify(rule, X[150:], new).assumptions)
        for rule, new in (
            (drawn, scores[150:]),
            (still, scores[150:]),
            (model.fit(X[:150], y[:150]), y[150:]),
        )
    ]
    assert result == [True, False, True]


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


DECIDED = (Verdict.ABOVE, Verdict.BELOW)


def rule_at(threshold, alpha=0.1):
    """A rule with one threshold, so that uniform scores are covered with that probability."""
    rule = SplitConformal(alpha).fit(np.zeros((99, 1)), np.arange(99))
    rule.threshold_ = threshold
    return rule


def certified(rng, n, groups=None, threshold=0.9, target=0.9, **options):
    rule, X, scores = rule_at(threshold), np.zeros((n, 1)), rng.uniform(size=n)
    return certify(rule, X, scores, groups=groups, target=target, **options)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_bounds_are_those_of_scipy(rng, confidence):
    certificate = certified(rng, 300, rng.integers(4, size=300), confidence=confidence)
    assert [group.group for group in certificate.groups] == ["all", "0", "1", "2", "3"]
    for group in certificate.groups:
        test = binomtest(group.hits, group.n)
        each = test.proportion_ci(confidence, "exact")
        together = test.proportion_ci(1 - (1 - confidence) / 5, "exact")
        assert (group.low, group.high) == pytest.approx((each.low, each.high))
        assert (group.low_all, group.high_all) == pytest.approx((together.low, together.high))


def test_counts_are_of_the_rows_in_each_group(rng):
    scores = rng.uniform(size=50)
    masks = {"low": scores < 0.6, "high": scores > 0.3}  # some rows are in both
    certificate = certify(rule_at(0.5), np.zeros((50, 1)), scores, groups=masks)
    all_rows, low, high = certificate.groups
    assert (all_rows.n, all_rows.hits) == (50, np.sum(scores <= 0.5))
    assert (low.n, low.hits) == (masks["low"].sum(), np.sum(scores <= 0.5))
    assert (high.n, high.hits) == (masks["high"].sum(), np.sum((scores > 0.3) & (scores <= 0.5)))
    assert low.coverage == low.hits / low.n
    assert low.size is None  # thresholds alone have no sets


def test_all_bounds_hold_at_once_as_often_as_they_say(rng):
    """Ten groups of other coverage each, at 0.8: bounds of each alone hold together far less."""
    repeats, confidence, target = 150, 0.8, 0.8
    truths = target / np.linspace(0.8, 1, 10)  # of scores uniform up to these
    together, apart = 0, 0
    for _ in range(repeats):
        groups = rng.permutation(np.r_[np.arange(10), rng.integers(10, size=590)])
        scores = rng.uniform(size=600) * (target / truths)[groups]
        rule, X = rule_at(target), np.zeros((600, 1))
        _, *found = certify(rule, X, scores, groups=groups, confidence=confidence).groups
        pairs = list(zip(found, truths, strict=True))
        together += all(group.low_all <= truth <= group.high_all for group, truth in pairs)
        apart += all(group.low <= truth <= group.high for group, truth in pairs)
    assert together >= binomial_band(repeats, confidence)[0] > apart


def test_false_verdicts_are_as_rare_as_promised(rng):
    """At the very target both verdicts are wrong: of 50 groups and all, hardly ever one."""
    groups = np.repeat(np.arange(50), 60)
    certificates = [certified(rng, 3000, groups, confidence=0.8).groups for _ in range(60)]
    wrong = sum(any(group.verdict in DECIDED for group in found) for found in certificates)
    assert wrong <= binomial_band(60, 0.2)[1]


@given(st.integers(1, 400), st.data(), st.sampled_from([0.5, 0.8, 0.9, 0.99]))
@few
def test_verdict_is_an_exact_test(n, data, target):
    """A lower bound reaches the target where so many hits would be too rare at the target."""
    hits, tail = data.draw(st.integers(0, n)), 1 / 97  # met exactly by no probability at hand
    interval = binomtest(hits, n).proportion_ci(1 - 2 * tail, "exact")
    verdict = verdict_of(interval.low, interval.high, target)
    assert (verdict == "above") == (binom.sf(hits - 1, n, target) <= tail)
    assert (verdict == "below") == (binom.cdf(hits, n, target) < tail)


def test_rows_needed_decide_as_often_as_said():
    """By enumeration of every count that so many rows can show."""
    hits, n = np.array([[19, 20], [16, 20], [181, 200], [3, 3], [1, 2], [950, 1050]]).T
    target, tail = 0.9, 0.005

    def chance(rows, share):
        counts = np.arange(rows + 1)
        rare = binom.cdf(counts, rows, target)
        if share > target:
            rare = binom.sf(counts - 1, rows, target)
        return binom.pmf(counts, rows, share)[rare <= tail].sum()

    needed = rows_to_decide(hits, n, target, tail)
    for rows, share in zip(needed, hits / n, strict=True):
        assert chance(rows, share) >= CHANCE > chance(rows - 1, share)


def test_rows_needed_are_those_of_bounds_for_all_at_once(rng):
    """All rows and two groups share the chance of an error; a group without rows takes none."""
    half = np.arange(100) < 50
    masks = {"one": half, "other": ~half, "empty": np.zeros(100, dtype=bool)}
    *found, _ = certified(rng, 100, masks, threshold=0.95, confidence=0.9).groups
    counts = [[group.hits for group in found], [group.n for group in found]]
    needed = rows_to_decide(*counts, 0.9, 0.1 / 3 / 2)
    assert any(group.verdict not in DECIDED for group in found)
    for group, rows in zip(found, needed, strict=True):
        assert group.rows_needed == (None if group.verdict in DECIDED else int(rows) or None)


def test_no_number_of_rows_distinguishes_a_share_from_itself():
    near = 9 * 10**5 + 1
    hits, n = [90, 0, near, near + 99], [100, 0, 10**6, 10**6]
    *never, some = rows_to_decide(hits, n, 0.9, 0.025)
    assert never == [0, 0, 0]
    assert 10**6 < some < MOST_ROWS


def words(group, target):
    return in_words(group.verdict, target, (group.low_all, group.high_all), group.rows_needed)


def test_verdicts_in_words(rng):
    def verdict(threshold, n, target=0.9):
        return words(certified(rng, n, threshold=threshold, target=target).groups[0], target)

    assert verdict(1.0, 200) == "above 0.9"
    assert verdict(0.5, 200) == "below 0.9"
    assert verdict(0.9, 200, target=0.7) == "above 0.7"
    # 0.025^(1/3) = 0.2924, and 0.9^36 < 0.025 < 0.9^35
    assert verdict(1.0, 3) == "undecided, between 0.292 and 1.000: needs about 36 rows"
    scores = np.r_[np.full(90, 0.4), np.full(10, 0.6)]
    even = certify(rule_at(0.5), np.zeros((100, 1)), scores, target=0.9).groups[0]
    assert words(even, 0.9).endswith(": too close to 0.9 to decide")


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.2, 0.5])
def test_five_thousand_rows_decide_by_default(rng, alpha):
    """A rule that covers just 1 - alpha is certified, and so is each of two groups of its rows."""
    rule = rule_at(1 - alpha, alpha)
    X, scores, groups = np.zeros((5000, 1)), rng.uniform(size=5000), np.arange(5000) % 2
    certificate = certify(rule, X, scores, groups=groups)
    margin, deviation = 1 - alpha - certificate.target, np.sqrt(alpha * (1 - alpha))
    assert 0.05 * deviation < margin < 0.15 * deviation  # rounded to one digit
    tail = 0.05 / 3 / 2
    for rows in (5000, 2500):
        enough = binom.isf(tail, rows, certificate.target) + 1  # hits that are too rare below it
        assert binom.sf(enough - 1, rows, 1 - alpha) > 0.9
    for group in certificate.groups:
        tested = binomtest(group.hits, group.n, certificate.target, alternative="greater")
        assert (group.verdict == "above") == (tested.pvalue <= tail)


def test_a_margin_hides_no_group_that_surely_covers_less_than_meant():
    """Of 100,000 rows 0.88 are covered: at least 0.87, and surely less than 0.9."""
    scores, groups = np.arange(100_000) % 100 + 0.5, np.arange(100_000) // 50_000
    rule = rule_at(88.0)
    certificate = certify(rule, np.zeros((100_000, 1)), scores, groups=groups)
    assert [group.verdict for group in certificate.groups] == ["above"] * 3
    page = " ".join(str(certificate).split())
    assert "Groups that surely cover less than 0.9: 0; 1." in page
    assert "That is 0.03 less than the 0.9 meant" in page
    strict = certify(rule, np.zeros((100_000, 1)), scores, groups=groups, target=0.9)
    assert [group.verdict for group in strict.groups] == ["below"] * 3
    assert "surely cover less" not in str(strict)


def test_a_group_without_rows_says_nothing(rng):
    masks = {"empty": np.zeros(30, dtype=bool), "all_rows": np.ones(30, dtype=bool)}
    empty = certified(rng, 30, masks).groups[1]
    assert (empty.n, empty.hits, empty.coverage, empty.size) == (0, 0, None, None)
    assert (empty.low, empty.high, empty.low_all, empty.high_all) == (0, 1, 0, 1)
    assert words(empty, 0.9) == "undecided, holds no row"


def test_order_of_rows_does_not_matter_to_bounds(rng):
    scores, groups, order = rng.uniform(size=80), rng.integers(3, size=80), rng.permutation(80)
    X = np.zeros((80, 1))
    there = certify(rule_at(0.8), X, scores, groups=groups).groups
    assert certify(rule_at(0.8), X, scores[order], groups=groups[order]).groups == there


KNOWN_BY_THEIR_THRESHOLD = [
    SplitConformal(),
    Mondrian(sign),
    BatchGCP(sign),
    LocalCP(bandwidth=np.inf),
    Rectified(FrozenEstimator(LinearQuantile().fit([[0.0] * 3, [1.0] * 3], [1.0, 2.0]))),
    PLCP(OrderedPartition(LinearQuantile()), n_groups=2, calibration="split", random_state=0),
]


@pytest.mark.parametrize("rule", KNOWN_BY_THEIR_THRESHOLD, ids=lambda rule: type(rule).__name__)
def test_rows_that_calibrated_are_noticed(rng, rule):
    X, scores = pairs(rng, 400)
    rule.fit(X[:200], scores[:200])
    with pytest.warns(UserWarning, match="rows that calibrated the rule seem to be among these"):
        certificate = certify(rule, X, scores)
    assert "no bound here holds" in certificate.cautions[0]
    assert certify(rule, X[200:], scores[200:]).cautions == ()
    few_tie = np.r_[X, X[-3:]], np.r_[scores, scores[-3:]]
    with pytest.warns(UserWarning, match="hardly two rows have the same score"):
        certify(rule, *few_tie)
    twice = np.r_[X, X], np.r_[scores, scores]
    assert certify(rule, *twice).cautions == ()  # where scores tie, a threshold met says nothing


def test_one_open_side_is_enough_for_a_caution():
    scores = np.array([[0.1, 0.2], [0.3, 0.4]])
    thresholds = np.array([[1.0, np.inf], [1.0, 1.0]])
    (caution,) = cautions_of(Outcome(np.ones(2, dtype=bool), scores=scores, thresholds=thresholds))
    assert caution.startswith("1 of 2 rows have an infinite threshold")


def test_a_threshold_met_but_for_rounding():
    assert rows_met(np.array([[0.3], [0.5]]), np.array([[0.1 + 0.2], [0.4]])) == 1


@pytest.mark.parametrize(("tied", "met"), [(0, 1), (2, 1), (3, 0)])
def test_a_threshold_met_says_nothing_where_more_than_one_in_twenty_ties(tied, met):
    scores = np.arange(40.0)[:, None]
    scores[:tied] = -1.0
    assert rows_met(scores, np.full((40, 1), 7.0)) == met
    assert rows_met(scores, np.full((40, 1), -1.0)) == 0


def test_rows_that_calibrated_a_model_are_noticed(rng):
    X, noise = pairs(rng, 400)
    base = FrozenEstimator(LinearRegression().fit(X[:100], noise[:100]))
    model = ConformalRegressor(base, threshold=SplitConformal()).fit(X[100:200], noise[100:200])
    with pytest.warns(UserWarning, match="1 of 100 scores equal their threshold"):
        certify(model, X[100:200], noise[100:200])
    assert certify(model, X[200:], noise[200:]).cautions == ()


FITTED = SplitConformal().fit(np.zeros((20, 1)), np.arange(20))
MODEL = ConformalRegressor(
    FrozenEstimator(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])), threshold=SplitConformal()
).fit(np.arange(20.0)[:, None], np.arange(20.0) + 0.1)
ROWS = np.zeros((3, 1))


def test_a_score_at_its_threshold_is_covered():
    (all_rows,) = certify(FITTED, ROWS, [FITTED.threshold_, FITTED.threshold_, 99.0]).groups
    assert all_rows.hits == 2


@pytest.mark.parametrize("rule", [FITTED, MODEL], ids=["rule", "model"])
@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (ROWS, [1.0, 2.0], {}, "X has 3 rows and y has 2: give one label or score per row"),
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


def test_a_pipeline_is_reported_what_to_give(rng):
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


TABLE = {
    "age": [30, 70, 41],
    "weight": [60.5, float("nan"), -0.0],
    "sex": ["f", "m", None],
    "old": [False, True, False],
    "seen": [datetime(2024, 1, 1, 12), datetime(2023, 5, 6), datetime(2020, 2, 29)],
}
Y = [1, 2, 3]


def test_known_bytes():
    """The encoding is a format: readers of old certificates must find the same."""
    numbers = np.array([1.0, 2.0]).astype("<f8").tobytes()
    label = np.array([1, 1]).astype("<i8").tobytes() + b"ab"
    result = b"rows 2\nnumbers 2\n" + numbers + b"rows 2\ntexts 2\n" + label
    assert fingerprint([[1.0], [2.0]], ["a", "b"]) == hashlib.sha256(result).hexdigest()


def test_pandas_polars_and_arrays_of_the_same_values():
    frame = pd.DataFrame(TABLE)
    expected = fingerprint(frame, Y)
    assert fingerprint(pl.DataFrame(TABLE, strict=False), pl.Series(Y)) == expected
    assert fingerprint(frame.convert_dtypes(), np.array(Y)) == expected
    assert fingerprint(frame.astype({"sex": "category"}), pd.Series(Y)) == expected
    assert fingerprint(frame.set_index(pd.Index([7, 8, 9])), Y) == expected
    assert fingerprint(frame.rename(columns={"age": "years"}), Y) == expected


@given(hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=2), elements=finite))
@few
def test_containers_of_numbers(X):
    y = np.arange(len(X))
    expected = fingerprint(X, y)
    assert fingerprint(X.tolist(), y.tolist()) == expected
    assert fingerprint(np.asfortranarray(X), y.astype(float)) == expected
    assert fingerprint(X.astype(object), y) == expected
    assert fingerprint(csr_matrix(X), y) == expected
    assert fingerprint(torch.as_tensor(X), y) == expected
    assert fingerprint(X.astype(">f8"), y) == expected
    assert fingerprint(pd.DataFrame(X), y) == expected


def test_zeros_and_gaps_of_any_bits_are_the_same():
    other_nan = np.array([0x7FF8000000000001], dtype=np.uint64).view(float)
    assert fingerprint([[-0.0], [np.nan]], Y[:2]) == fingerprint(np.r_[[[0.0]], [other_nan]], Y[:2])


@given(hnp.arrays(float, (4, 2), elements=finite, unique=True), st.data())
@few
def test_every_value_and_its_place_count(X, data):
    y = np.arange(4.0)
    expected = fingerprint(X, y)
    i, j = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 1))
    other = X.copy()
    other[i, j] = np.nextafter(other[i, j], np.inf)
    assert fingerprint(other, y) != expected
    assert fingerprint(X[::-1], y) != expected  # rows in another order are other data
    assert fingerprint(X, y[::-1]) != expected
    assert fingerprint(X[:, ::-1], y) != expected
    assert fingerprint(X[:3], y[:3]) != expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["ab", "c"], ["a", "bc"]),
        (["", "a"], [None, "a"]),
        (["1", "2"], [1, 2]),
        ([None, "nan"], ["nan", None]),
        ([date(2024, 1, 1), date(2024, 1, 2)], [date(2024, 1, 1), date(2024, 1, 3)]),
    ],
)
def test_texts_are_distinguished(one, other):
    assert fingerprint(pd.DataFrame({"a": one}), Y[:2]) != fingerprint(
        pd.DataFrame({"a": other}), Y[:2]
    )


def test_images_and_data_sets(rng):
    images = rng.uniform(size=(5, 1, 4, 4)).astype(np.float32)
    y = np.arange(5)
    changed = images.copy()
    changed[3, 0, 2, 2] += 1
    data, other = (TensorDataset(torch.as_tensor(x)) for x in (images, changed))
    assert fingerprint(images, y) != fingerprint(changed, y)
    assert fingerprint(images, y) == fingerprint(data, y)
    assert fingerprint(data, y) == fingerprint(TensorDataset(torch.as_tensor(images)), y)
    assert fingerprint(data, y) != fingerprint(other, y)


NOON = datetime(2024, 7, 7, 12, tzinfo=UTC)


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture
def certificate(rng):
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["age", "größe"])
    y = X["age"] + rng.normal(size=400)
    model = ConformalRegressor(LinearRegression(), threshold=SplitConformal(), random_state=0)
    model.fit(X[:200], y[:200])
    old = X["age"][200:] > 0
    groups = {"old": old, "a name much longer than there is room for on a page " * 3: ~old}
    return certify(model, X[200:], y[200:], groups=groups, made_at=NOON)


@pytest.fixture
def unbounded(rng):
    """One of a rule with too few points: every set is everything."""
    X, y = rng.normal(size=(30, 1)), rng.normal(size=30)
    model = ConformalRegressor(LinearRegression(), threshold=SplitConformal(), random_state=0)
    with pytest.warns(InfiniteThresholdWarning, match="the set holds every outcome"):
        model.fit(X[:10], y[:10])
    return certify(model, X[10:], y[10:])


def test_round_trip(certificate, tmp_path):
    text = certificate.to_json(tmp_path / "certificate.json")
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert Certificate.from_json(text) == certificate
    assert Certificate.from_json(tmp_path / "certificate.json") == certificate
    assert Certificate.from_json(str(tmp_path / "certificate.json")) == certificate
    assert json.loads(text, parse_constant=refuse) == certificate.to_dict()


def test_infinite_sizes(unbounded):
    assert unbounded.groups[0].size == np.inf
    text = unbounded.to_json()
    assert json.loads(text, parse_constant=refuse)["groups"][0]["size"] == "inf"
    assert Certificate.from_json(text) == unbounded
    assert "CAUTION: 20 of 20 rows have an infinite threshold" in str(unbounded)
    assert "label" not in unbounded.cautions[0]  # its sets are intervals


def test_a_frame_has_a_row_a_group(certificate):
    frame = certificate.to_pandas()
    assert frame["group"].tolist() == [group.group for group in certificate.groups]
    assert frame["n"].tolist() == [group.n for group in certificate.groups]
    assert list(frame.columns) == [
        field.name for field in dataclasses.fields(certificate.groups[0])
    ]


def test_it_says_what_it_is_about(certificate):
    assert certificate.rule == "ConformalRegressor"
    assert certificate.parameters["threshold"] == "SplitConformal()"
    assert str(certificate.guarantee).startswith("P(covered) >= 0.9")
    assert (certificate.alpha, certificate.target, certificate.confidence) == (0.1, 0.87, 0.95)
    assert (certificate.n_rows, certificate.n_columns) == (200, 2)
    assert certificate.column_names == ("age", "größe")
    assert certificate.outcomes == "labels"
    assert certificate.versions["numpy"] == np.__version__
    assert any("train, tune or calibrate" in sentence for sentence in certificate.assumptions)
    assert certificate.cautions == ()


@pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist, pd.DataFrame])
def test_columns_are_counted_in_every_kind_of_table(rng, make):
    X, scores = pairs(rng, 40)
    rule = SplitConformal().fit(X[:20], scores[:20])
    assert certify(rule, make(X[20:]), scores[20:]).n_columns == 3


def test_time_is_utc(certificate):
    assert certificate.made_at == "2024-07-07T12:00:00+00:00"
    rule = SplitConformal().fit(np.zeros((20, 1)), np.arange(20))
    later = NOON.astimezone(timezone(timedelta(hours=5)))
    assert certify(rule, [[0.0]], [1.5], made_at=later).made_at == certificate.made_at
    before = datetime.now(UTC).replace(microsecond=0)
    made = datetime.fromisoformat(certify(rule, [[0.0]], [1.5]).made_at)
    assert before <= made <= datetime.now(UTC)
    with pytest.raises(ValueError, match="made_at must name its time zone"):
        certify(rule, [[0.0]], [1.5], made_at=datetime(2024, 7, 7))


def test_the_page_is_narrow_and_complete(certificate):
    text = str(certificate)
    assert text == certificate.to_text()
    assert max(map(len, text.splitlines())) <= 100
    flat = " ".join(text.split())
    for part in (*certificate.assumptions, str(certificate.guarantee), certificate.fingerprint):
        assert part in flat
    assert all(f"{name} {number}" in flat for name, number in certificate.versions.items())


def test_bounds_on_the_page_are_rounded_to_the_safe_side(certificate):
    lines = certificate.to_text().splitlines()
    for group in certificate.groups:
        (line,) = [line for line in lines if f"  {group.coverage:.4f}  " in line]
        each, together = line.split(f"{group.coverage:.4f}")[1].split()[:2]
        for shown, low, high in (
            (each, group.low, group.high),
            (together, group.low_all, group.high_all),
        ):
            left, right = map(float, shown.split("–"))
            assert low - 0.001 <= left <= low < high <= right <= high + 0.001


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda values: values.update(format="plcp certificate 2"), "of format"),
        (lambda values: values.clear(), r"without \['alpha'"),
        (lambda values: values.update(note="fine"), r"with \['note'\]"),
        (lambda values: values["groups"][1].pop("hits"), r"without \['hits'\]"),
        (lambda values: values["groups"][1].update(note="fine"), r"with \['note'\]"),
        (lambda values: values.update(groups=["all"]), "without"),
    ],
)
def test_what_is_no_certificate_is_refused(certificate, change, fault):
    values = certificate.to_dict()
    change(values)
    with pytest.raises(ValueError, match=f"no certificate but values {fault}.*those of to_dict"):
        Certificate.from_dict(values)


def page_of(n, groups, **options):
    """Page of a rule that covers nine of ten rows, on rows that show just that."""
    rule = SplitConformal().fit(np.zeros((19, 1)), np.arange(19.0))
    scores = np.arange(n) % 10 * 2.0
    return certify(rule, np.zeros((n, 1)), scores, groups=groups, **options).to_text()


def test_one_group_is_not_counted_as_several():
    rule = SplitConformal().fit(np.zeros((19, 1)), np.arange(19.0))
    found = certify(rule, np.zeros((300, 1)), np.full(300, 99.0), groups=np.full(300, "bad"))
    flat = " ".join(found.to_text().split())
    assert "The one group, bad, beside the target 0.87: below. Group below the target: bad." in flat
    assert "Of 1" not in flat


def test_the_first_lines_say_it_all():
    """One group covered for sure, one not for sure, one open, of bounds that hold at once."""
    rule = SplitConformal().fit(np.zeros((19, 1)), np.arange(19.0))
    scores = np.r_[np.zeros(300), np.full(300, 99.0), np.zeros(3)]
    groups = np.repeat(["good", "bad", "few"], [300, 300, 3])
    found = certify(rule, np.zeros((603, 1)), scores, groups=groups)
    flat = " ".join(found.to_text().split())
    assert "Here 303 of 603 did. With 95 % confidence the true probability lies between" in flat
    assert "Verdict on all rows together: below 0.87." in flat
    assert "Of 3 groups, beside the target 0.87: 1 above, 1 below, 1 undecided." in flat
    assert "Group below the target: bad." in flat
    kept = groups != "bad"
    without = certify(rule, np.zeros((303, 1)), scores[kept], groups=groups[kept])
    least = np.floor(1000 * without.groups[1].low_all) / 1000
    assert f"and in no group below {least:.3f} (few)" in " ".join(without.to_text().split())


def test_names_of_groups_stay_in_their_line():
    half = np.arange(20) < 10
    text = page_of(20, {"two\n lines": half, "": ~half})
    assert [line[:9] for line in text.splitlines() if line[:3] in ("two", "(no")] == [
        "two lines",
        "(no name)",
    ]


def test_json_that_is_not_strict_is_refused(certificate):
    text = certificate.to_json().replace('"alpha": 0.1', '"alpha": NaN')
    with pytest.raises(
        ValueError, match="no certificate but values with NaN: give what to_json wrote"
    ):
        Certificate.from_json(text)
