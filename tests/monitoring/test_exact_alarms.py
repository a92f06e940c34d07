"""When a monitor may call its alarms exact: not with draws that rows share, nor with weights."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from plcp import (
    PLCP,
    ConformalClassifier,
    CumulativeProbability,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    Rectified,
    SoftmaxPartition,
    SplitConformal,
)
from plcp.monitoring.martingale import Urn
from plcp.monitoring.watches import watches_of
from plcp.quantiles import conformal_rank

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
    ("score", "said"),
    [
        (CumulativeProbability("random", random_state=0), APPROXIMATE),
        (CumulativeProbability("random", random_state=np.random.RandomState(0)), APPROXIMATE),
        (CumulativeProbability("full", random_state=0), EXACT),
    ],
    ids=["a number", "a stream", "nothing drawn"],
)
def test_equal_rows_draw_the_same_score_so_alarms_are_not_exact(score, said, rng):
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = FrozenEstimator(LogisticRegression().fit(X, y))
    sets = ConformalClassifier(model, score, SplitConformal()).fit(X, y)
    copies = sets.examine(np.zeros((9, 2)), np.zeros(9, dtype=int))
    assert len(np.unique(copies.scores)) == 1
    assert said in sets.monitor().guarantee_


@pytest.mark.parametrize("rule", [SplitConformal(), Mondrian(0)], ids=["all", "groups"])
def test_rows_of_equal_weight_foretell_misses_where_the_threshold_is_finite(rule):
    """Eight rows of weight two reach 90 %, which eight rows do not: a miss is no wonder."""
    rule.fit(np.zeros((8, 1)), np.arange(8.0), sample_weight=np.full(8, 2.0))
    assert rule.predict([[0.0]]) == [7.0]
    (watch,) = watches_of(rule)
    for urn in (watch.all_rows, *watch.groups.values()):
        assert urn.misses / sum(urn) == pytest.approx(0.1)


@pytest.mark.parametrize("n", [0, 3, 8, 9, 10])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.35])
def test_the_urn_of_a_threshold_holds_one_ball_a_gap_among_the_scores(n, alpha):
    urn = Urn.of(n, alpha)
    assert sum(urn) == n + 1
    assert urn.misses == max(n + 1 - conformal_rank(n, alpha), 0)


@pytest.mark.parametrize("size", [0.3, 0.5])
def test_only_rows_that_were_held_out_are_in_the_urn(size, rng):
    """Training rows of the regressor say nothing of how far the threshold may be off."""
    X, scores = pairs(rng, 200)
    (watch,) = watches_of(Rectified(LinearQuantile(), calibration_size=size).fit(X, scores))
    assert watch.all_rows == Urn.of(round(200 * size), 0.1)
    learned = PLCP(OrderedPartition(LinearQuantile()), 2, calibration="split", random_state=0)
    (watch,) = watches_of(learned.set_params(calibration_size=size).fit(X, scores))
    assert sum(sum(urn) - 1 for urn in watch.groups.values()) == round(200 * size)
