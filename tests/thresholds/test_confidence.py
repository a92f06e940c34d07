"""A confidence over calibration sets: its law, exact with ties, shared by groups, tails, blocks."""

import itertools
import math
import warnings
from fractions import Fraction

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binom
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator

import plcp
from bands import FALSE_ALARM, binomial_band
from plcp import (
    PLCP,
    ConformalRegressor,
    Guarantee,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    Rectified,
    SignedResidual,
    SoftmaxPartition,
    SplitConformal,
)
from plcp.dask import DaskMondrian, DaskSplitConformal
from plcp.exceptions import InfiniteThresholdWarning
from plcp.monitoring.martingale import Urn
from plcp.monitoring.watches import watches_of
from plcp.out_of_core import Held
from plcp.quantiles import conformal_quantile, least_points, pac_rank, shared_confidence
from plcp.thresholds.guarantees import ONE_LAW, set_guarantee

quietly = pytest.mark.filterwarnings("ignore::plcp.exceptions.InfiniteThresholdWarning")


class FirstColumn(RegressorMixin, BaseEstimator):
    """A regressor that has nothing to learn."""

    def fit(self, X, y=None, sample_weight=None):
        self.n_features_in_ = 1
        return self

    def predict(self, X):
        return np.asarray(X, dtype=float)[:, 0]


FROZEN = FrozenEstimator(FirstColumn().fit(None))


@pytest.mark.parametrize("masses", [(1, 1, 1), (1, 5, 2, 2), (7, 2, 1)], ids=str)
@pytest.mark.parametrize("tenths", [1, 3, 5])
@pytest.mark.parametrize("hundredths", [30, 80, 95])
def test_the_share_of_calibration_sets_that_cover_with_ties(masses, tenths, hundredths):
    """Every calibration set that a law on a few values can give, with its probability."""
    alpha, m = Fraction(tenths, 10), 7
    law = [Fraction(mass, sum(masses)) for mass in masses]
    up_to = [*itertools.accumulate(law)]
    covers = total = Fraction(0)
    for counts in itertools.product(range(m + 1), repeat=len(law)):
        if sum(counts) == m:
            ways = math.factorial(m) // math.prod(map(math.factorial, counts))
            chance = ways * math.prod(p**n for p, n in zip(law, counts, strict=True))
            scores = np.repeat(np.arange(len(law)), counts)
            q = conformal_quantile(scores, tenths / 10, confidence=hundredths / 100)
            covered = Fraction(1) if np.isinf(q) else up_to[int(q)]
            covers, total = covers + chance * (covered >= 1 - alpha), total + chance
    assert total == 1
    assert covers >= Fraction(hundredths, 100)


SETS = 400


def test_split_covers_for_the_share_of_calibration_sets_that_its_rank_has(rng):
    rule, share = (
        SplitConformal(0.2, confidence=0.9),
        binom.cdf(pac_rank(50, 0.2, 0.9) - 1, 50, 0.8),
    )
    found = [rule.fit(np.zeros((50, 1)), rng.uniform(size=50)).threshold_ for _ in range(SETS)]
    low, high = binomial_band(SETS, share)
    assert share >= 0.9
    assert low <= np.sum(np.array(found) >= 0.8) <= high


def test_mondrian_covers_in_all_groups_at_once(rng):
    sizes = [20, 40, 60]
    X = np.repeat(np.arange(3.0), sizes)[:, None]
    rule = Mondrian(0, 0.2, confidence=0.8)
    share = np.prod(
        [binom.cdf(pac_rank(m, 0.2, shared_confidence(0.8, 3)) - 1, m, 0.8) for m in sizes]
    )
    found = [rule.fit(X, rng.uniform(size=120)).thresholds_ for _ in range(SETS)]
    low, high = binomial_band(SETS, share)
    assert share >= 0.8
    assert low <= sum((q >= 0.8).all() for q in found) <= high


