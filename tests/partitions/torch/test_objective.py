"""The objective of the paper on a batch: by hand, and its slope by finite differences."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import entropy

from plcp.partitions.torch.training import imbalance, membership_loss, pinball, weighted_mean
from plcp.quantiles import pinball_loss

ALPHA = 0.1
EPS = np.finfo(float).eps


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


def test_slope_of_the_membership_loss(batch):
    logits, thresholds, scores, weights = batch
    assert_slope_is_that_of_differences(
        lambda z, q: membership_loss(z, q, scores, weights, ALPHA), logits, thresholds
    )


def test_slope_of_the_imbalance(batch):
    weights = batch[3]
    assert_slope_is_that_of_differences(lambda z: imbalance(z, weights), 3 * batch[0])


def test_slope_of_the_pinball_loss(batch):
    _, _, scores, weights = batch
    assert_slope_is_that_of_differences(
        lambda q: weighted_mean(pinball(q, scores, ALPHA), weights), scores.flip(0)
    )


def test_pinball_is_that_of_the_rest_of_the_library(batch):
    _, thresholds, scores, _ = batch
    ours = pinball(thresholds, scores[:, None], ALPHA).numpy()
    assert_array_equal(ours, pinball_loss(thresholds.numpy(), scores.numpy()[:, None], ALPHA))


def test_membership_loss_by_hand(batch):
    logits, thresholds, scores, weights = (array.numpy() for array in batch)
    by_hand = np.mean(
        [
            w * sum(softmax(z)[i] * pinball_loss(thresholds[i], s, ALPHA) for i in range(3))
            for z, s, w in zip(logits, scores, weights, strict=True)
        ]
    )
    assert_allclose(membership_loss(*batch, ALPHA).item(), by_hand, rtol=len(scores) * EPS)


def test_imbalance_is_the_divergence_from_equal_shares(batch):
    logits, weights = batch[0], batch[3]
    mean = np.average(softmax(logits.numpy(), axis=1), axis=0, weights=weights)
    expected = entropy(mean, np.full(3, 1 / 3))
    assert_allclose(imbalance(logits, weights).item(), expected, rtol=0, atol=12 * EPS)


def test_imbalance_at_its_ends():
    """Zero where groups are equal, though no row is in doubt; log m where one holds all."""
    equal = 1e3 * torch.eye(4, dtype=torch.float64)
    assert_allclose(imbalance(equal, torch.ones(4)).item(), 0, atol=4 * EPS)
    one = 1e3 * torch.eye(4, dtype=torch.float64)[:1]
    alone = torch.ones(1)
    assert_allclose(imbalance(one, alone).item(), np.log(4), rtol=4 * EPS)
    one.requires_grad_()
    assert torch.isfinite(torch.autograd.grad(imbalance(one, alone), one)[0]).all()
