"""PLCP: reductions, exact coverage, equivariance, and what every fitted rule keeps."""

import pickle
import re
from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from bands import beta_binomial_band, binomial_band
from plcp import (
    PLCP,
    ClassifierPartition,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    SoftmaxPartition,
    SplitConformal,
)
from plcp.exceptions import InfiniteThresholdWarning
from plcp.quantiles import conformal_rank
from plcp.thresholds._plcp_calibration import chosen_cells
from plcp.thresholds._plcp_learning import Pairs, RowsInPartition

quietly = pytest.mark.filterwarnings(
    "ignore::plcp.exceptions.InfiniteThresholdWarning",
    "ignore::plcp.exceptions.CollapseWarning",
)
SOFTMAX = SoftmaxPartition(n_starts=1, max_rounds=5)
PARTITIONS = {
    "linear": OrderedPartition(LinearQuantile()),
    "softmax": SOFTMAX,
    "classifier": ClassifierPartition(LogisticRegression(), n_rounds=2),
}
every_partition = pytest.mark.parametrize("partition", PARTITIONS.values(), ids=PARTITIONS)
CALIBRATIONS = ["joint", "split", "cross", "held-out", "rotate"]


class Column(RegressorMixin, BaseEstimator):
    """A regressor that is known beforehand: a column, negated on request."""

    def __init__(self, sign=1.0):
        self.sign = sign

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return self.sign * np.asarray(X)[:, 0]

    def __sklearn_is_fitted__(self):
        return True


def draw(rng, n=300, d=2):
    """Scores whose scale is three times as large right of zero."""
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.where(X[:, 0] > 0, 3.0, 1.0) * rng.exponential(size=n)


@pytest.fixture
def halves(monkeypatch):
    """Parts that rows were cut into, as they are cut: those to learn from and those held out."""
    parts, cut = [], Pairs.cut

    def spy(self, share, rng):
        parts.append(cut(self, share, rng))
        return parts[-1]

    monkeypatch.setattr(Pairs, "cut", spy)
    return parts


# what fresh rows and odd options must not break


@pytest.mark.parametrize("within", ["constant", "regressor"])
def test_learning_rows_too_few_for_a_threshold_leave_a_finite_one(rng, within):
    X, scores = draw(rng, n=700)
    rule = PLCP(PARTITIONS["linear"], alpha=0.005, calibration="held-out", within=within)
    rule.set_params(random_state=0).fit(X, scores)
    assert rule.guarantee_.n < 700
    assert np.isfinite(rule.predict(X)).all()
    held_out = PLCP(PARTITIONS["linear"], calibration="held-out", calibration_size=0.95)
    assert not np.isnan(held_out.fit(X[:100], scores[:100]).predict(X)).any()


def test_the_least_of_several_alphas_has_rows_enough_held_out(rng):
    X, scores = draw(rng, n=700)
    rule = PLCP(PARTITIONS["linear"], alpha=[0.005, 0.1, 0.2], calibration="held-out")
    rule.set_params(share_partition=True, random_state=0).fit(X, scores)
    assert np.isfinite(rule.thresholds_).all()


@pytest.mark.parametrize("calibration", ["rotate", "held-out", "split"])
def test_copies_that_stay_together_leave_nothing_exact(rng, calibration):
    X, scores = draw(rng, n=400)
    rule = PLCP(PARTITIONS["linear"], 1, calibration=calibration, random_state=0)
    assert clone(rule).fit(X, scores).guarantee_.kind == "exact"
    X[:100], scores[:100] = X[100:200], scores[100:200]
    promise = clone(rule).fit(X, scores).guarantee_
    assert promise.kind == "approximate"
    assert "About 25 % of the rows are taken for copies" in promise.note


@pytest.mark.parametrize("times", [2, 5])
@pytest.mark.parametrize("calibration", ["rotate", "held-out", "split"])
def test_copies_of_all_rows_leave_held_out_ranks_as_they_were(rng, calibration, times):
    """The rank among copies is that among distinct rows, which are what is exchangeable."""
    X, scores = rng.normal(size=(200, 2)), rng.permutation(200).astype(float)
    rule = PLCP(PARTITIONS["linear"], 1, calibration=calibration, within="constant", random_state=0)
    once = clone(rule).fit(X, scores).predict(X)
    copied = clone(rule).fit(np.repeat(X, times, axis=0), np.repeat(scores, times))
    assert_array_equal(copied.predict(X), once)


