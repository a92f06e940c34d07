"""What a monitor reads off a rule: calibration rows of each group, and whether alarms are exact."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from plcp import (
    PLCP,
    BatchGCP,
    BatchMVP,
    ConditionalCalibration,
    ConformalClassifier,
    CumulativeProbability,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    Rectified,
    SoftmaxPartition,
    SplitConformal,
)
from plcp._validation import effective_columns
from plcp.monitoring.martingale import Urn
from plcp.monitoring.watches import watches_of

SOFT = SoftmaxPartition(n_starts=1, max_rounds=3)
EXACT, APPROXIMATE = "at most 0.05", "Approximate"


def pairs(rng, n=400):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, (3 + X[:, 0]) * rng.exponential(size=n)


def drawn(partition, rng):
    rule = PLCP(partition, 2, calibration="split", assignment="sample", random_state=0)
    return rule.fit(*pairs(rng))


def test_equal_rows_draw_the_same_group_so_alarms_are_not_exact(rng):
    """One number decides for all copies of a row, of which each calibrated with its own."""
    rule, X = drawn(SOFT, rng), pairs(rng, 1000)[0]
    doubtful = X[np.argmin(np.abs(rule.memberships(X)[:, 0] - 0.5))]
    near = doubtful + 1e-9 * np.arange(200)[:, None]
    assert len(np.unique(rule.groups(near))) == 2
    assert len(np.unique(rule.groups(np.tile(doubtful, (200, 1))))) == 1
    assert rule.monitor().guarantee_.startswith(APPROXIMATE)


def test_a_partition_that_leaves_nothing_to_draw_is_exact(rng):
    rule = drawn(OrderedPartition(LinearQuantile()), rng)
    assert EXACT in rule.monitor().guarantee_


@pytest.mark.parametrize(
    ("score", "guarantee"),
    [
        (CumulativeProbability("random", random_state=0), APPROXIMATE),
        (CumulativeProbability("random", random_state=np.random.RandomState(0)), APPROXIMATE),
        (CumulativeProbability("full", random_state=0), EXACT),
    ],
    ids=["a number", "a stream", "nothing drawn"],
)
def test_equal_rows_draw_the_same_score_so_alarms_are_not_exact(score, guarantee, rng):
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = FrozenEstimator(LogisticRegression().fit(X, y))
    sets = ConformalClassifier(model, score, SplitConformal()).fit(X, y)
    copies = sets.examine(np.zeros((9, 2)), np.zeros(9, dtype=int))
    assert len(np.unique(copies.scores)) == 1
    assert guarantee in sets.monitor().guarantee_


@pytest.mark.parametrize("rule", [SplitConformal(), Mondrian(0)], ids=["all", "groups"])
def test_rows_of_equal_weight_predict_misses_where_the_threshold_is_finite(rule):
    """Eight rows of weight two reach 90 %, which eight rows do not: a miss is no wonder."""
    rule.fit(np.zeros((8, 1)), np.arange(8.0), sample_weight=np.full(8, 2.0))
    assert rule.predict([[0.0]]) == [7.0]
    (watch,) = watches_of(rule)
    for urn in (watch.all_rows, *watch.groups.values()):
        assert urn.misses / sum(urn) == pytest.approx(0.1)


@pytest.mark.parametrize("size", [0.3, 0.5])
def test_only_rows_that_were_held_out_are_in_the_urn(size, rng):
    """Training rows of the regressor say nothing of how far the threshold may be off."""
    X, scores = pairs(rng, 200)
    (watch,) = watches_of(Rectified(LinearQuantile(), calibration_size=size).fit(X, scores))
    assert watch.all_rows == Urn.of(round(200 * size), 0.1)
    learned = PLCP(OrderedPartition(LinearQuantile()), 2, calibration="split", random_state=0)
    (watch,) = watches_of(learned.set_params(calibration_size=size).fit(X, scores))
    assert sum(sum(urn) - 1 for urn in watch.groups.values()) == round(200 * size)


def beyond_two(X):
    return np.asarray(X)[:, 0] > 2


GROUPS = np.repeat([[0.0], [3.0], [5.0]], [3, 4, 20], axis=0)
SHARED = {"alpha": [0.1, 0.2], "share_partition": True}
GIVEN = np.array([2.0, 2.0, 4.0, 1.0, 1.0, 1.0, 1.0, *[3.0] * 20])


@pytest.mark.parametrize("unit", [1.0, 2.0**-20, 2.0**600])
@pytest.mark.filterwarnings("ignore::plcp.exceptions.InfiniteThresholdWarning")
def test_weights_of_one_group_say_nothing_of_another(unit):
    """8² / 24 rows where weights differ, all rows where they do not, in any unit of weight."""
    rule = Mondrian(0).fit(GROUPS, np.arange(27.0), sample_weight=unit * GIVEN)
    (watch,) = watches_of(rule)
    assert list(watch.groups.values()) == [
        Urn.of(n, 0.1, weighted=True) for n in (64 / 24, 4.0, 20.0)
    ]
    assert watch.all_rows == Urn.of(72**2 / (24 + 4 + 180), 0.1, weighted=True)


@pytest.mark.parametrize(
    "rule",
    [BatchGCP(beyond_two), BatchMVP(beyond_two), ConditionalCalibration(groups=beyond_two)],
    ids=lambda rule: type(rule).__name__,
)
def test_rows_in_some_of_several_groups_count_there(rule):
    (watch,) = watches_of(rule.fit(GROUPS, np.arange(27.0), sample_weight=GIVEN))
    assert list(watch.groups.values()) == [Urn.of(64**2 / (4 + 180), 0.1, weighted=True)]


def test_rows_in_a_group_in_part_count_in_part():
    members = np.array([[0.5, 1.0], [0.25, 0.0], [1.0, 0.5]])
    assert effective_columns(members, np.full(3, 7.0)).tolist() == members.sum(axis=0).tolist()
    weights = np.array([1.0, 2.0, 4.0])
    expected = (members.T @ weights) ** 2 / (members.T @ weights**2)
    assert effective_columns(members, weights).tolist() == expected.tolist()


class FirstColumn(RegressorMixin, BaseEstimator):
    """A regressor that has nothing to learn, so that no row changes its group between folds."""

    def fit(self, X, y, sample_weight=None):
        self.n_features_in_ = 1
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


def learned(rng, weights, **options):
    X = rng.uniform(1, 3, size=(400, 1))
    options = {"calibration": "cross", **options}
    rule = PLCP(OrderedPartition(FirstColumn()), 3, random_state=0, **options)
    return rule.fit(X, X[:, 0] * rng.exponential(size=400), sample_weight=weights), X


@pytest.mark.parametrize(
    "options",
    [{"calibration": "joint"}, {"within": "constant"}, {"within": "regressor"}, SHARED],
    ids=str,
)
def test_rows_of_a_learned_group_count_there(options, rng):
    weights = rng.exponential(size=400)
    rule, X = learned(rng, weights, **options)
    for watch, each in zip(watches_of(rule), getattr(rule, "rules_", [rule]), strict=True):
        rows = [weights[each.groups(X) == group] for group in range(3)]
        expected = [own.sum() ** 2 / (own**2).sum() for own in rows]
        np.testing.assert_allclose([sum(urn) - 1 for urn in watch.groups.values()], expected)


def test_training_rows_are_in_no_urn_of_weighted_ones(rng):
    rule, _ = learned(rng, np.full(400, 3.0), calibration="split")
    (watch,) = watches_of(rule)
    rows = [sum(urn) - 1 for urn in watch.groups.values()]
    np.testing.assert_allclose(rows, rule.group_sizes_ / 3)
    assert sum(rows) == pytest.approx(200)


@pytest.mark.filterwarnings("ignore::plcp.exceptions.InfiniteThresholdWarning")
def test_rows_too_few_for_a_threshold_are_one_group():
    rule = PLCP(alpha=0.01).fit(np.arange(4.0)[:, None], np.arange(4.0), [2.0, 2.0, 4.0, 0.0])
    (watch,) = watches_of(rule)
    assert [*watch.groups.values()] == [Urn.of(64 / 24, 0.01, weighted=True)]


@pytest.mark.parametrize("rule", [SplitConformal(), Mondrian(0)], ids=["all", "groups"])
def test_rows_of_weight_one_and_none_are_rows(rule):
    counts = np.array([1.0] * 19 + [0.0] * 5)
    (watch,) = watches_of(rule.fit(np.zeros((24, 1)), np.arange(24.0), sample_weight=counts))
    for urn in (watch.all_rows, *watch.groups.values()):
        assert urn == Urn.of(19, 0.1)
