"""The paper's networks: shapes, layers, and where their weights come from."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from torch import nn
from torch.nn.parameter import UninitializedParameter

from networks import draw, draw_images, weights_of
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp, one_conv, small_cnn

MAKERS = {"mlp": lambda: mlp(5, 3), "small_cnn": small_cnn, "one_conv": one_conv}


def layers(module, kind):
    return [part for part in module.modules() if isinstance(part, kind)]


@pytest.mark.parametrize("widths", [(), (7,), (200, 100)])
def test_mlp_has_one_layer_a_width(widths):
    module = mlp(*widths)
    assert module(torch.zeros(3, 2, 4)).shape == (3, *(widths[-1:] or (8,)))
    assert [layer.out_features for layer in layers(module, nn.Linear)] == list(widths)
    assert len(layers(module, nn.ReLU)) == len(widths)


def test_small_cnn_has_three_convolutions_and_a_layer():
    module = small_cnn()
    assert module(torch.zeros(3, 2, 28, 28)).shape == (3, 64)
    assert [layer.out_channels for layer in layers(module, nn.Conv2d)] == [8, 16, 16]
    assert [layer.out_features for layer in layers(module, nn.Linear)] == [64]
    assert len(layers(module, nn.ReLU)) == 4


def test_one_conv_has_one_convolution():
    module = one_conv()
    assert module(torch.zeros(3, 6, 8, 8)).shape == (3, 8 * 4 * 4)
    assert [layer.out_channels for layer in layers(module, nn.Conv2d)] == [8]
    assert layers(module, nn.Linear) == []


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_weights_are_drawn_by_fit_from_its_seed(make, rng):
    images, scores = draw_images(rng, n=60)
    module = make()

    def fitted(seed):
        return TorchQuantile(module, epochs=1, random_state=seed).fit(images, scores).network_

    torch.manual_seed(1)
    first = weights_of(fitted(0))
    torch.manual_seed(2)
    assert_array_equal(weights_of(fitted(0)), first)
    assert (weights_of(fitted(1)) != first).any()
    assert all(isinstance(p, UninitializedParameter) for p in module.parameters())


def test_what_is_used_where_no_module_is_given(rng):
    (X, scores), (images, levels) = draw(rng, n=60), draw_images(rng, n=60)
    on_vectors = TorchQuantile(epochs=1, random_state=0).fit(X, scores).network_
    on_images = TorchPartition(None, 3, structure="softmax", epochs=1, random_state=0)
    on_images = on_images.fit(images, levels).network_
    assert [layer.out_features for layer in layers(on_vectors, nn.Linear)] == [200, 100, 1]
    assert [layer.out_channels for layer in layers(on_images, nn.Conv2d)] == [8, 16, 16]
    # the paper's two linear layers: the module's, and the one on top
    assert [layer.out_features for layer in layers(on_images, nn.Linear)] == [64, 3]


def trained():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))


ESTIMATORS = [
    TorchQuantile(random_state=0),
    TorchPartition(None, 2, structure="softmax", random_state=0),
]
ids = ["quantile", "softmax"]


def copy_in(fitted):
    """The copy of a module of `trained` that an estimator has trained."""
    return next(
        part
        for part in fitted.network_.modules()
        if isinstance(part, nn.Sequential)
        and [type(p) for p in part] == [nn.Linear, nn.ReLU, nn.Linear]
    )


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_a_given_module_is_copied_and_left_as_it_was(estimator, rng):
    module = trained()
    before = weights_of(module)
    fitted = estimator.set_params(module=module, epochs=2).fit(*draw(rng))
    assert_array_equal(weights_of(module), before)
    assert module.training
    assert (weights_of(copy_in(fitted)) != before).all()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_a_trained_module_is_where_training_starts(estimator, rng):
    """Steps too small to change a single weight leave the weights that were given."""
    module = trained()
    tiny = np.finfo(np.float32).tiny
    fitted = estimator.set_params(module=module, learning_rate=tiny, optimizer="sgd", epochs=1)
    fitted = fitted.fit(*draw(rng))
    assert_array_equal(weights_of(copy_in(fitted)), weights_of(module))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_frozen_parameters_stay(estimator, rng):
    module = trained()
    module[0].requires_grad_(False)
    estimator.set_params(module=module, optimizer="adamw", learning_rate=0.01, epochs=2)
    found = copy_in(estimator.fit(*draw(rng)))
    assert_array_equal(weights_of(found[0]), weights_of(module[0]))
    assert (weights_of(found[2]) != weights_of(module[2])).all()
