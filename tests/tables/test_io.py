"""Tables come back as they were written, and are written whole or not at all."""

import datetime as dt
import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from disk_tables import numbers, text, write
from hypothesis import HealthCheck, given, settings, strategies as st
from pyarrow import ipc

from plcp._files import check_output, write_atomically
from plcp.tables.csv import MISSING
from plcp.tables.io import ROW_GROUP, create_table, open_table

ENDINGS = ("parquet", "csv", "arrow", "tsv", "csv.gz")
few = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

letters = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
# An empty text and a word for a missing value are missing values in CSV
words = letters.filter(lambda word: word not in MISSING)
moments = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1))
KINDS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int8(): st.integers(-128, 127),
    pa.float64(): st.floats(allow_nan=False),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.string(): words,
    pa.large_string(): words,
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.timestamp("us"): moments,
}


@st.composite
def tables(draw, kinds=tuple(KINDS)):
    n = draw(st.integers(0, 12))
    names = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    columns = {}
    for name in names:
        kind = draw(st.sampled_from(kinds))
        cells = st.none() | KINDS[kind]
        columns[f"x{name}"] = pa.array(draw(st.lists(cells, min_size=n, max_size=n)), kind)
    return pa.table(columns)


@pytest.mark.parametrize("ending", ENDINGS)
@few
@given(table=tables(), rows=st.integers(1, 5), read=st.integers(1, 5))
def test_a_table_comes_back_as_it_was(tmp_path, ending, table, rows, read):
    path = write(tmp_path / f"a.{ending}", table, rows, force=True)
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    file = open_table(path, types=types)
    assert file.schema.equals(table.schema)
    assert file.read().equals(table)
    batches = list(file.batches(rows=read))
    assert pa.Table.from_batches(batches, table.schema).equals(table)
    sizes = [len(batch) for batch in batches]
    assert sum(sizes) == len(table)
    if ending != "parquet":  # whose own batches may end with a row group
        assert all(size == read for size in sizes[:-1])
    assert all(0 < size <= read for size in sizes)


@pytest.mark.parametrize("ending", ENDINGS)
def test_columns_come_in_the_order_requested(tmp_path, ending):
    file = open_table(write(tmp_path / f"a.{ending}", numbers(10), 3))
    assert file.read(["half", "row"]).equals(numbers(10).select(["half", "row"]))
    with pytest.raises(ValueError, match=r"no column 'hal' in a\..*: did you mean 'half'"):
        file.batches(["hal"])
    with pytest.raises(ValueError, match="at least one column of a"):
        file.batches([])
    with pytest.raises(ValueError, match="rows must be at least 1, got 0"):
        file.batches(rows=0)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_column_is_not_taken_for_a_part_of_another(tmp_path, ending):
    table = pa.table({"a.x": [1], "a": [2], "a.y": [3]})
    file = open_table(write(tmp_path / f"a.{ending}", table))
    assert file.read(["a"]).to_pydict() == {"a": [2]}
    assert file.read(["a.y", "a"]).to_pydict() == {"a.y": [3], "a": [2]}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_without_rows_is_a_table(tmp_path, ending):
    file = open_table(write(tmp_path / f"a.{ending}", numbers(0)))
    assert file.schema.names == ["row", "half"]
    assert file.n_rows == 0
    assert len(file.read()) == 0
    assert len(file.read(most=3)) == 0
    assert list(file.batches()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_are_known_and_the_digest_is_that_of_the_bytes(tmp_path, ending):
    path = write(tmp_path / f"a.{ending}", numbers(10), 3)
    assert open_table(path).n_rows == 10
    before = open_table(path).digest()
    write(path, numbers(11), force=True)
    assert open_table(path).digest() != before
    assert open_table(text(tmp_path / "b.csv", "a\nx\n")).digest() == (
        "7a0e624fe91589d1deb4c2eb4dd23be329140728ca8c8571bcdc13124cf0f5a2"
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_categories_may_differ_between_batches(tmp_path, ending):
    parts = [["b", "a", None], ["c", "b", "b"], ["a", "d", "c"]]
    batches = [pa.record_batch({"x": pa.array(part).dictionary_encode()}) for part in parts]
    with create_table(tmp_path / f"a.{ending}", batches[0].schema) as writer:
        for batch in batches:
            writer.write(batch)
    file = open_table(tmp_path / f"a.{ending}", types={"x": batches[0].schema.field("x").type})
    assert file.read().to_pydict() == {"x": [word for part in parts for word in part]}
    assert pa.types.is_dictionary(file.schema.field("x").type) == (ending in ("parquet", "arrow"))


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_nested_columns_and_metadata_pass_through(tmp_path, ending):
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 7], name="i"))
    table = pa.Table.from_pandas(frame).append_column("s", pa.array([{"k": [1]}, None]))
    file = open_table(write(tmp_path / f"a.{ending}", table))
    assert file.read().equals(table)
    assert file.schema.metadata[b"pandas"] == table.schema.metadata[b"pandas"]


