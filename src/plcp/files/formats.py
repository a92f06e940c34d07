"""Which format a file has: what its name promises, and what its first bytes say."""

from enum import StrEnum
from pathlib import Path


class Format(StrEnum):
    """A format of tables."""

    PARQUET = "Parquet"
    CSV = "CSV"
    ARROW = "Arrow"


ENDINGS = {
    Format.PARQUET: (".parquet", ".pq"),
    Format.CSV: (".csv", ".tsv", ".csv.gz", ".tsv.gz"),
    Format.ARROW: (".arrow", ".feather", ".ipc"),
}
# What stands at the beginning of files that are no plain text
_BEGINNINGS = {
    b"PAR1": ("a Parquet file", ".parquet"),
    b"ARROW1": ("an Arrow file", ".arrow"),
    b"\x1f\x8b": ("gzipped", ".csv.gz if it is CSV inside"),
    b"PK\x03\x04": ("an Excel file or a ZIP archive", ""),
    b"\xff\xfe": ("text in UTF-16", ""),
    b"\xfe\xff": ("text in UTF-16", ""),
}
_EXPECTED = {Format.PARQUET: b"PAR1", Format.ARROW: b"ARROW1"}


def format_of(path: str | Path) -> Format:
    """Format that a file's name promises.

    Examples
    --------
    >>> print(format_of("new.csv.gz"))
    CSV
    """
    name = Path(path).name.lower()
    for kind, endings in ENDINGS.items():
        if name.endswith(endings):
            return kind
    raise ValueError(
        f"{path}: the format of a table is told by the end of its name: .parquet, .csv (also .tsv, "
        ".csv.gz) or .arrow (also .feather); save it as one of these"
    )


def check_content(path: Path) -> None:
    """Refuse a file that does not begin as its name promises."""
    kind = format_of(path)
    with path.open("rb") as file:
        head = file.read(1024)
    if not head:
        raise ValueError(f"{path} is empty (0 bytes): it was perhaps not written to its end")
    expected = b"\x1f\x8b" if path.suffix.lower() == ".gz" else _EXPECTED.get(kind, b"")
    found = next((start for start in _BEGINNINGS if head.startswith(start)), b"")
    if found != expected:
        raise ValueError(f"{path} is not what its name says: {_remedy(head, found)}")


def _remedy(head: bytes, found: bytes) -> str:
    if found:
        what, ending = _BEGINNINGS[found]
        todo = f"rename it to {ending}" if ending else "save it as CSV in UTF-8, or as Parquet"
        return f"it is {what}; {todo}"
    if _is_text(head):
        return "it is text; rename it to .csv if it is a table with commas"
    return "it is damaged, or of another format; write it again as Parquet, CSV or Arrow"


def _is_text(head: bytes) -> bool:
    try:
        head[:-4].decode()  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return b"\0" not in head
