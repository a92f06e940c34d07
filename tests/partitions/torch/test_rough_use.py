"""Unusual use: odd tensors, frozen parts, other shapes, huge numbers."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from networks import Items, draw, draw_images
from plcp import PLCP, OrderedPartition
from plcp.partitions import CollapseWarning
from plcp.partitions.torch import (
    TorchPartition,
    TorchQuantile,
    embed,
    mlp,
    one_conv,
    small_cnn,
    to_device,
    training as reading,
)

QUICK = {"epochs": 2, "random_state": 0}
SOFT = TorchPartition(mlp(4), 2, structure="softmax", **QUICK)


class Rates(torch.optim.SGD):
    """Plain descent that keeps its rates."""

    seen: ClassVar[list[float]] = []

    def step(self, closure=None):
        Rates.seen.append(self.param_groups[0]["lr"])
        return super().step(closure)


@pytest.mark.parametrize("n", [50, 130, 191, 192, 300])
def test_the_schedule_ends_where_the_steps_end(n, rng):
    """The k-th of K steps has (1 + cos(π k / K)) / 2 of the rate, whatever batch is left out."""
    Rates.seen = []
    options = {"optimizer": Rates, "learning_rate": 1.0, "early_stopping": False, "clip_norm": 1.0}
    TorchQuantile(mlp(2), **QUICK, **options).fit(*draw(rng, n))
    K = len(Rates.seen)
    assert_allclose(Rates.seen, (1 + np.cos(np.pi * np.arange(K) / K)) / 2, atol=1e-15)


def test_frozen_parts_keep_their_statistics(rng):
    X, scores = draw(rng)
    backbone = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4)).requires_grad_(False)
    regressor = TorchQuantile(backbone, **QUICK).fit(X, scores)
    assert_array_equal(regressor.network_[1][1].running_mean, backbone[1].running_mean)
    learning = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4))
    regressor = TorchQuantile(learning, **QUICK).fit(X, scores)
    assert (regressor.network_[1][1].running_mean != 0).all()


def test_one_score_beyond_measure_spoils_nothing(rng):
    X, scores = draw(rng, 400)
    plain = TorchQuantile(mlp(8), quantile=0.9, random_state=0).fit(X, scores).predict(X)
    scores[0] = 1e12
    spoilt = TorchQuantile(mlp(8), quantile=0.9, random_state=0).fit(X, scores).predict(X)
    assert np.median(spoilt) < 10 * np.median(plain)


@pytest.mark.parametrize("value", [1e300, np.nan])
def test_outputs_that_are_no_numbers_are_refused(value, rng):
    X, scores = draw(rng)
    fitted = TorchPartition(mlp(4), 2, structure="softmax", **QUICK).fit(X, scores)
    X = X.copy()
    X[3] = value
    with pytest.raises(ValueError, match="the network gives NaN at row 3"):
        fitted.predict_proba(Items(X))


@pytest.mark.parametrize("kind", ["graph", "bfloat16", "items"])
def test_tensors_of_any_kind(kind, rng):
    X, scores = draw(rng)
    given = torch.tensor(X).float().requires_grad_(kind != "bfloat16")
    if kind == "bfloat16":
        given = given.to(torch.bfloat16)
    data = TensorDataset(given) if kind == "items" else given
    regressor = TorchQuantile(mlp(4), **QUICK).fit(data, torch.tensor(scores).requires_grad_())
    same = given.detach().float().numpy()
    expected = TorchQuantile(mlp(4), **QUICK).fit(same, scores).predict(same)
    assert_array_equal(regressor.predict(data), expected)


@pytest.mark.parametrize(
    "values", [["a", "b"] * 100, pd.Categorical(["a", "b"] * 100), pd.Timestamp("2024-01-01")]
)
def test_columns_that_are_no_numbers_are_named(values, rng):
    X, scores = draw(rng)
    frame = pd.DataFrame({"width": X[:, 0], "kind": values})
    with pytest.raises(ValueError, match="column 'kind' of X holds no numbers: encode it"):
        TorchQuantile(mlp(4), **QUICK).fit(frame, scores)


def test_other_shapes_than_fitted_are_refused(rng):
    images, scores = draw_images(rng)
    regressor = TorchQuantile(one_conv(), **QUICK).fit(Items(images), scores)
    wider = np.zeros((2, 1, 6, 8), dtype=np.uint8)
    with pytest.raises(ValueError, match=r"rows have shape \(1, 6, 8\), but .* on \(1, 6, 6\)"):
        regressor.predict(Items(wider))


def test_a_module_that_cannot_take_the_rows(rng):
    with pytest.raises(ValueError, match=r"the module cannot take rows of shape \(2,\)"):
        TorchQuantile(nn.Linear(7, 2), **QUICK).fit(*draw(rng))


def test_large_rows_are_read_few_at_a_time(monkeypatch, rng):
    X, scores = draw(rng)
    regressor = TorchQuantile(mlp(4), **QUICK).fit(X, scores)
    sizes = []
    hook = regressor.network_.register_forward_pre_hook(
        lambda _, given: sizes.append(len(given[0]))
    )
    whole = regressor.predict(X)
    monkeypatch.setattr(reading, "BYTES_TO_READ", 7 * 2 * 4)  # seven rows of two floats
    parts = regressor.predict(X)
    hook.remove()
    assert sizes[0] == 200
    assert set(sizes[1:]) == {7, 200 % 7}
    assert_allclose(parts, whole, rtol=16 * float(np.finfo(np.float32).eps))


def test_streams_are_refused(rng):
    class Stream(IterableDataset):
        def __len__(self):
            return 200

        def __iter__(self):
            return iter(range(200))

    X, scores = draw(rng)
    for given in (Stream(), DataLoader(TensorDataset(torch.tensor(X)))):
        with pytest.raises(ValueError, match="give a map-style Dataset"):
            TorchQuantile(mlp(4), **QUICK).fit(given, scores)


def test_a_second_fit_forgets_the_width_of_the_first(rng):
    X, scores = draw(rng)
    regressor = TorchQuantile(mlp(4), **QUICK).fit(np.ones((200, 5)), scores)
    regressor.fit(Items(X), scores)
    assert regressor.predict(X).shape == (200,)


@pytest.mark.parametrize("n", [1, 2, 3, 19])
def test_a_few_rows(n, rng):
    X, scores = draw(rng, n)
    regressor = TorchQuantile(mlp(2), **QUICK).fit(X, scores)
    assert np.isfinite(regressor.predict(X)).all()
    assert "held_out" not in regressor.history_[0]


class Elsewhere(RegressorMixin, BaseEstimator):
    """A model with a device of its own."""

    def __init__(self, device="theirs"):
        self.device = device

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_only_our_networks_are_moved(rng):
    X, scores = draw(rng)
    options = {"calibration": "split", "random_state": 0}
    ours = make_pipeline(StandardScaler(), TorchQuantile(mlp(4), **QUICK))
    rule = PLCP(OrderedPartition(ours), 2, **options).fit(X, scores)
    to_device(rule, "cpu:0")
    assert rule.partition_.regressor_[-1].device == "cpu:0"
    theirs = PLCP(OrderedPartition(Elsewhere()), 2, **options).fit(X, scores)
    to_device(theirs, "cpu:0")
    assert theirs.partition_.regressor_.device == "theirs"


def test_an_embedding_needs_weights():
    with pytest.raises(ValueError, match="the module has no weights yet"):
        embed(small_cnn(), np.zeros((2, 1, 8, 8)))


@pytest.mark.parametrize("calibration", ["cross", "split", "joint"])
def test_one_group_that_serves_all_is_told(calibration, rng):
    """Nothing to tell apart: memberships are shared, but the same group is likeliest for all."""
    X, scores = np.zeros((600, 2)), rng.exponential(size=600)
    with pytest.warns(CollapseWarning, match="holds 100% of the points"):
        PLCP(SOFT, 2, calibration=calibration, random_state=0).fit(X, scores)