@pytest.mark.parametrize("calibration", ["rotate", "held-out", "split"])
def test_one_row_that_recurs_changes_neither_groups_nor_what_is_finite(rng, calibration):
    """A tenth of the rows is one row, as where a table has a value that means nothing."""
    X, scores = draw(rng, n=2400)
    X[:200], scores[:200] = X[0], scores[0]
    rule = PLCP(PARTITIONS["linear"], calibration=calibration, random_state=0).fit(X, scores)
    assert np.isfinite(rule.predict(X)).all()
    assert rule.n_groups_ > 1
    if calibration == "rotate":
        distinct = PLCP(PARTITIONS["linear"], random_state=0).fit(X[199:], scores[199:])
        assert len(rule.rotation_) == len(distinct.rotation_)


def test_options_set_after_a_fit_wait_for_the_next(rng):
    """As the guarantee does, which the fit has stored."""
    X, scores = draw(rng)
    rule = PLCP(PARTITIONS["linear"], random_state=0).fit(X, scores)
    before = rule.predict(X)
    assert_array_equal(rule.set_params(assignment="mean").predict(X), before)
    assert rule.guarantee_.kind == "exact"
    assert rule.draws
    assert rule.fit(X, scores).guarantee_.kind == "approximate"
    assert not rule.draws


@quietly
def test_blocks_too_small_for_a_threshold_leave_one(rng):
    X, scores = draw(rng)
    one = SplitConformal().fit(X, scores).threshold_
    for cv in (50, KFold(50), [*KFold(50).split(X)]):
        rule = PLCP(PARTITIONS["linear"], cv=cv, random_state=0).fit(X, scores)
        assert_array_equal(rule.predict(X), np.full(len(X), one))


@pytest.mark.parametrize("signed", [False, True])
def test_what_rules_of_a_rotation_share_changes_no_bit(rng, monkeypatch, signed):
    X, scores = draw(rng, n=400)
    scores = scores - signed
    rule = PLCP(n_groups=2, random_state=0)
    shared = clone(rule).fit(X, scores)
    monkeypatch.setattr("plcp.thresholds.plcp.sharing_fits", nullcontext)
    apart = clone(rule).fit(X, scores)
    assert_array_equal(shared.predict(X), apart.predict(X))
    assert_array_equal(shared.thresholds_, apart.thresholds_)


def test_folds_that_purge_rows_cannot_rotate(rng):
    X, scores = draw(rng, n=120)
    blocks = np.arange(120) // 40
    cv = [(np.flatnonzero(blocks != k)[1:], np.flatnonzero(blocks == k)) for k in range(3)]
    with pytest.raises(ValueError, match=r'learned from otherwise.*calibration="cross" takes'):
        PLCP(PARTITIONS["linear"], cv=cv).fit(X, scores)


def test_more_blocks_than_rows_can_fill_leave_one_threshold(rng):
    X, scores = draw(rng, n=60)
    rule = PLCP(PARTITIONS["linear"], cv=10, random_state=0).fit(X, scores)
    assert_array_equal(rule.predict(X), SplitConformal().fit(X, scores).threshold_)


def test_draws_of_learning_and_held_out_rows_are_independent():
    rule = PLCP(SOFTMAX, assignment="sample")
    rule._seeds = np.array([3, 4])
    even = RowsInPartition(np.zeros(200, int), np.full((200, 2), 0.5), np.zeros(200), np.zeros(200))
    first, second = (chosen_cells(rule, even, purpose) for purpose in (0, 1))
    low, high = binomial_band(200, 0.5)
    assert low <= (first == second).sum() <= high


# reductions


@every_partition
@pytest.mark.parametrize("assignment", ["mode", "sample", "mean"])
@pytest.mark.parametrize("calibration", ["split", "cross"])
def test_one_group_is_split_conformal(rng, halves, partition, assignment, calibration):
    X, scores = draw(rng, n=150)
    rule = PLCP(partition, 1, within="constant", calibration=calibration, assignment=assignment)
    rule.set_params(random_state=0).fit(X, scores)
    held = scores if calibration == "cross" else halves[0][1].scores
    assert len(held) == (150 if calibration == "cross" else 75)
    expected = SplitConformal().fit(np.zeros((len(held), 1)), held).threshold_
    assert_array_equal(rule.predict(X), expected)
    assert_array_equal(rule.thresholds_, expected)