@pytest.mark.parametrize(
    "rule",
    [
        PLCP(
            OrderedPartition(FirstColumn()),
            3,
            0.2,
            calibration="split",
            within=within,
            confidence=0.8,
        )
        for within in ("constant", "regressor")
    ]
    + [Rectified(FirstColumn(), 0.2, adjustment="difference", confidence=0.8)],
    ids=["plcp, constant", "plcp, regressor", "rectified"],
)
def test_rules_that_learn_cover_for_the_share_of_calibration_sets(rule, rng):
    """Scores are a uniform number beyond what the regressor predicts, whatever the group."""
    covering = 0
    for _ in range(SETS):
        X = rng.integers(0, 3, (400, 1)).astype(float)
        rule.fit(X, X[:, 0] + rng.uniform(size=400))
        new = np.arange(3.0)[:, None]
        covered = np.clip(rule.predict(new) - new[:, 0], 0, 1)
        groups = rule.groups(new) if isinstance(rule, PLCP) else np.zeros(3, dtype=int)
        each = [covered[groups == g].mean() for g in np.unique(groups)]
        covering += min(each) >= 0.8
    assert covering >= binom.ppf(FALSE_ALARM, SETS, 0.8)


def test_two_tails_cover_for_the_share_of_calibration_sets(rng):
    model = FrozenEstimator(DummyRegressor(strategy="constant", constant=0.0).fit([[0]], [0]))
    rule = SplitConformal(0.2, confidence=0.9)
    sets = ConformalRegressor(model, SignedResidual(), rule)
    covering = 0
    for _ in range(SETS):
        sets.fit(np.zeros((80, 1)), rng.uniform(size=80))
        covering += bool(sets.predict_set([[0.0]]).clip(0, 1).size[0] >= 0.8)
    assert covering >= binom.ppf(FALSE_ALARM, SETS, 0.9)
    assert [tail.confidence for tail in sets.tail_rules_] == [shared_confidence(0.9, 2)] * 2
    assert sets.guarantee_.kind == "pac"
    assert sets.guarantee_.confidence == pytest.approx(0.9)
    assert "With confidence 0.9 over" in str(sets.guarantee_)


def test_a_guarantee_names_confidence_groups_and_what_must_hold(rng):
    X, scores = np.repeat([[0.0], [1.0]], 100, axis=0), rng.uniform(size=200)
    found = Mondrian(0, confidence=0.95).fit(X, scores).guarantee_
    assert (found.kind, found.confidence, found.n_groups) == ("pac", 0.95, 2)
    assert found.assumptions == (ONE_LAW,)
    assert "With confidence 0.95 over calibration sets" in str(found)
    assert "for all of them at once" in str(found)
    for rule in (
        SplitConformal(confidence=0.95),
        Rectified(LinearQuantile(), confidence=0.95),
        PLCP(OrderedPartition(LinearQuantile()), calibration="split", confidence=0.95),
    ):
        assert rule.fit(X, scores).guarantee_.kind == "pac"


def test_a_score_fitted_on_calibration_rows_keeps_no_confidence():
    promise = Guarantee("pac", "marginal", 0.1, 99, (ONE_LAW,), confidence=0.95)
    weaker = set_guarantee([promise], 0.1, "temperature")
    assert (weaker.kind, weaker.confidence) == ("approximate", None)


def test_several_alphas_have_the_thresholds_of_each_alone(rng):
    X, scores = np.zeros((200, 1)), rng.uniform(size=200)
    several = SplitConformal([0.1, 0.2], confidence=0.9).fit(X, scores)
    alone = [
        SplitConformal(alpha, confidence=0.9).fit(X, scores).threshold_ for alpha in (0.1, 0.2)
    ]
    assert [rule.threshold_ for rule in several.rules_] == alone
    assert [each.confidence for each in several.guarantee_] == [0.9, 0.9]


