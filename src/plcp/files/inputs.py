"""Files that are there to be read."""

from contextlib import suppress
from pathlib import Path

from plcp.files.names import check_path, nearest


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
        close = nearest(path.name, _names_in(path.parent))
        remedy = f"did you mean {path.with_name(close)}?" if close else "is the path right?"
        raise FileNotFoundError(f"there is no file {path}: {remedy}")
    if not path.is_file():
        raise OSError(f"{path} is not a file on disk, which can be read more than once: save it")
    try:
        path.open("rb").close()
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: you have no right to") from None
    return path


def _names_in(folder: Path) -> list[str]:
    with suppress(OSError):
        return sorted(other.name for other in folder.iterdir() if other.is_file())
    return []
