"""The digest of calibration rows: the same for the same rows, and for no others."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.testing import assert_array_equal
from saved_examples import fitted, frame, plane, task

import plcp
from plcp.storage import data_digest, load_manifest


def split(X, y=task.scores, w=None):
    return data_digest(X, y, w)


def test_a_file_holds_the_digest_of_the_data_it_was_saved_with(tmp_path):
    rule = fitted(plcp.Mondrian(2))
    plcp.save(rule, tmp_path / "rule.plcp", data=(plane, task.scores))
    manifest = load_manifest(tmp_path / "rule.plcp")
    assert manifest["data"] == data_digest(plane, task.scores)
    assert len(bytes.fromhex(manifest["data"])) == 32
    assert_array_equal(plcp.load(tmp_path / "rule.plcp").predict(plane), rule.predict(plane))


def test_it_does_not_depend_on_how_an_array_lies_in_memory():
    wide = np.repeat(plane, 2, axis=1)[:, ::2]
    assert split(plane) == split(np.asfortranarray(plane)) == split(wide) == split(plane.tolist())


@pytest.mark.parametrize(
    "X", [plane, frame, pl.from_pandas(frame)], ids=["array", "pandas", "polars"]
)
def test_any_other_row_score_or_weight_gives_another(X):
    w = np.full(len(task.scores), 2.0)
    other = X.copy() if hasattr(X, "copy") else X.clone()
    if isinstance(X, np.ndarray):
        other[5, 1] = np.nextafter(other[5, 1], np.inf)
    elif isinstance(X, pd.DataFrame):
        other.loc[5, "sex"] = "n"
    else:
        other = other.with_columns(pl.col("sex").replace("m", "n"))
    scores = task.scores.copy()
    scores[7] *= 2
    rows = np.r_[1, 0, 2 : len(w)]
    swapped = X[rows] if not isinstance(X, pd.DataFrame) else X.iloc[rows]
    found = [
        split(X),
        split(other),
        split(X, scores),
        split(X, w=w),
        split(X, w=2 * w),
        split(swapped),
    ]
    assert len({*found}) == len(found)


def test_names_of_columns_count():
    assert split(frame) != split(frame.rename(columns={"x": "z"}))


def test_texts_are_not_run_together():
    one, two = (pd.DataFrame({"t": texts * 10}) for texts in (["ab", "c"], ["a", "bc"]))
    assert split(one, np.arange(20.0)) != split(two, np.arange(20.0))


def test_a_data_set_that_is_never_whole_in_memory_has_none():
    rows = torch.utils.data.TensorDataset(torch.as_tensor(plane))
    assert data_digest(rows, task.scores) is None


def test_shapes_and_types_count_where_the_bytes_are_the_same():
    scores, weights = np.zeros(4), np.ones(4)
    kept = [
        np.zeros((4, 4)),
        np.zeros((4, 2, 2)),
        np.zeros((4, 4), dtype=np.int64),
        np.zeros((4, 8), dtype=np.float32),
        pd.DataFrame(np.zeros((4, 4))),
    ]
    found = [data_digest(X, scores, w) for X in kept for w in (None, weights)]
    assert len({*found}) == len(found)


def test_a_large_array_that_does_not_lie_in_order_counts_to_its_last_row(monkeypatch):
    monkeypatch.setattr("plcp.storage.files.BLOCK", 64)  # of which there are many
    X, scores = np.arange(300.0).reshape(100, 3), np.zeros(100)
    expected = data_digest(X, scores, None)
    assert data_digest(np.asfortranarray(X), scores, None) == expected
    for row in (0, 50, 99):
        other = np.asfortranarray(X)
        other[row, 2] += 1
        assert data_digest(other, scores, None) != expected
