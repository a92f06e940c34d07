"""One partition for several alphas: the same groups at each, and exact by held-out rows."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from bands import beta_binomial_band
from plcp import PLCP, LinearQuantile, OrderedPartition, SoftmaxPartition, TreePartition
from plcp.exceptions import InfiniteThresholdWarning
from plcp.quantiles import conformal_rank
from plcp.thresholds._plcp_calibration import factor_between
from plcp.thresholds._plcp_learning import RowsInPartition
from strategies import few

ALPHAS = [0.2, 0.05, 0.5]
LINEAR = OrderedPartition(LinearQuantile())
SOFT = SoftmaxPartition(n_starts=1, max_rounds=3)
KINDS = {
    "cross": PLCP(LINEAR, 4, calibration="cross"),
    "split": PLCP(LINEAR, 4, calibration="split"),
    "held-out": PLCP(LINEAR, 4, calibration="held-out"),
    "constant": PLCP(LINEAR, 4, within="constant", calibration="cross"),
    "automatic": PLCP(LINEAR, within="constant", calibration="cross"),
    "tree": PLCP(TreePartition(min_samples_leaf=20), 3, calibration="cross"),
    "drawn": PLCP(SOFT, 2, assignment="sample", calibration="cross"),
    "mean": PLCP(SOFT, 2, assignment="mean", calibration="split"),
    "soft regressor": PLCP(SOFT, 2, within="regressor", calibration="cross"),
}
over_kinds = pytest.mark.parametrize("name", KINDS)


def make(name, alpha=ALPHAS, **options):
    rule = KINDS[name].__class__(**KINDS[name].get_params(deep=False))
    return rule.set_params(alpha=alpha, share_partition=True, random_state=0, **options)


def draw(rng, n=1200):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, (2 + X[:, 0]) * rng.exponential(size=n)


@over_kinds
def test_alphas_have_one_partition_and_thresholds_that_fall(rng, name):
    X, scores = draw(rng)
    rule = make(name).fit(X, scores)
    thresholds = rule.predict(X)
    assert (np.diff(thresholds[:, np.argsort(ALPHAS)], axis=1) <= 0).all()
    assert all(each.partition_ is rule.partition_ for each in rule.rules_)
    assert rule.thresholds_.shape == (3, rule.n_groups_)
    assert rule.memberships(X).shape == (len(X), rule.n_groups_)
    assert_array_equal(rule.group_sizes_, rule.rules_[2].group_sizes_)


@over_kinds
def test_groups_are_those_of_every_alpha(rng, name):
    X, scores = draw(rng)
    rule = make(name).fit(X, scores)
    groups, thresholds = rule.assign(X)
    assert_array_equal(thresholds, rule.predict(X))
    assert_array_equal(groups, rule.groups(X))
    for each in rule.rules_:
        assert_array_equal(each.groups(X), groups)
    for i, rows in enumerate(rule.members(X).values()):
        assert_array_equal(rows, np.flatnonzero(groups == i))


@pytest.mark.parametrize("name", ["cross", "split", "held-out", "constant", "drawn"])
def test_the_alpha_in_the_middle_learns_and_has_the_thresholds_it_would_have_alone(rng, name):
    """Groups are large enough for every alpha, so that none of them joins another."""
    X, scores = draw(rng)
    shared = make(name).fit(X, scores).predict(X)
    alone = make(name, alpha=0.2).fit(X, scores).predict(X)
    assert_array_equal(shared[:, 0], np.maximum(alone, shared[:, 2]))


@pytest.mark.parametrize("within", ["regressor", "constant"])
def test_every_group_covers_by_its_law_at_every_alpha(rng, within):
    X, scores = draw(rng, 2000)
    rule = make("split", within=within).fit(X, scores)
    X, scores = draw(rng, 20_000)
    groups, thresholds = rule.assign(X)
    for group, size in enumerate(rule.group_sizes_.astype(int)):
        rows = groups == group
        for alpha, column in zip(ALPHAS, thresholds[rows].T, strict=True):
            rank = conformal_rank(size, alpha)
            low, high = beta_binomial_band(int(rows.sum()), size, rank)
            assert low <= (scores[rows] <= column).sum() <= high


def test_groups_keep_their_numbers_where_thresholds_of_a_alpha_fall(rng):
    """Group 1 has larger scores at most alphas, and smaller ones at the median."""
    X = rng.integers(2, size=(1200, 1)).astype(float)
    uneven = 1.5 * np.abs(rng.normal(size=1200)) ** 3
    scores = np.where(X[:, 0] == 0, rng.uniform(1, 2, 1200), uneven)
    rule = make("constant", n_groups=2).fit(X, scores)
    assert_array_equal(np.diff(rule.thresholds_, axis=1)[:, 0] > 0, [True, True, False])
    for each in rule.rules_:
        assert_array_equal(each.groups(X), X[:, 0])
        assert_array_equal(each.predict([[0.0], [1.0]]), each.thresholds_)


def test_held_out_scores_have_no_say_in_the_factors(rng):
    """A row that leaves the regressor as it is was held out: its score moves no factor either."""
    X, scores = draw(rng, 120)
    before, held_out = make("split", n_groups=1).fit(X, scores), 0
    for row in range(20):
        other = scores.copy()
        other[row] = 100.0 if scores[row] < np.median(scores) else 0.0
        after = make("split", n_groups=1).fit(X, other)
        if np.array_equal(*(rule.partition_.predict_quantile(X) for rule in (before, after))):
            held_out += 1
            assert [r._factor for r in before.rules_] == [r._factor for r in after.rules_]
    assert held_out


def placed(predicted, scores, weights=None):
    return RowsInPartition(np.zeros(len(scores), dtype=int), None, predicted, scores, weights)


@few
@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 0.5]), st.floats(0.1, 10))
def test_a_factor_carries_a_prediction_to_the_quantile_of_another_alpha(seed, alpha, unit):
    """Scores of one law times a scale: the scale, times the factor, covers the share required."""
    rng = np.random.default_rng(seed)
    scale = unit * rng.uniform(1, 3, 99)
    scores = scale * rng.permutation(np.arange(1.0, 100.0))
    factor = factor_between(placed(scale, scores), alpha)
    assert factor == pytest.approx(100 * (1 - alpha))


def test_a_factor_is_that_of_the_rows_that_weigh():
    scores, weights = np.arange(1.0, 6.0), np.array([1.0, 1, 1e9, 1, 1])
    for alpha in (0.05, 0.5, 0.8):
        assert factor_between(placed(np.ones(5), scores, weights), alpha) == pytest.approx(3.0)


def test_alphas_may_be_listed_in_any_order(rng):
    X, scores = draw(rng)
    given, in_order = (make("cross", alpha=a).fit(X, scores) for a in (ALPHAS, [0.05, 0.2, 0.5]))
    assert_array_equal(given.predict(X)[:, [1, 0, 2]], in_order.predict(X))


def test_signed_scores_and_predictions_have_no_factor():
    ones = np.ones(4)
    assert factor_between(placed(ones, np.array([-1.0, 1, 2, 3])), 0.5) == 1.0
    assert factor_between(placed(ones - 1, np.array([1.0, 1, 2, 3])), 0.5) == 1.0


def test_signed_scores_share_a_partition_too(rng):
    X, scores = draw(rng)
    rule = make("cross").fit(X, scores - 3)
    assert (np.diff(rule.predict(X)[:, np.argsort(ALPHAS)], axis=1) <= 0).all()


def test_in_the_sample_every_alpha_covers_the_rank_it_promises(rng):
    """Out-of-fold thresholds are at or above ⌈(1 - alpha)(n + 1)⌉ scores, at each alpha."""
    X, scores = draw(rng)
    rule = make("cross").fit(X, scores)
    for each, alpha in zip(rule.rules_, ALPHAS, strict=True):
        regressor = each._factor * rule.partition_.learned_quantile(X)
        learned = rule.partition_.learned_quantile(X)
        groups = each._group_of[np.searchsorted(rule.partition_.cuts_, learned)]
        covered = (scores <= regressor + each.corrections_[groups]).sum()
        assert covered >= conformal_rank(len(scores), alpha)


def test_weights_reach_every_alpha(rng):
    X, scores = draw(rng)
    rule = make("cross").fit(X, scores, sample_weight=rng.uniform(0.5, 2, size=len(scores)))
    assert "In the sample" not in str(rule.guarantee_)
    assert rule.predict(X).shape == (len(X), 3)


def test_a_alpha_that_few_rows_cannot_reach_leaves_the_others_finite(rng):
    X, scores = draw(rng, 60)
    with pytest.warns(InfiniteThresholdWarning, match="alpha = 0.01"):
        rule = make("cross", alpha=[0.01, 0.2, 0.5]).fit(X, scores)
    thresholds = rule.predict(X)
    assert np.isinf(thresholds[:, 0]).all()
    assert np.isfinite(thresholds[:, 1:]).all()
    with pytest.warns(InfiniteThresholdWarning):
        hopeless = make("cross", alpha=[0.01, 0.02], n_groups=2).fit(X[:8], scores[:8])
    assert np.isinf(hopeless.predict(X)).all()
    assert hopeless.thresholds_.shape == (2, 1)


def test_groups_are_large_enough_for_the_smallest_alpha(rng):
    """Sixteen rows a group would do at the median, and leave 0.05 without a finite threshold."""
    X, scores = draw(rng, 64)
    rule = make("constant").fit(X, scores)
    assert np.isfinite(rule.thresholds_).all()


@pytest.mark.parametrize("calibration", ["joint", "rotate"])
def test_calibration_that_has_no_one_partition_is_refused(rng, calibration):
    with pytest.raises(ValueError, match='choose "held-out", "split" or "cross"'):
        make("cross", calibration=calibration).fit(*draw(rng))
    alone = make("cross", alpha=0.1, calibration=calibration).fit(*draw(rng))
    assert alone.thresholds_.ndim == 1


@pytest.mark.parametrize("alpha", [0.1, ALPHAS])
def test_a_word_is_neither_true_nor_false(rng, alpha):
    with pytest.raises(ValueError, match="share_partition must be True or False, got 'no'"):
        PLCP(LINEAR, 2, alpha, share_partition="no").fit(*draw(rng))


def test_a_rule_of_one_alpha_can_be_fitted_again_alone(rng):
    X, scores = draw(rng)
    rule = make("cross").fit(X, scores).rules_[2]
    alone = PLCP(LINEAR, 4, alpha=0.5, calibration="cross", random_state=0).fit(X, scores)
    assert_array_equal(rule.fit(X, scores).predict(X), alone.predict(X))


def test_one_alpha_is_not_touched(rng):
    X, scores = draw(rng)
    shared = make("cross", alpha=0.1).fit(X, scores)
    own = PLCP(LINEAR, 4, alpha=0.1, calibration="cross", random_state=0).fit(X, scores)
    assert_array_equal(shared.predict(X), own.predict(X))
