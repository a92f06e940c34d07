"""Networks layer by layer: vectors, images, ordered and softmax groups."""

import numpy as np
import pytest
from served import Served, assert_served
from torch import nn

from networks import draw, draw_images
from plcp import PLCP, Rectified
from plcp.onnx import NotExportableError, export
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp, one_conv, small_cnn


def rule_of(module, epochs=1, **options):
    partition = TorchPartition(module, epochs=epochs, **options)
    return PLCP(partition, n_groups=3, cv=2, calibration="cross", random_state=0)


VECTORS = {
    "relu": mlp(8, 4),
    "no hidden layer": nn.Identity(),
    "sigmoid": nn.Sequential(nn.Linear(2, 5), nn.Sigmoid(), nn.Dropout(0.5)),
    "tanh": nn.Sequential(nn.Linear(2, 5, bias=False), nn.Tanh(), nn.BatchNorm1d(5)),
}
IMAGES = {
    "small": small_cnn(),
    "one": one_conv(),
    "pooled": nn.Sequential(
        nn.Conv2d(1, 4, 3, dilation=2, groups=1, bias=False),
        nn.BatchNorm2d(4, affine=False),
        nn.ReLU(),
        nn.MaxPool2d(2, stride=1, padding=1, ceil_mode=True),
        nn.Flatten(),
    ),
}


@pytest.mark.filterwarnings("ignore::plcp.partitions.CollapseWarning")  # of short training
@pytest.mark.parametrize("module", VECTORS.values(), ids=VECTORS)
@pytest.mark.parametrize("structure", ["ordered", "softmax"])
def test_vectors_are_predicted_alike(module, structure, rng):
    X, scores = draw(rng, 300)
    rule = rule_of(module, epochs=10, structure=structure).fit(X, scores)
    assert_served(rule, draw(rng, 500)[0])


@pytest.mark.parametrize("module", IMAGES.values(), ids=IMAGES)
def test_images_are_predicted_alike(module, rng):
    images, scores = draw_images(rng)
    rule = rule_of(module).fit(images / 255, scores)
    served = assert_served(rule, draw_images(rng)[0] / 255)
    (expected,) = served.session.get_inputs()
    assert expected.shape == ["n", 1, 6, 6]


def test_bytes_of_images_are_served_as_shares(rng):
    images, scores = draw_images(rng)
    rule = rule_of(small_cnn()).fit(images, scores)
    found = Served(rule)(images / 255)
    np.testing.assert_allclose(found["threshold"], rule.predict(images), rtol=1e-5)


def test_a_network_without_standardised_input_and_head_is_served(rng):
    X, scores = draw(rng, 300)
    regressor = TorchQuantile(
        nn.Linear(2, 1), head=False, standardize=False, epochs=1, random_state=0
    )
    assert_served(Rectified(regressor, adjustment="difference", random_state=0).fit(X, scores), X)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Sequential(nn.Linear(2, 3), nn.GELU()), "GELU .* not known here; build .* Linear"),
        (nn.Sequential(nn.BatchNorm1d(2, track_running_stats=False)), "BatchNorm1d .* rows around"),
    ],
)
def test_a_layer_not_known_is_refused_by_name(module, message, rng):
    X, scores = draw(rng, 200)
    rule = Rectified(TorchQuantile(module, epochs=1, random_state=0), random_state=0)
    with pytest.raises(NotExportableError, match=message):
        export(rule.fit(X, scores))


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([nn.Conv2d(1, 2, 3, padding="same"), nn.Flatten()], "Conv2d .* padding as numbers"),
        ([nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"), nn.Flatten()], "Conv2d"),
        ([nn.Flatten(2), nn.Flatten()], r"Flatten .* use Flatten\(\)"),
    ],
)
def test_a_layer_with_options_not_known_is_refused(layers, message, rng):
    images, scores = draw_images(rng)
    regressor = TorchQuantile(nn.Sequential(*layers), epochs=1, random_state=0)
    with pytest.raises(NotExportableError, match=message):
        export(Rectified(regressor, random_state=0).fit(images / 255, scores))
