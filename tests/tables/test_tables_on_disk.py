"""The same rows on disk in another format get the same sets."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tabular_worlds import make_table, roles_of

from plcp.tables import Applier, calibrate, load_model, save_model
from plcp.tables.io import create_table, open_table


@pytest.fixture(scope="module")
def model():
    """A model that knows houses by codes such as 007."""
    return calibrate(housed(150, 0), roles_of(housed(1, 0), "regression"), groups=2, explain=False)


def housed(n, seed):
    rng = np.random.default_rng(seed)
    codes = [f"{code:03d}" for code in rng.integers(0, 5, n)]
    return make_table("regression", n, seed).append_column("house", pa.array(codes))


def written(table, path):
    with create_table(path, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=16):
            writer.write(batch)
    return path


def applied(model, path):
    source, applier = open_table(path, types=model.column_types), Applier(model)
    schema = applier.schema(source.schema, path.name)
    return pa.Table.from_batches(map(applier.apply, source.batches(rows=16)), schema=schema)


@pytest.mark.parametrize("name", ["new.parquet", "new.csv", "new.arrow"])
def test_any_format_gets_the_same_sets(model, tmp_path, name):
    table = housed(40, 1)
    whole = Applier(model).apply(table.combine_chunks().to_batches()[0])
    out = applied(model, written(table, tmp_path / name))
    assert out["house"].to_pylist() == table["house"].to_pylist()  # 007 is not 7
    for column in ("lower", "upper", "group", "threshold"):
        assert out[column].to_pylist() == whole[column].to_pylist()


def test_a_model_from_its_file_reads_text_as_text(tmp_path):
    table = housed(60, 0)
    roles = roles_of(table, "regression")
    model = calibrate(table, roles, method="mondrian", by=["sex", "house", "w"])
    save_model(model, tmp_path / "m.plcp")
    assert load_model(tmp_path / "m.plcp").column_types == model.column_types
    assert model.column_types == {"sex": pa.string(), "house": pa.string()}


@pytest.mark.parametrize("by", ["house", "w"])
def test_groups_are_the_same_in_any_format(tmp_path, by):
    table = housed(150, 0)
    model = calibrate(table, roles_of(table, "regression"), method="mondrian", by=[by])
    groups = [
        applied(model, written(table, tmp_path / name))["group"].to_pylist()
        for name in ("new.parquet", "new.csv")
    ]
    assert groups[0] == groups[1]
    assert None not in groups[0]


def test_pandas_reads_what_was_added_to_its_own_file(model, tmp_path):
    frame = housed(20, 1).to_pandas()
    frame.to_parquet(tmp_path / "new.parquet")
    out = applied(model, tmp_path / "new.parquet")
    again = pd.read_parquet(written(out, tmp_path / "out.parquet"))
    pd.testing.assert_frame_equal(again[frame.columns], frame)
    assert again["upper"].notna().all()
