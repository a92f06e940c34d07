"""Rows of tables, frames, images and data sets: counted and taken the same way."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.testing import assert_array_equal
from torch.utils.data import Subset, TensorDataset

from networks import Items, Live
from plcp._rows import count, take

X = np.arange(24.0).reshape(6, 4)
KINDS = {
    "array": (X, np.asarray),
    "images": (X.reshape(6, 1, 2, 2), lambda rows: rows.reshape(len(rows), -1)),
    "pandas": (pd.DataFrame(X, columns=list("abcd")), np.asarray),
    "polars": (pl.DataFrame(X, schema=list("abcd")), np.asarray),
    "tensor": (torch.tensor(X), np.asarray),
    "dataset": (Items(X), lambda rows: np.stack([row.numpy() for row in rows])),
    "pairs": (
        TensorDataset(torch.tensor(X), torch.zeros(6)),
        lambda rows: np.stack([row[0].numpy() for row in rows]),
    ),
    "subset": (
        Subset(Items(X[::-1].copy()), [5, 4, 3, 2, 1, 0]),
        lambda rows: np.stack([row.numpy() for row in rows]),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [[4, 0, 4], np.array([1]), np.arange(6)], ids=str)
def test_rows_are_counted_and_taken_alike(kind, rows):
    given, as_array = KINDS[kind]
    assert count(given) == 6
    taken = take(given, rows)
    assert count(taken) == len(rows)
    assert_array_equal(as_array(taken), X[rows])


def test_rows_taken_twice_are_rows_of_rows():
    twice = take(take(Items(X), [5, 3, 1]), [2, 0])
    assert_array_equal(np.stack([row.numpy() for row in twice]), X[[1, 5]])


def test_rows_of_a_data_set_stay_where_they_are():
    data = Live(X)
    taken = take(data, [0, 1, 2])
    assert data.most == 0
    assert taken[1].tolist() == X[1].tolist()
    assert data.most == 1


def test_nobody_imports_torch_to_look_at_a_table():
    code = (
        "import sys, numpy as np; from plcp._rows import is_dataset, is_module, take; "
        "X = np.eye(2); take(X, [0]); print(is_dataset(X), is_module(X), 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["False"] * 3
