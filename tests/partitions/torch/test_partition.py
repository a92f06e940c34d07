"""Groups of a network: ordered intervals, or softmax groups that do not collapse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from torch import nn

from bands import binomial_band
from networks import draw, draw_images
from plcp import OrderedPartition
from plcp.partitions import CollapseWarning
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp, one_conv
from plcp.quantiles import group_conformal_quantiles, pinball_loss

ALPHA = 0.1


def fitted(rng, n=500, n_groups=4, make=draw, **params):
    X, scores = make(rng, n)
    options = {"epochs": 20, "learning_rate": 0.02, "early_stopping": False, "random_state": 0}
    module = mlp(8) if make is draw else one_conv()
    partition = TorchPartition(module, n_groups, **{**options, **params})
    return partition.fit(X, scores), X, scores


kinds = pytest.mark.parametrize("make", [draw, draw_images])


@kinds
@pytest.mark.parametrize("seed", range(3))
def test_ordered_groups_are_intervals_of_the_index(make, seed):
    partition, X, scores = fitted(np.random.default_rng(seed), make=make)
    regressor, groups = partition.predict_quantile(X), partition.predict(X)
    assert_array_equal(np.unique(groups), np.arange(partition.n_groups_))
    changes = np.count_nonzero(np.diff(groups[np.argsort(regressor)]))
    assert changes == partition.n_groups_ - 1  # each is one interval, numbered by its threshold
    assert (np.diff(partition.thresholds_) > 0).all()
    assert_array_equal(partition.group_sizes_, np.bincount(groups))
    assert_array_equal(partition.predict_proba(X), np.eye(partition.n_groups_)[groups])
    if partition.n_groups_ == 4:  # none were merged: each threshold is its group's own quantile
        own = group_conformal_quantiles(scores, groups, 4, ALPHA, test_weight=0.0)
        assert_array_equal(partition.thresholds_, own)


@kinds
@pytest.mark.parametrize("seed", range(3))
def test_softmax_groups_are_numbered_by_rising_threshold(make, seed):
    partition, X, _ = fitted(np.random.default_rng(seed), make=make, structure="softmax")
    memberships = partition.predict_proba(X)
    assert partition.n_groups_ > 1
    assert (np.diff(partition.thresholds_) > 0).all()
    eps = np.finfo(float).eps
    assert_allclose(memberships.sum(axis=1), 1, rtol=4 * eps)
    assert_allclose(partition.group_sizes_, memberships.sum(axis=0), rtol=len(X) * eps)
    assert_array_equal(partition.predict(X), memberships.argmax(axis=1))
    assert_array_equal(partition.predict_quantile(X), memberships @ partition.thresholds_)


@pytest.mark.parametrize("ranks", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_thresholds_are_the_q_step_on_all_rows(rng, ranks, weighted):
    """In the units of the scores, whatever they were learned in, rows held out included."""
    X, scores = draw(rng, 500)
    weights = rng.uniform(size=500) if weighted else np.ones(500)
    options = {"epochs": 20, "learning_rate": 0.02, "ranks": ranks, "random_state": 0}
    partition = TorchPartition(mlp(8), 2, structure="softmax", **options)
    partition.fit(X, scores, weights if weighted else None)
    assert partition.n_groups_ == 2
    mass = partition.predict_proba(X) * weights[:, None]
    grid = pinball_loss(scores[:, None], scores, ALPHA) @ mass  # of each score as a threshold
    found = [
        mass[:, i] @ pinball_loss(q, scores, ALPHA) for i, q in enumerate(partition.thresholds_)
    ]
    eps = np.finfo(float).eps
    assert_allclose(found, grid.min(axis=0), rtol=500 * eps)
    assert_allclose(partition.group_sizes_, mass.sum(axis=0), rtol=500 * eps)


@kinds
@pytest.mark.parametrize("structure", ["ordered", "softmax"])
def test_it_finds_the_two_kinds(rng, structure, make):
    """Of fresh rows, more are predicted right than guessing could."""
    partition, _, _ = fitted(rng, n_groups=2, structure=structure, make=make)
    fresh, _ = make(rng, 500)
    kind = fresh[:, 0] > 0 if make is draw else fresh.min(axis=(1, 2, 3)) >= 128
    _, by_guessing = binomial_band(500, 0.5)
    assert np.count_nonzero(partition.predict(fresh) == kind) > by_guessing


def test_short_for_an_ordered_partition(rng):
    partition, X, scores = fitted(rng)
    regressor = TorchQuantile(
        mlp(8), epochs=20, learning_rate=0.02, early_stopping=False, random_state=0
    )
    spelled = OrderedPartition(regressor, 4).fit(X, scores)
    assert isinstance(partition.spelled_out(), OrderedPartition)
    assert partition.history_ == spelled.history_
    assert_array_equal(partition.thresholds_, spelled.thresholds_)
    assert_array_equal(partition.predict_quantile(X), spelled.predict_quantile(X))
    assert_array_equal(partition.predict(X), spelled.predict(X))


def test_every_option_they_share_reaches_the_index():
    shared = TorchQuantile().get_params().keys() - {"quantile"}
    given = {name: object() for name in shared}
    regressor = TorchPartition(**given).spelled_out().regressor
    assert {name: getattr(regressor, name) for name in shared} == given
    assert regressor.quantile is None
    softmax = TorchPartition(structure="softmax")
    assert softmax.spelled_out() is softmax


PLAIN = {"structure": "softmax", "descent": "joint", "start": "random", "balance": 0.0}


@pytest.mark.parametrize("seed", range(3))
def test_plain_joint_descent_collapses_and_says_so(seed):
    """No start, no term against it, large steps, nothing to tell apart: one group takes all."""
    rng = np.random.default_rng(seed)
    X, scores = rng.normal(size=(300, 2)), rng.exponential(size=300)
    options = {"learning_rate": 1.0, "epochs": 30, "early_stopping": False, "random_state": seed}
    partition = TorchPartition(mlp(16), 4, **PLAIN, **options)
    with pytest.warns(CollapseWarning, match=r'one group of 4 holds .*% .* keep start="bins"'):
        partition.fit(X, scores)
    assert partition.group_sizes_.max() > 0.95 * 300


@pytest.mark.parametrize("descent", ["alternating", "joint"])
def test_rows_all_alike_are_one_group(rng, descent):
    """Memberships that are the same for all rows have one quantile: groups of equal threshold."""
    scores = rng.exponential(size=100)
    partition = TorchPartition(mlp(4), 4, structure="softmax", descent=descent, epochs=2)
    with pytest.warns(CollapseWarning, match="one group of 4 holds 100%"):
        partition.fit(np.ones((100, 2)), scores)
    assert_array_equal(partition.thresholds_, [np.sort(scores)[89]])


def test_scores_all_alike_are_one_group(rng):
    partition = TorchPartition(mlp(4), 4, structure="softmax", epochs=1, random_state=0)
    with pytest.warns(CollapseWarning, match="one group of 4 holds 100%"):
        partition.fit(rng.normal(size=(100, 2)), np.full(100, 5.0))
    assert_array_equal(partition.thresholds_, [5.0])
    one = clone(partition).set_params(n_groups=1).fit(rng.normal(size=(100, 2)), np.full(100, 5.0))
    assert_array_equal(one.thresholds_, [5.0])  # and nothing to be said of one group


def test_balance_keeps_groups_alive(rng):
    """The weight of the term for equal shares, made large, outweighs any gain of a race."""
    X, scores = rng.normal(size=(300, 2)), rng.exponential(size=300)
    options = {**PLAIN, "learning_rate": 0.1, "epochs": 60, "early_stopping": False}

    def largest(balance):
        partition = TorchPartition(mlp(16), 4, random_state=0, **{**options, "balance": balance})
        groups = partition._learn(X, scores, np.ones(300), partition._check_options())
        partition.network_ = groups
        return partition._raw(X).mean(axis=0).max()

    with_term, without = largest(100.0), largest(0.0)
    assert with_term < without


def test_a_logit_a_group_where_there_is_no_head(rng):
    X, scores = draw(rng)
    partition = TorchPartition(
        nn.Linear(2, 3), 3, structure="softmax", head=False, epochs=2, random_state=0
    ).fit(X, scores)
    assert partition._raw(X).shape == (200, 3)
    assert sum(p.numel() for p in partition.network_.parameters()) == 2 * 3 + 3 + 3


def test_the_start_tells(rng):
    X, scores = draw(rng)

    def regressor(start):
        options = {"structure": "softmax", "epochs": 2, "random_state": 0}
        partition = TorchPartition(mlp(4), 2, start=start, **options).fit(X, scores)
        return partition.predict_quantile(X)

    assert (regressor("bins") != regressor("random")).any()