@pytest.mark.parametrize("calibration", ["split", "cross"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_known_regressor_is_mondrian_on_its_cuts(rng, halves, calibration, sign):
    X, scores = draw(rng, n=400)
    X = np.round(X * 1024) / 1024  # the mean of equal fold values is then that value
    partition = OrderedPartition(FrozenEstimator(Column(sign)))
    rule = PLCP(partition, 4, within="constant", calibration=calibration, random_state=0)
    cuts = rule.fit(X, scores).partition_.cuts_
    mondrian = Mondrian(lambda X: np.searchsorted(cuts, sign * np.asarray(X)[:, 0]))
    rows = (X, scores) if calibration == "cross" else (halves[0][1].X, halves[0][1].scores)
    assert len(cuts) == 3
    assert_array_equal(rule.predict(X), mondrian.fit(*rows).predict(X))
    assert_array_equal(np.sort(rule.thresholds_), np.sort(mondrian.thresholds_))


def test_a_constant_regressor_followed_is_split(rng):
    X, scores = draw(rng)
    regressor = FrozenEstimator(DummyRegressor().fit(X, scores))
    rule = PLCP(OrderedPartition(regressor), calibration="cross").fit(X, scores)
    assert_allclose(rule.predict(X), SplitConformal().fit(X, scores).threshold_, rtol=1e-14)


# exact laws


@pytest.mark.parametrize("partition", [None, PARTITIONS["linear"]], ids=["default", "linear"])
@pytest.mark.parametrize("signed", [False, True])
def test_cross_fitting_covers_exactly_the_rank_out_of_fold(rng, partition, signed):
    X, scores = draw(rng, n=450)
    scores = scores - 2.0 * signed
    rule = PLCP(partition, calibration="cross", random_state=0).fit(X, scores)
    regressor = rule.partition_.regressor_.out_of_fold_
    groups = rule._group_of[np.searchsorted(rule.partition_.cuts_, regressor)]
    threshold = regressor + rule.corrections_[groups]
    assert (scores <= threshold).sum() == conformal_rank(450, 0.1)
    assert f"{conformal_rank(450, 0.1)} of the 450" in rule.guarantee_.note


SPLIT_RULES = {
    "constant": PLCP(PARTITIONS["linear"], 2, within="constant", calibration="split"),
    "regressor": PLCP(PARTITIONS["linear"], 2, within="regressor", calibration="split"),
    "sample": PLCP(SOFTMAX, 2, assignment="sample", calibration="split"),
    "mode": PLCP(SOFTMAX, 2, assignment="mode", calibration="split"),
}


HELD_OUT_RULES = {
    "regressor": PLCP(PARTITIONS["linear"], 2),
    "constant": PLCP(PARTITIONS["linear"], 2, within="constant"),
    "tied": PLCP(OrderedPartition(Column()), 2),
    "mode": PLCP(SOFTMAX, 2),
    "mean": PLCP(SOFTMAX, 2, assignment="mean"),
}


def left_out_once(X, scores, held):
    """Each of the held rows in turn as the new row, and the last of all rows in its place."""
    for row in held:
        order = np.arange(len(scores))
        order[row], order[-1] = len(scores) - 1, row
        yield X[order], scores[order]


@quietly
@pytest.mark.parametrize("rule", HELD_OUT_RULES.values(), ids=HELD_OUT_RULES)
@pytest.mark.parametrize("blocks", [1, 3])
def test_each_held_out_part_covers_its_rank_exactly(rng, halves, rule, blocks):
    """Of m + 1 rows, each left out in turn and the others held out, ⌈0.8 (m + 1)⌉ are covered."""
    X, scores = draw(rng, n=61)
    rule = clone(rule).set_params(alpha=0.2, random_state=0)
    if blocks == 1:
        rule.set_params(calibration="held-out", calibration_size=0.3).fit(X[:60], scores[:60])
        held = [np.flatnonzero(np.isin(scores, halves[0][1].scores))]
    else:
        held = [np.arange(k, 60, blocks) for k in range(blocks)]
        cv = [(np.setdiff1d(np.arange(60), rows), rows) for rows in held]
        rule.set_params(calibration="rotate", cv=cv)
    for k, rows in enumerate(held):
        covered = []
        for Z, s in left_out_once(X, scores, [*rows, 60]):
            fitted = rule.fit(Z[:60], s[:60])
            part = fitted.rotation_[k] if blocks > 1 else fitted
            assert part.guarantee_.n == len(rows)
            covered.append(s[60] <= part.predict(Z[60:])[0])
        assert sum(covered) == conformal_rank(len(rows), 0.2)


@quietly
@pytest.mark.parametrize("rule", SPLIT_RULES.values(), ids=SPLIT_RULES)
def test_split_covers_each_learned_group(rule):
    """200 fits of 80 rows and one new row each: covered at least as often as 1 - alpha, by group.

    Given the learned half, a new row's coverage in its group is at least 0.8 in every fit, and at
    most 0.8 + 1/(n_g + 1): the number covered lies between two binomials, whatever the fits.
    """
    n_reps, alpha = 200, 0.2
    hits, visits, bound = np.zeros(2), np.zeros(2), np.zeros(2)
    for seed in range(n_reps):
        X, scores = draw(np.random.default_rng(seed), n=81)
        fitted = clone(rule).set_params(alpha=alpha, random_state=seed).fit(X[:80], scores[:80])
        group = fitted.groups(X[80:])[0]
        visits[group] += 1
        hits[group] += scores[80] <= fitted.predict(X[80:])[0]
        bound[group] += 1 / (fitted.group_sizes_[group] + 1)
    assert visits.sum() == n_reps
    for group in np.flatnonzero(visits):
        low, _ = binomial_band(visits[group], 1 - alpha)
        _, high = binomial_band(visits[group], min(1.0, 1 - alpha + bound[group] / visits[group]))
        assert low <= hits[group] <= high


def test_split_coverage_of_one_fit_lies_in_the_beta_binomial_band(rng):
    X, scores = draw(rng, n=600)
    new_X, new_scores = draw(rng, n=4000)
    rule = PLCP(PARTITIONS["linear"], 3, calibration="split", random_state=0).fit(X, scores)
    groups, covered = rule.groups(new_X), new_scores <= rule.predict(new_X)
    for g, n_cal in enumerate(rule.group_sizes_.astype(int)):
        rank = conformal_rank(n_cal, 0.1)
        low, high = beta_binomial_band((groups == g).sum(), n_cal, rank)
        assert low <= covered[groups == g].sum() <= high


def test_draws_at_predict_are_not_those_of_calibration(rng):
    X, scores = draw(rng)
    rule = PLCP(SOFTMAX, 3, assignment="sample", calibration="joint", random_state=0).fit(X, scores)
    at_fit, at_predict = rule._seeds
    assert at_fit != at_predict
    shares = rule.memberships(X).mean(axis=0)
    counts = np.bincount(rule.groups(X), minlength=rule.n_groups_)
    for share, count in zip(shares, counts, strict=True):
        low, high = binomial_band(len(X), share)  # a sum of unequal Bernoullis varies less
        assert low <= count <= high


# equivariance


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_shift_and_scale_of_scores_with_constant_thresholds(rng, calibration):
    X, scores = draw(rng)
    scores = np.round(scores * 1024) / 1024  # so that sums below are exact
    make = {"within": "constant", "calibration": calibration, "random_state": 0}
    regressor = OrderedPartition(FrozenEstimator(Column()))
    base = PLCP(regressor, 3, **make).fit(X, scores)
    for a, b in [(1.0, 16.0), (4.0, 0.0), (0.5, -8.0)]:
        other = PLCP(regressor, 3, **make).fit(X, a * scores + b)
        assert_array_equal(other.groups(X), base.groups(X))
        assert_array_equal(other.thresholds_, a * base.thresholds_ + b)


@every_partition
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_shift_of_scores_leaves_a_learned_partition_alone(rng, partition, calibration):
    X, scores = draw(rng)
    rule = PLCP(partition, 2, within="constant", calibration=calibration, random_state=0)
    base, other = (clone(rule).fit(X, scores + shift) for shift in (0, 4))
    assert_array_equal(other.groups(X), base.groups(X))
    assert_allclose(other.thresholds_, base.thresholds_ + 4, rtol=1e-12)


def test_thresholds_that_follow_a_line_shift_with_the_scores(rng):
    X, scores = draw(rng)
    base, other = (
        PLCP(PARTITIONS["linear"], 2, random_state=0).fit(X, scores + shift) for shift in (0, 4)
    )
    assert_allclose(other.predict(X), base.predict(X) + 4, rtol=1e-12)


@pytest.mark.parametrize("partition", [None, PARTITIONS["linear"]], ids=["default", "linear"])
def test_thresholds_that_follow_the_regressor_scale_with_the_scores(rng, partition):
    X, scores = draw(rng)
    base, other = (PLCP(partition, random_state=0).fit(X, scores * unit) for unit in (1, 4))
    assert_allclose(other.predict(X), base.predict(X) * 4, rtol=1e-12)


def test_row_order_does_not_matter_jointly(rng):
    X, scores = draw(rng)
    order = rng.permutation(len(X))
    rule = PLCP(OrderedPartition(LinearQuantile(tol=1e-9)), 3, calibration="joint")
    base = clone(rule).fit(X, scores)
    other = clone(rule).fit(X[order], scores[order])
    assert_array_equal(other.predict(X), base.predict(X))


def test_units_of_the_features_do_not_matter_to_a_line(rng):
    X, scores = draw(rng)
    linear = OrderedPartition(LinearQuantile(tol=1e-9))
    rule = PLCP(linear, 3, calibration="held-out", random_state=0)
    base = clone(rule).fit(X, scores).predict(X)
    units = np.array([2.0**10, -(2.0**-10)])  # in which rows are divided alike
    assert_allclose(clone(rule).fit(X * units, scores).predict(X * units), base, rtol=1e-6)


# what every fitted rule keeps


@quietly
@every_partition
@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("assignment", ["mode", "sample", "mean"])
@pytest.mark.parametrize("within", ["constant", "regressor"])
def test_groups_in_order_and_complete(rng, partition, calibration, assignment, within):
    X, scores = draw(rng, n=240)
    rule = PLCP(
        partition,
        3,
        calibration=calibration,
        assignment=assignment,
        within=within,
        random_state=0,
    ).fit(X, scores)
    memberships, groups = rule.memberships(X), rule.groups(X)
    if calibration != "split":  # whose groups keep the numbers they were learned with
        assert (np.diff(rule.thresholds_) >= 0).all()
        assert within == "regressor" or (np.diff(rule.thresholds_) > 0).all()
    assert rule.n_groups_ == len(rule.thresholds_) == len(rule.group_sizes_) <= 3
    used = {"split": 120, "held-out": 240 - rule.guarantee_.n}  # the rest learns, or calibrates
    assert rule.group_sizes_.sum() == used.get(calibration, 240)
    assert memberships.shape == (240, rule.n_groups_)
    assert_allclose(memberships.sum(axis=1), 1)
    assert groups.min() >= 0
    assert groups.max() < rule.n_groups_
    if assignment != "sample":
        own = memberships[np.arange(240), groups]
        assert_allclose(own, memberships.max(axis=1))  # folds may vote alike for several
    thresholds = rule.predict(X)
    assigned = rule.assign(X)
    assert_array_equal(assigned.groups, groups)
    assert_array_equal(assigned.thresholds, thresholds)
    assert thresholds.shape == (240,)
    assert np.isfinite(thresholds).all()
    if within == "constant" and calibration != "rotate":  # where groups are of several partitions
        mean = memberships @ rule.thresholds_
        assert_allclose(thresholds, mean if assignment == "mean" else rule.thresholds_[groups])


@pytest.mark.parametrize("calibration", ["rotate", "held-out", "cross"])
def test_groups_and_thresholds_are_found_in_one_pass(rng, monkeypatch, calibration):
    X, scores = draw(rng)
    rule = PLCP(OrderedPartition(Column()), 3, calibration=calibration, random_state=0)
    rule.fit(X, scores)
    asked, ask = Counter(), OrderedPartition._predict_quantile

    def count(self, X):
        asked[id(self)] += len(X)
        return ask(self, X)

    monkeypatch.setattr(OrderedPartition, "_predict_quantile", count)
    assert len(set(rule.assign(X).groups)) == rule.n_groups_
    assert set(asked.values()) == {len(X)}


@pytest.mark.parametrize("calibration", ["split", "cross"])
@pytest.mark.parametrize("within", ["constant", "regressor"])
def test_groups_too_small_for_a_finite_threshold_are_merged(rng, calibration, within):
    X, scores = draw(rng, n=300)
    rule = PLCP(OrderedPartition(Column()), 30, within=within, calibration=calibration)
    rule.set_params(random_state=0).fit(X, scores)
    assert rule.partition_.n_groups_ > rule.n_groups_ > 1
    assert np.isfinite(rule.corrections_).all()
    assert rule.group_sizes_.sum() == (150 if calibration == "split" else 300)
    if calibration == "cross":  # counts are those expected: three times the nine points needed
        assert rule.group_sizes_.min() >= 27


@every_partition
def test_same_seed_same_rule_and_predict_changes_nothing(rng, partition):
    X, scores = draw(rng)
    rules = [PLCP(partition, 2, random_state=3).fit(X, scores) for _ in range(2)]
    before = pickle.dumps(rules[0])
    assert_array_equal(rules[0].predict(X), rules[1].predict(X))
    assert_array_equal(rules[0].predict(X), rules[0].predict(X))
    rules[0].groups(X)
    rules[0].memberships(X)
    assert pickle.dumps(rules[0]) == before


@pytest.mark.parametrize("partition", [None, *PARTITIONS.values()], ids=["default", *PARTITIONS])
def test_n_jobs_changes_nothing(rng, partition):
    X, scores = draw(rng)
    one, two = (
        PLCP(partition, 2, n_jobs=n, random_state=0).fit(X, scores).predict(X) for n in (None, 2)
    )
    assert_array_equal(one, two)


@every_partition
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_weightless_rows_are_not_there(rng, partition, calibration):
    X, scores = draw(rng, n=400)
    weights = np.arange(400) % 2
    rule = PLCP(partition, 2, calibration=calibration, random_state=0)
    weighted = clone(rule).fit(X, scores, weights)
    alone = clone(rule).fit(X[1::2], scores[1::2], np.ones(200))
    assert_array_equal(weighted.predict(X), alone.predict(X))


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("within", ["constant", "regressor"])
def test_weights_reach_the_thresholds(rng, calibration, within):
    X, scores = draw(rng, n=400)
    rule = PLCP(OrderedPartition(Column()), 1, calibration=calibration, within=within)
    rule.set_params(random_state=0)
    plain = clone(rule).fit(X, scores).predict(X)
    heavy = clone(rule).fit(X, scores, 1 + 9.0 * (scores > np.median(scores))).predict(X)
    assert (heavy > plain).all()


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_auto_accepts_weights(rng, calibration):
    X, scores = draw(rng, n=600)
    rule = PLCP(PARTITIONS["linear"], calibration=calibration, random_state=0)
    assert np.isfinite(rule.fit(X, scores, rng.uniform(0.5, 2, 600)).predict(X)).all()


@pytest.mark.parametrize("value", [5.0, 0.0, -3.0])
@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("partition", [None, *PARTITIONS.values()], ids=["default", *PARTITIONS])
@quietly
def test_constant_scores_are_one_group_with_that_threshold(rng, partition, calibration, value):
    X, _ = draw(rng, n=150)
    rule = PLCP(partition, calibration=calibration, random_state=0).fit(X, np.full(150, value))
    assert rule.n_groups_ == 1
    assert_allclose(rule.thresholds_, value, atol=1e-12)
    assert (rule.predict(X) >= value).all()
    assert_allclose(rule.predict(X), value, atol=1e-12)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("partition", [None, *PARTITIONS.values()], ids=["default", *PARTITIONS])
def test_too_few_points_have_an_infinite_threshold(rng, partition, calibration):
    X, scores = draw(rng, n=8)
    X[0, 0] = X[0, 0] if partition is not None else np.nan
    rule = PLCP(partition, calibration=calibration)
    with pytest.warns(InfiniteThresholdWarning, match="8 calibration points are fewer than the 9"):
        rule.fit(X, scores)
    assert_array_equal(rule.predict(X), np.inf)
    assert_array_equal(rule.groups(X), 0)
    assert_array_equal(rule.memberships(X), 1)
    assert "Every set holds every outcome" in rule.guarantee_.note


def test_too_few_held_out_points_are_warned_of(rng):
    X, scores = draw(rng, n=14)
    rule = PLCP(PARTITIONS["linear"], calibration="split", random_state=0)
    with pytest.warns(InfiniteThresholdWarning, match=r"learned groups \[0\] hold too few"):
        rule.fit(X, scores)
    assert_array_equal(rule.predict(X), np.inf)


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        ({"calibration": "joint"}, "none", "Thresholds were read off the training rows"),
        ({"calibration": "split"}, "exact", r"P\(covered \| group\) >= 0.9 for each of the 2"),
        ({"calibration": "cross"}, "asymptotic", "tends to 0.9 for each of the 2 learned groups"),
        ({"calibration": "cross", "within": "constant"}, "asymptotic", "to the same partition"),
        ({"calibration": "held-out"}, "exact", "on average over all inputs, in finite samples"),
        ({}, "exact", "Each row is served by one of 6 rules"),
        ({"assignment": "mean"}, "approximate", "the density of the score given x falls"),
    ],
)
def test_guarantee_says_what_holds(rng, options, kind, sentence):
    X, scores = draw(rng, n=400)
    rule = PLCP(PARTITIONS["linear"], 2, random_state=0, **options).fit(X, scores)
    of_groups = options.get("calibration") in ("joint", "split", "cross")
    assert (rule.guarantee_.kind, rule.guarantee_.n_groups) == (kind, 2 if of_groups else None)
    assert re.search(sentence, str(rule.guarantee_))


