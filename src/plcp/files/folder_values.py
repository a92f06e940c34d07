"""Columns whose values stand in the names of folders, ``key=value``, as Hive and Spark do it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from urllib.parse import unquote

import pyarrow as pa

MISSING = "__HIVE_DEFAULT_PARTITION__"
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")  # 007 is a name, and so is what int64 cannot hold


def folder_values(
    parts: Sequence[PurePath], types: Mapping[str, pa.DataType]
) -> list[dict[str, pa.Scalar]]:
    """Return what the folders around each part say of all its rows, by column.

    Values are whole numbers if all of a column are, else text; unless ``types`` tells.

    Examples
    --------
    >>> from pathlib import Path
    >>> parts = Path("year=2025/a.csv"), Path("year=2026/a.csv")
    >>> [values["year"].as_py() for values in folder_values(parts, {})]
    [2025, 2026]
    """
    told = [_pairs(part) for part in parts]
    for part, pairs in zip(parts, told, strict=True):
        if list(pairs) != list(told[0]):
            raise ValueError(
                f"parts lie in folders of different columns, {parts[0]} and {part}: sort all of "
                "them by the same columns"
            )
    kinds = {key: types.get(key, _kind([pairs[key] for pairs in told])) for key in told[0]}
    return [
        {key: pa.scalar(value).cast(kinds[key]) for key, value in pairs.items()} for pairs in told
    ]


def _pairs(part: PurePath) -> dict[str, str | None]:
    pairs = (folder.split("=", 1) for folder in part.parts[:-1])
    return {unquote(key): None if value == MISSING else unquote(value) for key, value in pairs}


def _kind(values: Sequence[str | None]) -> pa.DataType:
    whole = all(WHOLE.fullmatch(value) for value in values if value is not None)
    return pa.int64() if whole else pa.string()
