"""What goes wrong on a cluster: dead workers, odd parts, bad rows, and rows that come home."""

import os
import re
import signal
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from dask.sizeof import sizeof
from dask_rules import assert_same, rows
from sklearn.exceptions import NotFittedError

from plcp import LinearQuantile, OrderedPartition
from plcp.dask import DaskPLCP
from plcp.dask.collections import pairs_of


def cut(X, y, *lengths):
    """Rows as arrays of parts of these lengths."""
    return da.from_array(X, chunks=(lengths, -1)), da.from_array(y, chunks=(lengths,))


def framed(X, y, *lengths):
    """Rows as a frame of columns "g" and "x" and a series, in parts of these lengths."""
    ends = np.cumsum(lengths)
    parts = [
        pd.DataFrame({"g": X[end - n : end, 0], "x": X[end - n : end, 1], "y": y[end - n : end]})
        for n, end in zip(lengths, ends, strict=True)
    ]
    frame = dd.from_delayed([delayed(part) for part in parts], meta=parts[0][:0])
    return frame[["g", "x"]], frame["y"]


# --- a worker dies

HANG = 1800  # seconds: only a worker that never comes back is waited for so long


def noted(block, folder):
    """Return the block, after noting which process made it."""
    (Path(folder) / f"{os.getpid()}-{uuid4().hex}").touch()
    return block


def makers(folder):
    """Return the process that made each block."""
    return [int(path.name.split("-")[0]) for path in Path(folder).glob("*-*")]


def fatal(block, folder):
    """Return the block; the first process that makes three of them dies of the third."""
    noted(block, folder)
    if makers(folder).count(os.getpid()) == 3:
        with suppress(FileExistsError):
            (Path(folder) / "dead").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_a_worker_killed_in_the_middle_of_fit_changes_nothing(rule_on, client, tmp_path):
    X, y = cut(*rows(400), *[20] * 20)
    expected = rule_on(client=client).fit(X, y)
    watched = X.map_blocks(fatal, tmp_path, dtype=float, meta=np.empty((0, 2)))
    rule = rule_on(client=client).fit(watched, y)
    assert (tmp_path / "dead").exists()
    assert len(makers(tmp_path)) > 20  # the block it died of was made again
    assert_same(rule, expected)
    client.wait_for_workers(2, timeout=HANG)


def kept_of(X, y, folder):
    noted(X, folder)
    return (y,)


def test_blocks_kept_by_a_worker_that_dies_are_made_again(client, tmp_path):
    kept = pairs_of(*cut(*rows(200), *[20] * 10), client).keep(kept_of, tmp_path)
    expected = kept.each(np.sort)
    assert len(makers(tmp_path)) == 10
    os.kill(makers(tmp_path)[0], signal.SIGKILL)
    np.testing.assert_array_equal(kept.each(np.sort), expected)
    assert len(makers(tmp_path)) > 10
    client.wait_for_workers(2, timeout=HANG)


# --- odd parts


@pytest.mark.parametrize("collected", [cut, framed])
@pytest.mark.parametrize("lengths", [(40, 40, 40), (0, 1, 119, 0)])
def test_parts_may_be_empty_and_unequal(rule_on, any_client, collected, lengths):
    X, y = rows(120)
    expected = rule_on().fit(*collected(X, y, 120))  # in one part
    assert_same(rule_on(client=any_client).fit(*collected(X, y, *lengths)), expected)


def test_parts_may_be_of_unknown_length(rule_on, any_client):
    X, y = rows(120)
    some = X[:, 1] > 0
    some[30:60] = False  # a part without rows
    lazy_X, lazy_y = cut(X, y, 30, 30, 60)
    mask = da.from_array(some, chunks=(lazy_X.chunks[0],))
    rule = rule_on(client=any_client).fit(lazy_X[mask], lazy_y[mask])
    assert_same(rule, rule_on().fit(X[some], y[some]))
    thresholds = rule.predict(lazy_X[mask])
    assert np.isnan(thresholds.shape[0])
    np.testing.assert_array_equal(
        thresholds.compute(scheduler=any_client or "threads"), rule.to_local().predict(X[some])
    )


def test_columns_may_be_cut_and_scores_cut_elsewhere(rule_on, any_client):
    X, y = rows(120)
    lazy = da.from_array(X, chunks=(50, 1)), da.from_array(y, chunks=33)
    assert_same(rule_on(client=any_client).fit(*lazy), rule_on().fit(X, y))


def test_all_scores_equal(rule_on, any_client):
    X, y = cut(*rows(120), *[30] * 4)
    rule = rule_on(client=any_client).fit(X, da.full_like(y, 3.5))
    np.testing.assert_array_equal(rule.to_local().predict(X.compute()), 3.5)


# --- refused, with the part named