def test_lists_are_joined_in_csv(tmp_path):
    table = pa.table({"set": [["a", "b"], [], None, ["c"]], "n": [[1, 2], [3], [], None]})
    path = write(tmp_path / "a.csv", table)
    assert path.read_text() == "set,n\na|b,1|2\n[],3\n,[]\nc,\n"


@pytest.mark.parametrize(
    ("column", "kind"),
    [([{"k": 1}], "struct<k: int64>"), ([[[1]]], "list<"), ([b"\xff"], "binary")],
)
def test_what_csv_cannot_hold_is_refused_before_anything_is_written(tmp_path, column, kind):
    table = pa.table({"deep": column})
    with pytest.raises(ValueError, match=f"column 'deep' has the type {kind}.*write .parquet"):
        write(tmp_path / "a.csv", table)
    assert list(tmp_path.iterdir()) == []


def test_members_that_could_not_be_given_apart_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"column 'set' has members with '\|' in them"):
        write(tmp_path / "a.csv", pa.table({"set": [["a|b"]]}))
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_missing_alone_are_rows(tmp_path):
    table = pa.table({"a": pa.array([None, 1, None], pa.int64())})
    assert open_table(write(tmp_path / "a.csv", table)).read().equals(table)


def test_row_groups_have_one_size_whatever_the_batches(tmp_path):
    n = 2 * ROW_GROUP + 10
    path = write(tmp_path / "a.parquet", numbers(n), 1000)
    sizes = [pq.ParquetFile(path).metadata.row_group(i).num_rows for i in range(3)]
    assert sizes == [ROW_GROUP, ROW_GROUP, 10]


FRAME = {"t": ["short", None, "longer than twelve bytes"], "l": [["u"], [], None]}


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_files_of_polars_are_read_and_written_in_any_format(tmp_path, ending):
    frame = pl.DataFrame(FRAME).with_columns(c=pl.Series(["u", "v", "u"], dtype=pl.Categorical))
    path = tmp_path / f"pl.{ending}"
    frame.write_parquet(path) if ending == "parquet" else frame.write_ipc(path)
    table = open_table(path).read()
    assert open_table(path).read(most=3).equals(table)
    assert table.to_pydict() == FRAME | {"c": ["u", "v", "u"]}
    for other in ("parquet", "arrow"):
        assert open_table(write(tmp_path / f"b.{other}", table)).read().to_pydict() == (
            table.to_pydict()
        )
    assert pd.read_csv(write(tmp_path / "b.csv", table))["t"].to_list()[2] == FRAME["t"][2]


def test_arrow_files_of_one_batch_are_read_in_parts(tmp_path):
    with ipc.new_file(tmp_path / "a.arrow", numbers(10).schema) as writer:
        writer.write_table(numbers(10))
    batches = list(open_table(tmp_path / "a.arrow").batches(rows=4))
    assert [len(batch) for batch in batches] == [4, 4, 2]


SUFFIXES = ("parquet", "csv", "arrow", "csv.gz")


def test_the_name_appears_at_the_end_only(tmp_path):
    path = tmp_path / "page.html"
    with write_atomically(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(".page.html.")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_exists_is_replaced_only_on_request(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("old")
    with pytest.raises(FileExistsError, match=r"a.html exists: name another file, or .* --force"):
        write_atomically(path).__enter__()
    with write_atomically(path, force=True) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_a_file_that_another_program_wrote_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "a.html"
    with pytest.raises(FileExistsError), write_atomically(path):
        path.write_text("theirs")
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("force", [False, True])
def test_places_where_nothing_can_be_written_are_refused_before_the_work(tmp_path, force):
    with pytest.raises(FileNotFoundError, match=r"make the folder .*nowhere first"):
        check_output(tmp_path / "nowhere" / "a.html", force)
    with pytest.raises(IsADirectoryError, match="is no file that could be replaced"):
        check_output(tmp_path, force)
    with pytest.raises(IsADirectoryError, match="/dev/null is no file"):
        check_output("/dev/null", force)


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "a.html", tmp_path / "a.html"
    real.write_text("old")
    link.symlink_to(real)
    with write_atomically(link, force=True) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_others_may_read_what_the_user_lets_them(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "a.parquet", numbers(3))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.parquet").stat().st_mode) == 0o640


def write_half(path, failure):
    with create_table(path, numbers(3).schema, force=True) as writer:
        writer.write(numbers(3).to_batches()[0])
        raise failure


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, MemoryError, SystemExit])
@pytest.mark.parametrize("ending", SUFFIXES)
def test_after_a_failure_nothing_is_left_and_the_old_file_is_whole(tmp_path, ending, failure):
    path = write(tmp_path / f"a.{ending}", numbers(3))
    before = path.read_bytes()
    with pytest.raises(failure, match="half way"):
        write_half(path, failure("half way"))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", SUFFIXES)
