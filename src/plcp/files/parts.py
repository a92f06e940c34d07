"""The files that are parts of one table in a folder, as Spark, Dask and others write them."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from plcp.files.formats import format_of

# folders that tell that not every file beside them is a part, and what is to be done
LOGS = {
    "_delta_log": "is a Delta table, in which old rows lie beside new ones: write its present rows "
    "to a folder of their own",
    ".hoodie": "is a Hudi table, in which old rows lie beside new ones: write its present rows to "
    "a folder of their own",
    "_spark_metadata": "is written by a stream of Spark, whose log tells which files count: write "
    "the rows that Spark reads from it to a folder of their own",
    "_temporary": "is being written by Spark or Hadoop, or was left half-written: wait for "
    "_SUCCESS, or remove _temporary and write it again",
}
MARKERS = ("_SUCCESS", "_metadata", "_common_metadata")


def list_parts(folder: Path) -> list[Path]:
    """Return the parts of a table, relative to its folder, in the natural order of their names.

    What begins with a dot or an underscore is no part, nor is a checksum, ``.crc``. Folders within
    are those that hold one value of a column, ``key=value``. All else is refused: what is passed
    over in silence may be rows.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("part.10.csv", "part.9.csv", "_SUCCESS"):
    ...         Path(folder, name).touch()
    ...     [part.name for part in list_parts(Path(folder))]
    ['part.9.csv', 'part.10.csv']
    """
    parts = sorted((path.relative_to(folder) for path in _files(folder)), key=_in_natural_order)
    if not parts:
        raise ValueError(
            f"{folder} is a folder without a table in it: name one that has .parquet, .csv or "
            ".arrow files, or name a file"
        )
    first = format_of(parts[0])
    for part in parts:
        if format_of(part) is not first:
            raise ValueError(
                f"{folder} holds files of several formats, {parts[0]} and {part}: name one of "
                "them, or move those apart that are not parts of one table"
            )
    return parts


def is_marker(name: str) -> bool:
    """Whether a file of this name stands beside parts, and is none."""
    return name in MARKERS or name.endswith(".crc")


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in LOGS:
            raise ValueError(f"{folder} {LOGS[path.name]}")
        if path.name.startswith((".", "_")) or is_marker(path.name):
            continue
        if path.is_dir():
            _check_value(path)
            yield from _files(path)
        else:
            _check_format(path)
            yield path


def _check_value(folder: Path) -> None:
    if not all(folder.name.partition("=")):
        raise ValueError(
            f"{folder} is a folder within a folder of parts, but not called column=value: name "
            "it alone, or move it elsewhere"
        )


def _check_format(path: Path) -> None:
    try:
        format_of(path)
    except ValueError:
        raise ValueError(
            f"{path} lies in a folder of parts and is none by the end of its name, which is "
            ".parquet, .csv or .arrow: rename it, or move it elsewhere"
        ) from None


def _in_natural_order(path: PurePath) -> list[object]:
    """Nine before ten: runs of digits are compared as numbers, all else as text."""
    pieces = [re.split(r"(\d+)", name) for name in path.parts]
    # text and digits take turns, so that like is compared with like
    return [
        [[int(piece) if piece.isdecimal() else piece for piece in name] for name in pieces],
        path.as_posix(),
    ]
