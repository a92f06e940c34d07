"""Folders of parts are one table, and are replaced whole."""

import datetime as dt
import hashlib
import os
import tempfile
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from disk_tables import numbers, text, write
from hypothesis import given, strategies as st

from plcp.tables.folders import check_output_folder, write_folder_atomically
from plcp.tables.io import open_table

CATEGORIES = pa.dictionary(pa.int8(), pa.string())
ORDERED = pa.dictionary(pa.int8(), pa.string(), True)


def parts(folder, *tables, ending="parquet"):
    """Write tables as parts 1, 2, …; their folder."""
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables, 1):
        write(folder / f"part-{number}.{ending}", table)
    return folder


def column(kind, *values):
    return pa.table({"x": pa.array(values, kind)})


def refused(folder, *words):
    with pytest.raises(ValueError, match=r"\w") as message:
        open_table(folder).read()
    assert "\n" not in str(message.value)
    for word in words:
        assert str(word) in str(message.value)


@given(
    n=st.integers(0, 40),
    cuts=st.lists(st.integers(0, 40), max_size=6).map(sorted),
    rows=st.integers(1, 50),
    ending=st.sampled_from(["parquet", "csv", "arrow"]),
)
def test_a_table_is_the_same_however_it_is_cut_into_parts(n, cuts, rows, ending):
    table = numbers(n)
    edges = [0, *(min(cut, n) for cut in cuts), n]
    pieces = [table.slice(a, b - a) for a, b in pairwise(edges)]
    with tempfile.TemporaryDirectory() as folder:
        file = open_table(parts(Path(folder), *pieces, ending=ending))
        whole = open_table(write(Path(folder) / f"_whole.{ending}", table))
        assert file.n_rows == n
        assert file.read().equals(whole.read())
        assert file.read(most=7, seed=3).equals(whole.read(most=7, seed=3))
        sizes = [len(batch) for batch in file.batches(rows=rows)]
        assert sizes == [len(batch) for batch in whole.batches(rows=rows) if len(batch)]


def test_parts_follow_each_other_in_the_natural_order_of_their_names(tmp_path):
    names = ["part-2.parquet", "part-10.parquet", "part-010.parquet", "part-9-a.parquet"]
    for row, name in enumerate(names):
        write(tmp_path / name, column(pa.int64(), row))
    assert open_table(tmp_path).read()["x"].to_pylist() == [0, 3, 2, 1]


def test_what_spark_and_dask_leave_beside_parts_is_no_part(tmp_path):
    parts(tmp_path, numbers(2), numbers(3))
    for name in ("_SUCCESS", "_metadata", ".part-1.parquet.crc", "part-1.parquet.crc", ".hidden"):
        text(tmp_path / name, "whatever")
    assert open_table(tmp_path).n_rows == 5


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.uint32(), pa.int32(), pa.int64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.int64(), pa.float64(), pa.float64()),
        (pa.string(), pa.large_string(), pa.large_string()),
        (pa.string(), CATEGORIES, pa.string()),
        (
            CATEGORIES,
            pa.dictionary(pa.int16(), pa.string()),
            pa.dictionary(pa.int32(), pa.string()),
        ),
        (pa.null(), pa.int8(), pa.int8()),
        (pa.null(), CATEGORIES, pa.dictionary(pa.int32(), pa.string())),
        (CATEGORIES, ORDERED, pa.dictionary(pa.int32(), pa.string())),
        (ORDERED, ORDERED, pa.dictionary(pa.int32(), pa.string(), True)),
        (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("ns")),
        (pa.date32(), pa.date32(), pa.date32()),
    ],
    ids=str,
)
@pytest.mark.parametrize("turned", [False, True])
def test_types_that_hold_the_same_values_are_joined(tmp_path, one, other, common, turned):
    kinds = (other, one) if turned else (one, other)
    tables = [column(kind, *values_of(kind)) for kind in kinds]
    table = open_table(parts(tmp_path, *tables))
    assert table.schema.field("x").type == common
    assert table.read()["x"].to_pylist() == [v for kind in kinds for v in values_of(kind)]
    for part, kind in zip(table.parts, kinds, strict=True):
        assert part.read()["x"].to_pylist() == values_of(kind)
        assert part.schema.equals(table.schema)


def values_of(kind):
    """Three values of a type."""
    if pa.types.is_null(kind):
        return [None] * 3
    if pa.types.is_date(kind):
        return [dt.date(2020, 1, day) for day in (1, 2, 3)]
    if pa.types.is_timestamp(kind):
        return [dt.datetime(2020, 1, day) for day in (1, 2, 3)]
    if pa.types.is_integer(kind):
        return [1, None, 3]
    return [1.5, None, 3.0] if pa.types.is_floating(kind) else ["a", None, "b"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.string(), pa.int64()),
        (pa.string(), pa.binary()),
        (pa.bool_(), pa.int64()),
        (pa.decimal128(9, 2), pa.float64()),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (CATEGORIES, pa.int64()),
    ],
    ids=str,
)
def test_types_that_do_not_go_together_are_refused_with_both_parts(tmp_path, one, other):
    folder = parts(tmp_path, column(one, None), column(pa.null(), None), column(other, None))
    refused(folder, "column 'x'", f"{one} in", f"{other} in", "part-1.parquet", "part-3.parquet")


