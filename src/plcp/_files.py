"""Files and names: written whole or not at all, missing ones reported with the nearest name."""

import difflib
import errno
import os
import re
import secrets
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NoReturn

SETS = ("lower", "upper", "set", "group", "threshold")  # columns that `plcp apply` adds
FEWEST_NAMED = 100  # rows; among fewer, amounts may well all differ
ALWAYS_CATEGORIES = 20  # this many different texts are categories, however few the rows are


def check_path(path: Any) -> None:
    """Refuse what is no name of a file.

    Examples
    --------
    >>> check_path(3)
    Traceback (most recent call last):
    TypeError: path must be a str or a Path, got 3: name a file
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a str or a Path, got {path!r}: name a file")
    if "\0" in str(path):
        raise ValueError(f"path must hold no zero byte, got {str(path)!r}: name a file")


def find_column(name: str, names: Sequence[str], where: str = "the table") -> str:
    """Return the name if there is such a column; else raise an error with the nearest one.

    Examples
    --------
    >>> find_column("incme", ["age", "income"], "cal.csv")
    Traceback (most recent call last):
    ValueError: no column 'incme' in cal.csv: did you mean 'income'? Its columns are age, income
    """
    if name in names:
        return name
    close = nearest(name, names)
    suggestion = f"did you mean {close!r}? Its" if close else "its"
    raise ValueError(f"no column {name!r} in {where}: {suggestion} {_listing(names)}")


def match_columns(text: str, names: Sequence[str], where: str = "the table") -> list[str]:
    """Return the columns that a list of names and wildcards names, each once.

    Parameters
    ----------
    text : str
        Names between commas; ``*``, ``?`` and ``[…]`` as in a shell. A column whose own name has
        such signs is found by its name first.
    names : sequence of str
        The columns there are.
    where : str
        What the table is called in messages.

    Examples
    --------
    >>> match_columns("p_*, age", ["age", "p_cat", "p_dog"])
    ['p_cat', 'p_dog', 'age']
    """
    if text in names:  # a name may have a comma in it
        return [text]
    wanted = [part for part in map(str.strip, text.split(",")) if part]
    if not wanted:
        raise ValueError(f"no column is named by {text!r}: write names between commas, as in a,b")
    found: list[str] = []
    for part in wanted:
        if part in names or not set(part) & set("*?["):
            found.append(find_column(part, names, where))
        elif matched := [name for name in names if fnmatchcase(name, part)]:
            found += matched
        else:
            raise ValueError(f"no column of {where} is like {part!r}: its {_listing(names)}")
    return list(dict.fromkeys(found))


def added_by_apply(names: Sequence[str]) -> set[str]:
    """Return the columns that ``plcp apply`` has added, with whatever prefix.

    They are known by their company: a threshold beside a group, a set, or both ends of an interval.

    Examples
    --------
    >>> sorted(added_by_apply(["age", "my_lower", "my_upper", "my_threshold", "group"]))
    ['my_lower', 'my_threshold', 'my_upper']
    """
    found = set()
    for name in names:
        if name.endswith("threshold"):
            prefix = name.removesuffix("threshold")
            there = {one for one in SETS if prefix + one in names}
            if there & {"set", "group"} or there >= {"lower", "upper"}:
                made = re.compile(rf"{re.escape(prefix)}({'|'.join(SETS)})(_0\.\d+|_\d+e-\d+)?")
                found |= {one for one in names if made.fullmatch(one)}
    return found


def is_identifier(n: int, n_distinct: int) -> bool:
    """Whether so many whole numbers, of which so many differ, name rows and measure nothing.

    Examples
    --------
    >>> is_identifier(3000, 3000), is_identifier(3000, 2990), is_identifier(20, 20)
    (True, False, False)
    """
    return n_distinct == n >= FEWEST_NAMED


def is_free_text(n: int, n_distinct: int) -> bool:
    """Whether so many texts, of which so many differ, hardly come again and are no categories.

    Examples
    --------
    >>> is_free_text(100, 60), is_free_text(100, 50), is_free_text(20, 20)
    (True, False, False)
    """
    return n_distinct > max(ALWAYS_CATEGORIES, n / 2)


def printable(text: str) -> str:
    r"""Return text in which a mark replaces what could steer a terminal; lines stay lines.

    Examples
    --------
    >>> printable("red \x1b[31m and \u202eback\nnext")
    'red �[31m and �back\nnext'
    """
    return "".join(sign if sign.isprintable() or sign == "\n" else "\ufffd" for sign in text)


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The most similar of some names, if one is similar: small and capital letters are alike."""
    by_folded = {other.strip().casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.strip().casefold(), by_folded, n=1)
    return by_folded[close[0]] if close else None


def _listing(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    shown = ", ".join(printable(name.replace("\n", " ")) for name in names[:most])
    return f"columns are {shown}{more}"


def check_input(path: str | Path) -> Path:
    """Refuse what is no file that can be read, and name the nearest that is there.

    Examples
    --------
    >>> check_input("no such file.csv")
    Traceback (most recent call last):
    FileNotFoundError: there is no file no such file.csv: is the path right?
    """
    check_path(path)
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if not path.exists():
        names: list[str] = []
        with suppress(OSError):
            names = sorted(other.name for other in path.parent.iterdir() if other.is_file())
        close = nearest(path.name, names)
        remedy = f"did you mean {path.with_name(close)}?" if close else "is the path right?"
        raise FileNotFoundError(f"there is no file {path}: {remedy}")
    if not path.is_file():
        raise OSError(f"{path} is not a file on disk, which can be read more than once: save it")
    try:
        path.open("rb").close()
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: you have no right to") from None
    return path


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
    with stopped_by_signals(), naming_full_disk(path):
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
def naming_full_disk(
    what: str | Path, remedy: str = "free some space on its disk, or write elsewhere"
) -> Iterator[None]:
    """Where the disk is full, raise an error that names the output and the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        full = OSError(f"no room for {what}: {remedy}")
        full.errno = error.errno
        raise full from error


def to_disk(path: Path) -> None:
    """Make a file, or the names in a folder, outlast a power cut."""
    with suppress(PermissionError):  # Windows opens no folders
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Let a ``kill`` unwind as Ctrl-C does, where it has no handler yet."""
    kinds = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    ours = [kind for kind in kinds if signal.getsignal(kind) == signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        ours = []  # only the main thread may

    def stop(number: int, _frame: Any) -> NoReturn:
        raise SystemExit(128 + number)

    for kind in ours:
        signal.signal(kind, stop)
    try:
        yield
    finally:
        for kind in ours:
            signal.signal(kind, signal.SIG_DFL)
