"""Fingerprints: equal for equal values in any container, different for all else."""

import hashlib
import subprocess
import sys
from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_matrix
from torch.utils.data import TensorDataset

from plcp.evaluation.certificate import fingerprint
from strategies import few, finite

TABLE = {
    "age": [30, 70, 41],
    "weight": [60.5, float("nan"), -0.0],
    "sex": ["f", "m", None],
    "old": [False, True, False],
    "seen": [datetime(2024, 1, 1, 12), datetime(2023, 5, 6), datetime(2020, 2, 29)],
}
Y = [1, 2, 3]


def test_known_bytes():
    """The encoding is a format: whoever reads an old certificate must find the same."""
    numbers = np.array([1.0, 2.0]).astype("<f8").tobytes()
    label = np.array([1, 1]).astype("<i8").tobytes() + b"ab"
    told = b"rows 2\nnumbers 2\n" + numbers + b"rows 2\ntexts 2\n" + label
    assert fingerprint([[1.0], [2.0]], ["a", "b"]) == hashlib.sha256(told).hexdigest()


def test_pandas_polars_and_arrays_of_the_same_values():
    frame = pd.DataFrame(TABLE)
    expected = fingerprint(frame, Y)
    assert fingerprint(pl.DataFrame(TABLE, strict=False), pl.Series(Y)) == expected
    assert fingerprint(frame.convert_dtypes(), np.array(Y)) == expected
    assert fingerprint(frame.astype({"sex": "category"}), pd.Series(Y)) == expected
    assert fingerprint(frame.set_index(pd.Index([7, 8, 9])), Y) == expected
    assert fingerprint(frame.rename(columns={"age": "years"}), Y) == expected


@given(hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=2), elements=finite))
@few
def test_containers_of_numbers(X):
    y = np.arange(len(X))
    expected = fingerprint(X, y)
    assert fingerprint(X.tolist(), y.tolist()) == expected
    assert fingerprint(np.asfortranarray(X), y.astype(float)) == expected
    assert fingerprint(X.astype(object), y) == expected
    assert fingerprint(csr_matrix(X), y) == expected
    assert fingerprint(torch.as_tensor(X), y) == expected
    assert fingerprint(X.astype(">f8"), y) == expected
    assert fingerprint(pd.DataFrame(X), y) == expected


def test_zeros_and_gaps_of_any_bits_are_the_same():
    other_nan = np.array([0x7FF8000000000001], dtype=np.uint64).view(float)
    assert fingerprint([[-0.0], [np.nan]], Y[:2]) == fingerprint(np.r_[[[0.0]], [other_nan]], Y[:2])


@given(hnp.arrays(float, (4, 2), elements=finite, unique=True), st.data())
@few
def test_every_value_and_its_place_count(X, data):
    y = np.arange(4.0)
    expected = fingerprint(X, y)
    i, j = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 1))
    other = X.copy()
    other[i, j] = np.nextafter(other[i, j], np.inf)
    assert fingerprint(other, y) != expected
    assert fingerprint(X[::-1], y) != expected  # rows in another order are other data
    assert fingerprint(X, y[::-1]) != expected
    assert fingerprint(X[:, ::-1], y) != expected
    assert fingerprint(X[:3], y[:3]) != expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["ab", "c"], ["a", "bc"]),
        (["", "a"], [None, "a"]),
        (["1", "2"], [1, 2]),
        ([None, "nan"], ["nan", None]),
        ([date(2024, 1, 1), date(2024, 1, 2)], [date(2024, 1, 1), date(2024, 1, 3)]),
    ],
)
def test_texts_are_told_apart(one, other):
    assert fingerprint(pd.DataFrame({"a": one}), Y[:2]) != fingerprint(
        pd.DataFrame({"a": other}), Y[:2]
    )


def test_images_and_data_sets(rng):
    images = rng.uniform(size=(5, 1, 4, 4)).astype(np.float32)
    y = np.arange(5)
    changed = images.copy()
    changed[3, 0, 2, 2] += 1
    data, other = (TensorDataset(torch.as_tensor(x)) for x in (images, changed))
    assert fingerprint(images, y) != fingerprint(changed, y)
    assert fingerprint(images, y) == fingerprint(data, y)
    assert fingerprint(data, y) == fingerprint(TensorDataset(torch.as_tensor(images)), y)
    assert fingerprint(data, y) != fingerprint(other, y)


def test_another_process_finds_the_same():
    """Python's own hash of a text differs from run to run."""
    code = (
        "import pandas as pd; from plcp.evaluation.certificate import fingerprint; "
        "print(fingerprint(pd.DataFrame({'a': ['x', 'y'], 'b': [1, 2]}), ['yes', 'no']))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    assert run.stdout.strip() == fingerprint(frame, ["yes", "no"])
