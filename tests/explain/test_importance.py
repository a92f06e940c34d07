"""Permutation importance against what it must be where the answer is known."""

import numpy as np
import pandas as pd
import pytest
from mixed_table import mixed_table

from plcp.explain import importance, partition_importance


def test_the_only_column_that_counts_has_importance_one(rng):
    X = rng.normal(size=(2000, 3))
    cuts = np.array([-1.0, 0.0, 0.5])
    found = partition_importance(lambda X: np.searchsorted(cuts, X[:, 1]), X, 0, n_repeats=30)
    first, *rest = found
    assert first.feature == "x1"
    # a shuffled column moves a row as far as another row drawn at random lies from it
    assert abs(first.value - 1) < 5 * first.error
    assert [one.value for one in rest] == [0, 0]


def test_no_group_no_importance(rng):
    found = partition_importance(lambda X: np.zeros(len(X), dtype=int), rng.normal(size=(50, 2)))
    assert [one.value for one in found] == [0, 0]


def test_the_scale_is_the_mean_distance_of_all_pairs(rng):
    places = rng.integers(0, 6, 300)
    X = np.column_stack([places, np.zeros(300)]).astype(float)
    moved = partition_importance(lambda X: X[:, 0].astype(int), X, 0, n_repeats=200)[0]
    every_pair = np.abs(places[:, None] - places).mean()
    shuffles = np.random.default_rng(1)
    drawn = [np.abs(shuffles.permutation(places) - places).mean() for _ in range(200)]
    assert moved.value * every_pair == pytest.approx(
        np.mean(drawn), abs=5 * np.std(drawn) / np.sqrt(100)
    )


def test_shuffled_rows_are_the_same_in_one_table_or_in_many(rng, monkeypatch):
    table = mixed_table(rng, 100)
    seen = []

    def place(rows):
        seen.append(rows)
        return (rows["age"] > 40).to_numpy() + (rows["state"] == "CA").to_numpy().astype(int)

    whole = partition_importance(place, table)
    assert len(seen) == 2
    monkeypatch.setattr(importance, "MOST_CELLS", 1)
    assert partition_importance(place, table) == whole
    for rows in seen:
        assert rows.dtypes.equals(table.dtypes)
        assert list(rows.columns) == list(table.columns)
        for name in table:  # each value is there as often as before
            copies = pd.concat([table[name]] * (len(rows) // len(table)))
            pd.testing.assert_series_equal(
                rows[name].sort_values(ignore_index=True), copies.sort_values(ignore_index=True)
            )


def test_chosen_columns_are_shuffled_alone(rng):
    X = rng.normal(size=(300, 5))
    found = partition_importance(lambda X: (X[:, 3] + X[:, 1] > 0).astype(int), X, columns=[3, 4])
    assert {one.feature for one in found} == {"x3", "x4"}
    assert found[0].feature == "x3"
