"""A file appears whole under its name, or not at all."""

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from disk_tables import numbers, write

from plcp._files import check_output, write_atomically
from plcp.tables.io import create_table, open_table

ENDINGS = ("parquet", "csv", "arrow", "csv.gz")


def test_the_name_appears_at_the_end_only(tmp_path):
    path = tmp_path / "page.html"
    with write_atomically(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(".page.html.")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_exists_is_replaced_only_if_asked_to(tmp_path):
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
@pytest.mark.parametrize("ending", ENDINGS)
def test_after_a_failure_nothing_is_left_and_the_old_file_is_whole(tmp_path, ending, failure):
    path = write(tmp_path / f"a.{ending}", numbers(3))
    before = path.read_bytes()
    with pytest.raises(failure, match="half way"):
        write_half(path, failure("half way"))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_can_be_replaced_while_it_is_read(tmp_path, ending):
    path = write(tmp_path / f"a.{ending}", numbers(5000))
    file = open_table(path)
    with create_table(path, file.schema, force=True) as writer:
        for batch in file.batches(rows=100):
            writer.write(batch)
    assert open_table(path).read().equals(numbers(5000))


def test_a_table_whose_name_tells_no_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"a.xlsx: .* format: \.parquet, \.csv .* \.arrow"):
        create_table(tmp_path / "a.xlsx", numbers(1).schema).__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_batch_of_another_schema_is_refused(tmp_path):
    for ending in ENDINGS:
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
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_is_told_and_left_as_it_was(tmp_path, little_room, ending, rows):
    noise = pa.table({"x": np.random.default_rng(0).random(300_000)})
    path = tmp_path / f"a.{ending}"
    with pytest.raises(OSError, match=f"no room for {path}: free some space on its disk, or write"):
        write(path, noise, rows)
    assert list(tmp_path.iterdir()) == []
    opened = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    assert not [name for name in opened if name.startswith(str(tmp_path))]


def test_a_disk_that_is_full_when_all_is_given_to_it_is_told(tmp_path, monkeypatch):
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
