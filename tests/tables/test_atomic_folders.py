"""A folder of parts appears whole under its name, or not at all, and replaces tables only."""

from pathlib import Path

import pytest
from disk_tables import numbers, write

from plcp.tables.folders import check_output_folder, write_folder_atomically


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


def test_a_folder_of_parts_is_replaced_whole_if_asked_to(tmp_path):
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
