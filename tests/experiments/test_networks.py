"""Predictors made of layers: taught, asked, and the same for a seed on any number of threads."""

import numpy as np
import pytest
import torch
from torch import nn

from plcp.experiments.networks import (
    EVALUATED_AT_ONCE,
    digit_network,
    logits_of,
    one_thread,
    read_digits,
    train_classifier,
)


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_one_thread_leaves_threads_and_random_numbers_as_they_were(two_threads):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    with one_thread(0):
        assert torch.get_num_threads() == 1
        torch.rand(5)
    assert torch.get_num_threads() == 2
    assert torch.equal(torch.rand(3), expected)


def test_one_thread_ends_with_an_error_too(two_threads):
    with pytest.raises(KeyError), one_thread(0):
        raise KeyError
    assert torch.get_num_threads() == 2


def test_one_thread_draws_what_its_seed_says():
    drawn = []
    for seed in (0, 0, 1):
        with one_thread(seed):
            drawn.append(torch.rand(4))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_logits_are_those_of_one_pass_in_double_precision():
    X = torch.arange(2.0 * (2 * EVALUATED_AT_ONCE + 1)).reshape(-1, 2)
    found = logits_of(nn.Identity(), X)
    assert found.dtype == np.float64
    assert np.array_equal(found, X.numpy())


def test_training_lowers_the_loss_and_ends_ready_to_ask():
    rng = np.random.default_rng(0)
    y = torch.from_numpy(rng.integers(0, 3, 300))
    X = nn.functional.one_hot(y).float()
    with one_thread(0):
        network = nn.Sequential(nn.Dropout(), nn.Linear(3, 3))
        losses = [nn.functional.cross_entropy(network.eval()(X), y)]
        for _ in range(2):
            assert train_classifier(network, X, y, epochs=5) is network
            assert not network.training
            losses.append(nn.functional.cross_entropy(network(X), y))
    assert losses[0] > losses[1] > losses[2]


def test_training_is_adam_on_the_cross_entropy():
    rng = np.random.default_rng(0)
    X, y = torch.from_numpy(rng.normal(size=(50, 2))), torch.from_numpy(rng.integers(0, 3, 50))
    network = nn.Linear(2, 3).double()
    weight, bias = (value.detach().clone().requires_grad_() for value in network.parameters())
    first = [torch.zeros_like(value) for value in (weight, bias)]
    second = [torch.zeros_like(value) for value in (weight, bias)]
    for step in range(1, 6):  # fewer rows than a batch holds: a step an epoch
        loss = nn.functional.cross_entropy(X @ weight.T + bias, y)
        for k, (value, g) in enumerate(
            zip((weight, bias), torch.autograd.grad(loss, (weight, bias)), strict=True)
        ):
            first[k] = 0.9 * first[k] + 0.1 * g
            second[k] = 0.999 * second[k] + 0.001 * g**2
            root = (second[k] / (1 - 0.999**step)).sqrt() + 1e-8
            value.data -= 1e-3 * first[k] / (1 - 0.9**step) / root
    train_classifier(network, X, y, epochs=5)
    torch.testing.assert_close(network.weight, weight)
    torch.testing.assert_close(network.bias, bias)


def test_a_batch_is_seen_as_often_as_there_are_epochs():
    class Counting(nn.Linear):
        rows = 0

        def forward(self, x):
            Counting.rows += len(x)
            return super().forward(x)

    X, y = torch.zeros(300, 2), torch.zeros(300, dtype=torch.int64)
    train_classifier(Counting(2, 2), X, y, epochs=3)
    assert Counting.rows == 3 * 300


def test_digit_network_has_three_convolutions_of_the_channels_asked_for():
    layers = [layer for layer in digit_network([3, 4, 5]) if isinstance(layer, nn.Conv2d)]
    assert [layer.out_channels for layer in layers] == [3, 4, 5]


def test_a_seed_reads_digits_alike_on_one_and_on_two_threads(two_threads):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(200, 1, 28, 28)).astype(np.float32), rng.integers(0, 10, 200)
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with one_thread(3):
            found.append(read_digits(X, y, X[:50], [2, 2, 2], epochs=1))
    assert found[0].shape == (50, 10)
    assert np.array_equal(found[0], found[1])
