"""The paper's partition: gradient, closed form, descent, and no silent collapse."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad
from scipy.special import softmax

from plcp import SoftmaxPartition
from plcp.partitions import CollapseWarning
from plcp.partitions.softmax import (
    _Pairs,
    membership_objective,
    objective_value,
    ordered_start,
    threshold_step,
)
from plcp.quantiles import pinball_loss, weighted_quantiles


def draw(rng, n=200, d=2):
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.where(X[:, 0] > 0, 3.0, 1.0) * rng.exponential(size=n)


def pairs_of(X, scores, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    return _Pairs(np.column_stack([X, np.ones(len(X))]), scores, weights / weights.sum())


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_gradient_is_that_of_finite_differences(rng, l2):
    X, scores = draw(rng, n=40)
    pairs = pairs_of(X, scores, rng.uniform(size=40))
    losses = pinball_loss(np.array([0.5, 2.0, 4.0]), scores[:, None], 0.1)
    W = rng.normal(size=(3, 3))

    def value(flat):
        return membership_objective(flat.reshape(3, 3), losses, pairs, l2)[0]

    def slope(flat):
        return membership_objective(flat.reshape(3, 3), losses, pairs, l2)[1].ravel()

    # forward differences of step 1.5e-8 are good to about its square root of the curvature
    assert check_grad(value, slope, W.ravel()) < 1e-6 * np.linalg.norm(slope(W.ravel()))


def test_objective_is_the_problem_of_the_paper(rng):
    X, scores = draw(rng, n=30)
    pairs, W, q = pairs_of(X, scores), rng.normal(size=(3, 2)), np.array([1.0, 3.0])
    by_hand = np.mean(
        [
            sum(softmax(z @ W)[i] * pinball_loss(q[i], s, 0.1) for i in range(2))
            for z, s in zip(pairs.Z, scores, strict=True)
        ]
    )
    assert_allclose(objective_value(W, q, pairs, 0.1), by_hand)
    losses = pinball_loss(q, scores[:, None], 0.1)
    assert_allclose(membership_objective(W, losses, pairs, 0.0)[0], by_hand)
    ridge = 0.3 / 2 * np.sum(W[:-1] ** 2)  # the intercepts, in the last row, go free
    assert_allclose(membership_objective(W, losses, pairs, 0.3)[0], by_hand + ridge)


def test_threshold_step_is_the_best_of_all_thresholds(rng):
    X, scores = draw(rng, n=60)
    pairs, W = pairs_of(X, scores, rng.uniform(size=60)), rng.normal(size=(3, 3))
    H = softmax(pairs.Z @ W, axis=1) * pairs.weights[:, None]
    grid = pinball_loss(scores[:, None], scores, 0.1) @ H  # loss of each score as a threshold
    found = threshold_step(pairs, W, 0.1)
    ours = np.array([H[:, i] @ pinball_loss(q, scores, 0.1) for i, q in enumerate(found)])
    assert_allclose(ours, grid.min(axis=0))


@pytest.mark.parametrize("seed", range(3))
def test_the_objective_never_rises(seed):
    X, scores = draw(np.random.default_rng(seed))
    partition = SoftmaxPartition(4, early_stopping=False, random_state=seed).fit(X, scores)
    after = [step["held_out"] for step in partition.history_]  # the training loss, here
    before = [step["objective"] for step in partition.history_]
    assert len(after) > 1
    rounding = 1e-12
    assert all(q_step <= h_step + rounding for h_step, q_step in zip(before, after, strict=True))
    assert all(h <= q + rounding for q, h in zip(after[:-1], before[1:], strict=True))


def test_it_finds_the_two_halves_of_a_step(rng):
    X, scores = draw(rng, n=1000, d=1)
    partition = SoftmaxPartition(2, random_state=0).fit(X, scores)
    assert_array_equal(partition.predict([[-0.9], [0.9]]), [0, 1])


def test_memberships_sum_to_one_and_sizes_to_n(rng):
    X, scores = draw(rng)
    partition = SoftmaxPartition(4, random_state=0).fit(X, scores)
    memberships = partition.predict_proba(X)
    assert_allclose(memberships.sum(axis=1), 1)
    assert_allclose(partition.group_sizes_, memberships.sum(axis=0))
    assert_allclose(partition.group_sizes_.sum(), len(X))
    assert_array_equal(partition.predict(X), memberships.argmax(axis=1))
    assert_allclose(partition.predict_quantile(X), memberships @ partition.thresholds_)
    assert (np.diff(partition.thresholds_) > 0).all()


def test_shift_scale_and_units(rng):
    X, scores = draw(rng)
    base = SoftmaxPartition(3, random_state=0, early_stopping=False, max_rounds=3).fit(X, scores)
    shifted = SoftmaxPartition(3, random_state=0, early_stopping=False, max_rounds=3)
    shifted.fit(X, scores + 7)
    assert_allclose(shifted.predict_proba(X), base.predict_proba(X), atol=1e-6)
    assert_allclose(shifted.thresholds_, base.thresholds_ + 7)
    units = SoftmaxPartition(3, random_state=0, early_stopping=False, max_rounds=3)
    units.fit(X * [100.0, 0.01], scores)
    assert_allclose(units.predict_proba(X * [100.0, 0.01]), base.predict_proba(X), atol=1e-6)


def test_a_start_without_slope_has_no_groups(rng):
    Z = np.column_stack([np.zeros(50), np.ones(50)])
    pairs = _Pairs(Z, rng.exponential(size=50), np.full(50, 0.02))
    assert_array_equal(ordered_start(pairs, 3, 0.1), 0)


def test_collapse_is_warned_of(rng):
    X = rng.normal(size=(300, 1))
    with pytest.warns(CollapseWarning, match="one group of 4 holds 100%"):
        partition = SoftmaxPartition(4, random_state=0).fit(X, np.full(300, 5.0))
    assert_array_equal(partition.thresholds_, [5.0])


def test_l2_flattens_memberships(rng):
    X, scores = draw(rng)

    def spread(l2):
        partition = SoftmaxPartition(2, l2=l2, n_starts=1, early_stopping=False, random_state=0)
        return np.linalg.norm(partition.fit(X, scores)._weights[:-1])

    assert spread(10.0) < spread(0.1) < spread(0.0)


@pytest.mark.parametrize(("n", "is_held_out"), [(49, False), (50, True)])
def test_rows_are_held_out_if_they_can_hold_a_miss(rng, n, is_held_out):
    X, scores = draw(rng, n=n)
    stopped, free = (
        SoftmaxPartition(2, early_stopping=early, random_state=0).fit(X, scores).history_
        for early in (True, False)
    )
    assert (stopped != free) == is_held_out  # a fifth of 50 rows is 1 / alpha


def test_weightless_rows_are_not_there(rng):
    X, scores = draw(rng)
    weights = np.repeat([1.0, 0.0], 100)
    ours = SoftmaxPartition(2, random_state=0).fit(X, scores, weights)
    alone = SoftmaxPartition(2, random_state=0).fit(X[:100], scores[:100])
    assert_allclose(ours.predict_proba(X), alone.predict_proba(X))


def test_thresholds_are_the_q_step_on_all_rows(rng):
    """Rows held out to stop by still count for the thresholds."""
    X, scores = rng.normal(size=(300, 2)), np.abs(rng.normal(size=300))
    scores *= 1 + (X[:, 0] > 0)
    partition = SoftmaxPartition(n_groups=2, random_state=0).fit(X, scores)
    expected = weighted_quantiles(scores, partition.predict_proba(X), 0.9)
    np.testing.assert_array_equal(partition.thresholds_, expected)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_a_group_is_left_however_few_the_rows(rng, n, seed):
    X, scores = rng.normal(size=(n, 3)), rng.exponential(size=n)
    for n_groups in range(1, n + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)
            partition = SoftmaxPartition(n_groups, random_state=seed).fit(X, scores)
        assert_allclose(partition.predict_proba(X).sum(axis=1), 1)
        assert 1 <= partition.n_groups_ <= n_groups