def test_numbers_that_would_be_rounded_are_refused(tmp_path):
    folder = parts(tmp_path, column(pa.float64(), 0.5), column(pa.int64(), 2**53 + 1))
    refused(folder, "part-2.parquet", "column 'x'", "int64", "double", str(2**53 + 1))


def test_categories_beyond_what_a_part_has_room_for(tmp_path):
    names = [f"town {i}" for i in range(200)]
    halves = (column(pa.string(), *names[:100]), column(pa.string(), *names[100:]))
    tables = [pa.table({"x": half["x"].combine_chunks().dictionary_encode().cast(CATEGORIES)})
              for half in halves]  # fmt: skip
    assert open_table(parts(tmp_path, *tables)).read()["x"].to_pylist() == names


def test_types_of_a_part_without_rows_do_not_matter(tmp_path):
    folder = parts(tmp_path, column(pa.int64()), column(pa.string(), "a"), column(pa.float64()))
    assert open_table(folder).read()["x"].to_pylist() == ["a"]
    nothing = open_table(parts(tmp_path / "none", column(pa.int64()), column(pa.int64())))
    assert nothing.n_rows == 0
    assert nothing.read().equals(column(pa.int64()))


def test_columns_may_stand_in_another_order_but_none_may_be_missing(tmp_path):
    table = numbers(2)
    folder = parts(tmp_path, table, table.select(["half", "row"]))
    assert open_table(folder).read().equals(pa.concat_tables([table, table]))
    for lacking in (table.drop_columns(["half"]), table.slice(0, 0).drop_columns(["half"])):
        write(tmp_path / "part-2.parquet", lacking, force=True)
        refused(folder, "part-2.parquet has no column 'half'", "part-1.parquet")
    write(tmp_path / "part-2.parquet", table.append_column("new", table["row"]), force=True)
    refused(folder, "part-1.parquet has no column 'new'", "part-2.parquet")


