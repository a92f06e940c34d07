"""What is wrong with a CSV file, in the file's own words."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

_VALUE = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (.+?): invalid value '(.*)'",
    re.DOTALL,
)
_BYTES = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?.*invalid UTF8")
_KIND = re.compile(r"CSV conversion to (.+) is not supported")
_RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


@contextmanager
def csv_errors_told(path: Path, names: Sequence[str]) -> Iterator[None]:
    """Say which row and column of a file, that has these columns, cannot be read, and why."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: the columns' names are not UTF-8; {_SAVE}") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if told := _told(str(error), names):
            raise ValueError(f"{path}{told}") from error
        raise


def _told(error: str, names: Sequence[str]) -> str:
    if found := _VALUE.search(error):
        number, row, kind, value = found.groups()
        return (
            f"{_place(row)}: column {names[int(number)]!r} has the value {value!r}, where "
            f"{_IN_WORDS.get(kind, kind)} is expected; mend it, or leave it empty if it is missing"
        )
    if found := _BYTES.search(error):
        number, row = found.groups()
        return f"{_place(row)}: column {names[int(number)]!r} is not UTF-8; {_SAVE}"
    if found := _RAGGED.search(error):
        row, expected, actual = found.groups()
        return (
            f"{_place(row)}: the number of values is {actual} instead of {expected}; put values "
            "that have separators or line breaks in them in quotes, and close each quote"
        )
    if found := _KIND.search(error):
        return f": the type {found[1]} cannot be read from CSV; use .parquet or .arrow instead"
    if "cannot infer number of columns" in error:
        return " has no columns: its first line must have their names"
    if "straddling" in error:
        return ": a row is longer than 2 MB; a quote is perhaps not closed"
    return ""


def _place(row: str | None) -> str:
    return f", row {row} (the header is row 1)" if row else ""


_SAVE = "save the file in the encoding UTF-8"
_IN_WORDS = {"int64": "a whole number", "double": "a number", "bool": "true or false"}
