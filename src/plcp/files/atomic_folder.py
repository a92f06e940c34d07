"""Folders of parts that appear whole under their name, or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plcp.files.atomic import check_place, stopped_by_signals, to_disk, told_when_full
from plcp.files.formats import format_of
from plcp.files.parts import is_marker


def check_output_folder(path: str | Path, force: bool = False) -> Path:
    """Refuse a place where no folder of parts can or may be written, before the work begins.

    Parameters
    ----------
    path : str or Path
        The folder to be written; one that is empty may be there.
    force : bool
        Whether a folder that is there may be replaced: one of parts, and of nothing else.

    Returns
    -------
    Path
        The folder itself, where ``path`` is a link to it.
    """
    real = Path(path).resolve()
    if real.exists() and not real.is_dir():
        raise NotADirectoryError(f"{path} is a file, where a folder is to be: name another")
    if real.is_dir() and any(real.iterdir()):
        if not force:
            raise FileExistsError(
                f"{path} exists, and is not empty: name another folder, or replace it with --force"
            )
        _check_parts_only(path, real)
    check_place(path, real)
    return real


@contextmanager
def write_folder_atomically(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Give a temporary folder to write to, which gets its name when all went well.

    What `write_atomically` says of files holds of the folder, but for the instant in which one
    folder takes the place of another: a power cut just then leaves the old one as ``.NAME.….old``.

    Parameters
    ----------
    path : str or Path
        The folder to be written.
    force : bool
        Whether a folder of parts that is there may be replaced.

    Yields
    ------
    Path
        An empty folder beside it.
    """
    final = check_output_folder(path, force)
    token = secrets.token_hex(4)
    temporary, old = (final.with_name(f".{final.name}.{token}.{end}") for end in ("tmp", "old"))
    with stopped_by_signals(), told_when_full(path):
        try:
            temporary.mkdir()
            yield temporary
            check_output_folder(path, force)  # another program may have written it meanwhile
            for folder in (*(part for part in temporary.rglob("*") if part.is_dir()), temporary):
                to_disk(folder)
            _put(temporary, final, old)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    to_disk(final.parent)


def _put(new: Path, final: Path, old: Path) -> None:
    """Rename a folder; what was there is removed once the new one stands in its place."""
    if not final.exists():
        new.rename(final)
        return
    final.rename(old)
    try:
        new.rename(final)
    except BaseException:
        old.rename(final)
        raise
    shutil.rmtree(old)


def _check_parts_only(path: str | Path, folder: Path) -> None:
    """Refuse to replace what is more than a table: nobody wants his home folder replaced."""
    for root, _, names in os.walk(folder):
        for name in names:
            if not (is_marker(name) or _is_part(name)):
                raise FileExistsError(
                    f"{path} holds {Path(root, name).relative_to(folder)}, which is no part of a "
                    "table, and is not replaced: name another folder"
                )


def _is_part(name: str) -> bool:
    try:
        format_of(name)
    except ValueError:
        return False
    return True
