"""Embeddings: what a module makes of its input, for a rule of another kind."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from torch import nn

from networks import Items, draw_images
from plcp import PLCP, ConformalClassifier, ConformalRegressor, LinearQuantile, OrderedPartition
from plcp.partitions.torch import embed, one_conv


@pytest.fixture
def backbone(rng):
    images = draw_images(rng, n=8)[0]
    torch.manual_seed(0)
    module = nn.Sequential(one_conv(), nn.LazyLinear(3), nn.BatchNorm1d(3), nn.Dropout())
    module(torch.tensor(images) / 255)
    return module


def flat(images):
    return np.asarray(images).reshape(len(images), -1)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, torch.tensor, Items], ids=["array", "tensor", "data"])
def test_embed_is_the_module_by_hand(backbone, rng, training, kind):
    images = draw_images(rng, n=30)[0]
    with torch.no_grad():
        expected = backbone.eval()(torch.tensor(images).float() / 255).double().numpy()
    backbone.train(training)
    backbone[2].eval()  # as of a module whose statistics are frozen
    before = [part.training for part in backbone.modules()]
    assert_array_equal(embed(backbone, kind(images)), expected)
    assert [part.training for part in backbone.modules()] == before
    assert sum(before) == (len(before) - 1 if training else 0)


def test_an_embedding_is_flat_and_may_have_no_weights():
    assert_array_equal(embed(nn.Identity(), np.ones((2, 3, 2, 2))), np.ones((2, 12)))
    assert_array_equal(embed(nn.Identity(), [[1.0, 2.0]]), [[1.0, 2.0]])


def rule():
    return PLCP(OrderedPartition(LinearQuantile()), 2, random_state=0)


def test_features_that_are_a_module(backbone, rng):
    images = draw_images(rng, n=300)[0]
    labels = (images.mean(axis=(1, 2, 3)) + rng.normal(0, 40, size=300) > 128).astype(int)
    model = make_pipeline(FunctionTransformer(flat), LogisticRegression(max_iter=5000))
    model = FrozenEstimator(model.fit(images / 255, labels))

    def conformal(features):
        wrapped = ConformalClassifier(model, threshold=rule(), features=features)
        return wrapped.fit(images / 255, labels)

    ours, by_hand = conformal(backbone), conformal(lambda X: embed(backbone, X))
    assert_array_equal(ours.predict_set(images / 255).mask, by_hand.predict_set(images / 255).mask)
    assert_array_equal(ours.groups(images / 255), by_hand.groups(images / 255))
    direct = rule().fit(
        embed(backbone, images / 255), ours.conformity_(ours.predict_proba(images / 255), labels)
    )
    assert_array_equal(ours.groups(images / 255), direct.groups(embed(backbone, images / 255)))


def test_features_of_a_regressor_that_are_a_module(backbone, rng):
    images, levels = draw_images(rng, n=300)
    model = FrozenEstimator(DummyRegressor(strategy="constant", constant=0.0).fit(images, levels))
    wrapped = ConformalRegressor(model, threshold=rule(), features=backbone)
    sets = wrapped.fit(images, levels).predict_set(images)
    direct = rule().fit(embed(backbone, images), levels).predict(embed(backbone, images))
    assert_array_equal(sets.upper, direct)
    assert np.ptp(direct) > 0
