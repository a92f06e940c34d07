"""Read a printed rule back, and ask it of the rows of a table, without a look at our classes."""

import re

import numpy as np
import pandas as pd

NUMBER = r"-?[\d.e+-]+"
DATE = r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?"
UNIT = r"(?: days)?"
RARE = "a rare one"


def holds(text: str, table: pd.DataFrame, rare: dict) -> np.ndarray:
    """Whether the printed rule is true of each row."""
    rows = np.ones(len(table), dtype=bool)
    if text != "all rows":
        for part in text.split(" and "):
            rows &= _part(part, table, rare)
    return rows


def _part(text: str, table: pd.DataFrame, rare: dict) -> np.ndarray:
    if text.startswith("("):
        inner, column = text[1:-1].removesuffix(" or missing"), None
        column = next(name for name in table.columns if re.search(rf"\b{name}\b", inner))
        return _part(inner, table, rare) | table[column].isna().to_numpy()
    found = re.fullmatch(r"(\w+) is (not )?(.*)", text)
    if found:
        return _is(*found.groups(), table, rare)
    found = re.fullmatch(rf"(\w+) (before|from) ({DATE})(?: on)?", text)
    if found:
        name, word, day = found.groups()
        moments, there = table[name], table[name].notna()
        side = moments < pd.Timestamp(day) if word == "before" else moments >= pd.Timestamp(day)
        return (side & there).to_numpy(dtype=bool)
    found = re.fullmatch(
        rf"(?:({DATE}|{NUMBER}){UNIT} ≤ )?(\w+) ([<≤≥=]) ({DATE}|{NUMBER}){UNIT}", text
    )
    assert found, text
    low, name, sign, end = found.groups()
    column = table[name]
    if column.dtype.kind == "M":
        read, values = pd.Timestamp, column
    else:
        read = float
        values = column / pd.Timedelta(days=1) if column.dtype.kind == "m" else column.astype(float)
    sides = {
        "<": lambda v: v < read(end),
        "≤": lambda v: v <= read(end),
        "≥": lambda v: v >= read(end),
        "=": lambda v: v == read(end),
    }
    rows = sides[sign](values)
    if low is not None:
        rows &= values >= read(low)
    return rows.to_numpy(dtype=bool)


def _is(name: str, negated: str | None, what: str, table: pd.DataFrame, rare: dict) -> np.ndarray:
    column = table[name]
    missing = column.isna().to_numpy()
    if what == "missing":
        return ~missing if negated else missing
    if what in ("true", "false"):
        return ((column == (what == "true")) & ~missing).to_numpy(dtype=bool)
    names = re.split(", | or ", what)
    wanted = {n for n in names if n != RARE} | (rare[name] if RARE in names else set())
    inside = column.astype(str).isin(wanted).to_numpy()
    return ~missing & (~inside if negated else inside)