@pytest.mark.parametrize("calibration", ["cross", "split"])
def test_one_group_is_not_counted(rng, calibration):
    X, scores = draw(rng, n=400)
    rule = PLCP(PARTITIONS["linear"], 1, calibration=calibration, random_state=0).fit(X, scores)
    assert "the one learned group" in str(rule.guarantee_)


@pytest.mark.parametrize("calibration", ["cross", "split"])
def test_with_weights_nothing_exact_is_promised(rng, calibration):
    X, scores = draw(rng, n=400)
    rule = PLCP(PARTITIONS["linear"], 2, calibration=calibration, random_state=0)
    exact = "In the sample: at least" if calibration == "cross" else ">= 0.9"
    assert exact in str(rule.fit(X, scores).guarantee_)
    weighted = rule.fit(X, scores, rng.integers(1, 3, 400)).guarantee_
    assert exact not in str(weighted)
    assert not weighted.is_finite_sample


def test_mean_assignment_claims_nothing_for_soft_groups_only(rng):
    X, scores = draw(rng, n=400)
    soft = PLCP(SOFTMAX, 2, calibration="split", assignment="mean", random_state=0)
    hard = PLCP(PARTITIONS["linear"], 2, calibration="split", assignment="mean", random_state=0)
    assert soft.fit(X, scores).guarantee_.kind == "none"
    assert hard.fit(X, scores).guarantee_.kind != "none"


