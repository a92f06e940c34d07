"""Samples: Split's loss by brute force, and rows held out."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from networks import Items, draw
from plcp.partitions.torch import TorchQuantile
from plcp.partitions.torch.training import Sample, Training, hold_out
from plcp.quantiles import pinball_loss

EPS = np.finfo(np.float32).eps


def sample_of(rng, n=40):
    X, scores = draw(rng, n)
    return Sample.of(X, scores, rng.uniform(size=n))


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.8])
def test_split_loss_is_the_least_of_any_one_threshold(rng, alpha):
    sample = sample_of(rng)
    scores, weights = sample.array(), sample.weights.double().numpy()
    losses = pinball_loss(scores[:, None], scores, alpha) @ weights / weights.sum()
    assert_allclose(sample.split_loss(alpha), losses.min(), rtol=len(scores) * np.finfo(float).eps)


def test_split_loss_is_a_unit_even_where_nothing_is_lost():
    assert Sample.of(np.ones((3, 1)), np.full(3, 7.0), np.ones(3)).split_loss(0.1) == 1


def test_weights_are_one_on_average(rng):
    assert_allclose(sample_of(rng).weights.mean().item(), 1, rtol=40 * EPS)


@pytest.mark.parametrize("kind", [np.asarray, Items])
def test_rows_held_out_are_the_others(rng, kind):
    X, scores = draw(rng, 40)
    sample = Sample.of(kind(X), scores, np.arange(1.0, 41.0))
    plan = Training.of(TorchQuantile(validation_fraction=0.25))
    learn, hold = hold_out(sample, plan, np.random.RandomState(0))
    assert len(hold) == 10
    for part in ("scores", "weights"):
        both = torch.cat([getattr(learn, part), getattr(hold, part)])
        assert torch.equal(both.sort()[0], getattr(sample, part).sort()[0])
    for own in (learn, hold):  # a row keeps its score
        column = np.array([float(own.X[row][0]) for row in range(len(own))])
        places = [int(np.flatnonzero(X[:, 0] == value)[0]) for value in column]
        assert_array_equal(own.scores, sample.scores[places])
        assert_array_equal(own.weights, sample.weights[places])


def test_nothing_is_held_out_unless_asked_for(rng):
    sample = sample_of(rng)
    plan = Training.of(TorchQuantile(early_stopping=False))
    assert hold_out(sample, plan, np.random.RandomState(0)) == (sample, None)