@pytest.mark.parametrize(
    ("rule", "n", "message"),
    [
        (SplitConformal(confidence=0.95), 28, "28 calibration points are fewer than the 29 that"),
        (
            Mondrian(0, confidence=0.95),
            28,
            r"groups \[1.0\] hold too few calibration points, fewer than the 36 that alpha = 0.1 "
            "with confidence = 0.95 in 2 groups at once needs",
        ),
        (
            Rectified(FROZEN, adjustment="ratio", confidence=0.95),
            28,
            "28 calibration points are fewer than the 29 that alpha = 0.1 with confidence = 0.95",
        ),
        (
            PLCP(OrderedPartition(LinearQuantile()), calibration="split", confidence=0.95),
            28,
            "28 calibration points are fewer than the 29",
        ),
        (
            PLCP(OrderedPartition(LinearQuantile()), calibration="split", confidence=0.95),
            50,
            r"learned groups \[0\] hold too few calibration points, fewer than the 29 that",
        ),
    ],
    ids=["split", "mondrian", "rectified", "plcp, all rows", "plcp, held out"],
)
def test_a_warning_tells_how_many_points_are_needed(rule, n, message, rng):
    X = np.r_[np.ones(n), np.zeros(50)] if isinstance(rule, Mondrian) else rng.uniform(1, 2, n)
    with pytest.warns(InfiniteThresholdWarning, match=message):
        rule.fit(X[:, None], rng.uniform(size=len(X)))
    assert np.isinf(rule.predict([[1.0]]))
    assert rule.guarantee_.kind == "pac"


