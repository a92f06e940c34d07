"""Batches of rows: the same of whatever kind, in order or shuffled, and never too many at once."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn
from torch.utils.data import Subset, TensorDataset

from networks import Items, Live, draw, draw_images
from plcp.partitions.torch.training import (
    ROWS_TO_READ,
    as_rows,
    in_order,
    moments,
    outputs_of,
    read,
    shuffled,
)
from strategies import few

CPU = torch.device("cpu")
KINDS = {
    "tensors": torch.as_tensor,
    "dataset": Items,
    "arrays": lambda X: Items(X, np.asarray),
    "pairs": lambda X: Items(X, lambda x: (torch.as_tensor(x), 7)),
    "lists": lambda X: Items(X, lambda x: [x, "seven"]),
    "tensor data set": lambda X: TensorDataset(torch.as_tensor(X), torch.arange(len(X))),
    "subset": lambda X: Subset(Items(X[::-1].copy()), range(len(X) - 1, -1, -1)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [draw, draw_images])
def test_rows_are_read_alike(kind, make, rng):
    X, rows = make(rng, n=20)[0], np.array([3, 3, 19, 0])
    found, expected = read(as_rows(KINDS[kind](X)), rows), read(as_rows(X), rows)
    assert found.dtype == torch.float32
    assert torch.equal(found, expected)


def test_bytes_of_images_are_scaled_and_those_of_tables_are_not(rng):
    images = draw_images(rng, n=5)[0]
    rows = np.arange(5)
    assert torch.equal(read(images, rows), torch.tensor(images / np.float32(255)))
    table = images.reshape(5, -1)
    assert torch.equal(read(table, rows), torch.tensor(table).float())


@pytest.mark.parametrize("dtype", [np.int64, np.int16, bool])
def test_images_of_other_integers_are_refused(dtype, rng):
    images = draw_images(rng, n=5)[0].astype(dtype)
    with pytest.raises(ValueError, match=r"images of torch\.\w+ have no known range: give b"):
        read(images, np.arange(2))


@pytest.mark.parametrize(
    "item", [lambda x: {"x": x}, lambda x: x[0], lambda x: "x", lambda x: (x[0], x[1])]
)
def test_items_that_are_no_rows_are_refused(item, rng):
    with pytest.raises(ValueError, match="items of a data set must be a vector or an image each"):
        read(Items(draw(rng, n=5)[0], item), np.arange(2))


@pytest.mark.parametrize("n", [1, ROWS_TO_READ, 2 * ROWS_TO_READ + 1])
def test_all_rows_come_in_order_a_block_at_a_time(n):
    X = np.arange(float(n))[:, None]
    blocks = list(in_order(X, CPU))
    assert max(map(len, blocks)) <= ROWS_TO_READ
    assert_array_equal(torch.cat(blocks).numpy(), X)


@few
@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 9))
def test_an_epoch_sees_each_row_once_but_for_a_small_rest(n, size, seed):
    size = min(n, size)
    batches = list(shuffled(n, size, np.random.RandomState(seed)))
    seen = np.concatenate(batches)
    assert len(np.unique(seen)) == len(seen)
    rest = n % size
    assert len(seen) == (n if 2 * rest >= size else n - rest)
    assert all(len(batch) == size for batch in batches[:-1])
    assert 2 * len(batches[-1]) >= size


def test_epochs_are_shuffled_anew():
    rng = np.random.RandomState(0)
    first, second = (np.concatenate(list(shuffled(50, 10, rng))) for _ in range(2))
    assert (first != second).any()


@pytest.mark.parametrize("n", [3, ROWS_TO_READ + 5])
def test_moments_are_those_of_all_rows_at_once(n, rng):
    X = 1000 + rng.normal(size=(n, 3, 2, 2)) * np.array([1.0, 10.0, 0.1])[:, None, None]
    mean, spread = moments(X)
    single = X.astype(np.float32).astype(float)
    eps = np.finfo(np.float32).eps
    assert_allclose(mean, single.mean(axis=(0, 2, 3)), rtol=eps)
    assert_allclose(spread, single.std(axis=(0, 2, 3)), rtol=eps)


def test_moments_of_a_constant_column_divide_by_one():
    assert moments(np.full((4, 1), 7.0))[1].tolist() == [1.0]


def test_outputs_are_those_of_the_network(rng):
    X = rng.normal(size=(2 * ROWS_TO_READ + 3, 2)).astype(np.float32)
    scale = nn.BatchNorm1d(2)  # gives something else in training
    scale.running_mean += 3
    with torch.no_grad():
        expected = scale.eval()(torch.tensor(X)).double().numpy()
    found = outputs_of(scale.train(), X, CPU)
    assert found.dtype == float
    assert_array_equal(found, expected)
    assert scale.running_mean.tolist() == [3, 3]


def test_each_part_keeps_its_mode(rng):
    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout())
    network[1].eval()
    outputs_of(network, draw(rng)[0], CPU)
    assert [part.training for part in network.modules()] == [True, True, False, True]
    with pytest.raises(RuntimeError, match="shapes"):
        outputs_of(network, np.ones((4, 3)), CPU)
    assert [part.training for part in network.modules()] == [True, True, False, True]


def test_no_more_rows_are_held_than_are_read_at_once(rng):
    data = Live(rng.normal(size=(2 * ROWS_TO_READ + 3, 2)))
    outputs_of(nn.Identity(), data, CPU)
    moments(data)
    assert data.most == ROWS_TO_READ <= 1024
    assert data.now == 0
