"""A folder of parts gets its sets part by part, or all of it in one file."""

from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tabular_worlds import batch_of, make_table, roles_of

from plcp.tables import Applier, calibrate, serve
from plcp.tables.io import open_table

CUTS = (0, 7, 7, 30, 40)
NEW = make_table("regression", CUTS[-1], 1)


@pytest.fixture(scope="module")
def model():
    table = make_table("regression", 150, 0)
    return calibrate(table, roles_of(table, "regression"), groups=2, explain=False)


@pytest.fixture
def folder(tmp_path):
    """New rows in four parts, the second without rows."""
    folder = tmp_path / "new"
    folder.mkdir()
    for number, (start, end) in enumerate(pairwise(CUTS), 8):
        pq.write_table(NEW.slice(start, end - start), folder / f"part.{number}.parquet")
    (folder / "_SUCCESS").touch()
    return folder


def served(model, folder, out, **options):
    seen = []
    table = open_table(folder, types=model.column_types)
    rows = serve(Applier(model), table, out, advance=seen.append, **options)
    assert sum(seen) == rows == len(NEW)
    return out


def whole(model):
    return pa.Table.from_batches([Applier(model).apply(batch_of(NEW))])


def test_each_part_becomes_a_part_of_the_same_name(model, folder, tmp_path):
    out = served(model, folder, tmp_path / "out")
    names = [f"part.{number}.parquet" for number in (8, 9, 10, 11)]
    assert sorted(path.name for path in out.iterdir()) == sorted(names)
    expected = whole(model)
    for name, (start, end) in zip(names, pairwise(CUTS), strict=True):
        assert pq.read_table(out / name).equals(expected.slice(start, end - start))


def test_all_parts_become_one_file(model, folder, tmp_path):
    out = served(model, folder, tmp_path / "out.parquet")
    assert pq.read_table(out).equals(whole(model))


def test_a_folder_may_be_replaced_by_its_own_rows_with_sets(model, folder):
    served(model, folder, folder, force=True)
    assert open_table(folder).read().equals(whole(model))
    assert sorted(path.name for path in folder.parent.iterdir()) == ["new"]


def test_a_part_that_fails_leaves_nothing(model, folder, tmp_path):
    path = folder / "part.11.parquet"
    table = open_table(folder, types=model.column_types)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"part\.11\.parquet cannot be read"):
        serve(Applier(model), table, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new"]


@pytest.mark.parametrize("name", ["sets", "sets.parquet", "within/sets"])
def test_rows_do_not_become_parts_of_their_own_table(model, folder, name):
    with pytest.raises(ValueError, match="would be a part of"):
        serve(Applier(model), open_table(folder), folder / name)


def test_a_column_in_the_names_of_folders_stays_there(model, tmp_path):
    for sex in ("f", "m"):
        rows = NEW.filter(pa.compute.equal(NEW["sex"], sex)).drop_columns(["sex"])
        (tmp_path / "new" / f"sex={sex}").mkdir(parents=True)
        pq.write_table(rows, tmp_path / "new" / f"sex={sex}" / "a.parquet")
    out = served(model, tmp_path / "new", tmp_path / "out")
    assert "sex" not in pq.read_schema(out / "sex=f" / "a.parquet").names
    again, one = open_table(out).read(), served(model, tmp_path / "new", tmp_path / "one.parquet")
    columns = pq.read_table(one).column_names
    assert again.select(columns).equals(pq.read_table(one))
    assert {*columns} == {*whole(model).column_names}
    keys = [("x", "ascending"), ("y", "ascending")]
    ordered = [table.select(columns).sort_by(keys) for table in (again, whole(model))]
    assert ordered[0].equals(ordered[1])