def test_no_group_that_plcp_learned_lacks_the_rows_that_a_confidence_needs(rng):
    """Of the rows expected, not those found: groups are joined before they calibrate."""
    X = rng.uniform(size=(1200, 1))
    rule = PLCP(
        OrderedPartition(LinearQuantile()), 20, calibration="split", confidence=0.95, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", InfiniteThresholdWarning)
        rule.fit(X, (1 + X[:, 0]) * rng.exponential(size=1200))
    assert rule.group_sizes_.min() >= least_points(0.1, shared_confidence(0.95, rule.n_groups_))
    assert (
        1
        < rule.n_groups_
        < clone(rule)
        .set_params(confidence=None)
        .fit(X, (1 + X[:, 0]) * rng.exponential(size=1200))
        .n_groups_
    )


def test_alphas_that_share_a_partition_keep_the_confidence_each(rng):
    X = rng.uniform(size=(1200, 1))
    rule = PLCP(
        OrderedPartition(LinearQuantile()),
        alpha=[0.1, 0.3],
        calibration="split",
        share_partition=True,
        confidence=0.9,
    ).fit(X, rng.uniform(size=1200))
    for each in rule.rules_:
        assert each.guarantee_.confidence == 0.9
        assert each.guarantee_.n_groups == rule.n_groups_


def test_blocks_and_clusters_have_the_thresholds_of_all_rows(rng):
    X, scores = rng.integers(0, 2, (200, 1)).astype(float), rng.uniform(size=200)
    split, mondrian = SplitConformal(confidence=0.95), Mondrian(0, confidence=0.95)
    split.fit(X, scores), mondrian.fit(X, scores)
    blocks = Held([(scores[:70],), (scores[70:],)])
    assert clone(split).fit_blocks(blocks).threshold_ == split.threshold_
    labelled = Held([(X[:70, 0], scores[:70]), (X[70:, 0], scores[70:])])
    assert_array_equal(clone(mondrian).fit_blocks(labelled).thresholds_, mondrian.thresholds_)
    lazy = da.from_array(X, chunks=(60, 1)), da.from_array(scores, chunks=60)
    on_dask = DaskSplitConformal(confidence=0.95).fit(*lazy)
    assert (on_dask.threshold_, on_dask.guarantee_) == (split.threshold_, split.guarantee_)
    groups_on_dask = DaskMondrian(0, confidence=0.95).fit(*lazy)
    assert_array_equal(groups_on_dask.thresholds_, mondrian.thresholds_)
    assert groups_on_dask.guarantee_ == mondrian.guarantee_


def test_monitors_expect_the_misses_of_the_rank(rng):
    X, scores = np.repeat([[0.0], [1.0]], [100, 150], axis=0), rng.uniform(size=250)
    (watch,) = watches_of(SplitConformal(confidence=0.95).fit(X, scores))
    rank = pac_rank(250, 0.1, 0.95)
    assert watch.exact
    assert watch.all_rows == Urn(251.0 - rank, float(rank))
    (watch,) = watches_of(Mondrian(0, confidence=0.95).fit(X, scores))
    ranks = [pac_rank(n, 0.1, shared_confidence(0.95, 2)) for n in (100, 150)]
    expected = [Urn(n + 1.0 - k, float(k)) for n, k in zip((100, 150), ranks, strict=True)]
    assert [*watch.groups.values()] == expected


def test_files_keep_it(rng, tmp_path):
    X, scores = rng.uniform(1, 2, (300, 1)), rng.uniform(size=300)
    rule = PLCP(OrderedPartition(LinearQuantile()), calibration="split", confidence=0.95)
    plcp.save(rule.fit(X, scores), tmp_path / "rule.plcp")
    again = plcp.load(tmp_path / "rule.plcp")
    assert (again.guarantee_, again.confidence) == (rule.guarantee_, 0.95)
    assert_array_equal(again.predict(X), rule.predict(X))


REFUSED = {
    "a percentage": (SplitConformal(confidence=95), r"confidence must lie in \(0, 1\), got 95"),
    "one": (Mondrian(0, confidence=1.0), r"confidence must lie in \(0, 1\), got 1.0"),
    "text": (Rectified(confidence="high"), r"confidence must lie in \(0, 1\), got 'high'"),
    "out of fold": (PLCP(confidence=0.9), 'calibration="rotate" keeps no confidence.*"held-out"'),
    "joint": (PLCP(confidence=0.9, calibration="joint"), 'calibration="joint" keeps no confidence'),
    "means of thresholds": (
        PLCP(SoftmaxPartition(), calibration="split", assignment="mean", confidence=0.9),
        'assignment="mean" of a soft partition keeps no confidence',
    ),
    "a choice by calibration rows": (
        Rectified(FROZEN, confidence=0.9),
        'confidence needs an adjustment.*adjustment="ratio"',
    ),
    "with draws": (
        SplitConformal(confidence=0.9, randomize=True),
        "confidence is kept by ranks that randomize=True would draw",
    ),
}


@pytest.mark.parametrize(("rule", "message"), REFUSED.values(), ids=REFUSED)
def test_options_that_mean_nothing_are_refused(rule, message, rng):
    with pytest.raises(ValueError, match=message):
        rule.fit(rng.normal(size=(60, 1)), rng.uniform(size=60))


@pytest.mark.parametrize(
    "rule",
    [
        SplitConformal(confidence=0.9),
        Mondrian(0, confidence=0.9),
        Rectified(confidence=0.9),
        PLCP(calibration="split", confidence=0.9),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_weights_are_refused(rule):
    with pytest.raises(ValueError, match="sample_weight is not supported with confidence"):
        rule.fit(np.zeros((60, 1)), np.arange(60.0), sample_weight=np.ones(60))


def test_tails_and_blocks_and_clusters_refuse_it_too(rng):
    bad = SplitConformal(confidence=95)
    with pytest.raises(ValueError, match=r"got 95"):
        ConformalRegressor(FROZEN, SignedResidual(), bad).fit(np.zeros((60, 1)), np.arange(60.0))
    with pytest.raises(ValueError, match=r"got 95"):
        bad.fit_blocks(Held([(np.arange(60.0),)]))
    with pytest.raises(ValueError, match=r"got 95"):
        DaskSplitConformal(confidence=95).fit(None, None)