def test_split_numbers_groups_as_they_were_learned(rng):
    """Pure noise: numbers by threshold would sort the groups by luck."""
    X = rng.normal(size=(400, 1))
    partition = OrderedPartition(FrozenEstimator(Column(1.0)))
    rule = PLCP(partition, 6, calibration="split", within="constant", random_state=0)
    rule.fit(X, np.abs(rng.normal(size=400)))
    # The regressor is the first column, but pure noise says nothing of the order of its intervals.
    learned = rule.partition_.predict(X)
    assert_array_equal(rule.groups(X), learned)
    assert (np.diff(rule.thresholds_) < 0).any()


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_nonnegative_scores_never_get_a_negative_threshold(rng, calibration):
    X = rng.normal(size=(400, 1))
    scores = np.abs(rng.normal(size=400)) * np.where(X[:, 0] > 0, 5.0, 1e-3)
    partition = OrderedPartition(LinearQuantile())
    rule = PLCP(partition, 2, calibration=calibration, within="regressor", random_state=0)
    rule.fit(X, scores)
    for part in getattr(rule, "rotation_", [rule]):
        assert part.partition_.predict_quantile(X).min() < 0  # the line itself goes below
    assert rule.predict(X).min() >= 0


def test_default_shows_what_it_mixed_and_passes_its_folds_on(rng):
    X, scores = draw(rng, n=300)
    for calibration in CALIBRATIONS:
        rule = PLCP(calibration=calibration, cv=4, n_jobs=2, random_state=0).fit(X, scores)
        rules = getattr(rule, "rotation_", [rule])
        for part in rules:
            regressor = part.partition_.regressor_
            folds = regressor.cv if calibration != "rotate" else len(rules)
            assert (folds, regressor.n_jobs) == (4, 2)
        mixed = [step for step in rule.history_ if "member" in step]
        assert mixed[-1]["member"] == "constant"
        assert sum(step["weight"] for step in mixed) == pytest.approx(len(rules))


def test_verbose_shows_a_bar(rng, capsys):
    X, scores = draw(rng)
    PLCP(PARTITIONS["linear"], 2, verbose=True, random_state=0).fit(X, scores)
    assert "100%" in capsys.readouterr().err