def lacking(part, number, partition_info=None):
    return part.drop(columns="x") if partition_info["number"] == number else part


def test_a_column_missing_in_one_part(rule_on, any_client):
    X, y = framed(*rows(120), *[30] * 4)
    X = X.map_partitions(lacking, 2, meta=X._meta, enforce_metadata=False)
    with pytest.raises(ValueError, match=r"part 2 of 4.*no column 'x' here, only \['g'\]"):
        rule_on(client=any_client).fit(X, y)


def test_nan_in_one_part(rule_on, any_client):
    X, y = rows(120)
    y[97] = np.nan
    with pytest.raises(ValueError, match=r"part 3 of 4.*must be finite.*NaN at row 7"):
        rule_on(client=any_client).fit(*cut(X, y, *[30] * 4))


def test_infinity_in_one_part_of_x(rule_on, any_client):
    X, y = rows(120)
    X[31, 1] = np.inf
    with pytest.raises(ValueError, match=r"part 1 of 4.*X contains infinity"):
        rule_on(client=any_client).fit(*cut(X, y, *[30] * 4))


def test_lengths_that_differ_in_one_part(rule_on, any_client):
    X, y = rows(120)
    y = framed(X[:119], y[:119], 30, 30, 29, 30)[1]
    with pytest.raises(ValueError, match=r"part 2 of 4.*inconsistent.*\[30, 29\]"):
        rule_on(client=any_client).fit(framed(*rows(120), *[30] * 4)[0], y)


def test_lengths_that_are_known_to_differ(rule_on):
    X, y = rows(120)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[120, 119\]"):
        rule_on().fit(da.from_array(X), da.from_array(y[1:]))


def test_parts_that_cannot_be_matched(rule_on):
    X, y = rows(120)
    X = framed(X, y, *[30] * 4)[0]
    with pytest.raises(ValueError, match=re.escape("compute_chunk_sizes()")):
        rule_on().fit(X, da.from_array(y, chunks=60))
    with pytest.raises(ValueError, match=r"y is in memory.*give y as a Dask array or series"):
        rule_on().fit(X, y)


def test_rows_that_change_from_pass_to_pass(tmp_path):
    made = [delayed(fewer_later, pure=True)(number, tmp_path) for number in range(4)]
    frame = dd.from_delayed(made, meta=fewer_later(0, tmp_path / "none")[:0])
    rule = DaskPLCP(OrderedPartition(LinearQuantile()), 2, sample_size=60)
    told = r"gave 120 rows at first and 116 later.*persist\(\) both, or give a seed"
    with pytest.raises(ValueError, match=told):
        rule.fit(frame[["g", "x"]], frame["y"])
    kept = frame.persist()
    assert rule.fit(kept[["g", "x"]], kept["y"]).group_sizes_.sum() == 116


def fewer_later(number, folder):
    """Part of a source that loses a row after the first look."""
    X, y = rows(30, seed=number)
    n = 29 if (folder / str(number)).exists() else 30
    folder.mkdir(exist_ok=True)
    (folder / str(number)).touch()
    return pd.DataFrame({"g": X[:n, 0], "x": X[:n, 1], "y": y[:n]})


def test_no_rows_at_all(rule_on, any_client):
    X, y = rows(120)
    with pytest.raises(ValueError, match="calibration set is empty"):
        rule_on(client=any_client).fit(*framed(X[:0], y[:0], 0, 0))


def test_one_dimension_is_refused(rule_on):
    _, y = cut(*rows(120), *[30] * 4)
    with pytest.raises(ValueError, match="X must have rows and columns"):
        rule_on().fit(y, y)


def test_nothing_is_predicted_before_fit(rule_on):
    X, _ = cut(*rows(120), *[30] * 4)
    for ask in (rule_on().to_local, lambda: rule_on().predict(X)):
        with pytest.raises(NotFittedError):
            ask()


# --- rows stay where they are


def gathered(client, monkeypatch, n, rule):
    """Size of each object that comes to the client in the fit of n rows made on the workers."""
    sizes = []
    fetch = type(client)._gather_remote

    async def watched(self, *args):
        response = await fetch(self, *args)
        sizes.extend(map(sizeof, response.get("data", {}).values()))
        return response

    X = da.random.default_rng(0).integers(0, 3, (n, 2), chunks=(n // 8, 2)).astype(float)
    with monkeypatch.context() as patch:
        patch.setattr(type(client), "_gather_remote", watched)
        rule.fit(X, da.random.default_rng(1).normal(size=n, chunks=n // 8))
    return sizes


def test_rows_do_not_come_to_the_client(rule_on, client, monkeypatch):
    few, many = (
        gathered(client, monkeypatch, n, rule_on(client=client)) for n in (40_000, 400_000)
    )
    assert 0 < sum(many) < 400_000 * 8  # all together less than one column
    assert max(many) <= max(few)
