"""Columns by which kinds of rows can be told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from plcp.audit.frames import holds_lists
from plcp.audit.scales import scale_of
from plcp.files import find_column

if TYPE_CHECKING:
    import pandas as pd

MOST_DISTINCT = 0.5  # share of rows with a text of their own, from which it is a name, not a kind
FEW = 30


def choose_features(
    frame: pd.DataFrame, features: Sequence[str] | None, left_out: Iterable[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Columns to tell rows by, and notes on those that cannot serve.

    Those named, or else all but ``left_out``, without columns that hold no value, lists, or text
    that is different in most rows.
    """
    if features is not None:
        names = [find_column(name, list(frame.columns)) for name in features]
        for name in names:
            if holds_lists(frame[name]):
                raise ValueError(
                    f"column {name!r} holds lists, by which no kinds are told: drop it"
                )
        return frame[names], []
    hidden = {*left_out}
    notes, names = [], []
    for name in frame.columns:
        if name in hidden:
            continue
        if reason := _unfit(frame[name]):
            notes.append(f"Column {name!r} was not searched for kinds of rows: it {reason}.")
        else:
            names.append(name)
    return frame[names], notes


def _unfit(column: pd.Series) -> str | None:
    """Return why a column tells no kinds of rows, if it does not."""
    present = column.dropna()
    if present.empty:
        return "holds no value"
    if holds_lists(column):
        return "holds lists"
    if scale_of(column) is not None:
        return None
    distinct = present.astype(str).nunique()
    if distinct > max(FEW, MOST_DISTINCT * len(present)):
        return f"holds {distinct:,} different texts in {len(present):,} rows"
    return None
