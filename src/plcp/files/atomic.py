"""Files that appear whole under their name, or not at all."""

import errno
import os
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from plcp.files.names import check_path

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def check_output(path: str | Path, force: bool = False, *, ending: str = "") -> Path:
    """Refuse a place where nothing can or may be written, before the work begins.

    Parameters
    ----------
    path : str or Path
        The file to be written.
    force : bool
        Whether a file that is there may be replaced.
    ending : str
        How its name must end, so that no file of another kind is replaced by mistake.

    Returns
    -------
    Path
        The file itself, where ``path`` is a link to it.
    """
    check_path(path)
    if not Path(path).name.lower().endswith(ending):
        raise ValueError(f"{path} is to be a {ending} file: end its name in {ending}")
    real = Path(path).resolve()
    if real.exists() and not real.is_file():
        raise IsADirectoryError(f"{path} is no file that could be replaced: name a file")
    if real.exists() and not force:
        raise FileExistsError(f"{path} exists: name another file, or replace it with --force")
    check_place(path, real)
    return real


def check_place(path: str | Path, real: Path) -> None:
    """Refuse a place in a folder that is not there, or not the user's to write in."""
    if not real.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: make the folder {real.parent} first")
    if not os.access(real.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: no right to write in {real.parent}")


@contextmanager
def write_atomically(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Give a temporary file to write, which gets its name when all went well.

    After an error, Ctrl-C, a closed terminal or a ``kill`` neither is there, and a file that was
    to be replaced is as before. Only what cannot be caught (``kill -9``, a power cut) leaves
    a temporary file, ``.NAME.….tmp``.

    Parameters
    ----------
    path : str or Path
        The file to be written.
    force : bool
        Whether a file that is there may be replaced.

    Yields
    ------
    Path
        An empty file in the same folder.
    """
    final = check_output(path, force)
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    with stopped_by_signals(), told_when_full(path):
        try:
            temporary.touch(exist_ok=False)
            yield temporary
            check_output(path, force)  # another program may have written it meanwhile
            to_disk(temporary)
            os.replace(temporary, final)
        finally:
            temporary.unlink(missing_ok=True)
    to_disk(final.parent)


@contextmanager
def told_when_full(
    what: str | Path, remedy: str = "free some space on its disk, or write elsewhere"
) -> Iterator[None]:
    """Say for what there is no room, and the remedy, where the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        told = OSError(f"no room for {what}: {remedy}")
        told.errno = error.errno
        raise told from error


def to_disk(path: Path) -> None:
    """See to it that a file, or the names in a folder, outlast a power cut."""
    with suppress(PermissionError):  # Windows opens no folders
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Let a ``kill`` unwind as Ctrl-C does, where nobody else has decided what it does."""
    kinds = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    ours = [kind for kind in kinds if signal.getsignal(kind) == signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        ours = []  # only the main thread may
    for kind in ours:
        signal.signal(kind, _stop)
    try:
        yield
    finally:
        for kind in ours:
            signal.signal(kind, signal.SIG_DFL)


def _stop(number: int, _frame: Any) -> NoReturn:
    raise SystemExit(128 + number)
