"""How the text of a CSV file is read."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

BLOCK = 1 << 21  # bytes read at a time, some in advance; no row may be longer
# pandas' words for a missing value beside Arrow's; quoted or not, in text too
MISSING = [*csv.ConvertOptions().null_values, "<NA>", "None"]


@dataclass(frozen=True)
class Dialect:
    """What separates values, and how the file is packed: its name says both."""

    delimiter: str
    compression: str | None

    @classmethod
    def of(cls, path: Path) -> "Dialect":
        """Return the dialect of a file of this name."""
        name = path.name.lower()
        tabs = name.removesuffix(".gz").endswith(".tsv")
        return cls("\t" if tabs else ",", "gzip" if name.endswith(".gz") else None)

    def first_line(self, path: Path) -> str:
        """Return the header as it is written, or its beginning."""
        with pa.input_stream(str(path), compression=self.compression) as file:
            return file.read(1 << 16).partition(b"\n")[0].decode(errors="replace")

    def check_end(self, path: Path, value: str) -> None:
        """Refuse a file that ends within quotes, which Arrow does not mind, by its last value."""
        if "\n" not in value or self.compression:  # the end of a packed file is not at hand
            return
        with path.open("rb") as file:
            file.seek(-min(path.stat().st_size, len(value.encode()) + 2), os.SEEK_END)
            closed = file.read().rstrip(b"\r\n ").endswith(b'"')
        if not closed:
            raise ValueError(f"{path} ends within quotes: close the quote before {value[:30]!r}")

    def open(
        self,
        source: Any,
        types: Mapping[str, pa.DataType] | None = None,
        block: int = BLOCK,
    ) -> csv.CSVStreamingReader:
        """Return a reader of a path or a stream: of these columns only, if types are given."""
        return csv.open_csv(
            source,
            # without threads, errors tell the row
            read_options=csv.ReadOptions(block_size=block, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=conversion(types),
        )


def conversion(types: Mapping[str, pa.DataType] | None) -> csv.ConvertOptions:
    """Return how text becomes values: with these types, or such as the text allows."""
    # 0 and 1 are numbers, as long as nobody says otherwise
    spelt = (
        {} if types else {"true_values": _spellings("true"), "false_values": _spellings("false")}
    )
    return csv.ConvertOptions(
        column_types=types,
        include_columns=list(types or ()),
        null_values=MISSING,
        strings_can_be_null=True,
        **spelt,
    )


def _spellings(word: str) -> Sequence[str]:
    return [word, word.capitalize(), word.upper()]