def test_a_table_can_be_replaced_while_it_is_read(tmp_path, ending):
    path = write(tmp_path / f"a.{ending}", numbers(5000))
    file = open_table(path)
    with create_table(path, file.schema, force=True) as writer:
        for batch in file.batches(rows=100):
            writer.write(batch)
    assert open_table(path).read().equals(numbers(5000))


def test_a_table_whose_name_gives_no_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"a.xlsx: .* format: .*\.parquet, .*\.csv, .*\.arrow"):
        create_table(tmp_path / "a.xlsx", numbers(1).schema).__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_batch_of_another_schema_is_refused(tmp_path):
    for ending in SUFFIXES:
        with (
            pytest.raises((ValueError, pa.ArrowException)),
            create_table(tmp_path / f"a.{ending}", numbers(1).schema) as writer,
        ):
            writer.write(pa.record_batch({"other": [1]}))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def little_room():
    """No file may grow beyond 100 kB: the system refuses it as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("rows", [1000, 300_000])
@pytest.mark.parametrize("ending", SUFFIXES)
def test_a_full_disk_is_reported_and_left_as_it_was(tmp_path, little_room, ending, rows):
    noise = pa.table({"x": np.random.default_rng(0).random(300_000)})
    path = tmp_path / f"a.{ending}"
    with pytest.raises(OSError, match=f"no room for {path}: free some space on its disk, or write"):
        write(path, noise, rows)
    assert list(tmp_path.iterdir()) == []
    opened = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    assert not [name for name in opened if name.startswith(str(tmp_path))]


def test_a_disk_that_is_full_when_all_is_given_to_it_is_reported(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no room for"):
        write(tmp_path / "a.csv", numbers(3))
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_another_disk_is_not_blamed_on_the_output(tmp_path):
    with (
        pytest.raises(OSError, match="Input/output error"),
        create_table(tmp_path / "a.csv", numbers(1).schema),
    ):
        raise OSError(errno.EIO, "Input/output error")


ENDLESS = """
import signal, sys
from disk_tables import numbers
from plcp.tables.io import create_table
signal.signal(signal.SIGINT, signal.default_int_handler)  # a program in the background ignores
signal.signal(signal.SIGHUP, signal.SIG_DFL)
with create_table(sys.argv[1], numbers(1).schema) as writer:
    writer.write(numbers(1000).to_batches()[0])
    print("begun", flush=True)
    for _ in range(10_000):  # until the disk would fill
        writer.write(numbers(1000).to_batches()[0])
    signal.pause()
"""
HANG = 1800  # seconds: only a program that does not stop is waited for so long


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_program_that_is_stopped_leaves_nothing(tmp_path, kind):
    here = os.path.dirname(__file__)
    command = [sys.executable, "-c", ENDLESS, str(tmp_path / "a.csv")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=here
    ) as program:
        assert program.stdout.readline() == b"begun\n"
        assert len(list(tmp_path.iterdir())) == 1
        program.send_signal(kind)
        try:
            program.communicate(timeout=HANG)
        finally:
            program.kill()
    if kind != signal.SIGINT:  # of which Python itself makes an exception
        assert program.returncode == 128 + kind
    assert program.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_signals_are_handled_as_before_afterwards(tmp_path):
    write(tmp_path / "a.csv", numbers(1))
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_tables_are_written_in_any_thread(tmp_path):
    thread = threading.Thread(target=write, args=(tmp_path / "a.csv", numbers(3)))
    thread.start()
    thread.join()
    assert open_table(tmp_path / "a.csv").read().equals(numbers(3))
