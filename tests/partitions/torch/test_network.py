"""A module between standardised input and a linear layer on top."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from networks import draw, draw_images
from plcp.partitions.torch.training import Standardise, ask, make_network, mlp, one_conv, small_cnn


def network_of(module, X, width=2, head=True, standardise=True):
    return make_network(module, X, width, head=head, standardise=standardise)


@pytest.mark.parametrize("shape", [(50, 3), (50, 3, 4, 4), (50, 3, 5)])
def test_input_is_standardised_by_column_or_channel(shape, rng):
    X = 5 + 10 * rng.normal(size=shape)
    first = network_of(nn.Flatten(), X)[0]
    assert isinstance(first, Standardise)
    Z = first(torch.tensor(X).float()).double().numpy()
    over = (0, *range(2, len(shape)))
    size = np.finfo(np.float32).eps * len(shape) * abs(X).max()
    assert_allclose(Z.mean(axis=over), 0, atol=size)
    assert_allclose(Z.std(axis=over), 1, atol=size)


@pytest.mark.parametrize("module", [mlp(5), one_conv(), small_cnn(), None])
@pytest.mark.parametrize("width", [1, 7])
def test_the_head_has_the_width_that_is_wanted(module, width, rng):
    images = draw_images(rng, n=9)[0]
    network = network_of(module, images, width)
    assert isinstance(network[-1], nn.Linear)
    assert network(torch.zeros(4, 1, 6, 6)).shape == (4, width)


def test_without_head_and_scale_the_module_stands_alone(rng):
    X, module = draw(rng, n=9)[0], nn.Linear(2, 3)
    network = network_of(module, X, 3, head=False, standardise=False)
    assert_array_equal(
        ask(network, X, "cpu", (2,)), module(torch.tensor(X).float()).detach().double()
    )


def test_one_row_is_enough_to_look_at():
    assert (
        network_of(nn.Sequential(mlp(3), nn.BatchNorm1d(3)), np.ones((1, 2)))[-1].in_features == 3
    )


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Linear(2, 3), "gives 3 outputs a row, but 2 are needed: .* or set head=True"),
        (nn.Unflatten(1, (1, 2)), r"shape \(2, k\) for two rows of shape \(2,\), got \(2, 1, 2\)"),
        (nn.LSTM(2, 2), r"must give one vector a row, .* got tuple: add nn.Flatten"),
        (nn.Linear(2, 2).requires_grad_(False), "every parameter is frozen: set head=True"),
    ],
    ids=["width", "shape", "tuple", "frozen"],
)
def test_modules_that_do_not_fit(module, message, rng):
    with pytest.raises(ValueError, match=message):
        network_of(module, draw(rng, n=9)[0], head=False)


def test_images_without_channels(rng):
    images = draw_images(rng, n=9)[0][:, 0]
    with pytest.raises(ValueError, match=r"a channel axis to images, X\[:, None\]"):
        network_of(small_cnn(), images)


@pytest.mark.parametrize("module", [nn.Linear, "mlp", len])
def test_what_is_no_module(module, rng):
    with pytest.raises(TypeError, match=r"module must be a torch\.nn\.Module or None, got"):
        network_of(module, draw(rng, n=9)[0])
