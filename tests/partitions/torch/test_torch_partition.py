"""Groups of a network: Algorithm 1 step by step, ordered intervals, groups that do not collapse."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.base import clone
from torch import nn

from bands import binomial_band
from networks import draw, draw_images
from plcp.partitions import CollapseWarning
from plcp.partitions.classifier import start_thresholds
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp, one_conv
from plcp.partitions.torch.partition import EPOCHS, Algorithm, SoftmaxGroups
from plcp.partitions.torch.training import Descent, Sample, imbalance, membership_loss, pinball
from plcp.quantiles import group_conformal_quantiles, pinball_loss

ALPHA, M = 0.1, 4
EPS, EPS32 = np.finfo(float).eps, np.finfo(np.float32).eps

# --- the objective of the paper on a batch


@pytest.fixture
def batch(rng):
    """Logits, thresholds, scores and weights of 12 rows and 3 groups, in double precision."""
    arrays = rng.normal(size=(12, 3)), rng.normal(size=3), rng.normal(size=12), rng.uniform(size=12)
    return [torch.tensor(array) for array in arrays]


def assert_slope_is_that_of_differences(function, *inputs):
    """Central differences of step ε^⅓ are good to ε^⅔ a term, for functions of order one."""
    inputs = [given.clone().requires_grad_() for given in inputs]
    slopes = torch.autograd.grad(function(*inputs), inputs)
    step = EPS ** (1 / 3)
    for given, slope in zip(inputs, slopes, strict=True):
        assert slope.abs().max() > step  # there is a slope to be found
        for place in np.ndindex(*given.shape):
            with torch.no_grad():
                value = given[place].item()
                ends = []
                for moved in (value + step, value - step):
                    given[place] = moved
                    ends.append(function(*inputs).item())
                given[place] = value
            difference = (ends[0] - ends[1]) / (2 * step)
            assert abs(difference - slope[place].item()) <= EPS ** (2 / 3) * given.numel()


def test_slopes_are_those_of_finite_differences(batch):
    logits, thresholds, scores, weights = batch
    assert_slope_is_that_of_differences(
        lambda z, q: membership_loss(z, q, scores, weights, ALPHA), logits, thresholds
    )
    assert_slope_is_that_of_differences(lambda z: imbalance(z, weights), 3 * logits)
    assert_slope_is_that_of_differences(
        lambda q: (pinball(q, scores, ALPHA) * weights).mean(), scores.flip(0)
    )


def test_imbalance_is_the_divergence_from_equal_shares(batch):
    logits, weights = batch[0], batch[3]
    mean = np.average(softmax(logits.numpy(), axis=1), axis=0, weights=weights)
    expected = entropy(mean, np.full(3, 1 / 3))
    assert_allclose(imbalance(logits, weights).item(), expected, rtol=0, atol=12 * EPS)


def test_imbalance_at_its_ends():
    """Zero where groups are equal, though no row is in doubt; log m where one holds all."""
    equal = 1e3 * torch.eye(4, dtype=torch.float64)
    assert_allclose(imbalance(equal, torch.ones(4)).item(), 0, atol=4 * EPS)
    one, alone = equal[:1].clone(), torch.ones(1)
    assert_allclose(imbalance(one, alone).item(), np.log(4), rtol=4 * EPS)
    one.requires_grad_()
    assert torch.isfinite(torch.autograd.grad(imbalance(one, alone), one)[0]).all()


# --- Algorithm 1


def algorithm(rng, n=60, **options):
    """Algorithm 1 with logits that are linear in x, from weights that are drawn."""
    X, scores = draw(rng, n)
    sample = Sample.of(X, scores / scores.mean(), rng.uniform(0.5, 1.5, size=n))
    linear = nn.Linear(2, M)
    groups = SoftmaxGroups(linear, M)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(rng.normal(size=(M, 2))))
        linear.bias.copy_(torch.tensor(rng.normal(size=M)))
        groups.thresholds.copy_(torch.tensor(rng.uniform(0, 3, size=M)))
    options = {"balance": 0.0, "start": "random", "early_stopping": False, **options}
    return Algorithm(groups, sample, TorchPartition(**options), np.random.RandomState(0))


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
    weight, bias = linear.weight.detach(), linear.bias.detach()
    largest = float(weight.abs().sum(dim=1).max() + bias.abs().max())
    low, high = algo.learn.array().min(), algo.learn.array().max()
    worst = max(pinball_loss(high, low, ALPHA), pinball_loss(low, high, ALPHA))
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


def test_a_group_without_weight_keeps_its_threshold(rng):
    algo = algorithm(rng)
    with torch.no_grad():
        algo.groups.network.bias[1] = -1e30
    before = algo.groups.thresholds.detach().clone()
    algo.threshold_step()
    changed = algo.groups.thresholds.detach() != before
    assert changed.tolist() == [True, False, True, True]


@pytest.mark.parametrize("seed", range(2))
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
    options = TorchPartition(batch_size=n, epochs=1, **options)
    algo.groups.thresholds.requires_grad_(False)
    algo.threshold_step()
    descent = Descent(algo.groups, options, n, algo.rng, EPOCHS)
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


def test_the_term_for_equal_shares_fades_to_nothing():
    free, held = (algorithm(np.random.default_rng(7), balance=b) for b in (0.0, 0.5))
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


def test_bins_are_learned_by_score_not_by_row(rng):
    """Half of the scores lie below the median: these rows are in the first of two bins."""
    X, scores = draw(rng, 400)
    sample = Sample.of(X, scores, np.ones(400))
    groups = SoftmaxGroups(nn.Linear(2, 2), 2)
    with torch.no_grad():
        groups.network.weight.zero_()
        groups.network.bias.zero_()
    options = TorchPartition(learning_rate=0.5, batch_size=400)
    Algorithm(groups, sample, options, np.random.RandomState(0)).learn_bins()
    slope = groups.network.weight[:, 0].detach()
    assert slope[0] < 0 < slope[1]  # larger x, larger scores, the second bin
    assert groups.thresholds.tolist() == [0, 0]


PLAIN = {"optimizer": "sgd", "learning_rate": 0.1, "schedule": "constant", "batch_size": 60}


def test_alternating_epochs_end_with_a_q_step(rng):
    algo = algorithm(rng, epochs=3, **PLAIN)
    algo.run(None)
    found = algo.groups.thresholds.detach().clone()
    assert set(found.tolist()) <= set(algo.learn.scores.tolist())
    algo.threshold_step()
    assert torch.equal(algo.groups.thresholds, found)


def test_a_joint_step_goes_down_the_slope_in_both(rng):
    """From the quantiles that all thresholds start at, by slopes in double precision."""
    algo = algorithm(rng, epochs=1, descent="joint", **PLAIN)
    sample, linear = algo.learn, algo.groups.network
    weights = sample.weights.double().numpy()
    start = torch.tensor(start_thresholds(sample.array(), weights, M, ALPHA)).float().double()
    start.requires_grad_()
    W = linear.weight.detach().double().requires_grad_()
    logits = torch.tensor(sample.X).float().double() @ W.T + linear.bias.detach().double()
    losses = pinball(start, sample.scores.double()[:, None], ALPHA)
    value = ((logits.softmax(dim=1) * losses).sum(dim=1) * sample.weights.double()).mean()
    slopes = torch.autograd.grad(value / algo.unit, (W, start))
    algo.run(None)
    size = 60 * EPS32 * max(t.detach().abs().max().item() for t in (W, start, losses / algo.unit))
    for before, slope, now in zip(
        (W, start), slopes, (linear.weight, algo.groups.thresholds), strict=True
    ):
        assert slope.abs().max() * 0.1 > size
        assert_allclose(now.detach(), (before - 0.1 * slope).detach(), rtol=0, atol=size)


@pytest.mark.parametrize("descent", ["alternating", "joint"])
def test_default_descent_ends_below_split(rng, descent):
    X, scores = draw(rng, 1000)
    fresh, unseen = draw(rng, 1000)
    partition = TorchPartition(mlp(16), 4, structure="softmax", descent=descent, random_state=0)
    partition.fit(X, scores)
    assert min(step["held_out"] for step in partition.history_) < 1  # Split's loss is the unit
    best = min(pinball_loss(q, unseen, ALPHA).mean() for q in unseen)  # Split's, with hindsight
    losses = pinball_loss(partition.thresholds_, unseen[:, None], ALPHA)
    assert (partition.predict_proba(fresh) * losses).sum(axis=1).mean() < best


# --- partitions


def fitted(rng, n=500, n_groups=4, make=draw, **params):
    X, scores = make(rng, n)
    options = {"epochs": 20, "learning_rate": 0.02, "early_stopping": False, "random_state": 0}
    module = mlp(8) if make is draw else one_conv()
    partition = TorchPartition(module, n_groups, **{**options, **params})
    return partition.fit(X, scores), X, scores


kinds = pytest.mark.parametrize("make", [draw, draw_images])


@kinds
@pytest.mark.parametrize("seed", range(3))
def test_ordered_groups_are_intervals_of_the_prediction(make, seed):
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
    assert_allclose(memberships.sum(axis=1), 1, rtol=4 * EPS)
    assert_allclose(partition.group_sizes_, memberships.sum(axis=0), rtol=len(X) * EPS)
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
    assert_allclose(found, grid.min(axis=0), rtol=500 * EPS)
    assert_allclose(partition.group_sizes_, mass.sum(axis=0), rtol=500 * EPS)


@kinds
@pytest.mark.parametrize("structure", ["ordered", "softmax"])
def test_it_finds_the_two_kinds(rng, structure, make):
    """Of fresh rows, more are predicted right than guessing could."""
    partition, _, _ = fitted(rng, n_groups=2, structure=structure, make=make)
    fresh, _ = make(rng, 500)
    kind = fresh[:, 0] > 0 if make is draw else fresh.min(axis=(1, 2, 3)) >= 128
    _, by_guessing = binomial_band(500, 0.5)
    assert np.count_nonzero(partition.predict(fresh) == kind) > by_guessing


def test_every_option_they_share_reaches_the_regressor():
    shared = TorchQuantile().get_params().keys() - {"quantile"}
    given = {name: object() for name in shared}
    regressor = TorchPartition(**given).spelled_out().regressor
    assert {name: getattr(regressor, name) for name in shared} == given
    assert regressor.quantile is None
    softmax = TorchPartition(structure="softmax")
    assert softmax.spelled_out() is softmax


COLLAPSING = {"structure": "softmax", "descent": "joint", "start": "random", "balance": 0.0}


@pytest.mark.parametrize("seed", range(2))
def test_plain_joint_descent_collapses_with_a_warning(seed):
    """No start, no term against it, large steps, nothing to learn: one group takes all."""
    rng = np.random.default_rng(seed)
    X, scores = rng.normal(size=(300, 2)), rng.exponential(size=300)
    options = {"learning_rate": 1.0, "epochs": 30, "early_stopping": False, "random_state": seed}
    partition = TorchPartition(mlp(16), 4, **COLLAPSING, **options)
    with pytest.warns(CollapseWarning, match=r'one group of 4 holds .*% .* keep start="bins"'):
        partition.fit(X, scores)
    assert partition.group_sizes_.max() > 0.95 * 300


@pytest.mark.parametrize("descent", ["alternating", "joint"])
def test_rows_or_scores_all_alike_are_one_group(rng, descent):
    """Memberships that are the same for all rows have one quantile: groups of equal threshold."""
    X, scores = rng.normal(size=(100, 2)), rng.exponential(size=100)
    partition = TorchPartition(mlp(4), 4, structure="softmax", descent=descent, epochs=2)
    for rows, values, expected in (
        (np.ones((100, 2)), scores, np.sort(scores)[89]),
        (X, np.full(100, 5.0), 5.0),
    ):
        with pytest.warns(CollapseWarning, match="one group of 4 holds 100%"):
            partition.fit(rows, values)
        assert_array_equal(partition.thresholds_, [expected])
    one = clone(partition).set_params(n_groups=1).fit(X, np.full(100, 5.0))
    assert_array_equal(one.thresholds_, [5.0])  # and no warning of one group


def test_the_start_matters(rng):
    X, scores = draw(rng)

    def regressor(start):
        options = {"structure": "softmax", "epochs": 2, "random_state": 0}
        partition = TorchPartition(mlp(4), 2, start=start, **options).fit(X, scores)
        return partition.predict_quantile(X)

    assert (regressor("bins") != regressor("random")).any()
