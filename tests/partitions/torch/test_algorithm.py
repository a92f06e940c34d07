"""Algorithm 1 on a network: exact q-steps, steps on h that descend, and both together."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from torch import nn

from networks import draw
from plcp.partitions.classifier import start_thresholds
from plcp.partitions.torch import TorchPartition, mlp
from plcp.partitions.torch.partition import EPOCHS, Algorithm, SoftmaxGroups
from plcp.partitions.torch.training import Descent, Sample, Training, pinball
from plcp.quantiles import pinball_loss

ALPHA, M = 0.1, 4
EPS, EPS32 = np.finfo(float).eps, np.finfo(np.float32).eps


def algorithm(rng, n=60, balance=0.0, **options):
    """Algorithm 1 with logits that are linear in x, from weights that are drawn."""
    X, scores = draw(rng, n)
    sample = Sample.of(X, scores / scores.mean(), rng.uniform(0.5, 1.5, size=n))
    linear = nn.Linear(2, M)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(rng.normal(size=(M, 2))))
        linear.bias.copy_(torch.tensor(rng.normal(size=M)))
    plan = Training.of(TorchPartition(early_stopping=False, **options))
    groups = SoftmaxGroups(linear, M)
    with torch.no_grad():
        groups.thresholds.copy_(torch.tensor(rng.uniform(0, 3, size=M)))
    return Algorithm(groups, sample, plan, np.random.RandomState(0), ALPHA, balance)


def by_hand(algo, thresholds=None):
    """The objective in double precision, from the weights alone."""
    sample, linear = algo.learn, algo.groups.network
    X = sample.X.astype(np.float32).astype(float)
    W, b = linear.weight.detach().double().numpy(), linear.bias.detach().double().numpy()
    H = softmax(X @ W.T + b, axis=1)
    q = algo.groups.thresholds.detach().double().numpy() if thresholds is None else thresholds
    losses = pinball_loss(q, sample.array()[:, None], ALPHA)
    weights = sample.weights.double().numpy()
    return weights @ (H * losses).sum(axis=1) / weights.sum() / sample.split_loss(ALPHA)


def rounding(algo):
    """What single precision of the logits can change in an objective of order one."""
    linear = algo.groups.network
    largest = float(
        linear.weight.detach().abs().sum(dim=1).max() + linear.bias.detach().abs().max()
    )
    worst = pinball_loss(algo.learn.array().max(), algo.learn.array().min(), ALPHA)
    worst = max(worst, pinball_loss(algo.learn.array().min(), algo.learn.array().max(), ALPHA))
    return 3 * EPS32 * (1 + largest) * float(worst) / algo.unit


def test_objective_is_the_problem_of_the_paper(rng):
    algo = algorithm(rng)
    assert_allclose(algo.objective(algo.learn), by_hand(algo), rtol=0, atol=rounding(algo))
    with torch.no_grad():
        logits = algo.groups(torch.tensor(algo.learn.X).float())
    loss = algo.loss(logits, np.arange(len(algo.learn)), 0.0).item()
    # the mean over a batch has weights that are one on average over all rows: here, exactly
    assert_allclose(loss, by_hand(algo), rtol=0, atol=len(algo.learn) * rounding(algo))


def test_threshold_step_is_the_best_of_all_thresholds(rng):
    algo = algorithm(rng)
    algo.threshold_step()
    scores = algo.learn.array()
    mass = algo.memberships(algo.learn) * algo.learn.weights.double().numpy()[:, None]
    grid = pinball_loss(scores[:, None], scores, ALPHA) @ mass  # of each score as a threshold
    found = algo.groups.thresholds.detach().double().numpy()
    assert set(found) <= set(scores)
    ours = np.array([mass[:, i] @ pinball_loss(q, scores, ALPHA) for i, q in enumerate(found)])
    assert_allclose(ours, grid.min(axis=0), rtol=len(scores) * EPS)


@pytest.mark.parametrize("seed", range(5))
def test_threshold_step_never_raises_the_objective(seed):
    algo = algorithm(np.random.default_rng(seed))
    before = algo.objective(algo.learn)
    algo.threshold_step()
    after = algo.objective(algo.learn)
    assert after < before
    algo.threshold_step()
    assert algo.objective(algo.learn) == after  # nothing is left to gain


def test_a_group_without_weight_keeps_its_threshold(rng):
    algo = algorithm(rng)
    with torch.no_grad():
        algo.groups.network.bias[1] = -1e30
    before = algo.groups.thresholds.detach().clone()
    algo.threshold_step()
    changed = algo.groups.thresholds.detach() != before
    assert changed.tolist() == [True, False, True, True]


@pytest.mark.parametrize("seed", range(3))
def test_plain_descent_falls_as_far_as_its_slope_says(seed):
    """Full batch, plain SGD: h-steps of 1/L gain ‖slope‖²/(2L) at least, and q-steps lose nothing.

    With v a direction of unit length, Σ_i h_i ℓ_i has the curvature E_h[(ℓ - E_h ℓ)(v - E_h v)²] in
    the logits, at most max_i ℓ_i / 2, and at most ‖(x, 1)‖² times that in the weights. All that can
    be gained is bounded, so slopes go to zero.
    """
    algo = algorithm(np.random.default_rng(seed))
    sample, n = algo.learn, len(algo.learn)
    scores, weights = sample.array(), sample.weights.double().numpy()
    length = 1 + (sample.X**2).sum(axis=1)
    worst = pinball_loss(np.array([scores.min(), scores.max()]), scores[:, None], ALPHA).max(axis=1)
    L = np.mean(weights * worst * length) / (2 * algo.unit)
    options = {"optimizer": "sgd", "learning_rate": 1 / L, "schedule": "constant"}
    plan = Training.of(TorchPartition(batch_size=n, epochs=1, early_stopping=False, **options))
    algo.groups.thresholds.requires_grad_(False)
    algo.threshold_step()
    descent = Descent(algo.groups, plan, n, algo.rng, EPOCHS)
    start = before = by_hand(algo)
    slopes, lost = [], 0.0
    for _ in range(200):
        descent.epoch(sample.X, algo.loss)
        after = by_hand(algo)
        parameters = list(algo.groups.network.parameters())
        slopes.append(sum(float((p.grad.double() ** 2).sum()) for p in parameters))
        size = sum(float((p.detach().double() ** 2).sum()) for p in parameters) ** 0.5
        # weights, and the n terms of the slope, are rounded to single precision
        rounded = EPS32 * slopes[-1] ** 0.5 * (size + n * np.max(worst * length) / algo.unit / L)
        assert after <= before - slopes[-1] / (2 * L) + rounded
        algo.threshold_step()
        before = by_hand(algo)
        assert before <= after + rounding(algo)
        lost += rounded + max(before - after, 0.0)
    gained = start - before
    assert gained > lost  # there was something to gain
    assert min(slopes) <= 2 * L * (gained + lost) / len(slopes)


def test_descent_ends_where_nothing_is_to_be_gained(rng):
    """Groups that all have one threshold have no slope: not a single weight moves."""
    algo = algorithm(rng, optimizer="sgd", learning_rate=1.0, schedule="constant", epochs=3)
    with torch.no_grad():
        algo.groups.thresholds.fill_(1.0)
    algo.groups.thresholds.requires_grad_(False)
    before = [p.detach().clone() for p in algo.groups.network.parameters()]
    with torch.no_grad():
        size = max(float(p.abs().max()) for p in before)
    Descent(algo.groups, algo.plan, len(algo.learn), algo.rng, EPOCHS).epoch(
        algo.learn.X, algo.loss
    )
    after = list(algo.groups.network.parameters())
    for old, new in zip(before, after, strict=True):
        assert_allclose(new.detach(), old, rtol=0, atol=size * EPS32 * 10 / algo.unit)


def test_the_term_for_equal_shares_fades_to_nothing(rng):
    free, held = (
        algorithm(np.random.default_rng(7)),
        algorithm(np.random.default_rng(7), balance=0.5),
    )
    with torch.no_grad():
        logits = free.groups(torch.tensor(free.learn.X).float())
    rows = np.arange(len(free.learn))
    extra = [
        (held.loss(logits, rows, p) - free.loss(logits, rows, p)).item() for p in (0.0, 0.5, 1.0)
    ]
    memberships = softmax(logits.double().numpy(), axis=1)
    mean = np.average(memberships, axis=0, weights=free.learn.weights)
    divergence = float((mean * np.log(M * mean)).sum())
    expected = [0.5 * divergence, 0.25 * divergence, 0.0]
    assert_allclose(extra, expected, rtol=0, atol=len(rows) * EPS32 * (1 + by_hand(free)))


def test_bins_are_taught_by_score_not_by_row(rng):
    """Half of the scores lie below the median: these rows are in the first of two bins."""
    X, scores = draw(rng, 400)
    sample = Sample.of(X, scores, np.ones(400))
    plan = Training.of(TorchPartition(learning_rate=0.5, batch_size=400, early_stopping=False))
    groups = SoftmaxGroups(nn.Linear(2, 2), 2)
    with torch.no_grad():
        groups.network.weight.zero_()
        groups.network.bias.zero_()
    algo = Algorithm(groups, sample, plan, np.random.RandomState(0), ALPHA, 0.0)
    algo.teach_bins()
    slope = groups.network.weight[:, 0].detach()
    assert slope[0] < 0 < slope[1]  # larger x, larger scores, the second bin
    assert groups.thresholds.tolist() == [0, 0]


PLAIN = {"optimizer": "sgd", "learning_rate": 0.1, "schedule": "constant", "batch_size": 60}


def test_alternating_epochs_end_with_a_q_step(rng):
    algo = algorithm(rng, epochs=3, **PLAIN)
    algo.run(None, joint=False, warm=False)
    found = algo.groups.thresholds.detach().clone()
    assert set(found.tolist()) <= set(algo.learn.scores.tolist())
    algo.threshold_step()
    assert torch.equal(algo.groups.thresholds, found)


def test_a_joint_step_goes_down_the_slope_in_both(rng):
    """From the quantiles that all thresholds start at, by slopes in double precision."""
    algo = algorithm(rng, epochs=1, **PLAIN)
    sample, linear = algo.learn, algo.groups.network
    weights = sample.weights.double().numpy()
    start = torch.tensor(start_thresholds(sample.array(), weights, M, ALPHA)).float().double()
    start.requires_grad_()
    W = linear.weight.detach().double().requires_grad_()
    logits = torch.tensor(sample.X).float().double() @ W.T + linear.bias.detach().double()
    losses = pinball(start, sample.scores.double()[:, None], ALPHA)
    value = ((logits.softmax(dim=1) * losses).sum(dim=1) * sample.weights.double()).mean()
    slopes = torch.autograd.grad(value / algo.unit, (W, start))
    algo.run(None, joint=True, warm=False)
    size = 60 * EPS32 * max(t.detach().abs().max().item() for t in (W, start, losses / algo.unit))
    for before, slope, now in zip(
        (W, start), slopes, (linear.weight, algo.groups.thresholds), strict=True
    ):
        assert slope.abs().max() * 0.1 > size
        assert_allclose(now.detach(), (before - 0.1 * slope).detach(), rtol=0, atol=size)


def objective_of(memberships, thresholds, scores):
    return (memberships * pinball_loss(thresholds, scores[:, None], ALPHA)).sum(axis=1).mean()


@pytest.mark.parametrize("descent", ["alternating", "joint"])
def test_default_descent_ends_below_split(rng, descent):
    X, scores = draw(rng, 1000)
    fresh, unseen = draw(rng, 1000)
    partition = TorchPartition(mlp(16), 4, structure="softmax", descent=descent, random_state=0)
    partition.fit(X, scores)
    assert min(step["held_out"] for step in partition.history_) < 1  # Split's loss is the unit
    best = min(pinball_loss(q, unseen, ALPHA).mean() for q in unseen)  # Split's, with hindsight
    assert objective_of(partition.predict_proba(fresh), partition.thresholds_, unseen) < best


def test_history_tells_the_loss_of_each_epoch(rng):
    X, scores = draw(rng)
    options = {"epochs": 5, "early_stopping": False, "random_state": 0, "structure": "softmax"}
    history = TorchPartition(mlp(4), 2, **options).fit(X, scores).history_
    assert [step["epoch"] for step in history] == [1, 2, 3, 4, 5]
    assert all(set(step) == {"epoch", "loss"} for step in history)
    assert_array_equal(np.isfinite([step["loss"] for step in history]), True)
