"""A command that is stopped, has no room or is no longer read leaves nothing half done."""

import errno
import os
import signal
import subprocess
import sys

import pytest
from people import people, write

from plcp.cli import CUT_SHORT, DONE, STOPPED, UNABLE, main
from plcp.tables import Applier
from plcp.tables.io import ParquetWriter

CALIBRATE = ["calibrate", "new.parquet", "--target", "income", "--prediction", "predicted",
             "--method", "split", "--force", "-o", "m.plcp"]  # fmt: skip
APPLY = ["apply", "m.plcp", "new.parquet", "-o", "sets.parquet"]


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    """A table, a model, and an output of yesterday."""
    monkeypatch.chdir(tmp_path)
    write(people(30), tmp_path / "new.parquet")
    assert main(CALIBRATE) == DONE
    (tmp_path / "old.parquet").write_bytes(b"yesterday")
    capsys.readouterr()
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("out", ["sets.parquet", "old.parquet"])
def test_a_stopped_command_leaves_all_as_it_was(kind, out, folder, monkeypatch, capsys):
    made = Applier.new_columns

    def stopped(self, batch):
        os.kill(os.getpid(), kind)
        return made(self, batch)

    before = contents(folder)
    monkeypatch.setattr(Applier, "new_columns", stopped)
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        assert main([*APPLY[:-1], out, "--force"]) == STOPPED
    finally:
        signal.signal(signal.SIGINT, usual)
    assert "stopped; nothing was written" in capsys.readouterr().err
    assert contents(folder) == before


def test_a_full_disk_is_reported_and_leaves_all_as_it_was(folder, monkeypatch, capsys):
    def full(self, batch):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = contents(folder)
    monkeypatch.setattr(ParquetWriter, "write", full)
    assert main(APPLY) == UNABLE
    assert "no room for sets.parquet: free some space" in capsys.readouterr().err
    assert contents(folder) == before


@pytest.mark.parametrize("arguments", [APPLY, CALIBRATE])
def test_a_reader_who_has_read_enough_is_no_failed_check(arguments, folder):
    end, start = os.pipe()
    os.close(end)
    code = f"import sys; from plcp.cli import main; sys.exit(main({arguments!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=start, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(start)
    assert (done.returncode, done.stderr) == (CUT_SHORT, "")