def test_a_part_that_is_damaged_is_named(tmp_path):
    words = column(pa.string(), *(f"{i}" for i in range(5000)))
    folder = parts(tmp_path, words, words)
    content = bytearray((folder / "part-2.parquet").read_bytes())
    text(folder / "part-2.parquet", bytes(content[: len(content) // 2]))
    refused(folder, "part-2.parquet", "it is cut off or damaged")
    content[100:600] = bytes(500)
    text(folder / "part-2.parquet", bytes(content))
    refused(folder, "part-2.parquet", "it is cut off or damaged")
    text(folder / "part-2.parquet", b"")
    refused(folder, "part-2.parquet", "is empty (0 bytes)")


def test_a_part_that_is_gone_meanwhile_is_named(tmp_path):
    table = open_table(parts(tmp_path, numbers(3), numbers(3)))
    (tmp_path / "part-2.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"part-2\.parquet"):
        table.read()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("notes.txt", "is none by the end of its name"),
        ("0.part", "is none by the end of its name"),
        ("other.csv", "files of several formats"),
        ("old/part-0.parquet", "not called column=value"),
        ("=1/part-0.parquet", "not called column=value"),
        ("_delta_log/0.json", "is a Delta table"),
        (".hoodie/hoodie.properties", "is a Hudi table"),
        ("_spark_metadata/0", "written by a stream of Spark"),
        ("_temporary/0", "wait for _SUCCESS, or remove _temporary"),
        ("year=2025/part-0.parquet", "folders of different columns"),
    ],
)
def test_what_may_be_rows_is_not_passed_over(tmp_path, name, words):
    parts(tmp_path, numbers(1))
    (tmp_path / name).parent.mkdir(exist_ok=True)
    if name.endswith("parquet"):
        write(tmp_path / name, numbers(1))
    else:
        text(tmp_path / name, "a,b\n")
    refused(tmp_path, words)


def test_a_folder_without_a_table_is_refused(tmp_path):
    refused(tmp_path, tmp_path, "is a folder without a table in it")
    text(tmp_path / "_SUCCESS", b"")
    refused(tmp_path, "is a folder without a table in it")


def sorted_by(folder, *places):
    """One row for each place, which is a list of folders."""
    for row, place in enumerate(places):
        (folder / place).mkdir(parents=True)
        write(folder / place / "part-0.parquet", column(pa.int64(), row))
    return folder


def test_folders_named_by_values_are_columns(tmp_path):
    folder = sorted_by(
        tmp_path, "year=9/town=a%2Fb", "year=10/town=007", "year=10/town=__HIVE_DEFAULT_PARTITION__"
    )
    table = open_table(folder)
    assert table.read().to_pylist() == [
        {"x": 0, "year": 9, "town": "a/b"},
        {"x": 1, "year": 10, "town": "007"},
        {"x": 2, "year": 10, "town": None},
    ]
    assert table.read(["town"]).to_pydict() == {"town": ["a/b", "007", None]}
    assert table.schema.field("year").type == pa.int64()
    as_text = open_table(folder, types={"year": pa.string()})
    assert as_text.read(["year"])["year"].to_pylist() == ["9", "10", "10"]


def test_codes_with_zeros_in_front_stay_text(tmp_path):
    folder = sorted_by(tmp_path, "code=7", "code=007", f"code={10**18}")
    assert open_table(folder).read(["code"])["code"].to_pylist() == ["007", "7", str(10**18)]


def test_a_column_in_names_and_in_parts_is_refused(tmp_path):
    refused(sorted_by(tmp_path, "x=1"), "column 'x'", "in the names of its folders")


def test_the_digest_is_that_of_what_sha256sum_prints(tmp_path):
    folder = parts(tmp_path, numbers(2), numbers(3))
    printed = "".join(
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n"
        for name in ("part-1.parquet", "part-2.parquet")
    )
    before = open_table(folder).digest()
    assert before == hashlib.sha256(printed.encode()).hexdigest()
    os.rename(folder / "part-1.parquet", folder / "part-3.parquet")
    assert open_table(folder).digest() != before


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_name_appears_at_the_end_only(tmp_path):
    with write_folder_atomically(tmp_path / "out") as temporary:
        write(temporary / "a.parquet", numbers(1))
        assert not (tmp_path / "out").exists()
        assert temporary.parent == tmp_path
    assert names_in(tmp_path) == ["out"]
    assert names_in(tmp_path / "out") == ["a.parquet"]


def write_half(out, failure):
    with write_folder_atomically(out, force=True) as temporary:
        write(temporary / "new.parquet", numbers(1))
        raise failure


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_a_failure_the_old_folder_is_whole(tmp_path, failure):
    (tmp_path / "out").mkdir()
    write(tmp_path / "out" / "old.parquet", numbers(1))
    with pytest.raises(failure, match="half way"):
        write_half(tmp_path / "out", failure("half way"))
    assert names_in(tmp_path) == ["out"]
    assert names_in(tmp_path / "out") == ["old.parquet"]


def test_a_folder_of_parts_is_replaced_whole_on_request(tmp_path):
    out = tmp_path / "out"
    (out / "year=1").mkdir(parents=True)
    write(out / "year=1" / "old.parquet", numbers(1))
    (out / "_SUCCESS").touch()
    with pytest.raises(FileExistsError, match=r"is not empty: name another folder, or .* --force"):
        check_output_folder(out)
    with write_folder_atomically(out, force=True) as temporary:
        write(temporary / "new.parquet", numbers(1))
        assert names_in(out) == ["_SUCCESS", "year=1"]
    assert names_in(out) == ["new.parquet"]
    assert names_in(tmp_path) == ["out"]


def test_an_empty_folder_may_be_there(tmp_path):
    (tmp_path / "out").mkdir()
    with write_folder_atomically(tmp_path / "out") as temporary:
        write(temporary / "new.parquet", numbers(1))
    assert names_in(tmp_path / "out") == ["new.parquet"]
    assert names_in(tmp_path) == ["out"]


@pytest.mark.parametrize("name", ["letter.txt", ".bashrc", "within/model.plcp", ".git/config"])
def test_a_folder_with_anything_but_parts_is_never_replaced(tmp_path, name):
    write(tmp_path / "a.parquet", numbers(1))
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(FileExistsError, match=f"holds {name}, .* is not replaced"):
        check_output_folder(tmp_path, force=True)


def theirs(folder):
    folder.mkdir()
    write(folder / "theirs.parquet", numbers(1))


def test_a_folder_that_another_program_wrote_meanwhile_is_not_replaced(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(FileExistsError), write_folder_atomically(out):
        theirs(out)
    assert names_in(out) == ["theirs.parquet"]
    assert names_in(tmp_path) == ["out"]


@pytest.mark.parametrize("force", [False, True])
def test_places_where_no_folder_can_be_are_refused(tmp_path, force):
    with pytest.raises(FileNotFoundError, match=r"make the folder .*nowhere first"):
        check_output_folder(tmp_path / "nowhere" / "out", force)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="is a file, where a folder is to be"):
        check_output_folder(tmp_path / "file", force)


def test_the_old_folder_comes_back_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    out, rename = tmp_path / "out", Path.rename
    theirs(out)

    def failing(self, target):
        if self.suffix == ".tmp":
            raise OSError("cannot")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with (
        pytest.raises(OSError, match="cannot"),
        write_folder_atomically(out, force=True) as temporary,
    ):
        write(temporary / "new.parquet", numbers(1))
    assert names_in(out) == ["theirs.parquet"]
    assert names_in(tmp_path) == ["out"]
