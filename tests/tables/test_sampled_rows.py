"""A sample of a table's rows: its law, its order, and what it does not depend on."""

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from disk_tables import numbers, write
from hypothesis import given, strategies as st
from scipy.stats import binom, hypergeom

from bands import FALSE_ALARM
from plcp.tables.files import STREAM, sample_rows
from plcp.tables.io import open_table

N, MOST, DRAWS = 9, 2, 1000  # the reservoir is cut at its fifth, eighth, … row


def test_every_set_of_rows_is_as_likely_as_any_other():
    batches, schema = numbers(N).to_batches(max_chunksize=1), numbers(N).schema
    samples = (sample_rows(batches, schema, most=MOST, seed=seed) for seed in range(DRAWS))
    counts = Counter(tuple(sample.rows.tolist()) for sample in samples)
    sets = list(combinations(range(N), MOST))
    tail = FALSE_ALARM / 2 / len(sets)
    low, high = binom.ppf([tail, 1 - tail], DRAWS, 1 / len(sets))
    assert all(low <= counts[rows] <= high for rows in sets), counts
    assert counts.total() == sum(counts[rows] for rows in sets)


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_the_rows_are_those_with_the_smallest_random_numbers(rows):
    batches, schema = numbers(100).to_batches(max_chunksize=rows), numbers(100).schema
    for seed in range(30):  # a row near the limit is rare
        keys = np.random.default_rng([seed, STREAM]).random(100)
        sample = sample_rows(batches, schema, most=20, seed=seed)
        assert sample.rows.tolist() == sorted(np.argsort(keys)[:20])
        assert sample.table["row"].to_pylist() == sample.rows.tolist()


@given(
    n=st.integers(0, 60),
    most=st.integers(1, 70),
    one=st.integers(1, 61),
    other=st.integers(1, 61),
    seed=st.integers(0, 2**32),
)
def test_the_sample_has_its_size_and_order_and_no_trace_of_the_batches(n, most, one, other, seed):
    table = numbers(n)
    first, second = (
        sample_rows(table.to_batches(max_chunksize=size), table.schema, most=most, seed=seed)
        for size in (one, other)
    )
    assert first.table.equals(second.table)
    rows = first.table["row"].to_numpy()
    assert len(rows) == min(n, most)
    assert (np.diff(rows) > 0).all()
    assert (first.table["half"].to_numpy() == rows / 2).all()
    assert (first.rows == rows).all()
    assert (second.rows == rows).all()


def test_all_formats_give_the_same_rows(tmp_path):
    samples = [
        open_table(write(tmp_path / f"a.{ending}", numbers(3000), 700)).read(most=50, seed=3)
        for ending in ("parquet", "csv", "arrow")
    ]
    assert samples[0].equals(samples[1])
    assert samples[0].equals(samples[2])
    assert len(samples[0]) == 50


def test_seeds_differ_and_columns_do_not_matter(tmp_path):
    file = open_table(write(tmp_path / "a.parquet", numbers(3000)))
    assert not file.read(most=50, seed=1).equals(file.read(most=50, seed=2))
    assert file.read(["half"], most=50)["half"].equals(file.read(most=50)["half"])
    assert file.read(most=3000).equals(file.read())


@pytest.mark.parametrize("seed", [0, 1, 42])
def test_a_table_drawn_with_the_same_seed_is_not_cut_by_its_values(seed):
    x = np.random.default_rng(seed).random(2000)
    table = pa.table({"x": x})
    drawn = sample_rows(table.to_batches(), table.schema, most=1000, seed=seed).table["x"]
    below = (drawn.to_numpy() < np.median(x)).sum()
    low, high = hypergeom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 2000, 1000, 1000)
    assert low <= below <= high


def test_no_rows_at_all_cannot_be_asked_for():
    with pytest.raises(ValueError, match="at least one row must be drawn, got most=0"):
        sample_rows([], pa.schema({"x": pa.int64()}), most=0, seed=0)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.arrow"])
def test_a_sample_is_said_to_be_one(tmp_path, name):
    table = open_table(write(tmp_path / name, numbers(50)))
    assert table.sample_note(len(table.read(most=50))) == []
    (told,) = table.sample_note(len(table.read(most=20)))
    assert told == f"A random sample of 20 of 50 rows in {name} was taken."
    assert open_table(tmp_path / name).sample_note(len(table.read())) == []
